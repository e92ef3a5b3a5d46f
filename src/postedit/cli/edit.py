"""`postedit edit`: line in, line out."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postedit.cli.combining import Averaging, check_forced, check_unforced, parse_weights
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
from postedit.cli.searching import Normalisation, SearchOptions, banned_words, required_terms
from postedit.cli.windows import (
    Dtype,
    Edited,
    Format,
    Loading,
    Settings,
    Tally,
    Window,
    WindowEditor,
    Workers,
    places_of,
    quiet,
    window_lines,
    windows_of,
)
from postedit.core.errors import DataError
from postedit.core.processes import WorkerError
from postedit.data.line_sinks import LineSink, open_sink
from postedit.data.resumable_file import check_partial, file_fingerprint

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.editor import PostEditor
    from postedit.gate import Gate


def edit(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="A model folder, hub id, file of weights (RUN/best/*.safetensors), or a combination from `postedit "
            "tune`; several models make an ensemble. The one that comes with postedit if not given.",
        ),
    ] = None,
    src: Annotated[Path | None, typer.Option(help="Source lines. Without --src and --mt: src<TAB>mt on stdin.")] = None,
    mt: Annotated[
        Path | None,
        typer.Option(help="Their machine translations, line by line; a model that translates or drafts needs none."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; stdout if not given.")] = None,
    form: Annotated[
        Format, typer.Option("--format", help="text: the corrected line; jsonl: with scores and edits.")
    ] = Format.text,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept; the model's own if not given.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Corrections a line; more than 1 needs --format jsonl.")] = 1,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Size of a batch in pieces; the model's own if not given.")
    ] = None,
    chunk_lines: Annotated[
        int | None,
        typer.Option(min=1, help="Lines read, edited and written together; 1000, or some batches, if not given."),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="W,W...", help="Weights of an ensemble's members; equal if not given.")
    ] = None,
    space: Annotated[
        Averaging | None, typer.Option(help="What an ensemble averages; log-probabilities if not given.")
    ] = None,
    force: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score these outputs, line by line, in place of writing any: always jsonl."),
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="Weights: as they are, in 16 bits, or in 8 bits, which only a CPU can.")
    ] = Dtype.float32,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on the CPU, which share its cores; each has its own model.")
    ] = None,
    devices: Annotated[
        str | None, typer.Option(help="Where to run, such as cuda:0,cuda:1: a process for each; a GPU if not given.")
    ] = None,
    shortlist: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Greedy search writes pieces of mt, of src and N frequent ones alone: faster, but other outputs.",
        ),
    ] = None,
    keep: Annotated[
        float | None, typer.Option(min=0.0, help="Nats that each piece costs which mt does not have; 0: as it likes.")
    ] = None,
    keep_src: Annotated[
        bool | None, typer.Option("--keep-src", help="With --keep: pieces of the source cost nothing either.")
    ] = None,
    edit_cost: Annotated[
        float | None, typer.Option(min=0.0, help="Nats that each piece inserted, deleted or substituted costs.")
    ] = None,
    max_edits: Annotated[
        int | None, typer.Option(min=0, help="Pieces of mt inserted, deleted or substituted in a line, at most.")
    ] = None,
    ban: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words and phrases that are never written, one a line.")
    ] = None,
    require: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Words that outputs must have, one a line; after a source word and a tab: outputs of such sources.",
        ),
    ] = None,
    no_repeat: Annotated[
        int | None, typer.Option(min=0, help="N-grams of N pieces come no more often than in mt or src, or once.")
    ] = None,
    no_unk: Annotated[
        bool | None, typer.Option("--no-unk", help="The piece for what is unknown is never written.")
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(min=0.0, help="Outputs are ranked by score / length ** this.")
    ] = None,
    normalisation: Annotated[
        Normalisation | None, typer.Option(help="power: as above; wu: by score / ((5 + length) / 6) ** that.")
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="From `postedit gate`: takes back edits that do more harm than good."),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Take back edits of less probability under the model; with --gate, of making mt better.",
        ),
    ] = 0.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the lines of an unfinished run.")] = False,
) -> None:
    """Correct machine translations, line in, line out."""
    form = Format.jsonl if force else form
    models = models_or_shipped(named)
    _check_options(src, mt, out, form, n_best, resume)
    if gate or min_confidence:
        _check_reverting(src, mt, n_best, force, ban, require)
    shares = parse_weights(weights, len(models))
    if space and len(models) == 1:
        raise DataError(
            "--space says what an ensemble averages: give several models with it; a combination has its own"
        )
    search = SearchOptions(
        length_penalty,
        normalisation,
        shortlist,
        keep,
        keep_src,
        edit_cost,
        max_edits,
        no_repeat,
        no_unk,
        banned_words(ban),
        required_terms(require),
    )
    if force:
        check_unforced(["--beam"] * (beam is not None) + ["--n-best"] * (n_best > 1) + search.given)
    check_outputs({"--out": out}, (src, mt, force, ban, require, gate))
    if out:
        check_partial(out, resume=resume)
    from postedit.cli.tables import console
    from postedit.data.lines import read_lines

    total = count_lines(src, mt) if src else None
    if force:
        check_forced(force, src, total)
    places = places_of(workers, devices)

    quiet()
    opened = _read_gate(gate)
    err, settings = console(stderr=True), Settings(form, beam, n_best, batch_tokens, search, opened, min_confidence)
    loading = Loading(models, dtype, shares, space or Averaging.log)
    # With several processes this one has no use for a model but to look at it.
    editor = loading.load("cpu" if len(places) > 1 else places[0])
    if src and not mt and editor.needs_mt:
        raise DataError(f"{', '.join(models)} corrects translations and has no first stage to write them; give --mt")
    if not force:
        asked, with_mt = settings.over(editor.decode), bool(mt or not src or editor.draft)
        search.check(asked, drafts=editor.drafts and with_mt)
        editor.check_search(asked, with_mt=with_mt)
    if opened:
        opened.check(editor.identity(settings.over(editor.decode)))
    sink = open_sink(out, _job(src, mt, force, editor, loading, settings), resume=resume)
    size = chunk_lines or window_lines(batch_tokens or editor.decode.batch_tokens)
    pairs = islice(file_pairs(src, mt) if src else stdin_pairs(), sink.done, None)
    outputs = islice(read_lines(force), sink.done, None) if force else None
    windows = windows_of(pairs, outputs, size, sink.done + 1, with_mt=bool(mt or not src))
    windows = _look_at_first(windows, editor, err)
    if len(places) > 1:
        del editor
        edited = Workers(loading, [place or "cpu" for place in places], settings).map(windows)
    else:
        edited = (WindowEditor(editor, settings)(window) for window in windows)
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


def _look_at_first(windows: Iterator[Window], editor: "PostEditor", err: "Console") -> Iterator[Window]:
    """Return the windows, once the first one is looked at; warn if its src and mt seem to have changed places."""
    first = next(windows, None)
    if first is None:
        return windows
    if first.mt is not None and editor.seem_swapped(first.src, first.mt):
        err.print(
            "[yellow]warning:[/] src reads like the translation and mt like its source, as far as the first lines "
            "show: have they changed places?",
            soft_wrap=True,
        )
    return chain([first], windows)


def _check_options(
    src: Path | None, mt: Path | None, out: Path | None, form: Format, n_best: int, resume: bool
) -> None:
    if mt and not src:
        raise DataError("give --src with --mt, or neither to read src<TAB>mt from stdin")
    if n_best > 1 and form is Format.text:
        raise DataError("--n-best above 1 does not fit into one line of text a line of input; add --format jsonl")
    check_standard_input(src, mt)
    if resume and (out is None or not can_be_read_again(src, *([mt] if mt else []))):
        raise DataError("--resume needs --src and --out, and regular files: only work on these can be gone on with")


def _check_reverting(
    src: Path | None, mt: Path | None, n_best: int, force: Path | None, ban: Path | None, require: Path | None
) -> None:
    if src and not mt:
        raise DataError("--gate and --min-confidence take edits of mt back: give --mt, or leave them out")
    if ban or require:
        given = "--ban" if ban else "--require"
        raise DataError(f"--gate and --min-confidence may take back what {given} asks for; leave out one or the other")
    if n_best > 1 or force:
        given = "--force" if force else "--n-best above 1"
        raise DataError(f"--gate and --min-confidence decide on one output of the model a line; leave out {given}")


def _read_gate(path: Path | None) -> "Gate | None":
    from postedit.gate import Gate

    return None if path is None else Gate.load(path)


def _job(
    src: Path | None, mt: Path | None, force: Path | None, editor: "PostEditor", loading: Loading, settings: Settings
) -> dict[str, Any]:
    """Return what determines the output, by the name under which a difference is reported."""
    from postedit.folder import content_fingerprint

    return {
        "source file": input_fingerprint(src),
        "mt file": input_fingerprint(mt),
        "file of outputs": None if force is None else file_fingerprint(force),
        "model": [content_fingerprint(source) for source in editor.sources],
        "weights": loading.weights,
        "space": loading.space.value,
        "dtype": loading.dtype.value,
        "format": settings.form.value,
        "beam": settings.beam or editor.decode.beam,
        "n-best": settings.n_best,
        "search settings": repr(settings.search.over(editor.decode.search())),
        "gate": repr(settings.gate),
        "least confidence": settings.min_confidence,
    }
