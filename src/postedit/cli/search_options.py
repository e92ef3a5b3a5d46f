"""Search options on the command line: `--search FILE`, `--set search.NAME=VALUE`, and the list of all options."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import typer
from pydantic import Field

from postedit.adapt.adaptation_config import Learning, LearningConfig, NearestConfig, OnlineConfig
from postedit.cli import shared
from postedit.core.config import Config, check_config, load_config, override, problem_report, read_toml
from postedit.core.editor import ENDPOINT
from postedit.core.errors import DataError, RecipeError, nearest
from postedit.core.files import with_home
from postedit.core.search_config import FORMER_NAMES, SearchConfig
from postedit.core.wording import counted
from postedit.editing.quality_tags import TagFiles
from postedit.files.options import FilesConfig
from postedit.jobs.editor_spec import EditorSpec, Space
from postedit.llm.endpoint_options import (
    EndpointMember,
    EndpointSpec,
    LlmConfig,
    LlmOptions,
    endpoint_member,
    endpoint_model,
)
from postedit.phrase.phrase_options import PhraseTextConfig

if TYPE_CHECKING:
    from postedit.adapt.learning_editor import MemorySpec
    from postedit.core.editor import Editor

PANEL: Final = "Search"

_WIDE: Final = 100
"""Largest beam that causes no warning; scores stop improving with much smaller beams."""

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


_WITHOUT_EFFECT: Final = {
    "gate": ("search.n_best", "files", "chunk_lines", *LearningConfig.model_fields),
    "explain": ("search.n_best", "files", "chunk_lines"),
    "tune": (
        "search.n_best",
        "search.shortlist",
        "ensemble.weights",
        "files",
        "chunk_lines",
        *LearningConfig.model_fields,
    ),
}
"""Options and sections that the `--help-search` of a verb does not list, because it ignores or refuses them."""


def _show_search_options(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo("\n".join(_listed(_WITHOUT_EFFECT.get(ctx.info_name or "", ()))))
        raise typer.Exit


HelpSearchOption = Annotated[
    bool,
    typer.Option(
        "--help-search",
        hidden=True,  # the help of `--set` names it
        is_eager=True,
        callback=_show_search_options,
        rich_help_panel=PANEL,
        help="List all options of --set and --search, and exit.",
    ),
]


def field_help(name: str) -> str:
    """Return the description of a search option as the help text of a flag: capitalised, with a full stop."""
    description = SearchConfig.model_fields[name].description or ""
    return f"{description[0].upper()}{description[1:]}."


class EnsembleOptions(Config):
    """How the members of an ensemble are combined."""

    weights: list[float] | None = Field(None, description="weights of the members, in their order; equal if not given")
    space: Space | None = Field(None, description="what is averaged: log-probabilities (the default) or probabilities")


class CommandOptions(Config):
    """Options that `--set` and `--search` can set."""

    search: dict[str, Any] = Field({}, description="search options")
    ensemble: EnsembleOptions = Field(EnsembleOptions(), description="how models are combined")
    files: FilesConfig = Field(FilesConfig(), description="how translation files are edited")
    hints: TagFiles = Field(TagFiles(), description="errors of mt shown to a language model trained here")
    llm: LlmOptions = Field(LlmOptions(), description="options of a language model behind an endpoint")
    chunk_lines: int | None = Field(None, ge=1, description="lines read, edited and written together")

    @classmethod
    def read(
        cls,
        assignments: Sequence[str] | None,
        file: Path | None,
        flags: Mapping[str, Any] | None = None,
        llm: Mapping[str, Any] | None = None,
        *,
        windows: bool = False,
    ) -> Self:
        """Return the options of a command; `--set` and flags take precedence over the file of `--search`.

        Values of search options are not checked. `search.banned` and `search.required` may name a file with one word or
        phrase per line; a line `source<TAB>word` of required words applies to segments whose source contains `source`.

        Args:
            assignments: values of `--set`, as NAME=VALUE.
            file: TOML file of `--search`.
            flags: search options that have flags of their own, by name; None for flags not given.
            llm: likewise, options of the section `llm`.
            windows: whether the command has the option `chunk_lines`.

        Raises:
            RecipeError: if options are unknown or out of range; the message names all of them.
            DataError: if a flag contradicts `--set`, the budget is 0, or a file of words cannot be read.
        """
        values = override(read_toml(file, "file of search options") if file else {}, assignments or [])
        if flagged := _given(llm):
            if flagged.get("budget") == 0:
                raise DataError("--budget 0 allows no request: give what they may cost, or leave it out for no limit")
            values = {**values, "llm": {**values.get("llm", {}), **flagged}}
        misplaced = [name for name in values if name in SearchConfig.model_fields]
        options, problems = check_config(cls, {name: values[name] for name in values if name not in misplaced})
        problems += [f'{name}: no such option; did you mean "search.{name}"?' for name in misplaced]
        if options is None or problems:
            raise problem_report(str(file or "--set"), problems)
        _check_names(options.search)
        if options.chunk_lines is not None and not windows:
            raise DataError("chunk_lines is an option of `postedit edit`, which reads files in windows; leave it out")
        given = _given(flags)
        _check_flags(given, override({}, assignments or []).get("search", {}))
        return options.model_copy(update={"search": {**options.search, **_terms_in_files(options.search), **given}})

    @property
    def paths(self) -> list[Path]:
        """Paths of the files that these options name, which no output may overwrite."""
        named = (*self.llm.files.values(), self.hints.tags, self.hints.tagged)
        return [with_home(one) for one in named if one]

    def check_revertible(self, what: str) -> None:
        """Check that the search options allow edits to be reverted by `what`, which messages name, such as "gates".

        Raises:
            DataError: if they ask for several corrections per segment, or for banned or required words.
        """
        if (count := self.search.get("n_best", 1)) != 1:
            raise DataError(f"{what} decide on one correction per segment: n_best must be 1, not {count}")
        for name in ("banned", "required"):
            if self.search.get(name):
                raise DataError(f"{what} may revert what search.{name} asks for; leave out one or the other")

    def editor_spec(self, models: Sequence[str], **given: Any) -> EditorSpec:
        """Return the specification of an editor that consists of `models`; `given` sets its other fields.

        Raises:
            DataError: if an option cannot be used with these models.
        """
        endpoint = self.endpoint_spec(models, given.get("dtype", "float32"))
        weights, space = self.ensemble.weights, self.space_of(models)
        if weights is not None and len(weights) != len(models):
            raise DataError(
                f"ensemble.weights has {counted(len(weights), 'number')} for {counted(len(models), 'model')}; give one "
                "for each, in their order"
            )
        return EditorSpec(models, weights=weights, space=space, endpoint=endpoint, tags=self.hints, **given)

    def space_of(self, models: Sequence[str]) -> Space:
        """Return what an ensemble of `models` averages: log-probabilities unless the options say otherwise.

        Raises:
            DataError: if `ensemble.space` is given for a single model.
        """
        space = self.ensemble.space
        if space and len(models) == 1:
            raise DataError(
                "ensemble.space says what an ensemble averages: give several models with it; a combination has its own"
            )
        return space or "log"

    def endpoint_spec(self, models: Sequence[str], dtype: str = "float32") -> EndpointSpec | None:
        """Return how to query the model behind an endpoint that `models` name or combine; None if there is none.

        Raises:
            DataError: if options are for such a model and there is none, or if `dtype` is set for it.
        """
        name, given = endpoint_model(models), self.llm.model_dump(exclude_unset=True)
        if name is None and (member := _member_of(models)) is not None:
            return EndpointSpec(member.model, load_config(LlmConfig, {**member.options, **given}, models[0]))
        if name is None:
            if given:
                raise DataError(
                    f"llm.{min(given)} is for a model behind an endpoint, named {ENDPOINT}MODEL; leave it out"
                )
            return None
        if dtype != "float32":
            raise DataError(f"--dtype {dtype}: the weights of {models[0]} are on its server; leave it out")
        return EndpointSpec(name, load_config(LlmConfig, given, models[0]))


def _member_of(models: Sequence[str]) -> EndpointMember | None:
    """Return the model behind an endpoint, if `models` are a single combination that has one."""
    path = Path(models[0]) if len(models) == 1 else None
    if path is None or path.suffix == ".safetensors" or not path.is_file():
        return None
    try:
        return endpoint_member(read_toml(path))
    except RecipeError:  # loading the file reports the problem in more detail
        return None


class LearningOptions(CommandOptions, LearningConfig):
    """Options of `--set` and `--search` for commands whose models can learn from corrections."""

    def memory_spec(self, where: str | None, learn: Learning) -> "MemorySpec | None":
        """Return how to learn from the memory `where`, in its current state; None if no memory is given.

        Raises:
            DataError: if the memory does not exist, or none is given but options say how to learn from it.
            OutputError: if the memory cannot be read.
        """
        if where is None:
            given = [name for name in LearningConfig.model_fields if name in self.model_fields_set]
            if given or learn != "auto":
                option = f"--set {given[0]}..." if given else "--learn"
                raise DataError(f"{option} says how a model learns from corrections; give --memory with it")
            return None
        from postedit.adapt.learning_editor import MemorySpec

        return MemorySpec.now(where, learn, self)


def _given(flags: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (flags or {}).items() if value is not None}


def _check_names(search: Mapping[str, Any]) -> None:
    former = [f"search.{name} is now search.{now}" for name, now in FORMER_NAMES.items() if name in search]
    if former:
        raise DataError("; ".join(former))
    known = sorted(SearchConfig.model_fields)
    unknown = [f"search.{name}: no such option{nearest(name, known)}" for name in search if name not in known]
    if unknown:
        raise DataError(f"{'; '.join(unknown)} (known here: {', '.join(known)})")


def _check_flags(flags: Mapping[str, Any], assigned: Mapping[str, Any]) -> None:
    for name, value in flags.items():
        if assigned.get(name, value) != value:
            raise DataError(
                f"--{name.replace('_', '-')} {value} contradicts --set search.{name}={assigned[name]}; give one of them"
            )


def _terms_in_files(search: Mapping[str, Any]) -> dict[str, list[str | dict[str, str]]]:
    """Return the banned and the required words for which the options name a file."""
    names = [name for name in ("banned", "required") if isinstance(search.get(name), str)]
    return {name: list(_read_terms(Path(search[name]), name)) for name in names}


def _read_terms(path: Path, option: str) -> Iterator[str | dict[str, str]]:
    from postedit.data.lines import read_lines

    for number, line in enumerate(read_lines(path), start=1):
        sides = [side.strip() for side in line.split("\t")] if option == "required" else [line.strip()]
        if not line.strip():
            continue
        if len(sides) > 2 or not all(sides):
            raise DataError(
                f"{path}, line {number}: must be a word or phrase, or one of the source, a tab, and one of pe"
            )
        yield sides[0] if option == "banned" else {"target": sides[-1], "source": sides[0] if len(sides) == 2 else ""}


def search_config(editor: "Editor", given: Mapping[str, Any], *, with_mt: bool) -> SearchConfig:
    """Return the search options of `editor`, updated with those given; banned and required words add to its own.

    Raises:
        DataError: if a given option is out of range, contradicts another one or has no effect.
    """
    own = editor.search
    added = {name: (*getattr(own, name), *given[name]) for name in ("banned", "required") if name in given}
    given = {**given, **added}
    if given.get("shortlist"):
        given = _with_shortlist(editor, given, with_mt=with_mt)
    config = with_given(own, given)
    editor.check(config, with_mt=with_mt)
    if not editor.abilities.token_search:
        config.check_effect(own)
    ranking = [name for name in ("length_penalty", "normalisation") if name in given]
    if ranking and config.beam == 1 and not config.required:
        raise DataError(f"search.{ranking[0]} ranks the outputs of a beam; set search.beam above 1 with it")
    if config.beam > _WIDE:
        shared.warn(f"time and memory grow with the beam; one of {config.beam:,} is rarely better than one of 10")
    return config


def with_given(own: SearchConfig, given: Mapping[str, Any]) -> SearchConfig:
    """Return the search options `own`, overridden by those given; a DataError names wrong ones as `search.NAME`."""
    config, problems = check_config(SearchConfig, own.values_with(**given), "search.")
    if config is None:
        raise DataError("; ".join(problems))
    return config


def _with_shortlist(editor: "Editor", given: Mapping[str, Any], *, with_mt: bool) -> dict[str, Any]:
    """Return the given options with greedy search, or without the shortlist if the model's own options exclude it."""
    if not (editor.abilities.drafts and with_mt):
        raise DataError(
            "search.shortlist needs mt as a draft, and a model that verifies many tokens of it in one call: no "
            "recurrent decoder, and no combination; leave it out"
        )
    greedy = {"beam": 1, **given}
    config = with_given(editor.search, greedy)
    whole = "ranks the whole vocabulary"
    for name in config.given(("post_edit_penalty", "edit_cost", "max_edits", "no_repeat", "no_unk", "banned")):
        value = getattr(config, name)
        if name in given:
            raise DataError(f"search.shortlist cannot be combined with search.{name}, which {whole}")
        shared.warn(
            f"search.shortlist has no effect: search.{name}, {value!r} in the model's own search options, {whole}"
        )
        return {**given, "shortlist": 0}
    if editor.search.beam > 1 and "beam" not in given:
        shared.warn(f"search.shortlist implies greedy search, in place of the model's own beam of {editor.search.beam}")
    return greedy


_SECTIONS: Final[Mapping[str, type[Config]]] = {
    "search": SearchConfig,
    "ensemble": EnsembleOptions,
    "files": FilesConfig,
    "llm": LlmConfig,
    "phrases": PhraseTextConfig,
    "online": OnlineConfig,
    "nearest": NearestConfig,
}
"""Sections of the options of `--set` and `--search`, in the order in which `--help-search` lists them."""


def _listed(hidden: Sequence[str]) -> Iterator[str]:
    yield "Options of --set NAME=VALUE, and of the sections of a TOML file given with --search FILE:"
    for section, kind in _SECTIONS.items():
        for name, field in kind.model_fields.items():
            if section in hidden or f"{section}.{name}" in hidden:
                continue
            default = field.get_default(call_default_factory=True)
            yield f"  {section}.{name} = {'(none)' if default is None else json.dumps(default)}"
            yield f"      {field.description}"
    if "chunk_lines" not in hidden:
        yield "  chunk_lines"
        yield f"      {CommandOptions.model_fields['chunk_lines'].description}; enough for full batches if not given"
    yield "Models have search options of their own; the defaults above hold where a model sets none."
