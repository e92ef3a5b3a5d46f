"""Translation files to edit: which files and units are edited, and where the copies of the files go."""

import json
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO, Final

from rich.console import Console

from postedit.core.errors import DataError
from postedit.core.files import explain_os_errors, reason_of
from postedit.core.output_paths import is_stream
from postedit.files.formats import format_of, translation_files, unrecognised_files
from postedit.files.options import FilesConfig
from postedit.files.tmx import Tmx
from postedit.files.units import Format, Unit
from postedit.jobs.editing import Pair
from postedit.progress import LineProgress
from postedit.text.language_tags import base_language, language_pair, same_pair

_UNITS_PER_UPDATE: Final = 500  # of progress
_FIRST_UNITS: Final = 1_000  # of a TMX file, in which its languages are sought


@dataclass(frozen=True, slots=True)
class FileTask:
    """A translation file, its format, and the path of its copy with corrected targets."""

    path: Path
    format: Format
    out: Path


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises:
        DataError: if it cannot be read.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}") from error


def units_of(path: Path, form: Format) -> Iterator[Unit]:
    """Yield the units of a file in order.

    Raises:
        DataError: if the file cannot be read, or is broken.
    """
    with open_file(path) as stream:
        yield from form.units(stream, path)


class UnitReader:
    """Reads the units of files, and shows on `console` how much of all files has been read."""

    def __init__(self, files: Iterable[Path], console: Console) -> None:
        total = sum(path.stat().st_size for path in files if path.exists())
        self._progress = LineProgress(console, total // 1000, "KB")
        self._done = 0  # bytes of the files before

    def __enter__(self) -> "UnitReader":
        self._progress.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.__exit__()

    def units(self, path: Path, form: Format) -> Iterator[Unit]:
        """Yield the units of a file; see `units_of`."""
        self._progress.update(self._done // 1000)
        with open_file(path) as stream:
            for number, unit in enumerate(form.units(stream, path), start=1):
                if number % _UNITS_PER_UPDATE == 0:
                    self._progress.update((self._done + stream.tell()) // 1000)
                yield unit
            self._done += stream.tell()

    def skip(self, *paths: Path) -> None:
        """Count files as read that were read by a worker or, if this is the first call, by an earlier run."""
        self._done += sum(path.stat().st_size for path in paths)
        self._progress.update(self._done // 1000)


def find_tasks(inputs: Sequence[Path], out: Path) -> list[FileTask]:
    """Return the translation files of some files and folders, each with the path of its copy.

    The copy of a single file is `out`, or goes into `out` if that is a folder; copies of several files and of folders
    go into `out`, which then has the structure of the folders.

    Raises:
        DataError: if a file has no known format or a name that is not UTF-8, a folder has no translation file, two
            copies would have the same path, a copy would replace an input, or `out` is in an input folder.
    """
    single = len(inputs) == 1 and inputs[0].is_file() and not out.is_dir()
    tasks = []
    for given in inputs:
        if given.is_dir():
            if out.resolve().is_relative_to(given.resolve()):
                raise DataError(f"{out}: is in the folder of the inputs; write the copies to another one")
            found = translation_files(given)
            tasks += [FileTask(path, format_of(path), out / path.relative_to(given)) for path in found]
        else:
            tasks.append(FileTask(given, format_of(given), out if single else out / given.name))
    copies = Counter(task.out for task in tasks)
    for task in tasks:
        try:
            str(task.path).encode()
        except UnicodeEncodeError:
            raise DataError(f"{str(task.path)!a}: has a name that is not UTF-8; rename it") from None
        if copies[task.out] > 1:
            raise DataError(f"{task.out}: would be the copy of several files; edit folders with equal names one by one")
        if task.out.exists() and not is_stream(task.out) and task.out.samefile(task.path):
            raise DataError(f"{task.out}: is an input; give another --out")
    return tasks


def common_languages(inputs: Iterable[Path], config: FilesConfig) -> tuple[str, str]:
    """Return the source and target language of files, and of files in folders, as stated in the first units of each.

    The source is empty if no file states it, as in PO files; both are empty if no file has a unit. Regions are ignored,
    as are files that cannot be read. `files.languages` takes precedence if it is set.

    Raises:
        DataError: if no file states its target language, or there are several pairs, which a single model cannot edit.
    """
    if config.languages:
        return language_pair(config.languages)
    found: dict[tuple[str, str], Path] = {}
    for path in (path for given in inputs for path in (translation_files(given) if given.is_dir() else [given])):
        with suppress(DataError):
            for pair in _first_pairs(path, format_of(path)):
                found.setdefault(pair, path)
    stated = {pair: path for pair, path in found.items() if pair[1]}
    if found and not stated:
        raise DataError(
            f"{next(iter(found.values()))}: does not say its target language; name a model, such as en-de "
            "(`postedit models list`)"
        )
    found, known = stated, {target for source, target in stated if source}
    found = {(source, target): path for (source, target), path in found.items() if source or target not in known}
    if len(found) > 1:
        pairs = ", ".join(f"{'-'.join(filter(None, pair))} ({path})" for pair, path in found.items())
        example = ":".join(next(pair for pair in found if all(pair))) if known else "en:de"
        raise DataError(
            f"the files have several language pairs: {pairs}; name a model, or edit each pair by itself (of TMX: --set "
            f"files.languages={example})"
        )
    return next(iter(found), ("", ""))


def _first_pairs(path: Path, form: Format) -> list[tuple[str, str]]:
    """Return the language pair of the first unit of a file; for TMX, also those with other targets."""
    unit = next(units_of(path, form), None)
    if unit is None:
        return []
    source, target = map(base_language, unit.languages)
    if not isinstance(form, Tmx):
        return [(source, target)]
    with open_file(path) as stream:
        targets = [target, *map(base_language, form.languages(stream, path, _FIRST_UNITS))]
    return [(source, one) for one in dict.fromkeys(targets) if one and one != source]


def unrecognised(inputs: Iterable[Path]) -> list[DataError]:
    """Return what is wrong with files in folders that are named like translation files but are not."""
    faults = []
    for path in (path for given in inputs if given.is_dir() for path in unrecognised_files(given)):
        try:
            format_of(path)
        except DataError as error:
            faults.append(error)
    return faults


def count_others(inputs: Sequence[Path], tasks: Sequence[FileTask]) -> int:
    """Return the number of files in folders that are not edited and so get no copy."""
    files = sum(not path.is_dir() for folder in inputs if folder.is_dir() for path in folder.rglob("*"))
    return files - len(tasks) + sum(not path.is_dir() for path in inputs)


def beside_copies(tasks: Sequence[FileTask], out: Path, ending: str) -> Path:
    """Return the path of a file beside the copies: OUT plus `ending`, or `corrections` plus `ending` in their folder.

    The folder of copies is made if it does not exist.

    Raises:
        OutputError: if the folder cannot be made.
    """
    if tasks[0].out == out:
        return out.with_name(out.name + ending)
    with explain_os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    return out / f"corrections{ending}"


class Pairs:
    """Source and target of the units to edit, without codes, kept on disk; the target is None if there is none.

    Args:
        tasks: the files that can be edited.
        total: the number of pairs.
        refused: why the other files cannot be edited.
        lines: the pairs as JSON lines, in a file that is closed together with this object.
    """

    def __init__(self, tasks: Sequence[FileTask], total: int, refused: Sequence[DataError], lines: IO[str]) -> None:
        self.tasks, self.total, self.refused = tasks, total, refused
        self._lines = lines
        weakref.finalize(self, lines.close)

    def __iter__(self) -> Iterator[Pair]:
        self._lines.seek(0)
        for line in self._lines:
            yield Pair(*json.loads(line))


def read_pairs(tasks: Sequence[FileTask], config: FilesConfig, languages: tuple[str, str], console: Console) -> Pairs:
    """Read all files, before any is edited, and return the pairs to edit.

    Args:
        tasks: the files.
        config: the options that say which units are edited.
        languages: source and target language of the editor, empty if not known.
        console: where progress is shown.

    Raises:
        DataError: if no file can be edited.
    """
    lines = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 (`Pairs` keeps it)
    readable: list[FileTask] = []
    refused: list[DataError] = []
    total = 0
    wanted = language_pair(config.languages) if config.languages else languages
    with UnitReader([task.path for task in tasks], console) as reader, explain_os_errors(Path(tempfile.gettempdir())):
        for task in tasks:
            if task.format.name == Tmx.name:
                task = replace(task, format=Tmx(wanted))
            start = lines.tell()
            count = 0
            try:
                for pair in _pairs(task, reader, config, languages):
                    lines.write(json.dumps(pair) + "\n")
                    count += 1
            except DataError as error:
                lines.seek(start)
                lines.truncate()
                refused.append(error)
            else:
                total += count
                readable.append(task)
        lines.flush()  # so that a full disk is explained here
    if not readable:
        lines.close()
        raise refused[0]
    return Pairs(readable, total, refused, lines)


def _pairs(
    task: FileTask, reader: UnitReader, config: FilesConfig, languages: tuple[str, str]
) -> Iterator[tuple[str, str | None]]:
    """Yield source and target of the units to edit; raise a DataError if they are not in the editor's languages."""
    for unit in reader.units(task.path, task.format):
        if config.reason_not_to_edit(unit) is not None:
            continue
        if config.check_languages and not same_pair(unit.languages, languages):
            raise DataError(
                f"{task.path}: is {_direction(unit.languages)}, and the model {_direction(languages)}; name another "
                "model (or --set files.check_languages=false)"
            )
        yield unit.source.text.strip(), unit.mt or None


def _direction(languages: tuple[str, str]) -> str:
    """Return the known languages in the form "from en to de"."""
    return " ".join(f"{word} {one}" for word, one in zip(("from", "to"), languages, strict=True) if one)
