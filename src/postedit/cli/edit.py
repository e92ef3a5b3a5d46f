"""`postedit edit`: line in, line out."""

from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from postedit.cli import input_lines, shared
from postedit.cli import search_options as options
from postedit.cli.edit_files import edit_files, split_inputs
from postedit.core.errors import DataError
from postedit.data.line_sinks import open_sink
from postedit.data.resumable_file import check_partial, file_fingerprint
from postedit.jobs import editing as job

_file = partial(typer.Option, rich_help_panel="Files")
_gate = partial(typer.Option, rich_help_panel="Taking edits back")
_speed = partial(typer.Option, rich_help_panel="Speed")


def edit(
    named: shared.ModelsArgument = None,
    src: Annotated[Path | None, _file(help="Source lines. Without --src and --mt: src<TAB>mt on stdin.")] = None,
    mt: Annotated[
        Path | None, _file(help="Their machine translations; models that translate or draft need none.")
    ] = None,
    out: Annotated[Path | None, _file(help="Output; stdout if not given.")] = None,
    form: Annotated[
        job.OutputFormat, _file("--format", help="text: the corrected line; jsonl: with scores and edits.")
    ] = "text",
    force: Annotated[
        Path | None, _file(hidden=True, help="Score these outputs, line by line, instead of editing; jsonl.")
    ] = None,
    resume: Annotated[bool, _file("--resume", help="Continue after the lines of an unfinished run.")] = False,
    beam: Annotated[int | None, typer.Option(rich_help_panel=options.PANEL, help=options.field_help("beam"))] = None,
    n_best: Annotated[
        int | None,
        typer.Option(hidden=True, help=f"{options.field_help('n_best')} Needs --format jsonl."),
    ] = None,
    assignments: options.SetOption = None,
    search_file: options.SearchFileOption = None,
    help_search: options.HelpSearchOption = False,
    gate: Annotated[
        Path | None, _gate(metavar="FILE", help="Gate from `postedit gate`: takes back doubtful edits.")
    ] = None,
    min_confidence: Annotated[
        float,
        _gate(
            min=0.0,
            max=1.0,
            help="Take back edits with less probability under the model; with --gate, of making mt better.",
        ),
    ] = 0.0,
    protect: shared.ProtectOption = "all",
    glossary: shared.GlossaryOption = None,
    dtype: shared.DtypeOption = "float32",
    workers: Annotated[int | None, _speed(min=1, help="Processes on the CPU, which share its cores.")] = None,
    devices: Annotated[
        str | None, _speed(help="Where to run, such as cuda:0,cuda:1: one process each; a GPU if not given.")
    ] = None,
) -> None:
    """Correct machine translations, line in, line out.

    Two more options serve research: --n-best N (search.n_best) returns N corrections a line; --force FILE scores the
    outputs of another system instead of editing.
    """
    kinds, terms = shared.kinds_to_protect(protect), shared.read_glossary(glossary)
    # Without --out, or with --src, a folder can only be a model, though a damaged one.
    named, files = split_inputs(named, folders=out is not None and src is None)
    chosen = options.read_options(assignments, search_file, {"beam": beam, "n_best": n_best}, windows=True)
    if files:
        lines = (("--src", src), ("--mt", mt), ("--force", force), ("--n-best", n_best))
        for option, value in (*lines, ("--format", None if form == "text" else form)):
            if value is not None:
                raise DataError(f"{option} is for files of lines; it does not go with {files[0]}")
        edit_files(
            files,
            out,
            shared.models_or_shipped(named),
            chosen,
            worker_devices=job.worker_devices(workers, devices),
            resume=resume,
            announce=partial(shared.announce_shipped, named),
            on_start=_show_compilation,
            dtype=dtype,
            gate=gate,
            min_confidence=min_confidence,
            protect=kinds,
            glossary=terms,
        )
        return
    form = "jsonl" if force else form
    models = shared.models_or_shipped(named)
    given = chosen.search
    _check_options(src, mt, given, force, form, reverting=bool(gate or min_confidence))
    if resume and (out is None or not input_lines.can_be_read_again(src, *([mt] if mt else []))):
        raise DataError("--resume needs --src and --out, and regular files: only work on these can be continued")
    shared.check_outputs({"--out": out}, (src, mt, force, search_file, gate))
    spec = chosen.editor_spec(
        models, dtype=dtype, gate=gate, min_confidence=min_confidence, protect=kinds, glossary=terms
    )
    if out:
        check_partial(out, resume=resume)
    from postedit.cli.tables import console
    from postedit.data.lines import check_aligned, read_lines

    total = input_lines.count_lines(src, mt) if src else None
    if src and force and total is not None:
        check_aligned(src, total, force, sum(1 for _ in read_lines(force)))
    worker_devices = job.worker_devices(workers, devices)

    job.silence_library()
    err = console(stderr=True)
    # With several processes, this one needs the editor for checks alone.
    editor = spec.load("cpu" if len(worker_devices) > 1 else worker_devices[0])
    if src and not mt and editor.abilities.needs_mt:
        raise DataError(f"{', '.join(models)} corrects translations and has no first stage to write them; give --mt")
    with_mt = bool(mt or not src)
    search = editor.search if force else options.search_config(editor, {"n_best": 1, **given}, with_mt=with_mt)
    inputs = {
        "source file": input_lines.input_fingerprint(src),
        "mt file": input_lines.input_fingerprint(mt),
        "file of outputs": None if force is None else file_fingerprint(force),
    }
    sink = open_sink(out, {**inputs, **spec.job(editor, search, form)}, resume=resume)
    shared.announce_shipped(named)
    pairs = islice(input_lines.file_pairs(src, mt) if src else input_lines.stdin_pairs(), sink.done, None)
    outputs = islice(read_lines(force), sink.done, None) if force else None
    size = chosen.chunk_lines or job.window_lines(search.batch_tokens)
    windows = job.windows_of(pairs, outputs, size, sink.done + 1, with_mt=with_mt)
    windows = job.check_sides(windows, editor, err)
    edited = job.edit_windows(spec, editor, windows, search, form, worker_devices, _show_compilation)
    del editor
    job.write_edited(edited, sink, total, err, resumable=bool(sink.kept) and total is not None)
    sink.finish()


def _show_compilation() -> None:
    from postedit.cli.main import show_log

    show_log("postedit.compiled")


def _check_options(
    src: Path | None,
    mt: Path | None,
    given: dict[str, Any],
    force: Path | None,
    form: job.OutputFormat,
    *,
    reverting: bool,
) -> None:
    input_lines.check_standard_input(src, mt)
    if mt and not src:
        raise DataError("give --src with --mt, or neither to read src<TAB>mt from stdin")
    if given.get("n_best", 1) != 1 and form == "text":
        raise DataError("n_best above 1 does not fit into one line of text a line of input; add --format jsonl")
    if reverting and src and not mt:
        raise DataError("--gate and --min-confidence take edits of mt back: give --mt, or leave them out")
    if reverting and force:
        raise DataError("--gate and --min-confidence decide on outputs of the model; leave out --force")
    if reverting and given.get("n_best", 1) != 1:
        raise DataError(
            f"--gate and --min-confidence decide on one correction per segment: n_best must be 1, not {given['n_best']}"
        )
    for name in ("banned", "required"):
        if reverting and given.get(name):
            raise DataError(
                f"--gate and --min-confidence may take back what search.{name} asks for; leave out one or the other"
            )
    if force and given:
        names = ", ".join(f"search.{name}" for name in given)
        raise DataError(f"--force scores outputs and searches for none: it does not go with {names}")
    if force and src is None:
        raise DataError("--force needs --src: outputs are scored for files of the same lines")
