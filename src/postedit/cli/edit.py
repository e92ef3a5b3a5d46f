"""`postedit edit`: line in, line out."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postedit.cli.default_model import models_or_shipped
from postedit.cli.lines import (
    can_be_read_again,
    check_standard_input,
    count_lines,
    file_pairs,
    input_fingerprint,
    stdin_pairs,
)
from postedit.cli.outputs import check_outputs
from postedit.cli.search_options import (
    PANEL,
    HelpSearchOption,
    SearchFileOption,
    SetOption,
    field_help,
    read_options,
    search_config,
)
from postedit.core.errors import DataError
from postedit.core.processes import WorkerError
from postedit.data.line_sinks import LineSink, open_sink
from postedit.data.resumable_file import check_partial, file_fingerprint
from postedit.jobs.editing import (
    Dtype,
    Edited,
    EditorProcesses,
    EditorSpec,
    OutputFormat,
    Tally,
    Window,
    WindowEditor,
    places_of,
    silence_library,
    window_lines,
    windows_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.core.editor import Editor
    from postedit.core.search_config import SearchConfig

_FILES, _TRUST, _SPEED = "Files", "Taking edits back", "Speed"


def edit(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="A model folder, hub id, file of weights (RUN/best/*.safetensors), or a combination from `postedit "
            "tune`; several models make an ensemble. The model that comes with postedit if not given.",
        ),
    ] = None,
    src: Annotated[
        Path | None,
        typer.Option(rich_help_panel=_FILES, help="Source lines. Without --src and --mt: src<TAB>mt on stdin."),
    ] = None,
    mt: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_FILES, help="Their machine translations; not needed by models that translate or draft."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(rich_help_panel=_FILES, help="Where to write; stdout if not given.")
    ] = None,
    form: Annotated[
        OutputFormat,
        typer.Option(
            "--format", rich_help_panel=_FILES, help="text: the corrected line; jsonl: with scores and edits."
        ),
    ] = OutputFormat.text,
    force: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_FILES, help="Score these outputs, line by line, instead of editing; jsonl."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", rich_help_panel=_FILES, help="Continue after the lines of an unfinished run.")
    ] = False,
    beam: Annotated[int | None, typer.Option(rich_help_panel=PANEL, help=field_help("beam"))] = None,
    n_best: Annotated[
        int | None, typer.Option(rich_help_panel=PANEL, help=f"{field_help('n_best')} Needs --format jsonl.")
    ] = None,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_TRUST, help="Gate from `postedit gate`: takes back doubtful edits."
        ),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            rich_help_panel=_TRUST,
            help="Take back edits with less probability under the model; with --gate, of making mt better.",
        ),
    ] = 0.0,
    dtype: Annotated[
        Dtype, typer.Option(rich_help_panel=_SPEED, help="Type of the weights; int8 is for the CPU only.")
    ] = Dtype.float32,
    workers: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_SPEED, help="Processes on the CPU, which share its cores."),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_SPEED, help="Where to run, such as cuda:0,cuda:1: one process each; a GPU if not given."
        ),
    ] = None,
) -> None:
    """Correct machine translations, line in, line out."""
    form = OutputFormat.jsonl if force else form
    models = models_or_shipped(named)
    options = read_options(assignments, search_file)
    given = {**options.search, **{k: v for k, v in (("beam", beam), ("n_best", n_best)) if v is not None}}
    _check_options(src, mt, out, form, given, resume)
    check_outputs({"--out": out}, (src, mt, force, search_file, gate))
    if gate or min_confidence:
        _check_reverting(src, mt, given, force)
    if force and given:
        names = ", ".join(f"search.{name}" for name in given)
        raise DataError(f"--force scores outputs and searches for none: it does not go with {names}")
    spec = EditorSpec(
        models, dtype, _weights(options.ensemble.weights, models), options.ensemble.space or "log", gate, min_confidence
    )
    if options.ensemble.space and len(models) == 1:
        raise DataError(
            "ensemble.space says what an ensemble averages: give several models with it; a combination has its own"
        )
    if out:
        check_partial(out, resume=resume)
    from postedit.cli.tables import console
    from postedit.data.lines import check_aligned, read_lines

    total = count_lines(src, mt) if src else None
    if force:
        if src is None:
            raise DataError("--force needs --src: outputs are scored for files of the same lines")
        if total is not None:
            check_aligned(src, total, force, sum(1 for _ in read_lines(force)))
    places = places_of(workers, devices)

    silence_library()
    err = console(stderr=True)
    # With several processes this one needs the editor for checks alone.
    editor = spec.load("cpu" if len(places) > 1 else places[0])
    if src and not mt and editor.abilities.needs_mt:
        raise DataError(f"{', '.join(models)} corrects translations and has no first stage to write them; give --mt")
    search = editor.search if force else search_config(editor, {"n_best": 1, **given}, with_mt=bool(mt or not src))
    sink = open_sink(out, _job(src, mt, force, editor, spec, search, form), resume=resume)
    size = options.chunk_lines or window_lines(search.batch_tokens)
    pairs = islice(file_pairs(src, mt) if src else stdin_pairs(), sink.done, None)
    outputs = islice(read_lines(force), sink.done, None) if force else None
    windows = windows_of(pairs, outputs, size, sink.done + 1, with_mt=bool(mt or not src))
    windows = _look_at_first(windows, editor, err)
    if len(places) > 1:
        del editor
        from postedit.cli.compile_notice import show_compiling

        processes = EditorProcesses(spec, [place or "cpu" for place in places], search, form, show_compiling)
        edited = processes.map(windows)
    else:
        edited = (WindowEditor(editor, search, form)(window) for window in windows)
    _write(edited, sink, total, err, resumable=bool(sink.kept) and total is not None)
    sink.finish()


def _write(
    edited: Generator[Edited, None, None], sink: LineSink, total: int | None, err: "Console", *, resumable: bool
) -> None:
    """Write what comes, and say what happened to it, interrupted or not.

    Raises:
        DataError: if other than `total` lines came, though the input had so many.
        WorkerError, KeyboardInterrupt: saying how to go on.
    """
    from postedit.progress import LineProgress

    tally, before, started = Tally(), sink.done, time.monotonic()
    hint = "; the same command with --resume goes on after them" if resumable else ""
    try:
        with LineProgress(err, total) as progress, closing(edited):
            for window in edited:
                sink.write(window.lines)
                tally.add(window.tally)
                progress.update(sink.done, before)
    except KeyboardInterrupt:
        _report_events(tally, err)
        of = "" if total is None else f" of {total:,}"
        raise KeyboardInterrupt(f"stopped after {sink.done:,}{of} lines{sink.kept}{hint}") from None
    except WorkerError as error:
        _report_events(tally, err)
        raise WorkerError(f"{error}; {sink.done:,} lines are done{sink.kept}{hint}") from None
    if total is not None and sink.done != total:
        raise DataError(f"{sink.done:,} lines written for {total:,} read: the input changed during the work")
    rate = tally.lines / max(time.monotonic() - started, 1e-9)
    reverted = f", {tally.reverted:,} edits taken back" if tally.reverted else ""
    err.print(f"{tally.lines:,} lines, {tally.changed:,} changed{reverted}, {rate:,.1f} lines/s")
    _report_events(tally, err)


def _report_events(tally: Tally, err: "Console") -> None:
    for warning in tally.warnings():
        err.print(f"[yellow]warning:[/] {warning}", soft_wrap=True, highlight=False)


def _look_at_first(windows: Iterator[Window], editor: "Editor", err: "Console") -> Iterator[Window]:
    """Return the windows; warn if the first shows Windows line ends, or that src and mt may have changed places."""
    first = next(windows, None)
    if first is None:
        return windows
    for side, lines in (("src", first.src), ("mt", first.mt or ())):
        if any(line.endswith("\r") for line in lines):
            err.print(
                f"[yellow]warning:[/] lines of {side} end in CR LF (Windows line ends); the CR counts as white space",
                soft_wrap=True,
            )
    if first.mt is not None and editor.seem_swapped(first.src, first.mt):
        err.print(
            "[yellow]warning:[/] src reads like the translation and mt like its source, as far as the first lines "
            "show: have they changed places?",
            soft_wrap=True,
        )
    return chain([first], windows)


def _weights(weights: list[float] | None, models: list[str]) -> list[float] | None:
    if weights is not None and len(weights) != len(models):
        raise DataError(
            f"ensemble.weights has {len(weights)} numbers for {len(models)} models; give one for each, in their order"
        )
    return weights


def _check_options(
    src: Path | None, mt: Path | None, out: Path | None, form: OutputFormat, given: dict[str, Any], resume: bool
) -> None:
    if mt and not src:
        raise DataError("give --src with --mt, or neither to read src<TAB>mt from stdin")
    if given.get("n_best", 1) != 1 and form is OutputFormat.text:
        raise DataError("n_best above 1 does not fit into one line of text a line of input; add --format jsonl")
    check_standard_input(src, mt)
    if resume and (out is None or not can_be_read_again(src, *([mt] if mt else []))):
        raise DataError("--resume needs --src and --out, and regular files: only work on these can be continued")


def _check_reverting(src: Path | None, mt: Path | None, given: dict[str, Any], force: Path | None) -> None:
    if src and not mt:
        raise DataError("--gate and --min-confidence take edits of mt back: give --mt, or leave them out")
    if force:
        raise DataError("--gate and --min-confidence decide on outputs of the model; leave out --force")
    for name in ("banned", "required"):
        if given.get(name):
            raise DataError(
                f"--gate and --min-confidence may take back what search.{name} asks for; leave out one or the other"
            )


def _job(
    src: Path | None,
    mt: Path | None,
    force: Path | None,
    editor: "Editor",
    spec: EditorSpec,
    search: "SearchConfig",
    form: OutputFormat,
) -> dict[str, Any]:
    """Return what determines the output, by the name under which a difference is reported."""
    identity = editor.identity(search)
    return {
        "source file": input_fingerprint(src),
        "mt file": input_fingerprint(mt),
        "file of outputs": None if force is None else file_fingerprint(force),
        "model": list(identity.models),
        "weights": spec.weights,
        "space": spec.space,
        "dtype": spec.dtype.value,
        "format": form.value,
        **{f"search.{name}": repr(value) for name, value in identity.settings.items()},
    }
