"""Projects in the database: settings, glossaries, corrections, events, audit log, and deletion."""

import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.core.errors import DataError
from postedit.serve.model_work import ProjectSettings
from postedit.serve.schema import decisions, events, files, members, projects, segments
from postedit.serve.settings import DEFAULT_PROJECT
from postedit.serve.store_base import (
    Database,
    NotFoundError,
    ProjectChange,
    Row,
    as_json,
    insert_new,
    new_id,
    no_project,
    now,
    one_row,
    rows_of,
)
from postedit.serve.store_jobs import Jobs
from postedit.serve.store_segments import decision_json, glossary_of
from postedit.text.glossary import Glossary
from postedit.text.glossary_files import table_entries
from postedit.text.span_patterns import KINDS

_log = logging.getLogger(__name__)

OF_PROPOSALS: Final = ("model", "protect", "min_confidence", "glossary", "source_language", "target_language")
"""Columns of a project on which proposals depend."""

_SETTINGS: Final = ("name", "source_language", "target_language", "model", "protect", "min_confidence")

_PER_PAGE: Final = 1000  # entries of the audit log, or proposals, read at a time


class StaleGlossaryError(DataError):
    """The glossary has been saved by somebody else since it was read."""

    def __init__(self) -> None:
        super().__init__("the glossary has been saved by somebody else since it was read; read it again")


class Projects:
    """The projects of a database."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._db, self._jobs = database, jobs
        with database.write() as connection:
            default = {"id": DEFAULT_PROJECT, "name": DEFAULT_PROJECT, "protect": as_json(KINDS), "created": now()}
            insert_new(connection, projects, default)

    def create(self, settings: Mapping[str, Any], who: str, owner: str | None = None) -> str:
        """Create a project, of which `owner` (a user id; None: nobody) becomes the manager, and return its id."""
        project = new_id()
        with self._db.write() as connection:
            connection.execute(sql.insert(projects).values(id=project, created=now(), **_columns(settings)))
            if owner is not None:
                connection.execute(sql.insert(members).values(project=project, user=owner, role="manager"))
        with self._db.change(project, who) as change:
            change.event("project", action="created", name=settings["name"])
        return project

    def change(self, project: str, settings: Mapping[str, Any], who: str) -> None:
        """Change the given settings of a project; proposals are renewed if they depend on them."""
        with self._db.change(project, who) as change:
            if settings:
                self._set(change, **_columns(settings))
            change.event("project", action="changed", settings=dict(settings))

    def _set(self, change: ProjectChange, **values: Any) -> None:
        """Set columns of a project; if this changes any on which proposals depend, all proposals are renewed."""
        this = projects.c.id == change.project
        before = change.settings()
        change.execute(sql.update(projects).where(this).values(**values))
        if any(before[name] != values.get(name, before[name]) for name in OF_PROPOSALS):
            self._jobs.renew(change, all_of_them=True)

    def all(self, limit_to: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return projects, oldest first, with counts of files and segments; all, or only those with given ids."""
        query = sql.select(projects).order_by(projects.c.created, projects.c.id)
        counts = (
            sql.select(
                files.c.project,
                sql.func.count(sql.distinct(files.c.id)).label("files"),
                sql.func.count(segments.c.number).label("segments"),
                *(
                    sql.func.coalesce(sql.func.sum(sql.case((segments.c.state == state, 1), else_=0)), 0).label(state)
                    for state in ("confirmed", "locked")
                ),
            )
            .select_from(files.outerjoin(segments, segments.c.file == files.c.id))
            .group_by(files.c.project)
        )
        if limit_to is not None:
            query = query.where(projects.c.id.in_(limit_to))
            counts = counts.where(files.c.project.in_(limit_to))
        with self._db.read() as connection:
            found = rows_of(connection, query)
            figures = {row["project"]: row for row in rows_of(connection, counts)}
        return [_project_json(row, figures.get(row["id"], {})) for row in found]

    def get(self, project: str) -> dict[str, Any]:
        """Return a project as the API gives it.

        Raises:
            NotFoundError: if there is no such project.
        """
        found = self.all([project])
        if not found:
            raise NotFoundError(no_project(project))
        return found[0]

    def row(self, project: str) -> Row:
        """Return the row of a project, with its settings but no counts."""
        with self._db.read() as connection:
            return one_row(connection, sql.select(projects).where(projects.c.id == project), f"project {project!r}")

    def delete(self, project: str, who: str) -> None:
        """Delete a project permanently, with all its data; only the log of the service then says who did it.

        Raises:
            DataError: if it is the default project.
            NotFoundError: if there is no such project.
        """
        if project == DEFAULT_PROJECT:
            raise DataError(
                "the project 'default' always exists; delete its files one by one, and its corrections by "
                "DELETE /v1/projects/default/corrections"
            )
        with self._db.change(project, who) as change:
            self._db.memory.delete(project, connection=change.connection)
            change.execute(sql.delete(projects).where(projects.c.id == project))
        _log.info("project %s deleted by %s", project, who)
        self._db.clean()

    def model(self, project: str) -> str:
        """Return the name of the model of a project; empty: the default one.

        Raises:
            NotFoundError: if there is no such project.
        """
        return str(self.row(project)["model"])

    def edit_settings(self, project: str) -> ProjectSettings | None:
        """Return the settings for editing segments of a project; None if there is no such project."""
        try:
            row = self.row(project)
        except NotFoundError:
            return None
        languages = row["source_language"], row["target_language"]
        protect, glossary = tuple(json.loads(row["protect"])), glossary_of(row["glossary"])
        return ProjectSettings(protect, row["min_confidence"], glossary, languages)

    def set_glossary(self, project: str, text: str, who: str, known: Collection[str] | None = None) -> int:
        """Replace the glossary of a project, and return the number of its entries.

        Args:
            project: id of the project.
            text: the new glossary, as a tab-separated table.
            who: name of the user who replaces it.
            known: tags of the glossaries that may be replaced (see `glossary_tag`); None: any.

        Raises:
            DataError: if a line is not valid in a glossary (the message names it), too many terms are alike, or one has
                too many forms.
            StaleGlossaryError: if the tag of the present glossary is not in `known`.
        """
        entries = list(table_entries(Path("glossary.tsv"), text.encode()))
        glossary = Glossary(entries)
        glossary.check_alike()
        glossary.check_forms()
        with self._db.change(project, who) as change:
            if known is not None and glossary_tag(change.settings()["glossary"]) not in known:
                raise StaleGlossaryError
            self._set(change, glossary=text)
            change.event("project", action="glossary", entries=len(entries))
        return len(entries)

    def corrections(self, project: str, count: int, before: int | None, containing: str) -> list[tuple[Entry, bool]]:
        """Return a page of corrections of a project, each with whether it was undone; see `CorrectionMemory.page`."""
        return self._db.memory.of(project).page(count, before, containing)

    def undo_correction(self, project: str, number: int, who: str) -> int:
        """Undo a correction, and return the number of the memory entry that records this.

        Raises:
            DataError: if there is no such correction, or it was undone before.
        """
        memory = self._db.memory.of(project)
        with self._db.change(project, who) as change:
            if not memory.holds(number, connection=change.connection):
                raise DataError(f"the project has no correction {number}, or it has already been undone")
            entry = memory.undo(number, who, connection=change.connection)
            forget = sql.update(segments).where(segments.c.correction == number, _is_of(project))
            change.execute(forget.values(correction=None))
            self._jobs.renew(change)
            change.event("correction", undone=number)
        return entry

    def delete_corrections(self, project: str, who: str) -> int:
        """Delete all corrections of a project permanently, also in reasons of proposals; return how many there were."""
        with self._db.change(project, who) as change:
            deleted = self._db.memory.delete(project, connection=change.connection)
            self._forget_corrections(change)
            change.event("correction", deleted=deleted)
        self._db.clean()
        return deleted

    def forget_deleted_corrections(self) -> None:
        """Make projects forget corrections that another program, such as `postedit memory delete`, has deleted."""
        of_file = segments.c.file == files.c.id
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        with self._db.read() as connection:
            for column in (segments.c.proposed_at, segments.c.correction):
                known = sql.select(files.c.project, column).join(segments, of_file).where(column > 0).distinct()
                for project, number in connection.execute(known):
                    numbers[project].add(number)
        deleted = [one for one, known in numbers.items() if known - self._db.memory.of(one).by_number(known).keys()]
        for project in deleted:
            with suppress(NotFoundError), self._db.change(project, "") as change:  # deleted meanwhile
                self._forget_corrections(change)
        if deleted:
            self._db.clean()

    def _forget_corrections(self, change: ProjectChange) -> None:
        """Renew the proposals of a project whose corrections are deleted; their reasons no longer quote any."""
        change.execute(sql.update(segments).where(_is_of(change.project)).values(correction=None))
        _delete_reasons(change)
        self._jobs.renew(change, all_of_them=True)

    def add_corrections(self, project: str, corrections: Sequence[Correction], who: str) -> list[int]:
        """Add corrections to the memory of a project, all or none, and return their numbers."""
        with self._db.change(project, who) as change:
            return self._add(change, corrections)

    def import_corrections(self, project: str, corrections: Sequence[Correction], who: str) -> list[int]:
        """Add the corrections of an import that a project lacks, all or none, and return their numbers.

        The project has a correction already if one with the same texts and time has not been undone: such a correction
        was exported from this project, or imported before. Corrections without a time are always added.
        """
        with self._db.change(project, who) as change:
            return self._add(change, _lacking(corrections, self._db.memory.of(project)))

    def _add(self, change: ProjectChange, corrections: Sequence[Correction]) -> list[int]:
        numbers = self._db.memory.of(change.project).add(corrections, connection=change.connection)
        if numbers:
            self._jobs.renew(change)
            change.event("correction", added=len(numbers), number=numbers[-1])
        return numbers

    def events(self, project: str, after: int, limit: int, names_members: bool = True) -> list[dict[str, Any]]:
        """Return the events of a project after a number, in order; changes of members may leave out whose they are."""
        query = sql.select(events).where(events.c.project == project, events.c.number > after)
        with self._db.read() as connection:
            rows = rows_of(connection, query.order_by(events.c.number).limit(limit))
        return [event_json(row if names_members or row["kind"] != "member" else {**row, "data": "{}"}) for row in rows]

    def audit(self, project: str, count: int, before: int | None = None) -> list[dict[str, Any]]:
        """Return the audit log of a project, the latest entry first: decisions on segments, and most other events.

        Events of presence, jobs and segments are left out, and so are decisions that neither confirm a segment nor take
        a confirmation back.

        Args:
            project: id of the project.
            count: maximum number of entries to return.
            before: return only entries with lower numbers; None: the latest ones.
        """
        with self._db.read() as connection:
            found = [
                rows_of(connection, _latest(table, project, count, before).where(wanted))
                for table, wanted in (
                    (decisions, _is_settled()),
                    (events, events.c.kind.not_in(("presence", "segment", "job"))),
                )
            ]
        done = [{"id": row["number"], "kind": "decision", **decision_json(row)} for row in found[0]]
        return sorted(done + list(map(event_json, found[1])), key=lambda one: -one["id"])[:count]

    def whole_audit(self, project: str) -> Iterator[dict[str, Any]]:
        """Yield the whole audit log of a project; see `audit`."""
        before = None
        while page := self.audit(project, _PER_PAGE, before):
            yield from page
            before = page[-1]["id"]

    def last_events(self, some: Collection[str]) -> dict[str, int]:
        """Return the number of the last event of each given project that exists, by project id."""
        query = sql.select(projects.c.id, projects.c.last_event).where(projects.c.id.in_(some))
        with self._db.read() as connection:
            return {row["id"]: row["last_event"] for row in rows_of(connection, query)}

    def show_presence(self, project: str, who: str, file: str, number: int) -> None:
        """Record on which segment somebody works, to show it to others; only the latest one of each person is kept."""
        mine = (events.c.project == project) & (events.c.kind == "presence") & (events.c.who == who)
        with self._db.change(project, who) as change:
            change.execute(sql.delete(events).where(mine))
            change.event("presence", file=file, segment=number)


def glossary_tag(text: str) -> str:
    """Return a tag that identifies the text of a glossary (32 hexadecimal digits)."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_of(project: str) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a segment is in a file of a project."""
    return segments.c.file.in_(sql.select(files.c.id).where(files.c.project == project))


def _lacking(corrections: Sequence[Correction], memory: CorrectionMemory) -> list[Correction]:
    """Return the corrections that a memory lacks; one that an import has twice should also be there twice."""
    wanted = {_same(one) for one in corrections if one.made is not None}
    if not wanted:
        return list(corrections)
    there = Counter(same for entry in memory.corrections() if (same := _same(entry.correction)) in wanted)
    lacking = []
    for one in corrections:
        if there[_same(one)]:
            there[_same(one)] -= 1
        else:
            lacking.append(one)
    return lacking


def _same(one: Correction) -> tuple[str, str, str, datetime | None]:
    """Return the key by which an import recognises a correction that the project has already."""
    return one.src, one.mt, one.pe, one.made


def _is_settled() -> sql.ColumnElement[bool]:
    """Return the SQL condition that a decision confirms a segment, or undoes a confirmation."""
    former = decisions.alias()
    is_before = (former.c.file == decisions.c.file) & (former.c.segment == decisions.c.segment)
    states = sql.select(former.c.state).where(is_before, former.c.version < decisions.c.version)
    last = states.order_by(former.c.version.desc()).limit(1).scalar_subquery()
    return (decisions.c.state == "confirmed") | (last == "confirmed")


def _delete_reasons(change: ProjectChange) -> None:
    """Remove corrections from the reasons of all proposals of a project."""
    names = ("file", "number", "proposal")
    explained = sql.select(*(segments.c[name] for name in names)).where(_is_of(change.project), segments.c.explained)
    while page := rows_of(change.connection, explained.limit(_PER_PAGE)):
        for row in page:
            is_one = (segments.c.file == row["file"]) & (segments.c.number == row["number"])
            values = {"proposal": _without_corrections(row["proposal"]), "explained": False}
            change.execute(sql.update(segments).where(is_one).values(values))


def _without_corrections(proposal: str) -> str:
    def kept(values: Row) -> Row:
        if "reasons" in values:
            values["reasons"] = [one for one in values["reasons"] if one["kind"] != "correction"]
        return values

    return as_json(json.loads(proposal, object_hook=kept)) if proposal else ""


def event_json(row: Row) -> dict[str, Any]:
    """Return an event as the API gives it."""
    return {"id": row["number"], "kind": row["kind"], "who": row["who"], "made": row["made"], **json.loads(row["data"])}


def _latest(table: sql.Table, project: str, count: int, before: int | None) -> sql.Select[Any]:
    query = sql.select(table).where(table.c.project == project).order_by(table.c.number.desc()).limit(count)
    return query if before is None else query.where(table.c.number < before)


def _columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: settings[name] for name in _SETTINGS if name in settings}
    if "protect" in values:
        values["protect"] = as_json(values["protect"])
    return values


def _project_json(row: Row, figures: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        **{name: row[name] for name in _SETTINGS},
        "protect": json.loads(row["protect"]),
        "created": row["created"],
        **{name: int(figures.get(name) or 0) for name in ("files", "segments", "confirmed", "locked")},
    }
