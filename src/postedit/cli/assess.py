"""`postedit assess`."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from postedit.cli import output_files, shared
from postedit.cli import search_options as options
from postedit.cli.correction_inputs import BeforeOption, files_read, read_corrections
from postedit.core.errors import DataError
from postedit.core.wording import counted
from postedit.llm.endpoint_options import LlmOptions, endpoint_model

if TYPE_CHECKING:
    from postedit.core.editor import Editor
    from postedit.progress import LineProgress

_WORK = "The work, and what it costs"
_CHARACTERS = "; characters for text without spaces between words, such as Japanese and Chinese"


def assess(
    ctx: typer.Context,
    triplets: Annotated[
        str,
        typer.Argument(
            metavar="TRIPLETS",
            help="100 to 500 triplets in the order of their documents: a prefix (TRIPLETS.src, .mt, .pe), a table, or "
            "file names separated by commas. Or a translation file after post-editing, or a folder of them.",
        ),
    ],
    before: BeforeOption = None,
    languages: shared.LanguagesOption = "",
    editors: Annotated[
        list[str] | None,
        typer.Option(
            "--editor",
            metavar="MODEL",
            help="Also try this model as it is: a folder, hub id, combination, openai:MODEL, or "
            "python:MODULE:NAME; may be repeated. It must not have been trained on the triplets.",
        ),
    ] = None,
    neural_updates: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Updates of the weights in each training of the small neural model; 200 if not given, 0 to leave this "
            "model out.",
        ),
    ] = None,
    tokenizer: Annotated[
        Literal["auto", "none", "moses", "characters"],
        typer.Option(
            help="How texts are divided into words. none: at spaces; moses: running text; characters: scripts without "
            "spaces; auto: detected from the texts."
        ),
    ] = "auto",
    words: Annotated[
        int, typer.Option(min=1, rich_help_panel=_WORK, help=f"Words of machine translation to post-edit{_CHARACTERS}.")
    ] = 100_000,
    words_per_hour: Annotated[
        float,
        typer.Option(
            rich_help_panel=_WORK, help=f"Words that a post-editor edits in an hour, without an editor{_CHARACTERS}."
        ),
    ] = 600.0,
    editing_share: Annotated[
        float,
        typer.Option(rich_help_panel=_WORK, help="Share of that time that goes into edits; the rest is for reading."),
    ] = 0.5,
    hour_price: Annotated[
        float | None, typer.Option(rich_help_panel=_WORK, help="Price of an hour of a post-editor.")
    ] = None,
    machine_price: Annotated[
        float, typer.Option(rich_help_panel=_WORK, help="Price of an hour of this machine.")
    ] = 0.0,
    least_share: Annotated[
        float,
        typer.Option(rich_help_panel=_WORK, help="Share of the edits that an editor must save to be worthwhile."),
    ] = 0.02,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="The answer, charts and all tables in one HTML file.")
    ] = None,
    json_out: shared.JsonOption = None,
    protect: shared.ProtectOption = "all",
    endpoint: shared.EndpointOption = None,
    budget: shared.BudgetOption = None,
    assignments: options.SetOption = None,
    search_file: options.SearchFileOption = None,
) -> None:
    """Assess whether automatic post-editing is worth it, from 100 to 500 triplets of a customer.

    Show what the errors are, what each available editor would gain (with an interval), what more triplets would gain,
    and how much this saves and costs. The answer can be no.
    """
    from postedit.cli.tables import console, print_table
    from postedit.evaluate.assessment_tables import assessment_tables
    from postedit.evaluate.recommendation import ANSWERS, Workload
    from postedit.explain.assessment_page import assessment_page
    from postedit.jobs import assessment as job
    from postedit.jobs.editing import silence_library
    from postedit.jobs.small_neural_model import UPDATES

    if not editors:
        shared.refuse_given(ctx, ("assignments", "search_file", "protect"), "without --editor MODEL")
    work = Workload(words, words_per_hour, editing_share, hour_price, machine_price, least_share)
    chosen = options.CommandOptions.read(assignments, search_file, llm={"endpoint": endpoint, "budget": budget})
    if chosen.llm.model_fields_set and not any(endpoint_model([one]) for one in editors or ()):
        raise DataError("--endpoint, --budget and llm.* are for a model behind an endpoint: give --editor openai:MODEL")
    inputs = [*files_read(triplets, before), search_file, *chosen.paths]
    output_files.check_outputs({"--html": html, "--json": json_out}, inputs)
    corrections, left_out = read_corrections(triplets, before, languages)
    silence_library()
    with ExitStack() as stack:
        found = job.assess(
            *([getattr(one, side) for one in corrections] for side in ("src", "mt", "pe")),
            editors={name: _loaded(name, chosen, protect, stack) for name in editors or ()},
            text=job.text_config(corrections, tokenizer),
            work=work,
            neural_updates=UPDATES if neural_updates is None else neural_updates,
            left_out=left_out,
            update=_progress(stack),
        )
    title = f"Is automatic post-editing worth it? {Path(triplets).name}"
    output_files.write_wanted([(json_out, found.to_dict), (html, lambda: assessment_page(title, found))])
    answer, _, reason = found.recommendation
    typer.echo(f"{ANSWERS[answer]}: {reason}.")
    for warning in found.warnings:
        shared.warn(f"{warning}.")
    for table in assessment_tables(found):
        print_table(table, console())
    for note in found.notes:
        typer.echo(f"{note[:1].upper()}{note[1:]}.")
    for reason, count in found.left_out.items():
        if reason not in left_out:  # those left out while reading have been reported already
            typer.echo(f"{counted(count, 'triplet')} left out: {reason}.")
    for name, why in found.not_tried.items():
        typer.echo(f"Not tried: {name}: {why}.")


def _loaded(model: str, chosen: options.CommandOptions, protect: str, stack: ExitStack) -> "Editor":
    """Load an editor and set its search options; the cost of one behind an endpoint is printed when the stack ends."""
    own = chosen if endpoint_model([model]) else chosen.model_copy(update={"llm": LlmOptions()})
    spec = own.editor_spec([model], protect=shared.kinds_to_protect(protect))
    editor = spec.load(None)
    editor.search = options.search_config(editor, {"n_best": 1, **own.search}, with_mt=True)
    stack.enter_context(shared.usage_printed(spec.endpoint, editor))
    return editor


def _progress(stack: ExitStack) -> Callable[[int, int, str], None]:
    """Return a function (done, total, name) that shows the progress of an assessment until the stack ends."""
    from postedit.cli.tables import console
    from postedit.progress import LineProgress

    err, bars, names = console(stderr=True), list["LineProgress"](), list[str]()

    def update(done: int, total: int, name: str) -> None:
        if not bars:
            bars.append(stack.enter_context(LineProgress(err, total, "segments")))
            bars[0].update(0)
        if name not in names:
            names.append(name)
            err.print(name)
        bars[0].update(done)

    return update
