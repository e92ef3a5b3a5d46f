"""Proposals in the database: segments as an import adds them, and the proposals of the model for them."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sql

from postedit.core.editor import PostEdit
from postedit.core.errors import DataError
from postedit.files.corrections import margins, place_correction, place_translation
from postedit.files.length_limits import longest_text
from postedit.files.marked_text import MarkedText
from postedit.files.options import FilesConfig, UnitState
from postedit.files.units import Unit
from postedit.serve.api_models import edited_json
from postedit.serve.schema import OPEN_STATES, segments
from postedit.serve.segment_codes import api_codes, marked_text_of, marks_of, placed_codes, without_places
from postedit.serve.segment_figures import edit_counts
from postedit.serve.store_base import Database, ProjectChange, Row, as_json, rows_of
from postedit.serve.store_files import Files

T = TypeVar("T")

EDITED: Final = FilesConfig(translate=True)  # decides which units are open to people

STALE: Final = -2
"""Value of `proposed_at` for a proposal that must be renewed, as project settings changed; -1 means no proposal yet."""

_BESIDE: Final = 100_000
"""Characters of the notes of a segment, and of its matches, that are kept."""

_NOTHING: Final = MarkedText("")

NO_PROPOSAL: Final[dict[str, Any]] = {
    "proposal": "",
    "proposal_codes": "",
    "proposal_content": "",
    "changed": False,
    "confidence": None,
    "text": "",
}
"""Values for a segment without mt that the model cannot translate, or in whose translation codes have no place."""


_OF_BEFORE: Final = ("proposal", "first_proposal", "proposed_at", "explained")
"""Columns of a segment with which a new proposal is compared."""


class Proposal(NamedTuple):
    """A proposal: the number of its segment, and the values of the columns."""

    number: int
    values: dict[str, Any]


class Proposals:
    """The proposals in a database."""

    def __init__(self, database: Database, files: Files) -> None:
        self._db, self._files = database, files

    def last_number(self, file: str) -> int:
        """Return the number of the last segment of a file imported so far; 0 if there is none."""
        query = sql.select(sql.func.max(segments.c.number)).where(segments.c.file == file)
        with self._db.read() as connection:
            return connection.execute(query).scalar_one() or 0

    def add(self, change: ProjectChange, file: str, units: Iterable[tuple[int, Unit]]) -> None:
        """Add numbered units to a file as segments; units with blank sources are left out."""
        rows = [_segment(file, number, unit) for number, unit in units if unit.source.text.strip()]
        if rows:
            change.execute(sql.insert(segments), rows)

    def count_repetitions(self, change: ProjectChange, file: str) -> None:
        """Record how many segments of a file have the same texts as each, once all are imported.

        Each segment is updated by its key, not by a join with the counts: PostgreSQL, which has no statistics about a
        new file, expects few segments in it, and would count them again for each one.
        """
        count = sql.func.count().over(partition_by=segments.c.same).label("alike")
        counted = sql.select(segments.c.number.label("at"), count).where(segments.c.file == file).subquery()
        several = rows_of(change.connection, sql.select(counted).where(counted.c.alike > 1))
        if several:
            this = (segments.c.file == file) & (segments.c.number == sql.bindparam("at"))
            change.execute(sql.update(segments).where(this).values(repeats=sql.bindparam("alike")), several)

    def waiting(self, file: str, position: int, count: int, after: int = 0) -> list[Row]:
        """Return the rows of open segments whose proposals are older than a position of the memory.

        Args:
            file: id of the file.
            position: number of a memory entry; proposals made before it are outdated.
            count: maximum number of segments to return.
            after: return only segments with higher numbers.
        """
        numbers = sql.select(segments.c.number).where(_is_waiting(file, position), segments.c.number > after)
        return self._selected(file, numbers.order_by(segments.c.number).limit(count))

    def oldest(self, file: str, position: int, count: int, after: int) -> list[Row]:
        """Return those of `waiting` with the oldest proposals; of equally old ones, those after a number come first."""
        numbers = sql.select(segments.c.number).where(_is_waiting(file, position))
        order = (segments.c.proposed_at, segments.c.number <= after, segments.c.number)
        return self._selected(file, numbers.order_by(*order).limit(count))

    def _selected(self, file: str, numbers: sql.Select[Any]) -> list[Row]:
        with self._db.read() as connection:
            found = connection.execute(numbers).scalars().all()  # not joined, for the reason in `count_repetitions`
            query = sql.select(segments).where(segments.c.file == file, segments.c.number.in_(found))
            return rows_of(connection, query.order_by(segments.c.number))

    def count_waiting(self, file: str, position: int) -> int:
        """Return how many segments `waiting` would return without a limit."""
        query = sql.select(sql.func.count()).select_from(segments).where(_is_waiting(file, position))
        with self._db.read() as connection:
            return connection.execute(query).scalar_one()

    def made_of(
        self,
        file: str,
        rows: Sequence[Row],
        results: Sequence[PostEdit | None],
        position: int,
        *,
        explained: bool = False,
    ) -> list[Proposal]:
        """Return proposals for segments from the corrections of the model, with inline codes as in the file.

        Args:
            file: id of the file.
            rows: the rows of the segments.
            results: one correction per segment; None: the model has none for it.
            position: number of the last memory entry that the model had learnt.
            explained: whether the corrections have reasons.
        """
        escape = self._files.escape(file)
        found = []
        for row, result in zip(rows, results, strict=True):
            source, target = (marked_text_of(row[side], row[f"{side}_marks"]) for side in ("src", "mt"))
            if result is None:
                values = NO_PROPOSAL
            elif target.text.strip():
                values = _with_mt(source, target, result, escape)
            else:
                values = _without(source, result, escape)
            found.append(Proposal(row["number"], {**values, "proposed_at": position, "explained": explained}))
        return _with_figures(rows, found)

    def save(self, change: ProjectChange, file: str, proposals: Iterable[Proposal]) -> list[int]:
        """Save proposals unless newer ones are there; return the numbers of the segments whose proposals changed."""
        changed = []
        for number, values in proposals:
            this = (segments.c.file == file) & (segments.c.number == number)
            before = change.execute(sql.select(*(segments.c[name] for name in _OF_BEFORE)).where(this)).one_or_none()
            knows = (values["proposed_at"], values.get("explained", False))
            if before is None or (before.proposed_at, before.explained) > knows:
                continue  # there is a newer one, or one as new with reasons
            first = values["text"] if before.proposed_at < 0 else before.first_proposal
            kept = {name: value for name, value in values.items() if name != "text"}
            learnt = before.proposed_at >= 0 and values["text"] != first
            change.execute(sql.update(segments).where(this).values(**kept, first_proposal=first, learnt=learnt))
            if before.proposal != values["proposal"]:
                changed.append(number)
        return changed


def _is_waiting(file: str, position: int) -> sql.ColumnElement[bool]:
    return (segments.c.file == file) & segments.c.state.in_(OPEN_STATES) & (segments.c.proposed_at < position)


def _segment(file: str, number: int, unit: Unit) -> Row:
    source, target = unit.source, unit.target or _NOTHING
    reason = EDITED.reason_not_to_edit(unit)
    if reason is None and target.text.strip() and not unit.mt:
        target = _NOTHING  # a copy of the source, to be translated
    locked = reason in ("locked", "no language")
    state = "locked" if locked else "new" if reason is None else "confirmed"
    texts = {"src": source.text, "src_marks": marks_of(source), "mt": target.text, "mt_marks": marks_of(target)}
    done = state != "new"
    most = longest_text(unit)
    matches = [
        {"src": source.text, "target": one.target.text, "score": one.score, "origin": one.origin}
        for one in unit.candidates
        if one.same_source
    ]
    is_rejected = unit.state is UnitState.REJECTED
    same: list[Any] = [without_places(text) if name.endswith("_marks") else text for name, text in texts.items()]
    kind = ["rejected"] if is_rejected else []  # not filled in with a target that was accepted elsewhere
    if any("\0" in text for text in (unit.id, *texts.values())):
        raise DataError(f"segment {number} has a NUL character, which no database holds; remove it from the file")
    return {
        "file": file,
        "number": number,
        "unit": unit.id,
        **texts,
        "same": hashlib.sha256(as_json([*same, most, *kind]).encode()).hexdigest()[:32],
        "max_length": most,
        "notes": as_json(_first_of(unit.notes, len)),
        "matches": as_json(_first_of(matches, lambda one: len(one["src"]) + len(one["target"]))),
        "too_long": most is not None and len(target.text) > most,
        "tagged": bool(source.codes or target.codes),
        "rejected": is_rejected,
        "state": state,
        "target": target.text if done else "",
        "target_codes": as_json(api_codes(target, source)) if done else "",
    }


def _first_of(items: Sequence[T], length: Callable[[T], int]) -> list[T]:
    """Return the first of some notes or matches that fit; all segments of a unit may have the same, however long."""
    totals = accumulate(map(length, items))
    return [one for one, total in zip(items, totals, strict=True) if total <= _BESIDE]


def _with_mt(source: MarkedText, target: MarkedText, result: PostEdit, escape: Any) -> dict[str, Any]:
    placed = place_correction(target, result, escape, source)
    edited = edited_json(target.text.strip(), placed.result)
    lead, tail = margins(target.text)
    edited = _moved(edited, len(margins(source.text)[0]), lead, tail)
    if placed.codes is None:
        return _values(edited, api_codes(target, source), target.written())
    return _values(edited, placed_codes(placed.codes, source), placed.codes.written(escape))


def _without(source: MarkedText, result: PostEdit, escape: Any) -> dict[str, Any]:
    """Return the proposal for a segment without mt: a translation; `NO_PROPOSAL` if codes have no place in it."""
    placed = place_translation(source, result, escape) if result.text.strip() else None
    if placed is None or placed.codes is None:
        return NO_PROPOSAL
    edited = edited_json(result.draft or "", placed.result)
    lead, tail = margins(source.text)
    codes, content = placed_codes(placed.codes, source), placed.codes.written(escape)
    return _values(_moved(edited, len(lead), lead, tail), codes, content)


def _values(edited: dict[str, Any], codes: list[dict[str, Any]], content: str) -> dict[str, Any]:
    values = {"proposal": as_json(edited), "proposal_codes": as_json(codes), "proposal_content": content}
    return {**values, "changed": edited["changed"], "confidence": edited["confidence"], "text": edited["text"]}


def _moved(edited: dict[str, Any], src_lead: int, lead: str, tail: str) -> dict[str, Any]:
    """Return the correction of a stripped text with the white space restored, and all spans shifted to match."""
    if not lead and not tail and not src_lead:
        return edited
    by = len(lead)
    edits = [
        {
            **edit,
            "mt_span": [at + by for at in edit["mt_span"]],
            "pe_span": [at + by for at in edit["pe_span"]],
            "reasons": [_moved_reason(reason, src_lead) for reason in edit["reasons"]],
        }
        for edit in edited["edits"]
    ]
    others = [_moved(one, src_lead, lead, tail) for one in edited["alternatives"]]
    return {**edited, "text": lead + edited["text"] + tail, "edits": edits, "alternatives": others}


def _moved_reason(reason: dict[str, Any], by: int) -> dict[str, Any]:
    if "words" not in reason:
        return reason
    return {**reason, "words": [{**word, "span": [at + by for at in word["span"]]} for word in reason["words"]]}


def _with_figures(rows: Sequence[Row], proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return proposals with figures by TER: their words, and their edits of mt."""
    counts = edit_counts([row["mt"] for row in rows], [one.values["text"] for one in proposals])
    return [
        Proposal(number, {**values, "proposal_edits": count.edits, "proposal_words": count.length})
        for (number, values), count in zip(proposals, counts, strict=True)
    ]
