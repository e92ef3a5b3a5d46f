"""Write copies of translation files with the corrections of an editor, and a record of each edited unit."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr
from rich.console import Console

from postedit.core.arguments import check_kind, path_of
from postedit.core.editor import Edit, Editor, EditorWrapper, PostEdit
from postedit.core.errors import DataError
from postedit.core.files import atomic_write, check_writable
from postedit.core.search_config import SearchConfig
from postedit.core.segment_events import EVENTS
from postedit.core.wording import counted
from postedit.editing.protection import Protected
from postedit.editing.results import keep_edits
from postedit.editing.span_rule import SpanRule
from postedit.files.corrections import Corrected, correct, note_of, translated
from postedit.files.length_limits import has_room
from postedit.files.options import NOT_EDITED, FilesConfig, UnitState, state_name
from postedit.files.output_codes import Fault
from postedit.files.units import NewTarget, Unit, copy_patched
from postedit.jobs.editing import edit_records, edit_window, kept_spans, window_lines, windows_of
from postedit.jobs.translation_files import FileTask, UnitReader, find_tasks, open_file, read_pairs
from postedit.text.edits import check_edits
from postedit.text.protected_spans import Value

BrokenSpans = Callable[[str, str, str], Sequence[Value]]
"""Returns the protected spans that a new target breaks, given the source, the former target and the new target."""

_TOO_LONG: Final = "the new target would be longer or shorter than the file allows (maxwidth, minbytes and the like)"
_NO_PLACE: Final = "a translation has no place for the inline codes of the source"
_NO_SOUND_PLACE: Final = "inline codes had no sound place"
_GIVEN_UP: Final[Mapping[Fault, str]] = {
    "character": "the file cannot hold their characters, because of its encoding or format",
    "markup": "they would have written markup",
    "no text": "nothing of the target would have been left",
}
"""Why edits were given up for other reasons than the places of inline codes."""


class _EditValues(BaseModel):
    op: Literal["insert", "delete", "replace"]
    mt_span: tuple[StrictInt, StrictInt]
    pe_span: tuple[StrictInt, StrictInt]
    confidence: StrictFloat | StrictInt | None


class _Fallback(BaseModel):
    kind: StrictStr
    by: StrictStr | None


class _Record(BaseModel):
    """What is read of a record; it may hold more."""

    text: StrictStr
    changed: StrictBool
    edits: list[_EditValues]
    reverted: StrictInt
    hit_limit: StrictBool
    skipped: StrictStr | None
    input_cut: StrictBool = False
    fallbacks: list[_Fallback] = []


def checked_record(value: Any) -> dict[str, Any]:
    """Return a record of `jobs.editing` that was read from unfinished work.

    Raises:
        ValueError: if it lacks an entry that copies are made from, or has one of another type.
    """
    _Record.model_validate(value)
    return dict(value)


@dataclass(slots=True)
class Summary:
    """What happened to the units of some files."""

    files: int = 0
    units: int = 0
    changed: int = 0
    unchanged: int = 0
    reverted: int = 0  # edits reverted, by a gate, or because they would damage text or a protected span
    rejected: int = 0  # units that a reviewer had rejected
    rejected_changed: int = 0
    cut_off: int = 0  # units with output of maximum length
    input_cut: int = 0  # units of which only the first tokens were read
    given_up: Counter[str] = field(default_factory=Counter)  # units with edits that were given up, by reason
    fallbacks: Counter[str] = field(default_factory=Counter)  # protected spans saved, by kind
    unsaved: int = 0  # protected spans lost, as there was no mt to fall back to
    not_edited: Counter[str] = field(default_factory=Counter)  # by the keys of `NOT_EDITED` and of `PostEdit.skipped`

    def lines(self) -> Iterator[str]:
        """Yield the summary in sentences."""
        read = f"{counted(self.files, 'file')}, {counted(self.units, 'unit')}"
        reverted = f", {counted(self.reverted, 'edit')} reverted" if self.reverted else ""
        yield f"{read}: {self.changed:,} changed, {self.unchanged:,} left as they are{reverted}"
        if self.rejected:
            yield (
                f"{counted(self.rejected, 'unit')} rejected by a reviewer: {self.rejected_changed:,} changed; all stay "
                "rejected until a person confirms them"
            )
        for reason, count in sorted(self.given_up.items()):
            yield f"{counted(count, 'unit')} with edits that were given up: {reason}"
        if self.fallbacks:
            yield kept_spans(self.fallbacks)
        if self.unsaved:
            yield f"{self.unsaved:,} protected spans differ from the source in translations without mt to keep"
        if self.cut_off:
            yield f"{counted(self.cut_off, 'unit')}: {EVENTS['cut off']}"
        if self.input_cut:
            yield f"{counted(self.input_cut, 'unit')}: {EVENTS['cut input']}"
        for reason, meaning in NOT_EDITED.items():
            if count := self.not_edited[reason]:
                yield f"{counted(count, 'unit')} not edited: {meaning}"
        for reason in sorted(set(self.not_edited) - set(NOT_EDITED)):
            yield f"{counted(self.not_edited[reason], 'unit')} {EVENTS.get(reason, f'not edited: {reason}')}"

    def add(self, record: Mapping[str, Any]) -> None:
        """Count what the record of an edited unit says, apart from its inline codes."""
        listed = record.get("fallbacks", ())
        self.reverted += record["reverted"]
        self.fallbacks.update(one["kind"] for one in listed if one["by"] is not None)
        self.unsaved += sum(one["by"] is None for one in listed)
        self.cut_off += bool(record["hit_limit"] and not record["skipped"])
        self.input_cut += bool(record.get("input_cut") and not record["skipped"])


@dataclass(frozen=True, slots=True)
class CopyWriter:
    """Writes the copies of files.

    Args:
        config: the options `[files]`: which units are edited, and what is kept of their former targets.
        broken_spans: see `BrokenSpans`.
        records: the records of `jobs.editing` for all edited units, in the order of the files.
        report: where a record of each edited unit is written; None: nowhere.
        summary: filled while files are written.
    """

    config: FilesConfig
    broken_spans: BrokenSpans
    records: Iterator[dict[str, Any]]
    report: IO[str] | None
    summary: Summary

    def write(self, task: FileTask, reader: UnitReader) -> None:
        """Write the copy of a file.

        Raises:
            DataError: if the file changed since its units were read.
            OutputError: if the copy cannot be written.
        """
        task.out.parent.mkdir(parents=True, exist_ok=True)
        with open_file(task.path) as source, atomic_write(task.out, "wb") as file:
            copy_patched(source, task.format.patches(self._new_targets(task, reader)), file)
        self.summary.files += 1

    def _new_targets(self, task: FileTask, reader: UnitReader) -> Iterator[tuple[Unit, NewTarget]]:
        for unit in reader.units(task.path, task.format):
            self.summary.units += 1
            is_rejected = unit.state is UnitState.REJECTED
            self.summary.rejected += is_rejected
            reason = self.config.reason_not_to_edit(unit)
            if reason is not None:
                self.summary.not_edited[reason] += 1
                continue
            record = next(self.records, None)
            if record is None:
                raise DataError(f"{task.path}: has changed during the work; repeat it")
            new = self._new_target(task, unit, record)
            if new is not None:
                self.summary.rejected_changed += is_rejected
                yield unit, new

    def _new_target(self, task: FileTask, unit: Unit, record: dict[str, Any]) -> NewTarget | None:
        content, result, given_up = Corrected(None, _result(record))
        reason: str | None = record["skipped"]
        mt = unit.mt
        if reason is None and mt:
            content, result, given_up = self._corrected(task, unit, record, result, mt)
        elif reason is None:
            content = translated(unit, result.text, task.format.escape(unit)) if result.text.strip() else None
            reason = _NO_PLACE if content is None else None
        if content is not None and not has_room(unit, content):
            content, reason = None, _TOO_LONG
            result = _unedited(mt, result) if mt else result
        if reason is not None:
            self.summary.not_edited[reason] += 1
        self.summary.unchanged += content is None and reason is None
        self.summary.given_up.update({_GIVEN_UP.get(fault, _NO_SOUND_PLACE) for fault in given_up})
        self.summary.add(record)
        if self.report is not None:
            record = {**record, "skipped": reason}
            _write_record(self.report, task.path, unit, record, result, len(given_up), written=content is not None)
        if content is None:
            return None
        self.summary.changed += 1
        return NewTarget(content, self.config.keep_former, note_of(mt, result) if mt and self.config.notes else "")

    def _corrected(self, task: FileTask, unit: Unit, record: dict[str, Any], result: PostEdit, mt: str) -> Corrected:
        """Return the new target of a unit with a target; add protected spans that it would have lost to the record."""
        check_edits(mt, result.text, result.edits)
        corrected = correct(unit, result, task.format.escape(unit))
        # An edit that was given up may have been one half of moving a protected span.
        broken = self.broken_spans(unit.source.text.strip(), mt, corrected.result.text) if corrected.given_up else ()
        if not broken:
            return corrected
        lost = [{"kind": one.kind, "value": one.value, "by": "mt"} for one in broken]
        record["fallbacks"] = [*record.get("fallbacks", ()), *lost]
        return Corrected(None, _unedited(mt, corrected.result), corrected.given_up)


def _unedited(mt: str, result: PostEdit) -> PostEdit:
    return keep_edits(mt, result, [False] * len(result.edits))


def edit_file(
    editor: Editor,
    path: str | Path,
    out: str | Path,
    *,
    search: SearchConfig | None = None,
    config: FilesConfig | None = None,
) -> Summary:
    """Write a copy of an XLIFF, TMX or PO file with targets corrected by an editor, as `postedit edit` does.

    Wrap the editor in `Protected`, so that numbers, placeholders and terms are preserved.

    Args:
        editor: corrects the targets.
        path: the path of the file.
        out: the path of the copy, or a folder for it.
        search: the search options; those of the editor if None.
        config: the options `[files]`: which units are edited, and what is kept of former targets; defaults if None.

    Returns:
        What happened to the units.

    Raises:
        DataError: if the file is broken, has no known format or other languages than the editor, the editor returns a
            correction without its edits, or an argument has a wrong type.
        OutputError: if the copy cannot be written.
    """
    check_kind("editor", editor, Editor, "an Editor, such as PostEditor.load(folder)")
    check_kind("search", search, SearchConfig | None, "a SearchConfig, such as SearchConfig(beam=4)")
    check_kind("config", config, FilesConfig | None, "a FilesConfig, such as FilesConfig(translate=True)")
    path, out, quiet = path_of("path", path), path_of("out", out), Console(quiet=True)
    config = config or FilesConfig()
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give a file of it")
    if config.translate and editor.abilities.needs_mt:
        raise DataError("files.translate: this editor cannot translate what has no target; leave it out")
    check_writable(out / path.name if out.is_dir() else out)
    pairs = read_pairs(find_tasks([path], out), config, editor.abilities.languages, quiet)
    chosen = SearchConfig() if search is None else search
    windows = windows_of(iter(pairs), None, window_lines(chosen.batch_tokens), 1, with_mt=True)
    lines = (line for window in windows for line in edit_window(editor, search, "jsonl", window).lines)
    return write_files(pairs.tasks, config, map(json.loads, lines), partial(_broken_spans, editor), None, quiet)


def _broken_spans(editor: Editor, src: str, mt: str, text: str) -> Sequence[Value]:
    """Return the spans that a text breaks, if the editor, or one that it wraps, protects spans."""
    while isinstance(editor, EditorWrapper) and not isinstance(editor, Protected):
        editor = editor.inner
    return SpanRule(src, mt, editor.kinds, editor.glossary).broken(text) if isinstance(editor, Protected) else ()


def write_files(
    tasks: Sequence[FileTask],
    config: FilesConfig,
    records: Iterator[dict[str, Any]],
    broken_spans: BrokenSpans,
    report: Path | None,
    console: Console,
) -> Summary:
    """Write the copies of files with the corrections of their edited units, and return what happened to the units.

    Args:
        tasks: the files.
        config: see `CopyWriter`.
        records: see `CopyWriter`.
        broken_spans: see `BrokenSpans`.
        report: the path of the file with a record of each edited unit; None: none is written.
        console: where progress is shown.

    Raises:
        DataError: if a file changed during the work.
        OutputError: if a copy or the report cannot be written.
    """
    summary = Summary()
    opened = nullcontext(None) if report is None else atomic_write(report)
    with opened as file, UnitReader([task.path for task in tasks], console) as reader:
        writer = CopyWriter(config, broken_spans, records, file, summary)
        for task in tasks:
            writer.write(task, reader)
    return summary


def _write_record(
    report: IO[str], path: Path, unit: Unit, record: dict[str, Any], result: PostEdit, given_up: int, *, written: bool
) -> None:
    """Write the record of an edited unit: its place and texts, and what was kept of its correction."""
    where = {"file": str(path), "id": unit.id, "state": state_name(unit.state), "src": unit.source.text.strip()}
    mt = None if unit.target is None else unit.mt
    left = {"text": result.text, "changed": result.changed, "edits": edit_records(result)}
    whole = {**where, "mt": mt, **record, **left, "given_up": given_up, "written": written}
    report.write(json.dumps(whole, ensure_ascii=False) + "\n")


def _result(record: Mapping[str, Any]) -> PostEdit:
    edits = record["edits"]
    return PostEdit(
        record["text"],
        record["changed"],
        edits=tuple(Edit(edit["op"], tuple(edit["mt_span"]), tuple(edit["pe_span"])) for edit in edits),
        skipped=record["skipped"],
        token_spans=tuple((0, 0) for _ in edits),
        confidences=tuple(edit["confidence"] for edit in edits if edit["confidence"] is not None),
    )
