"""`postedit edit` of lines, read from files or, as src<TAB>mt, from standard input."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from postedit.cli import input_lines, output_files
from postedit.cli import search_options as options
from postedit.cli.edit_command import EditCommand
from postedit.core.errors import DataError
from postedit.core.output_paths import is_stream
from postedit.data.line_sinks import open_sink
from postedit.data.resumable_file import check_partial, file_fingerprint
from postedit.jobs import editing as job
from postedit.llm.usage_report import report_beside


def edit_lines(
    command: EditCommand, src: Path | None, mt: Path | None, force: Path | None, announce: Callable[[], None]
) -> None:
    """Edit lines, or score the outputs in `force`; `announce` is called once everything is checked.

    Raises:
        DataError: if options cannot be combined, or files do not have the same number of lines.
    """
    _check_options(command, src, mt, force)
    if command.resume and (command.out is None or not input_lines.can_be_read_again(src, *([mt] if mt else []))):
        raise DataError("--resume works only with --src and --out, and only if all files are regular files")
    if command.out:
        check_partial(command.out, resume=command.resume)
        command = command.resumed(command.out)
    from postedit.cli.tables import console
    from postedit.data.lines import check_aligned, read_lines

    total = input_lines.count_lines(src, mt) if src else None
    if src and force and total is not None:
        check_aligned(src, total, force, sum(1 for _ in read_lines(force)))

    err = console(stderr=True)
    editor = command.load()
    if src and not mt and editor.abilities.needs_mt:
        names = " and ".join(command.spec.models)
        which = f"the combination of {names}" if len(command.spec.models) > 1 else names
        raise DataError(f"{which} corrects translations but cannot translate (it has no first stage); give --mt")
    with_mt = bool(mt or not src)
    given = {"n_best": 1, **command.options.search}
    search = editor.search if force else options.search_config(editor, given, with_mt=with_mt)
    inputs = {
        "source file": input_lines.input_fingerprint(src),
        "mt file": input_lines.input_fingerprint(mt),
        "file of outputs": None if force is None else file_fingerprint(force),
    }
    settings = {**inputs, **command.spec.job(editor, search, command.form)}
    report = None if command.out is None or is_stream(command.out) else report_beside(command.out)
    if command.only_estimate:
        if src is None or total is None:
            raise DataError("--estimate reads the lines before they are edited: give --src, a file, with --mt")
        command.announce_cost(editor, input_lines.file_pairs(src, mt), err)
    sink = open_sink(command.out, settings, resume=command.resume)
    announce()
    if src and total is not None and not force:
        command.announce_cost(editor, islice(input_lines.file_pairs(src, mt), sink.done, None), err)
    pairs = islice(input_lines.file_pairs(src, mt) if src else input_lines.stdin_pairs(), sink.done, None)
    outputs = islice(read_lines(force), sink.done, None) if force else None
    windows = job.windows_of(pairs, outputs, command.window_lines(search), sink.done + 1, with_mt=with_mt)
    edited = command.edited(editor, job.check_sides(windows, editor, err), search, command.form)
    with command.usage_reported(editor, report):
        del editor
        job.write_edited(edited, sink, total, err, resumable=bool(sink.kept) and total is not None)
        sink.finish()


def _check_options(command: EditCommand, src: Path | None, mt: Path | None, force: Path | None) -> None:
    given = command.options.search
    output_files.check_standard_input(src, mt)
    if mt and not src:
        raise DataError("give --src with --mt, or neither to read src<TAB>mt from stdin")
    if given.get("n_best", 1) != 1 and command.form == "text":
        raise DataError("n_best above 1 needs more than one line of output per line of input; add --format jsonl")
    if command.reverts_edits and src and not mt:
        raise DataError("--gate and --min-confidence revert edits of mt: give --mt, or leave them out")
    if command.reverts_edits and force:
        raise DataError("--gate and --min-confidence decide on outputs of the model; leave out --force")
    if command.spec.passes > 1 and force:
        raise DataError(
            "--force scores outputs as they are given, and --passes corrects corrections again: leave out one or the "
            "other"
        )
    command.check_options()
    if force and given:
        names = ", ".join(f"search.{name}" for name in given)
        raise DataError(f"--force only scores given outputs: it cannot be combined with {names}")
    if force and src is None:
        raise DataError("--force needs --src: outputs are scored for files of the same lines")
