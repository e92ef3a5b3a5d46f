"""Jobs: long work on files, which any process of the service claims, and takes over from one that died.

The process that has claimed a job counts `beats`. Another one that sees the count stand still, by its own monotonic
clock, claims the job; the count of claims tells the first one, should it still live, that the job is lost. So clocks
need not agree.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

import sqlalchemy as sql

from postedit.core.errors import PosteditError
from postedit.serve.schema import OPEN_STATES, files, jobs, projects, segments
from postedit.serve.store_base import (
    Database,
    NotFoundError,
    ProjectChange,
    Row,
    as_json,
    new_id,
    now,
    one_row,
    rows_of,
)
from postedit.serve.store_proposals import STALE

JobKind = Literal["import", "propose", "edit", "fill"]
JOB_KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)

SILENT: Final = ("propose", "fill")
"""Kinds of jobs that people do not ask for: their segments have events."""

_NEXT: Final = sql.select(sql.func.coalesce(sql.func.max(jobs.c.sequence), 0) + 1).scalar_subquery()
"""The place of a new job behind those of all projects; two that are added at once may have the same."""

OPEN: Final = ("waiting", "running")
"""States of jobs that are not over."""


class LostJobError(PosteditError):
    """A job that was cancelled, or that another process has taken over."""


class ClaimedJob(NamedTuple):
    """A job that this process works on."""

    id: str
    project: str
    file: str
    kind: JobKind
    options: Mapping[str, Any]
    who: str
    claim: int

    @property
    def interruptions(self) -> int:
        """How many of its processes died, or lost the job: those that released it do not count."""
        return self.claim - 1 - int(self.options.get("releases", 0))


class Jobs:
    """The jobs of a database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, change: ProjectChange, kind: JobKind, file: str, **options: Any) -> str:
        """Add a job, and return its id."""
        job = new_id()
        self._event(change, job, file, kind, "waiting")
        values = {"id": job, "sequence": _NEXT, "project": change.project, "file": file, "kind": kind}
        values |= {"state": "waiting", "options": as_json(options), "who": change.who, "created": now()}
        change.execute(sql.insert(jobs).values(values))
        return job

    def add_once(self, change: ProjectChange, kind: JobKind, file: str) -> None:
        """Add a job, unless one of its kind waits for the file."""
        if not change.execute(sql.select(jobs.c.id).where(_is_waiting(file, kind))).first():
            self.add(change, kind, file)

    def renew(self, change: ProjectChange, *, all_of_them: bool = False) -> None:
        """Let the proposals of a project be renewed, as what they come from has changed; of open segments at once.

        Args:
            change: of the project.
            all_of_them: not only those that lack what has been learnt since.
        """
        ready = sql.select(files.c.id).where(files.c.project == change.project, files.c.state == "ready")
        is_open = segments.c.state.in_(OPEN_STATES)
        if all_of_them:
            # Those of segments that have been decided on count, too: the decision may be taken back.
            known = segments.c.file.in_(ready) & (segments.c.proposed_at >= 0)
            change.execute(sql.update(segments).where(known).values(proposed_at=STALE))
        of_file = jobs.c.file == files.c.id
        is_waiting = sql.exists().where(of_file, jobs.c.kind == "propose", jobs.c.state == "waiting")
        has_open = sql.exists().where(segments.c.file == files.c.id, is_open)
        for file in change.execute(ready.where(~is_waiting, has_open)).scalars().all():
            self.add(change, "propose", file)

    def get(self, job: str) -> dict[str, Any]:
        """Return a job as the API gives it.

        Raises:
            NotFoundError: if there is no such job.
        """
        with self._db.read() as connection:
            return job_json(one_row(connection, sql.select(jobs).where(jobs.c.id == job), f"job {job!r}"))

    def of_project(self, project: str) -> list[dict[str, Any]]:
        """Return the jobs of a project, the latest first."""
        query = sql.select(jobs).where(jobs.c.project == project).order_by(jobs.c.sequence.desc()).limit(100)
        with self._db.read() as connection:
            return [job_json(row) for row in rows_of(connection, query)]

    def cancel(self, job: str, who: str) -> None:
        """End a job before it is done; a file that it has not read to the end is of no use then.

        Raises:
            NotFoundError: if there is no such job, or it is over.
        """
        row = self.get(job)
        with self._db.change(row["project"], who) as change:
            ended = sql.update(jobs).where(jobs.c.id == job, jobs.c.state.in_(OPEN)).values(state="cancelled")
            if not change.execute(ended).rowcount:
                raise NotFoundError(f"job {job!r} is over")
            change.event("job", job=job, state="cancelled")
            self.fail_file(change, row["file"], "reading the file was cancelled; add it again")

    def fail_file(self, change: ProjectChange, file: str, sentence: str) -> None:
        """Record why a file was not read to the end; one that was stays as it is."""
        importing = sql.update(files).where(files.c.id == file, files.c.state == "importing")
        if change.execute(importing.values(state="failed", error=sentence)).rowcount:
            change.event("file", file=file, action="failed", error=sentence)

    def claim(self, kinds: Sequence[JobKind] = JOB_KINDS, models: Collection[str] | None = None) -> ClaimedJob | None:
        """Claim a job of some kinds that waits, of a file without a running one; None if none does.

        Repetitions are filled in whatever else is done with the file, and nothing else waits for that.

        Args:
            kinds: of jobs.
            models: that this process has, beside a default one; None: all. Jobs of other models are left to others.
        """
        waiting = sql.select(jobs.c.id).where(_can_begin(kinds), _needs_only(models))
        first = (
            waiting.order_by(jobs.c.sequence, jobs.c.id)
            .limit(1)
            .with_for_update(skip_locked=True, of=jobs)
            .scalar_subquery()
        )
        return self._claim(jobs.c.id == first)

    def running(self) -> dict[str, int]:
        """Return the ids of running jobs, each with its signs of life; see `take_over`."""
        return self._beats(jobs.c.state == "running")

    def of_other_models(self, kinds: Sequence[JobKind], models: Collection[str]) -> dict[str, int]:
        """Return the ids of jobs that `claim` leaves to others, who could begin, each with its signs of life."""
        return self._beats(_can_begin(kinds) & ~_needs_only(models))

    def _beats(self, condition: sql.ColumnElement[bool]) -> dict[str, int]:
        with self._db.read() as connection:
            rows = rows_of(connection, sql.select(jobs.c.id, jobs.c.beats).where(condition))
        return {row["id"]: row["beats"] for row in rows}

    def take_over(
        self, job: str, beats: int, kinds: Sequence[JobKind] = JOB_KINDS, models: Collection[str] | None = None
    ) -> ClaimedJob | None:
        """Claim a job of some kinds and models of which there is no sign of life since `beats`; None if there is."""
        is_one = (jobs.c.id == job) & jobs.c.kind.in_(kinds) & _needs_only(models)
        return self._claim(is_one & (jobs.c.beats == beats))

    def beat(self, job: ClaimedJob) -> None:
        """Give a sign of life.

        Raises:
            LostJobError: if the job is over, or another process has it.
        """
        with self._db.write() as connection:
            _keep(connection, job, {})

    def advance(self, change: ProjectChange, job: ClaimedJob, **values: Any) -> None:
        """Record progress (`done`, `total`, `state`, `error`, `options`), as part of a change; see `beat`."""
        _keep(change.connection, job, values)
        if "state" in values:
            self._event(change, job.id, job.file, job.kind, values["state"])
            if job.kind in SILENT:  # there is one after most corrections
                change.execute(sql.delete(jobs).where(jobs.c.id == job.id))

    def _event(self, change: ProjectChange, job: str, file: str, kind: JobKind, state: str) -> None:
        if kind not in SILENT:
            change.event("job", job=job, file=file, job_kind=kind, state=state)

    def release(self, job: ClaimedJob) -> None:
        """Let another process go on with a job.

        Raises:
            LostJobError: if the job is over, or another process has it.
        """
        with self._db.write() as connection:
            _keep(connection, job, {"state": "waiting"})
            others = sql.select(jobs.c.id).where(_is_waiting(job.file, job.kind), jobs.c.id != job.id)
            if job.kind == "propose" and connection.execute(others).first():  # which does the same
                connection.execute(sql.delete(jobs).where(jobs.c.id == job.id))
                return
            options = json.loads(one_row(connection, sql.select(jobs).where(jobs.c.id == job.id), "job")["options"])
            options["releases"] = options.get("releases", 0) + 1
            connection.execute(sql.update(jobs).where(jobs.c.id == job.id).values(options=as_json(options)))

    def _claim(self, condition: sql.ColumnElement[bool]) -> ClaimedJob | None:
        claim = {"state": "running", "claims": jobs.c.claims + 1, "beats": jobs.c.beats + 1}
        with self._db.write() as connection:
            if connection.dialect.name == "postgresql":  # SQLite lets one write at a time
                connection.execute(sql.text("SELECT pg_advisory_xact_lock(hashtext('postedit_jobs'))"))
            query = sql.update(jobs).where(condition, jobs.c.state.in_(OPEN)).values(claim).returning(jobs)
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        plain = {name: row[name] for name in ("id", "project", "file", "kind", "who")}
        return ClaimedJob(**plain, options=json.loads(row["options"]), claim=row["claims"])


def _is_waiting(file: str, kind: JobKind) -> sql.ColumnElement[bool]:
    return (jobs.c.file == file) & (jobs.c.kind == kind) & (jobs.c.state == "waiting")


def _can_begin(kinds: Sequence[JobKind]) -> sql.ColumnElement[bool]:
    """Return whether a job of some kinds waits, and for no other one of its file."""
    other = jobs.alias()
    is_other = (other.c.file == jobs.c.file) & (other.c.kind != "fill") & (jobs.c.kind != "fill")
    is_busy = sql.exists().where(is_other, other.c.state == "running")
    return (jobs.c.state == "waiting") & jobs.c.kind.in_(kinds) & ~is_busy


def _needs_only(models: Collection[str] | None) -> sql.ColumnElement[bool]:
    """Return whether a job needs no model, the default one, or one of some models; None: any."""
    if models is None:
        return sql.true()
    has_one = sql.select(projects.c.id).where(projects.c.model.in_(["", *models]))
    return (jobs.c.kind == "fill") | jobs.c.project.in_(has_one)


def _keep(connection: sql.Connection, job: ClaimedJob, values: Mapping[str, Any]) -> None:
    mine = (jobs.c.id == job.id) & (jobs.c.claims == job.claim) & (jobs.c.state == "running")
    update = sql.update(jobs).where(mine).values({**values, "beats": jobs.c.beats + 1})
    if not connection.execute(update).rowcount:
        raise LostJobError(f"job {job.id!r} has been cancelled, or another process has it")


def job_json(row: Row) -> dict[str, Any]:
    """Return a job as the API gives it."""
    names = ("id", "project", "file", "kind", "state", "done", "total", "error", "created")
    return {**{name: row[name] for name in names}, "note": json.loads(row["options"] or "{}").get("note", "")}
