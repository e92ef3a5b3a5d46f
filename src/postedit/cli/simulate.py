"""`postedit simulate`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.cli import output_files, shared
from postedit.cli import search_options as options
from postedit.cli.correction_inputs import read_triplet_corrections
from postedit.cli.data import files_of
from postedit.core.errors import DataError

if TYPE_CHECKING:
    from postedit.evaluate.table import Table
    from postedit.jobs.simulation import Simulation


def simulate(
    stream: Annotated[
        str,
        typer.Option(help="Triplets in the order of their correction: a prefix (STREAM.src, .mt, .pe), or a table."),
    ],
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="A model folder, hub id, file of weights (RUN/best/step-*.safetensors) or chain; or none: phrases "
            "alone, learnt from the corrections. A language pair, such as en-de, names postedit's model for it "
            "(`postedit models list`). Without MODEL, the one that comes with postedit is used.",
        ),
    ] = None,
    lines: Annotated[
        int | None, typer.Option(min=1, help="Number of segments to simulate, from the first; all if not given.")
    ] = None,
    window: Annotated[
        int, typer.Option(min=1, help="Number of segments for each row of the table and each point of the curve.")
    ] = 500,
    tokenize: shared.TokenizeOption = "none",
    learn: shared.LearnOption = "auto",
    assignments: options.SetOption = None,
    search_file: options.SearchFileOption = None,
    protect: shared.ProtectOption = "all",
    json_out: shared.JsonOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Where to write the curve: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Simulate post-editing: edit a segment, learn from its correction, and go on to the next.

    Print the TER of the learning editor beside that of unedited MT and of the same editor without learning, how often
    the same error had to be corrected again, and how long learning took.
    """
    from postedit.adapt.adaptation_config import NO_MODEL
    from postedit.adapt.correction_memory import CorrectionMemory
    from postedit.adapt.learning_editor import load_learning
    from postedit.cli.tables import console, print_table
    from postedit.editing.protection import Protected
    from postedit.evaluate.tokenisation import tokenisation_signs
    from postedit.jobs.editing import silence_library
    from postedit.jobs.simulation import StreamSegment
    from postedit.jobs.simulation import simulate as run
    from postedit.progress import LineProgress

    output_files.check_picture("--plot", plot)
    chosen = options.LearningOptions.read(assignments, search_file)
    (files,) = files_of([stream])
    output_files.check_outputs({"--json": json_out, "--plot": plot}, [*files.paths, search_file, *chosen.paths])
    corrections, _ = read_triplet_corrections(stream, most=lines)
    texts = [StreamSegment(one.src, one.mt, one.pe) for one in corrections]
    pe = [one.pe for one in texts]
    shared.warn_of_words(stream, pe, tokenize)
    silence_library()
    models = shared.chosen_models(named)
    if len(models) > 1:
        raise DataError(f"only one model can learn from corrections, not {len(models)}: name one")
    if models == [NO_MODEL] and chosen.phrases.tokenizer == "none" and tokenisation_signs(pe).unsegmented:
        shared.warn(
            f"{stream}: phrases are whole sentences here, which seldom recur, because no spaces divide the words; add "
            "--set phrases.tokenizer=characters"
        )
    with TemporaryDirectory() as temporary, CorrectionMemory(Path(temporary) / "memory.db") as memory:
        editor = load_learning(models[0], memory, learn, chosen)
        protected = Protected(editor, shared.kinds_to_protect(protect))
        search = options.search_config(protected, {"n_best": 1, **chosen.search}, with_mt=True)
        with LineProgress(console(stderr=True), 2 * len(texts), "segments") as progress:
            progress.update(0)
            found = run(protected, texts, search, tokenize, progress.update)
    if json_out is not None:
        output_files.write_json(json_out, found.to_dict(window))
    if plot is not None:
        draw(found, window, plot, stream)
    for table in _tables(found, window):
        print_table(table, console())


def _tables(found: "Simulation", window: int) -> "list[Table]":
    from postedit.evaluate.table import Table, TableRow, columns, percentage
    from postedit.evaluate.ter import edit_rate
    from postedit.jobs.simulation import HISTORIES

    names = [one.name for one in found.systems]
    course = [
        TableRow((f"{end:,}",), (*rates, *(found.cumulative(one, end) for one in found.systems)))
        for end, rates in found.windows(window)
    ]
    rows = [
        TableRow(
            (one.name,),
            (
                edit_rate(one.counts),
                one.changed,
                one.repeated.all.met,
                one.repeated.all.left,
                percentage(*one.repeated.all[::-1]),
            ),
        )
        for one in found.systems
    ]
    histories = [
        TableRow((name,), (ones[0].met, *(percentage(one.left, one.met) for one in ones)))
        for name, *ones in zip(HISTORIES, *(one.repeated.by_history for one in found.systems[1:]), strict=True)
    ]
    whole = found.to_dict(window)
    learning, editing = whole["seconds of learning"], whole["seconds of editing"]
    return [
        Table(
            "TER by segments",
            ("until",),
            columns([*names, *(f"{name}, all" for name in names)], 2),
            tuple(course),
            f"TER in each window of {window:,} segments, and from the first segment on. {found.signature}",
        ),
        Table(
            "whole stream",
            ("system",),
            (*columns(["TER"], 2), *columns(["changed", "repeated errors", "left"]), *columns(["left %"], 1)),
            tuple(rows),
            "Repeated errors of mt had been corrected in an earlier segment; those that are left have to be corrected "
            f"again. Learning took {1000 * learning['median']:.1f} ms per segment (median; 99 %: "
            f"{1000 * learning['99 %']:.1f} ms), editing {1000 * editing['median']:.1f} ms.",
        ),
        Table(
            "repeated errors",
            ("before in the stream",),
            (*columns(["repeated errors"]), *columns([f"left %, {name}" for name in names[1:]], 1)),
            tuple(histories),
            "What post-editors had done with the words of the error in all earlier segments that have them. If the "
            "words were mostly left as they are, or changed in another way, the same correction cannot be expected.",
        ),
    ]


def draw(found: "Simulation", window: int, path: Path, title: str) -> None:
    """Draw the cumulative TER of each system and, paler, its TER in each window, into an image file."""
    from postedit.explain.figure import drawable, drawing, save_figure

    ends = [end for end, _ in found.windows(window)]
    marker = "o" if len(ends) == 1 else ""  # a line of one point shows nothing
    with drawing({"axes.spines.top": False, "axes.spines.right": False}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        for number, system in enumerate(found.systems):
            course = [found.cumulative(system, end) for end in ends]
            # The unedited MT is dashed and on top, since an editor that changes nothing has the same course.
            style, layer = ("-", 2) if number else ("--", 3)
            axes.plot(ends, course, style, color=f"C{number}", label=system.name, marker=marker, zorder=layer)
            axes.plot(ends, [rates[number] for _, rates in found.windows(window)], color=f"C{number}", alpha=0.35, lw=1)
        axes.set(title=drawable(title), xlabel="segments corrected", ylabel="TER")
        axes.legend(frameon=False, title=f"from the first on; pale: {window:,} segments")
        save_figure(figure, path)
