"""Options shared by several verbs, and helpers that use them to choose models and to warn."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from postedit.adapt.adaptation_config import Learning
from postedit.core.errors import DataError, RecipeError, nearest
from postedit.core.processes import Executor, LocalExecutor
from postedit.data.text_paths import located
from postedit.evaluate.tokenisation import Tokenize, unexpected_tokenisation
from postedit.jobs.editor_spec import Dtype
from postedit.releases.catalogue import KnownModel, default_model, find_model, model_of_languages, pair_of, resolved
from postedit.text.glossary import Glossary
from postedit.text.language_tags import language_pair
from postedit.text.span_patterns import KINDS, Kind

if TYPE_CHECKING:
    from postedit.core.editor import Editor
    from postedit.llm.endpoint_options import EndpointSpec

_PROTECTION: Final = "Protected spans and terms"

_ENDPOINT: Final = "Language models behind an endpoint"

LEARNING: Final = "Learning from corrections"


def _checked_languages(given: str) -> str:
    try:
        language_pair(given)
    except ValueError as error:
        raise DataError(f"--languages {given}: {error}") from None
    return given


MODELS_HELP: Final = (
    "A model folder, hub id, file of weights (RUN/best/step-*.safetensors), or a combination from `postedit tune`; "
    "several models make an ensemble. openai:MODEL is a language model behind an endpoint. A language pair, such as "
    "en-de, names postedit's model for it (`postedit models list`). python:MODULE:NAME is an editor of your own. "
    "Without MODEL, the one that comes with postedit is used."
)
ModelsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        help=MODELS_HELP,
    ),
]
WeightsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="MODEL", help="Model folders, or files of weights (RUN/best/step-*.safetensors)."),
]
DevMtOption = Annotated[Path, typer.Option("--mt", help="Its machine translations.")]
DevPeOption = Annotated[Path, typer.Option("--pe", help="Human post-edits of these translations.")]
RecipeSetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.NAME=VALUE", help="Override an option of the recipe; may be repeated."),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
ProcessesOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Number of processes; one per core if not given.")
]
Engine = Literal["local", "ray"]
EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine",
        rich_help_panel="Speed",
        help="Work on this machine, or in a Ray cluster (pip install 'postedit\\[ray]').",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        envvar="RAY_ADDRESS",
        rich_help_panel="Speed",
        help="Address of the Ray cluster; without it, one is started on this machine.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")]
ResamplesOption = Annotated[
    int, typer.Option("--resamples", min=100, help="Resamples of sentences for intervals and p-values.")
]
TokenizeOption = Annotated[
    Tokenize,
    typer.Option(
        "--tokenize",
        help="How scores divide text into words. none: at spaces; 13a: raw text (TER then normalises it); characters: "
        "text without spaces between words.",
    ),
]
MetricOption = Annotated[Literal["ter", "bleu"], typer.Option("--metric", help="Metric that tuned weights improve.")]
MethodOption = Annotated[
    Literal["mert", "mira"],
    typer.Option("--method", help="Tuning algorithm. mert: minimum error rate training; mira: batch MIRA."),
]
ENDPOINT_HELP: Final = (
    "Base URL of the server of openai:MODEL, ending in /v1; $OPENAI_BASE_URL, or that of OpenAI, if not given."
)
BUDGET_HELP: Final = "Stop before the total cost, at the prices in llm.prices, could exceed this amount."
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        rich_help_panel=_ENDPOINT,
        help=ENDPOINT_HELP,
    ),
]
BudgetOption = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="COST",
        rich_help_panel=_ENDPOINT,
        help=BUDGET_HELP,
    ),
]
DtypeOption = Annotated[
    Dtype,
    typer.Option("--dtype", rich_help_panel="Speed", help="Type of the weights; int8 is for the CPU only."),
]
ProtectOption = Annotated[
    str,
    typer.Option(
        "--protect",
        metavar="KINDS",
        rich_help_panel=_PROTECTION,
        help="Kinds of spans to protect: all, none, some (number,url), or all except some (-code,-path).",
    ),
]
GlossaryOption = Annotated[
    str | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        rich_help_panel=_PROTECTION,
        help="Terms to write and to avoid: CSV, TSV, or TBX (terms.tbx#en:de names its languages).",
    ),
]
LanguagesOption = Annotated[
    str,
    typer.Option(
        metavar="SOURCE:TARGET",
        callback=_checked_languages,
        help="Languages, such as en:de; those of the first unit if not given.",
    ),
]
LearnOption = Annotated[
    Learning,
    typer.Option(
        "--learn",
        rich_help_panel=LEARNING,
        help="How a neural model learns. online: training steps on each correction; nearest: training steps on the "
        "most similar corrections before each segment; examples: a language model is shown similar corrections; auto: "
        "examples if its prompt shows them, otherwise online, with phrases after the model. A phrase-based model "
        "always learns by its phrases.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="FILE|URL",
        rich_help_panel=LEARNING,
        help="Learn from this memory of corrections first, as it is now (see `postedit memory`).",
    ),
]
JsonOption = Annotated[Path | None, typer.Option("--json", parser=located, metavar="OUT", help="All numbers as JSON.")]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", parser=located, metavar="OUT", help="All tables as Markdown.")
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", parser=located, metavar="OUT", help="All sentences and tables in one interactive HTML file."
    ),
]


def executor_of(
    engine: Engine,
    address: str | None,
    workers: int | None,
    processes: int,
    *,
    multithreaded: bool = False,
    on_gpus: bool = False,
) -> Executor:
    """Return the executor that does the work of a command.

    Args:
        engine: where it works: on this machine or in a Ray cluster.
        address: address of the Ray cluster; None to start one on this machine.
        workers: number of Ray workers; None for the default of `RayExecutor`.
        processes: number of processes if the engine is local.
        multithreaded: see `RayExecutor`.
        on_gpus: see `RayExecutor`.

    Raises:
        WorkerError: if there is no cluster at the address.
        RecipeError: if Ray is not installed, or an address is given for the local engine.
    """
    if engine == "local":
        if address and address != os.environ.get("RAY_ADDRESS"):  # the variable may be set for other programs
            raise RecipeError(f"--address {address}: is that of a Ray cluster: add --engine ray, or leave it out")
        return LocalExecutor(processes)
    from postedit.distributed.executors import RayExecutor

    executor = RayExecutor(workers, address, multithreaded, on_gpus)
    executor.check()
    return executor


def chosen_models(named: Sequence[str] | None, languages: tuple[str, str] = ("", "")) -> list[str]:
    """Return the models to load: those named, with each language pair replaced by the folder of its model.

    If none is named, return the model for `languages` or, if these are empty, the one that comes with postedit.

    Raises:
        ModelFolderError: if there is no model for a language pair, or it has to be fetched first.
    """
    if named:
        return list(map(resolved, named))
    return [str(_model_for(languages).folder)]


def languages_of(named: Sequence[str] | None, languages: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Return the source and target language of the first chosen model that postedit knows; empty if it knows none."""
    return pair_of(named) if named else _model_for(languages).pair


def announce_models(named: Sequence[str] | None, languages: tuple[str, str] = ("", "")) -> None:
    """Print to stderr which models were chosen by language pair or by default. Call this once all input is checked."""
    if named:
        chosen, hint = [model for name in named if (model := find_model(name)) and model.name != name], ""
    else:
        chosen, hint = [_model_for(languages)], "; to use another, name it"
    for model in chosen:
        typer.echo(f"Model: {model.name} ({model.texts}){hint}", err=True)


def _model_for(languages: tuple[str, str]) -> KnownModel:
    return model_of_languages(*languages) if languages[1] else default_model()


def kinds_to_protect(names: str) -> tuple[Kind, ...]:
    """Return the kinds of spans that the value of `--protect` selects.

    Raises:
        DataError: if a kind is unknown, or the value both names kinds and excludes others.
    """
    given = [name.strip() for name in names.split(",") if name.strip()]
    if given in (["all"], ["none"]):
        return KINDS if given == ["all"] else ()
    named = {name.removeprefix("-") for name in given}
    unknown = next((name for name in sorted(named) if name not in KINDS), None)
    if unknown is not None or not given:
        raise DataError(
            f"--protect: {unknown or names!r} is not a kind of span; write all, none, or some of "
            f"{', '.join(KINDS)}{nearest(unknown or '', KINDS)}"
        )
    left_out = [name.startswith("-") for name in given]
    if any(left_out) and not all(left_out):
        raise DataError(f"--protect: {names!r} names kinds and leaves out others; do one of these")
    return tuple(kind for kind in KINDS if (kind in named) != left_out[0])


def read_glossary(given: str | None) -> Glossary | None:
    """Read the glossary of `--glossary`: FILE, or FILE#SOURCE:TARGET to select two languages of a TBX file."""
    if given is None:
        return None
    path, languages = _glossary_file(given)
    return Glossary.read(path, languages) if languages else Glossary.read(path)


def _glossary_file(given: str) -> tuple[Path, tuple[str, str] | None]:
    name, mark, languages = given.rpartition("#")
    source, colon, target = languages.partition(":")
    if mark and colon and not Path(given).exists():
        return Path(name), (source, target)
    return Path(given), None


def files_named(glossary: str | None, memory: str | None) -> list[Path]:
    """Return the files that `--glossary` and `--memory` name, which no output may overwrite."""
    files = [] if glossary is None else [_glossary_file(glossary)[0]]
    return files if memory is None or "://" in memory else [*files, Path(memory)]


def refuse_given(ctx: typer.Context, parameters: Sequence[str], why: str) -> None:
    """Refuse options that were given without effect: `parameters` are their names, `why` is, say, "without --tune".

    Raises:
        DataError: if one of the options was given.
    """
    options = {one.name: one.opts[0] for one in ctx.command.params}
    sources = {name: ctx.get_parameter_source(name) for name in parameters}
    given = [options[name] for name, source in sources.items() if source is not None and source.name != "DEFAULT"]
    if given:
        raise DataError(f"{', '.join(given)}: no effect {why}")


@contextmanager
def usage_printed(endpoint: "EndpointSpec | None", editor: "Editor") -> Iterator[None]:
    """Print the cost of a model behind an endpoint when the block ends, even if it ends with an error."""
    if endpoint is None:
        yield
        return
    from postedit.llm.llm_editor import llm_of
    from postedit.llm.usage import summary

    model = llm_of(editor)
    assert model is not None
    try:
        yield
    finally:
        typer.echo(summary(model), err=True)


def warn(message: str) -> None:
    """Print a warning to stderr."""
    typer.echo(f"{typer.style('warning:', fg='yellow')} {message}", err=True)


def warn_of_words(pe: Path | str, lines: Sequence[str], tokenize: Tokenize) -> None:
    """Warn if the post-edits of the file `pe` are not divided into words as `--tokenize` expects."""
    for warning in unexpected_tokenisation(str(pe), lines, tokenize):
        warn(warning)


def warn_if_swapped(editor: "Editor", src: Sequence[str], mt: Sequence[str]) -> None:
    """Warn if the editor finds that src and mt were passed in each other's place."""
    if editor.seem_swapped(src, mt):
        warn("src and mt seem to be swapped: src reads like the translation and mt like its source")
