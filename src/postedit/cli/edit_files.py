"""`postedit edit` of translation files: find them among the arguments, edit their units and write the copies."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zipfile import BadZipFile, ZipFile, is_zipfile

from postedit.cli import search_options as options
from postedit.cli.edit_command import EditCommand
from postedit.core.errors import DataError, OutputError
from postedit.core.files import check_writable
from postedit.core.output_paths import is_stream
from postedit.core.wording import counted
from postedit.data.compression import plain_name
from postedit.data.resumable_file import PartialFile, check_partial, file_fingerprint, read_records
from postedit.data.text_paths import is_far
from postedit.files.options import SUFFIXES
from postedit.jobs import editing as job
from postedit.llm.usage_report import ENDING

_OF_MODELS: Final = frozenset([".toml", ".safetensors"])  # combinations, whose prompts may quote any text, and weights


def split_inputs(named: Sequence[str] | None, *, folders: bool) -> tuple[list[str] | None, list[Path]]:
    """Split the arguments into models (None if there are none) and translation files or folders of them.

    An argument is a translation file if its name ends like one or its content shows it. If `folders`, so is a folder
    that is not a model. Every other argument names a model.

    Raises:
        DataError: if a translation file is missing, compressed, in a package, a stream or at a URL, or `--out` is
            needed for the copies of a folder.
    """
    models: list[str] = []
    files: list[Path] = []
    for name in named or ():
        name = name.removeprefix("file://")
        path = Path(name)
        if is_far(name) and path.suffix.lower() in SUFFIXES:
            raise DataError(f"{name}: translation files are read from this machine only; copy it here first")
        if plain_name(name) != name and Path(plain_name(name)).suffix.lower() in SUFFIXES:
            raise DataError(f"{name}: compressed translation files are not read; unpack it, and give the file in it")
        if name == "-" or (path.exists() and not path.is_dir() and not path.is_file()):
            raise DataError(
                f"{name}: is a stream, and a translation file is read more than once; save it to a file, and name that"
            )
        is_folder = path.is_dir() and not _is_model(path)
        if is_folder and not folders and any(file.suffix.lower() in SUFFIXES for file in path.rglob("*")):
            raise DataError(f"give --out: a folder for the copies of the files in {path}")
        if path.suffix.lower() in SUFFIXES or _shows_translations(path) or (folders and is_folder):
            if not path.exists():
                raise DataError(f"{path}: there is no such file")
            files.append(path)
        else:
            models.append(name)
    return models or None, files


def _shows_translations(path: Path) -> bool:
    """Return whether `path` is a file with the content of a translation file, and not with the suffix of a model."""
    if path.suffix.lower() in _OF_MODELS or not path.is_file():
        return False
    from postedit.files.formats import is_translation_file

    if is_zipfile(path):
        raise DataError(f"{path}: is a package {_advice_on(path)}")
    return is_translation_file(path)


def _advice_on(package: Path) -> str:
    """Return the end of an error message: what a package contains, and what to do with it."""
    try:
        with ZipFile(package) as opened:
            suffixes = {Path(name).suffix.lower() for name in opened.namelist()}
    except (BadZipFile, NotImplementedError, ValueError):
        return "that cannot be read; save it again"
    if found := sorted(suffixes & SUFFIXES):
        return f"with {' and '.join(found)} files; unpack it, and give those files"
    return "without translation files, and not a model; export its text as XLIFF, TMX or PO"


def _is_model(folder: Path) -> bool:
    """Return whether a folder belongs to a model, even a damaged one, or to a run."""
    config = folder / "config.json"
    return any((folder / name).exists() for name in ("model", "model.safetensors", "provenance.json")) or (
        config.is_file() and b'"architecture"' in config.read_bytes()
    )


def edit_files(command: EditCommand, inputs: Sequence[Path], announce: Callable[[], None]) -> None:
    """Write copies of translation files with corrected targets, and print what happened to their units.

    The corrections are kept in `OUT.partial` until all copies are written, so that an interrupted run can be continued.

    Args:
        command: run to carry out; its output is the copy, or the folder of the copies.
        inputs: translation files, and folders of them.
        announce: called without arguments once everything is checked.

    Raises:
        DataError: if options cannot be combined, or if files cannot be edited, after all others have been written.
    """
    out = command.out
    if out is None:
        raise DataError(f"give --out: a file for the corrected copy of {inputs[0]}, or a folder for several copies")
    if is_stream(out) and (command.resume or command.form == "jsonl"):
        option = "--resume" if command.resume else "--format jsonl"
        raise DataError(f"--out {out} is a stream, and no other file can be kept beside it; leave out {option}")
    command.check_options()
    from postedit.cli.tables import console
    from postedit.jobs import corrected_files, translation_files

    config, err = command.options.files, console(stderr=True)
    tasks = translation_files.find_tasks(inputs, out)
    report = translation_files.beside_copies(tasks, out, ".jsonl") if command.form == "jsonl" else None
    if report is not None:
        check_writable(report)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary) / "records" if is_stream(out) else translation_files.beside_copies(tasks, out, "")
        check_partial(kept, resume=command.resume)
        command = command.resumed(kept)
        editor = command.load()
        if config.translate and editor.abilities.needs_mt:
            names = ", ".join(command.spec.models)
            raise DataError(f"files.translate: {names} cannot translate what has no target; leave it out")
        pairs = translation_files.read_pairs(tasks, config, command.languages_of(editor), err)
        given = {"n_best": 1, **command.options.search}
        search = options.search_config(editor, given, with_mt=not config.translate)
        settings = {
            **{str(task.path): file_fingerprint(task.path) for task in pairs.tasks},
            **{f"files.{name}": repr(value) for name, value in config},
            **command.spec.job(editor, search, "jsonl"),
        }
        if command.only_estimate:
            command.announce_cost(editor, pairs, err)
        sink = PartialFile(kept, settings, resume=command.resume)
        announce()
        command.announce_cost(editor, islice(pairs, sink.done, None), err)
        rest = islice(pairs, sink.done, None)
        windows = job.windows_of(rest, None, command.window_lines(search), sink.done + 1, with_mt=True)
        edited = command.edited(editor, windows, search, "jsonl")
        usage = None if is_stream(out) else translation_files.beside_copies(tasks, out, ENDING)
        with command.usage_reported(editor, usage):
            del editor
            job.write_edited(edited, sink, pairs.total, err, resumable=not is_stream(out), what="units")
        records, broken_spans = read_records(sink.path, corrected_files.checked_record), command.spec.broken_spans
        try:
            summary = corrected_files.write_files(pairs.tasks, config, records, broken_spans, report, err)
        except (KeyboardInterrupt, OutputError) as error:
            hint = (
                "" if is_stream(out) else f"; the corrections are kept in {sink.path}, and --resume writes the copies"
            )
            raise type(error)(f"{str(error) or 'stopped before all copies were written'}{hint}") from None
        sink.discard()
    for line in summary.lines():
        err.print(line, soft_wrap=True, highlight=False, markup=False)
    unrecognised = translation_files.unrecognised(inputs)
    if others := translation_files.count_others(inputs, tasks) - len(unrecognised):
        err.print(f"not copied, because they are not translation files: {counted(others, 'file')} in the folders")
    if report is not None:
        err.print(f"Records of the edited units: {report}", soft_wrap=True, highlight=False, markup=False)
    if refused := [*pairs.refused, *unrecognised]:
        faults = "\n".join(f"  - {error}" for error in refused)
        raise DataError(f"{len(refused)} of {len(refused) + len(pairs.tasks)} files were not edited:\n{faults}")
