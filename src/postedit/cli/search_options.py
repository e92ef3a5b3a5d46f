"""Search options on the command line: `--search FILE`, `--set search.NAME=VALUE`, and the list of their names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from pydantic import Field

from postedit.core.config import Config, load_config, override, read_toml
from postedit.core.errors import DataError, nearest
from postedit.core.search_config import SearchConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postedit.core.editor import Editor

PANEL: Final = "Search"

_WIDE: Final = 100
"""A beam above this is warned of: scores stop improving long before."""


def field_help(name: str) -> str:
    """Return the description of a search option, as help of a flag."""
    description = SearchConfig.model_fields[name].description or ""
    return f"{description[0].upper()}{description[1:]}."


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        rich_help_panel=PANEL,
        help="Set an option, such as search.edit_cost=0.5 (--help-search lists them); may be repeated.",
    ),
]
SearchFileOption = Annotated[
    Path | None,
    typer.Option("--search", metavar="FILE", rich_help_panel=PANEL, help="TOML file with a \\[search] section."),
]


def _show_search_options(wanted: bool) -> None:
    if wanted:
        typer.echo("\n".join(_listed()))
        raise typer.Exit


HelpSearchOption = Annotated[
    bool,
    typer.Option(
        "--help-search",
        is_eager=True,
        callback=_show_search_options,
        rich_help_panel=PANEL,
        help="List all options of --set and --search, and exit.",
    ),
]


class EnsembleOptions(Config):
    """How the members of an ensemble are combined."""

    weights: list[float] | None = Field(None, description="weights of the members, in their order; equal if not given")
    space: Literal["log", "probability"] | None = Field(
        None, description="what is averaged: log-probabilities (the default) or probabilities"
    )


class CommandOptions(Config):
    """What `--set` and `--search` can set."""

    search: dict[str, Any] = Field({}, description="search options")
    ensemble: EnsembleOptions = Field(EnsembleOptions(), description="how models are combined")
    chunk_lines: int | None = Field(None, ge=1, description="lines read, edited and written together")


def read_options(assignments: Sequence[str] | None, file: Path | None) -> CommandOptions:
    """Return the options of a file and of `--set`, which takes precedence; values of search options are not checked.

    `search.banned` and `search.required` may name a file: one word or phrase per line; for required ones, a line
    `source<TAB>word` applies to segments whose source contains the former.

    Raises:
        RecipeError: naming all options that are unknown or out of range.
        DataError: if a file of words cannot be read.
    """
    values = override(read_toml(file) if file else {}, assignments or [])
    options = load_config(CommandOptions, values, str(file or "--set"))
    unknown = [name for name in options.search if name not in SearchConfig.model_fields]
    if unknown:
        known = sorted(SearchConfig.model_fields)
        raise DataError(
            f"search.{unknown[0]}: no such option{nearest(unknown[0], known)} (known here: {', '.join(known)})"
        )
    search = dict(options.search)
    for name, read in (("banned", _read_words), ("required", _read_terms)):
        if isinstance(search.get(name), str):
            search[name] = read(Path(search[name]))
    return options.model_copy(update={"search": search})


def search_config(editor: "Editor", given: Mapping[str, Any], *, with_mt: bool) -> SearchConfig:
    """Return the search options of `editor` with those given; banned and required words are added to its own.

    Raises:
        DataError: if an option is out of range, contradicts another one or has no effect.
    """
    own = editor.search
    added = {name: (*getattr(own, name), *given[name]) for name in ("banned", "required") if name in given}
    config = own.with_options(**{**given, **added})
    ranking = [name for name in ("length_penalty", "normalisation") if name in given]
    if ranking and config.beam == 1 and not config.required:
        raise DataError(f"search.{ranking[0]} ranks the outputs of a beam; set search.beam above 1 with it")
    if given.get("shortlist"):
        _check_shortlist(editor, config, given, with_mt=with_mt)
    if config.beam > _WIDE:
        typer.echo(
            f"warning: time and memory grow with the beam; one of {config.beam:,} is rarely better than one of 10",
            err=True,
        )
    editor.check(config, with_mt=with_mt)
    return config


def _check_shortlist(editor: "Editor", config: SearchConfig, given: Mapping[str, Any], *, with_mt: bool) -> None:
    guiding = [
        name
        for name in ("post_edit_penalty", "edit_cost", "max_edits", "no_repeat", "no_unk", "banned")
        if getattr(config, name) not in (None, False, 0, 0.0, ())
    ]
    if guiding:
        name = guiding[0]
        value = getattr(config, name)
        whose = "" if name in given else f", which the model's own search options set to {value!r}"
        raise DataError(f"search.shortlist does not go with search.{name}{whose}: that one ranks the whole vocabulary")
    if not (editor.abilities.drafts and with_mt):
        raise DataError(
            "search.shortlist needs mt as a draft, and a model that verifies many tokens of it in one call: no "
            "recurrent decoder, and no combination; leave it out"
        )


def _listed() -> "Iterator[str]":
    yield "Options of --set NAME=VALUE, and of the sections of a TOML file given by --search FILE:"
    for section, kind in (("search", SearchConfig), ("ensemble", EnsembleOptions)):
        for name, field in kind.model_fields.items():
            default = field.get_default(call_default_factory=True)
            yield f"  {section}.{name} = {_shown(default)}"
            yield f"      {field.description}"
    yield "  chunk_lines"
    yield f"      {CommandOptions.model_fields['chunk_lines'].description}; enough for full batches if not given"
    yield "Models have search options of their own; the defaults above hold where a model sets none."


def _shown(default: Any) -> str:
    if default is None:
        return "(none)"
    if isinstance(default, bool):
        return str(default).lower()
    return "[]" if default == () else repr(default).replace("'", '"')


def _read_words(path: Path) -> list[str]:
    from postedit.data.lines import read_lines

    return [line.strip() for line in read_lines(path) if line.strip()]


def _read_terms(path: Path) -> list[dict[str, str]]:
    from postedit.data.lines import read_lines

    return [_term(path, number, line) for number, line in enumerate(read_lines(path), start=1) if line.strip()]


def _term(path: Path, number: int, line: str) -> dict[str, str]:
    sides = [side.strip() for side in line.split("\t")]
    if len(sides) > 2 or not all(sides):
        raise DataError(f"{path}, line {number}: must be a word or phrase, or one of the source, a tab, and one of pe")
    return {"target": sides[-1], "source": sides[0] if len(sides) == 2 else ""}
