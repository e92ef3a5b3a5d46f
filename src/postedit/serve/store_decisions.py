"""Decisions on segments; a decision and its correction in the memory are written in one transaction."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import sqlalchemy as sql

from postedit.adapt.correction import Correction
from postedit.core.errors import DataError
from postedit.files.corrections import margins
from postedit.serve.schema import OPEN_STATES, decisions, events, segments
from postedit.serve.segment_codes import ApiCode, marked_text_of, place_target, placed_codes
from postedit.serve.segment_figures import SegmentFigures, figures_of, learnt_decisions
from postedit.serve.store_base import Database, ProjectChange, Row, as_json, now, one_row
from postedit.serve.store_files import Files
from postedit.serve.store_jobs import ClaimedJob, Jobs
from postedit.serve.store_segments import segment_json

DecidedState = Literal["seen", "open", "draft", "confirmed"]
"""`seen`: a person has looked at a new segment; `open`: the target is discarded, so that the proposal stands again."""

_TOGETHER: Final = timedelta(seconds=2)
"""Maximum time between successive drafts of one person of which only the last is kept: typing saves many."""


_AT_ONCE: Final = 1000  # repetitions filled in per transaction, during which others cannot write


class StaleVersionError(DataError):
    """A decision was made on an old version of a segment; `segment` is its present state."""

    def __init__(self, segment: dict[str, Any]) -> None:
        super().__init__(f"segment {segment['number']} has been changed by {segment['updated_by'] or 'another'}")
        self.segment = segment


@dataclass(frozen=True, slots=True)
class DecisionIn:
    """What a person decided on a segment.

    Args:
        target: text of the target; not blank if `state` is `confirmed`; ignored for `seen` and `open`.
        codes: inline codes of the target, in order.
        state: the new state.
        version: version of the segment that the decision was made on.
        edit_id: id chosen by the client, by which a decision that is sent twice is saved once.
        decisions: decisions on the edits of the proposal: `{"edit": number, "accepted": ...}`.
        proposal: text of the proposal that was decided on; None: that in the database.
        seconds: time of work; None: not measured.
    """

    target: str
    codes: Sequence[ApiCode]
    state: DecidedState
    version: int
    edit_id: str
    decisions: Sequence[dict[str, Any]] = ()
    proposal: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """The outcome of a decision: the segment, the repetitions filled in, and the number of the correction learnt."""

    segment: dict[str, Any]
    filled: list[int]
    correction: int | None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What follows from a decision and the texts of the segment; computed before the project is locked."""

    values: dict[str, Any]  # columns of the segment and of the decision
    content: str
    too_long: bool
    correction: Correction | None
    figures: SegmentFigures = field(default_factory=SegmentFigures)


class Decisions:
    """The decisions in a database."""

    def __init__(self, database: Database, files: Files, jobs: Jobs) -> None:
        self._db, self._files, self._jobs = database, files, jobs

    def save(self, file: str, number: int, given: DecisionIn, who: str) -> Decided:
        """Save a decision; when this returns, the decision is safe on disk.

        Raises:
            NotFoundError: if there is no such segment.
            DataError: if the segment is locked, or the target cannot be written into the file.
            StaleVersionError: if the segment has been changed since `given.version`.
            OutputError: if the database cannot be written.
        """
        place = self._files.row(file)
        with self._db.read() as connection:
            row = _row(connection, file, number)
        prepared = self._prepared(place, row, given, who)
        with self._db.change(place["project"], who) as change:
            row = _row(change.connection, file, number)
            before = _saved(change, file, number, given.edit_id)
            if before is not None:
                filled = _filled_by(change, file, number, before) if before["state"] == "confirmed" else []
                return Decided(segment_json(row), filled, before["correction"])
            if given.state == "seen":
                return Decided(_see(change, row), [], row["correction"])
            if row["version"] != given.version:
                raise StaleVersionError(segment_json(row))
            correction = self._learn(change, row, prepared)
            values = {**prepared.values, "content": prepared.content, "too_long": prepared.too_long}
            filled = _repetitions(change, row, 0) if given.state == "confirmed" else []
            _record(change, row, given, prepared, correction)
            _update(change, file, [number], {**values, "filled_from": None, "correction": correction})
            if correction != row["correction"] or given.state == "open":  # its proposal may be out of date
                self._jobs.add_once(change, "propose", file)
            if correction != row["correction"] is not None:  # proposals of other files may come from what is undone
                self._jobs.renew(change)
            if filled:
                _fill(change, file, filled, values, number, given.edit_id)
            opened = _filled_in(change, row) if given.state != "confirmed" else []
            if opened:  # repetitions that nobody has decided on since become undecided again
                too_long = _is_too_long(row, row["mt"])
                empty = {"state": "seen", "target": "", "target_codes": "", "content": "", "too_long": too_long}
                _fill(change, file, opened, empty, number, given.edit_id)
            if len(filled) == _AT_ONCE:  # a job fills in the others, so that nobody waits for them
                options = {"number": number, "version": row["version"] + 1, "edit_id": given.edit_id}
                self._jobs.add(change, "fill", file, **options, after=filled[-1])
            others = filled or opened
            change.event(
                "segment",
                **{"file": file, "numbers": [number, *others], "version": row["version"] + 1, "state": values["state"]},
                correction=correction,
            )
            segment = segment_json(_row(change.connection, file, number))
        return Decided(segment, filled, correction)

    def fill_on(self, job: ClaimedJob) -> None:
        """Continue to fill in repetitions, some at a time, until another decision is made on the segment.

        Raises:
            LostJobError: if the job is over, or another process has it.
        """
        after = job.options["after"]
        while after is not None:
            with self._db.change(job.project, job.who) as change:
                after = self._fill_some(change, job, after)
                self._jobs.advance(change, job, options=as_json({**job.options, "after": after}))

    def _fill_some(self, change: ProjectChange, job: ClaimedJob, after: int) -> int | None:
        """Fill in repetitions after a segment number; return the number of the last one, or None if none is left."""
        number, version = job.options["number"], job.options["version"]
        row = _row(change.connection, job.file, number)
        filled = _repetitions(change, row, after) if row["version"] == version else []
        if not filled:
            return None
        values = {name: row[name] for name in ("state", "target", "target_codes", "content", "too_long")}
        _fill(change, job.file, filled, values, number, job.options["edit_id"])
        change.event(
            "segment", file=job.file, numbers=[number, *filled], version=version, state="confirmed", correction=None
        )
        return filled[-1]

    def last_decided(self, file: str) -> int:
        """Return the number of the segment with the latest decision by a person; 0 if there is none."""
        last = sql.select(decisions.c.segment).where(decisions.c.file == file, decisions.c.filled_from.is_(None))
        with self._db.read() as connection:
            return connection.execute(last.order_by(decisions.c.number.desc()).limit(1)).scalar_one_or_none() or 0

    def _prepared(self, place: Row, row: Row, given: DecisionIn, who: str) -> _Prepared:
        """Check a decision, and return what follows from it; errors are those of `save`."""
        if row["state"] == "locked":
            raise DataError(f"segment {row['number']} is locked in the file, so that its target stays as it is")
        proposal = json.loads(row["proposal"] or "null")
        if given.proposal is not None and (proposal is None or proposal["text"] != given.proposal):
            proposal, on_edits = None, []  # renewed since: the decisions are not on its edits
        else:
            on_edits = list(given.decisions)
            _check_numbers(on_edits, 0 if proposal is None else len(proposal["edits"]))
        if given.state in ("seen", "open"):
            too_long = _is_too_long(row, row["mt"])
            return _Prepared({"state": "seen", "target": "", "decisions": "", "target_codes": ""}, "", too_long, None)
        values = {"state": given.state, "target": given.target, "decisions": as_json(on_edits)}
        source, target = (marked_text_of(row[side], row[f"{side}_marks"]) for side in ("src", "mt"))
        has_mt = bool(row["mt"].strip())
        base = target if has_mt else source
        if given.state == "confirmed" and not given.target.strip():
            raise DataError("a confirmed target needs text; save it as a draft, or write something")
        placed = place_target(base, given.target, given.codes, self._files.escape(place["id"]), source)
        values["target_codes"] = as_json(placed_codes(placed, source))
        content = placed.written(self._files.escape(place["id"]))
        too_long = _is_too_long(row, given.target)
        if given.state != "confirmed":
            return _Prepared(values, content, too_long, None)
        figures = figures_of(row["mt"].strip(), given.target.strip(), _stripped(proposal), on_edits)
        correction = _correction(place, row, given, proposal, who) if has_mt else None
        return _Prepared(values, content, too_long, correction, figures)

    def _learn(self, change: ProjectChange, row: Row, prepared: _Prepared) -> int | None:
        """Replace the correction of a segment by the new one if they differ; return its number; None: there is none."""
        memory = self._db.memory.of(change.project)
        # It may have been undone by another program, such as `postedit memory undo`.
        if row["correction"] is not None and memory.holds(row["correction"], connection=change.connection):
            if prepared.correction is not None and _same_decision(row, prepared):
                return int(row["correction"])
            memory.undo(row["correction"], change.who, connection=change.connection)
        if prepared.correction is None:
            return None
        return memory.add([prepared.correction], connection=change.connection)[0]


def _check_numbers(on_edits: Sequence[dict[str, Any]], count: int) -> None:
    """Check that decisions are on existing edits of a proposal, at most one on each.

    Raises:
        DataError: if an edit does not exist, or is decided on twice.
    """
    numbers = [one["edit"] for one in on_edits]
    wrong = next((one for one in numbers if one >= count), None)
    if wrong is not None:
        raise DataError(f"decisions: there is no edit {wrong}, as the proposal has {count} (they count from 0)")
    if len({*numbers}) < len(numbers):
        raise DataError("decisions: an edit is decided on twice; give one decision for each")


def _row(connection: sql.Connection, file: str, number: int) -> Row:
    """Return the row of a segment; raise a NotFoundError if there is none."""
    query = sql.select(segments).where(segments.c.file == file, segments.c.number == number)
    return one_row(connection, query, f"segment {number}")


def _is_too_long(row: Row, target: str) -> bool:
    """Return whether a target is longer than the file allows for its segment."""
    return row["max_length"] is not None and len(target) > row["max_length"]


def _same_decision(row: Row, prepared: _Prepared) -> bool:
    return all(row[name] == prepared.values[name] for name in ("state", "target", "decisions"))


def _stripped(proposal: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a proposal with its text stripped of white space, and the spans in it shifted to match."""
    if proposal is None:
        return None
    lead = len(margins(proposal["text"])[0]) if proposal["text"].strip() else 0
    edits = [{**edit, "pe_span": [at - lead for at in edit["pe_span"]]} for edit in proposal["edits"]]
    return {"text": proposal["text"].strip(), "edits": edits}


def _correction(place: Row, row: Row, given: DecisionIn, proposal: dict[str, Any] | None, who: str) -> Correction:
    return Correction(
        row["src"].strip(),
        row["mt"].strip(),
        given.target.strip(),
        decisions=learnt_decisions(given.target, proposal, given.decisions, len(margins(row["mt"])[0])),
        author=who,
        project=place["project"],
        file=place["name"],
        unit=row["unit"],
        made=datetime.now(UTC),
    )


def _saved(change: ProjectChange, file: str, number: int, edit_id: str) -> Row | None:
    """Return the decision that was saved before under an edit id, or None."""
    query = sql.select(decisions).where(
        decisions.c.file == file, decisions.c.segment == number, decisions.c.edit_id == edit_id
    )
    found = change.execute(query).mappings().first()
    return None if found is None else dict(found)


def _filled_by(change: ProjectChange, file: str, number: int, decision: Row) -> list[int]:
    """Return the numbers of the repetitions that a decision filled in."""
    query = sql.select(decisions.c.segment).where(
        decisions.c.file == file, decisions.c.filled_from == number, decisions.c.edit_id == decision["edit_id"]
    )
    return sorted(change.execute(query).scalars())


def _repetitions(change: ProjectChange, row: Row, after: int) -> list[int]:
    """Return numbers of repetitions of a segment, after a number, that are undecided or were filled in from it."""
    open_ones = segments.c.state.in_(OPEN_STATES) | (segments.c.filled_from == row["number"])
    query = sql.select(segments.c.number).where(
        segments.c.file == row["file"],
        segments.c.same == row["same"],
        segments.c.number != row["number"],
        segments.c.number > after,
        open_ones,
    )
    return list(change.execute(query.order_by(segments.c.number).limit(_AT_ONCE)).scalars())


def _filled_in(change: ProjectChange, row: Row) -> list[int]:
    """Return the numbers of the segments that were filled in from a segment."""
    filled = (segments.c.file == row["file"]) & (segments.c.filled_from == row["number"])
    return list(change.execute(sql.select(segments.c.number).where(filled).order_by(segments.c.number)).scalars())


def _see(change: ProjectChange, row: Row) -> dict[str, Any]:
    """Record that a new segment was looked at, which makes no new version; return the segment."""
    if row["state"] != "new":
        return segment_json(row)
    this = (segments.c.file == row["file"]) & (segments.c.number == row["number"])
    change.execute(sql.update(segments).where(this).values(state="seen"))
    change.event("segment", file=row["file"], numbers=[row["number"]], version=row["version"], state="seen")
    return segment_json({**row, "state": "seen"})


def _update(change: ProjectChange, file: str, numbers: Sequence[int], values: dict[str, Any]) -> None:
    made = {"version": segments.c.version + 1, "updated_by": change.who, "updated": now()}
    some = (segments.c.file == file) & segments.c.number.in_(numbers)
    change.execute(sql.update(segments).where(some).values(**values, **made))


def _record(change: ProjectChange, row: Row, given: DecisionIn, prepared: _Prepared, correction: int | None) -> None:
    """Record a decision; it replaces a draft that the same person saved a moment ago, and adds up their times.

    The event of that draft is deleted, too, as the next one names the same segment: while people type, it would leave
    an event every half a second for ever.
    """
    figures = asdict(prepared.figures)
    seconds = given.seconds
    former = _draft_of_now(change, row) if given.state in ("open", "draft") else None
    if former is not None:
        change.execute(sql.delete(decisions).where(_is_decision(row), decisions.c.number == former["number"]))
        of_former = (events.c.project == change.project) & (events.c.number == former["number"] + 1)
        change.execute(sql.delete(events).where(of_former, events.c.kind == "segment"))
        times = [one for one in (former["seconds"], seconds) if one is not None]
        seconds = sum(times) if times else None
    change.execute(
        sql.insert(decisions).values(
            **prepared.values,
            **{**figures, "kinds": as_json(figures["kinds"])},
            **_place(change, row["file"], row["number"], row["version"] + 1),
            edit_id=given.edit_id,
            correction=correction,
            seconds=seconds,
        )
    )


def _draft_of_now(change: ProjectChange, row: Row) -> Row | None:
    """Return the last decision on a segment if it is a draft that the same person saved within `_TOGETHER`."""
    is_last = _is_decision(row) & (decisions.c.version == row["version"])
    is_own = (decisions.c.state == "draft") & (decisions.c.who == change.who)
    found = change.execute(sql.select(decisions).where(is_last, is_own)).mappings().one_or_none()
    if found is None or abs(datetime.now(UTC) - datetime.fromisoformat(found["made"])) > _TOGETHER:
        return None
    return dict(found)


def _is_decision(row: Row) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a decision is on a segment."""
    return sql.and_(decisions.c.file == row["file"], decisions.c.segment == row["number"])


def _fill(change: ProjectChange, file: str, numbers: Sequence[int], values: Row, origin: int, edit_id: str) -> None:
    """Apply the decision on a segment to its repetitions, and record that; nothing is learnt from them."""
    values = {**values, "decisions": "", "filled_from": origin, "correction": None}
    is_one = (segments.c.file == file) & segments.c.number.in_(numbers)
    versions = change.execute(sql.select(segments.c.number, segments.c.version).where(is_one)).mappings()
    recorded = {name: value for name, value in values.items() if name in decisions.c}
    places = [_place(change, file, one["number"], one["version"] + 1) for one in versions]
    change.execute(sql.insert(decisions), [{**recorded, **place, "edit_id": edit_id} for place in places])
    if values["state"] != "confirmed":
        values["filled_from"] = None  # no longer confirmed, so no longer filled in
    _update(change, file, numbers, values)


def _place(change: ProjectChange, file: str, number: int, version: int) -> dict[str, Any]:
    place = {"project": change.project, "number": change.next_number(), "file": file}
    return {**place, "segment": number, "version": version, "who": change.who, "made": now()}
