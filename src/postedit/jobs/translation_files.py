"""Edit translation files: their units pass through an editor like lines, and their targets into copies of the files."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from postedit.core.editor import EVENTS, Edit, PostEdit
from postedit.core.errors import DataError
from postedit.core.files import atomic_write, explain_os_errors, reason_of
from postedit.core.output_paths import is_stream, open_stream
from postedit.files.corrections import correct, note_of, translated
from postedit.files.formats import format_of, translation_files
from postedit.files.options import NOT_EDITED, FilesConfig
from postedit.files.tmx import Tmx
from postedit.files.units import Format, NewTarget, Unit, copy_patched
from postedit.jobs.editing import Pair

BreaksSpans = Callable[[str, str, str], bool]
"""Returns whether a target breaks protected spans, given source, former target and target."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """A translation file, its format, and where its copy with other targets goes."""

    path: Path
    format: Format
    out: Path

    def units(self) -> Iterator[Unit]:
        """Yield the units of the file.

        Raises:
            DataError: if the file cannot be read, or is broken.
        """
        with self.open() as stream:
            yield from self.format.units(stream, self.path)

    def open(self) -> BinaryIO:
        """Open the file."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {reason_of(error)}") from error


@dataclass(slots=True)
class Summary:
    """What happened to the units of some files."""

    files: int = 0
    units: int = 0
    changed: int = 0
    unchanged: int = 0
    codes: int = 0  # units with edits that were given up because their codes had no sound place
    not_edited: Counter[str] = field(default_factory=Counter)  # by the keys of `NOT_EDITED` and of `PostEdit.skipped`

    def lines(self) -> Iterator[str]:
        """Yield the summary in sentences."""
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        yield f"{files}, {self.units:,} units: {self.changed:,} changed, {self.unchanged:,} left as they are"
        if self.codes:
            yield f"{self.codes:,} units with edits that were given up, as their inline codes had no sound place"
        for reason, meaning in NOT_EDITED.items():
            if count := self.not_edited[reason]:
                yield f"{count:,} units not edited: {meaning}"
        for reason in sorted(set(self.not_edited) - set(NOT_EDITED)):
            yield f"{self.not_edited[reason]:,} units {EVENTS.get(reason, f'not edited: {reason}')}"


def find_tasks(inputs: Sequence[Path], out: Path) -> list[FileTask]:
    """Return the translation files of some files and folders, each with the path of its copy.

    The copy of a single file is `out`, or in `out` if that is a folder; copies of several files and of folders are in
    `out`, in the structure of the folders.

    Raises:
        DataError: if a file is of no known format, a folder has no translation file, two copies would have the same
            name, or a copy would replace an input.
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
        if copies[task.out] > 1:
            raise DataError(f"{task.out}: would be the copy of several files; edit folders with equal names one by one")
        if task.out.exists() and not is_stream(task.out) and task.out.samefile(task.path):
            raise DataError(f"{task.out}: is an input; give another --out")
    return tasks


def records_path(tasks: Sequence[FileTask], out: Path) -> Path:
    """Return the path beside which the corrections of an unfinished run are kept; a folder of copies is made.

    Raises:
        OutputError: if the folder cannot be made.
    """
    if tasks[0].out == out:
        return out
    with explain_os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    return out / "corrections"


def pairs_of(tasks: Iterable[FileTask], config: FilesConfig) -> Iterator[Pair]:
    """Yield source and target of the units that are edited, without codes; the target is None if there is none."""
    for task in tasks:
        for unit in task.units():
            if config.reason_not_to_edit(unit) is None:
                mt = "" if unit.target is None else unit.target.text.strip()
                yield Pair(unit.source.text.strip(), mt or None)


def check_files(
    tasks: Sequence[FileTask], config: FilesConfig, languages: tuple[str, str]
) -> tuple[list[FileTask], int, list[DataError]]:
    """Read files, and return those that can be edited, the number of their units that are, and why others cannot.

    Raises:
        DataError: if no file can be edited.
    """
    readable: list[FileTask] = []
    refused: list[DataError] = []
    total = 0
    wanted = tuple(config.languages.split(":")) if config.languages else languages
    for task in tasks:
        if task.format.name == Tmx.name:
            task = replace(task, format=Tmx((wanted[0], wanted[1])))
        try:
            total += _count(task, config, languages)
            readable.append(task)
        except DataError as error:
            refused.append(error)
    if not readable:
        raise refused[0]
    return readable, total, refused


def _count(task: FileTask, config: FilesConfig, languages: tuple[str, str]) -> int:
    """Return the number of units that are edited, after a check that they have the languages of the editor."""
    count = 0
    for unit in task.units():
        if config.reason_not_to_edit(unit) is not None:
            continue
        count += 1
        pairs = zip(unit.languages, languages, strict=True)
        if config.check_languages and any(one and other and _main(one) != _main(other) for one, other in pairs):
            raise DataError(
                f"{task.path}: is from {unit.languages[0]} to {unit.languages[1]}, and the model from "
                f"{languages[0]} to {languages[1]}; name another model (or --set files.check_languages=false)"
            )
    return count


def _main(language: str) -> str:
    """Return the language of a code, without script and region."""
    return re.split("[-_]", language.lower())[0]


def write_files(
    tasks: Sequence[FileTask], config: FilesConfig, records: Iterator[str], breaks_spans: BreaksSpans
) -> Summary:
    """Write the copies of files, with the corrections of the units that are edited, in the order of `pairs_of`.

    Raises:
        DataError: if a file changed during the work.
        OutputError: if a copy cannot be written.
    """
    summary = Summary(files=len(tasks))
    for task in tasks:
        task.out.parent.mkdir(parents=True, exist_ok=True)
        with task.open() as source:
            changed = _new_targets(task, config, records, breaks_spans, summary)
            if is_stream(task.out):
                _write_stream(task, changed, source)
            else:
                with atomic_write(task.out, "wb") as file:
                    copy_patched(source, task.format.patches(changed), file)
    return summary


def _new_targets(
    task: FileTask, config: FilesConfig, records: Iterator[str], breaks_spans: BreaksSpans, summary: Summary
) -> Iterator[tuple[Unit, NewTarget]]:
    for unit in task.units():
        summary.units += 1
        reason = config.reason_not_to_edit(unit)
        if reason is not None:
            summary.not_edited[reason] += 1
            continue
        record = next(records, None)
        if record is None:
            raise DataError(f"{task.path}: has changed during the work; repeat it")
        new = _new_target(task, unit, _result(json.loads(record)), config, breaks_spans, summary)
        if new is not None:
            yield unit, new


def _new_target(
    task: FileTask,
    unit: Unit,
    result: PostEdit,
    config: FilesConfig,
    breaks_spans: BreaksSpans,
    summary: Summary,
) -> NewTarget | None:
    escape = task.format.escape(unit)
    if result.skipped:
        summary.not_edited[result.skipped] += 1
        return None
    if unit.target is None or not unit.target.text.strip():
        if not result.text.strip() or unit.source.codes or (unit.target is not None and unit.target.codes):
            summary.not_edited["a translation has no place for the inline codes of the source"] += 1
            return None
        content, note = translated(result.text, escape), ""
    else:
        found = correct(unit, result, escape)
        summary.codes += found.given_up > 0
        # Edits that are given up may be one half of a protected span that moved.
        mt = unit.target.text.strip()
        broken = found.given_up and breaks_spans(unit.source.text.strip(), mt, found.result.text)
        if found.content is None or broken:
            summary.unchanged += 1
            return None
        content, note = found.content, note_of(mt, found.result) if config.notes else ""
    summary.changed += 1
    return NewTarget(content, config.keep_former, note)


def _write_stream(task: FileTask, changed: Iterator[tuple[Unit, NewTarget]], source: BinaryIO) -> None:
    with explain_os_errors(task.out), open_stream(task.out) as file:
        copy_patched(source, task.format.patches(changed), file)


def _result(record: Mapping[str, Any]) -> PostEdit:
    edits = record["edits"]
    return PostEdit(
        record["text"],
        record["changed"],
        edits=tuple(Edit(edit["op"], tuple(edit["mt_span"]), tuple(edit["pe_span"])) for edit in edits),
        skipped=record["skipped"],
        token_spans=tuple((0, 0) for _ in edits),
        confidences=tuple(edit["confidence"] for edit in edits),
    )
