"""`postedit edit` of translation files: which arguments are files, and their way through an editor and back."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from postedit.cli import search_options as options
from postedit.core.errors import DataError
from postedit.core.output_paths import is_stream
from postedit.data.lines import read_lines
from postedit.data.resumable_file import PartialFile, check_partial, file_fingerprint
from postedit.jobs import editing as job

_SUFFIXES: Final = frozenset([".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff", ".tmx", ".po", ".pot"])


def split_inputs(named: Sequence[str] | None, *, folders: bool) -> tuple[list[str] | None, list[Path]]:
    """Return the models (None if there are none) and the translation files and folders among the arguments.

    Names that end like translation files are files; so, if `folders`, are folders that are no models. All else names
    models.
    """
    models: list[str] = []
    files: list[Path] = []
    for name in named or ():
        path = Path(name)
        is_folder = folders and path.is_dir() and not any((path / one).exists() for one in ("config.json", "model"))
        if path.suffix.lower() in _SUFFIXES or is_folder:
            if not path.exists():
                raise DataError(f"{path}: there is no such file")
            files.append(path)
        else:
            models.append(name)
    return models or None, files


def edit_files(
    inputs: Sequence[Path],
    out: Path | None,
    models: Sequence[str],
    chosen: options.CommandOptions,
    *,
    worker_devices: Sequence[str | None],
    resume: bool,
    announce: Callable[[], None],
    on_start: Callable[[], None],
    **spec_options: Any,
) -> None:
    """Write copies of translation files with corrected targets, and print what happened to their units.

    The corrections are kept in `OUT.partial` until all copies are written, so that an interrupted run can be continued.

    Args:
        inputs: files and folders.
        out: the copy, or the folder of the copies.
        models: named by the user.
        chosen: options of `--set` and `--search`.
        worker_devices: one process each; see `jobs.editing.worker_devices`.
        resume: continue an interrupted run.
        announce: called when all is checked.
        on_start: see `jobs.editing.edit_windows`.
        spec_options: further fields of `EditorSpec`.
    """
    from postedit.cli.tables import console
    from postedit.jobs import translation_files as work

    if out is None:
        raise DataError(f"give --out: the copy of {inputs[0]} with other targets, or the folder of several copies")
    if resume and is_stream(out):
        raise DataError(f"--out {out} is a stream, which keeps nothing of an unfinished run; leave out --resume")
    config, err = chosen.files, console(stderr=True)
    tasks = work.find_tasks(inputs, out)
    with TemporaryDirectory() as temporary:
        records = Path(temporary) / "records" if is_stream(out) else work.records_path(tasks, out)
        check_partial(records, resume=resume)
        spec = chosen.editor_spec(models, **spec_options)
        job.silence_library()
        editor = spec.load("cpu" if len(worker_devices) > 1 else worker_devices[0])
        if config.translate and editor.abilities.needs_mt:
            raise DataError(f"files.translate: {', '.join(models)} cannot translate what has no target; leave it out")
        tasks, total, refused = work.check_files(tasks, config, editor.abilities.languages)
        search = options.search_config(editor, {"n_best": 1, **chosen.search}, with_mt=not config.translate)
        settings = {
            **{str(task.path): file_fingerprint(task.path) for task in tasks},
            **{f"files.{name}": repr(value) for name, value in config},
            **spec.job(editor, search, "jsonl"),
        }
        sink = PartialFile(records, settings, resume=resume)
        announce()
        pairs = islice(work.pairs_of(tasks, config), sink.done, None)
        size = chosen.chunk_lines or job.window_lines(search.batch_tokens)
        windows = job.windows_of(pairs, None, size, sink.done + 1, with_mt=True)
        edited = job.edit_windows(spec, editor, windows, search, "jsonl", worker_devices, on_start)
        del editor
        job.write_edited(edited, sink, total, err, resumable=not is_stream(out))
        summary = work.write_files(tasks, config, read_lines(sink.path), spec.breaks_spans)
        sink.discard()
    for line in summary.lines():
        err.print(line, soft_wrap=True, highlight=False, markup=False)
    if refused:
        faults = "\n".join(f"  - {error}" for error in refused)
        raise DataError(f"{len(refused)} of {len(refused) + len(tasks)} files were not edited:\n{faults}")
