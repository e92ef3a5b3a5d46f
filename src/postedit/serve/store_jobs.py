"""Jobs in the database: long work on files, which any process of the service claims, or takes over from a dead one.

The process that has claimed a job increments `beats`. If another process sees the count stand still, by its own
monotonic clock, it claims the job; from the number of claims, the first process, if it is still alive, sees that it has
lost the job. So the clocks of machines need not agree.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
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

_log = logging.getLogger(__name__)

JobKind = Literal["import", "propose", "edit", "fill"]
JOB_KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)

SILENT: Final = ("propose", "fill")
"""Kinds of jobs that nobody asks for; they have no events of their own, and are deleted once they end."""

_NEXT: Final = sql.select(sql.func.coalesce(sql.func.max(jobs.c.sequence), 0) + 1).scalar_subquery()
"""Sequence number of a new job, after the jobs of all projects; two jobs added at once may get the same one."""

OPEN: Final = ("waiting", "running")
"""States of jobs that are not over."""


class LostJobError(PosteditError):
    """The job was cancelled, or another process has taken it over."""


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
        """How many processes died while working on it, or lost it; those that released it do not count."""
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
        """Add a job, unless one of its kind for the same file is waiting."""
        if not change.execute(sql.select(jobs.c.id).where(_is_waiting(file, kind))).first():
            self.add(change, kind, file)

    def renew(self, change: ProjectChange, *, all_of_them: bool = False) -> None:
        """Add jobs that renew the proposals for open segments of a project, as corrections or settings have changed.

        Args:
            change: change of the project.
            all_of_them: renew all proposals, not only those that are older than the latest correction.
        """
        ready = sql.select(files.c.id).where(files.c.project == change.project, files.c.state == "ready")
        is_open = segments.c.state.in_(OPEN_STATES)
        if all_of_them:
            # This includes segments that have been decided on, since the decision may be undone.
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
        """Return the last 100 jobs of a project, the latest first."""
        query = sql.select(jobs).where(jobs.c.project == project).order_by(jobs.c.sequence.desc()).limit(100)
        with self._db.read() as connection:
            return [job_json(row) for row in rows_of(connection, query)]

    def cancel(self, job: str, who: str) -> None:
        """Cancel a job; a file that it has not read to the end is marked as failed.

        Raises:
            NotFoundError: if there is no such job, or it is over.
        """
        row = self.get(job)
        with self._db.change(row["project"], who) as change:
            ended = sql.update(jobs).where(jobs.c.id == job, jobs.c.state.in_(OPEN)).values(state="cancelled")
            if not change.execute(ended).rowcount:
                raise NotFoundError(f"job {job!r} has already ended")
            change.event("job", job=job, state="cancelled")
            self.fail_file(change, row["file"], "reading the file was cancelled; add it again")

    def fail(self, job: ClaimedJob, sentence: str) -> None:
        """Mark a job, and the file that it was to read, as failed, unless the job is over or another process has it."""
        with suppress(LostJobError, NotFoundError), self._db.change(job.project, job.who) as change:
            self.advance(change, job, state="failed", error=sentence)
            if job.kind in SILENT:  # no event reports it
                _log.warning("job %s (%s) of file %s failed: %s", job.id, job.kind, job.file, sentence)
            self.fail_file(change, job.file, sentence)

    def fail_file(self, change: ProjectChange, file: str, sentence: str) -> None:
        """Mark a file that is being imported as failed, with the reason; other files stay as they are."""
        importing = sql.update(files).where(files.c.id == file, files.c.state == "importing")
        if change.execute(importing.values(state="failed", error=sentence)).rowcount:
            change.event("file", file=file, action="failed", error=sentence)

    def claim(
        self,
        kinds: Sequence[JobKind] = JOB_KINDS,
        models: Collection[str] | None = None,
        *,
        unread: bool | None = None,
        served: Sequence[str] = (),
    ) -> ClaimedJob | None:
        """Claim the first waiting job whose file has no running job; return None if there is no such job.

        Jobs that fill in repetitions do not wait for other jobs of the file, nor do others wait for them.

        Args:
            kinds: kinds of jobs to consider.
            models: models of this process, beside the default one; None: any. Jobs of other models are left to others.
            unread: consider only imports of files that are still to be read (True), or only other jobs (False).
            served: projects whose turn comes after that of all others, in this order.
        """
        waiting = sql.select(jobs.c.id).where(_can_begin(kinds), _needs_only(models))
        if unread is not None:
            waiting = waiting.where(_is_to_be_read(jobs) if unread else ~_is_to_be_read(jobs))
        turns = {project: turn for turn, project in enumerate(served, start=1)}
        turn = [sql.case(turns, value=jobs.c.project, else_=0)] if turns else []
        first = (
            waiting.order_by(*turn, jobs.c.sequence, jobs.c.id)
            .limit(1)
            .with_for_update(skip_locked=True, of=jobs)
            .scalar_subquery()
        )
        return self._claim(jobs.c.id == first)

    def running(self) -> dict[str, int]:
        """Return the ids of running jobs, each with its number of beats; see `take_over`."""
        return self._beats(jobs.c.state == "running")

    def of_other_models(self, kinds: Sequence[JobKind], models: Collection[str]) -> dict[str, int]:
        """Return the ids of waiting jobs that `claim` leaves to processes with other models, each with its beats."""
        return self._beats(_can_begin(kinds) & ~_needs_only(models))

    def is_awaited(
        self, job: ClaimedJob, kinds: Sequence[JobKind], models: Collection[str], dead: Collection[str] = ()
    ) -> bool:
        """Return whether a job of another project waits for a worker for proposals, and none works for that project.

        Args:
            job: the job of the worker that asks.
            kinds: kinds of jobs of which such workers do.
            models: see `claim`.
            dead: ids of running jobs whose processes seem to be dead; they wait, too.
        """
        running = jobs.alias()
        is_busy = sql.exists().where(
            running.c.project == jobs.c.project,
            running.c.state == "running",
            running.c.kind.in_(kinds),
            running.c.id.not_in(dead),
            ~_is_to_be_read(running),
        )
        is_left = (jobs.c.state == "running") & jobs.c.kind.in_(kinds) & jobs.c.id.in_(dead)
        can_begin = (_can_begin(kinds) & ~_is_to_be_read(jobs)) | is_left
        others = sql.select(jobs.c.id).where(can_begin, _needs_only(models), jobs.c.project != job.project)
        with self._db.read() as connection:
            return connection.execute(others.where(~is_busy).limit(1)).first() is not None

    def _beats(self, condition: sql.ColumnElement[bool]) -> dict[str, int]:
        with self._db.read() as connection:
            rows = rows_of(connection, sql.select(jobs.c.id, jobs.c.beats).where(condition))
        return {row["id"]: row["beats"] for row in rows}

    def take_over(
        self, job: str, beats: int, kinds: Sequence[JobKind] = JOB_KINDS, models: Collection[str] | None = None
    ) -> ClaimedJob | None:
        """Claim a job if its number of beats is still `beats`, and its kind and model fit; else return None."""
        is_one = (jobs.c.id == job) & jobs.c.kind.in_(kinds) & _needs_only(models)
        return self._claim(is_one & (jobs.c.beats == beats))

    def beat(self, job: ClaimedJob) -> None:
        """Give a sign of life of this process for a job.

        Raises:
            LostJobError: if the job is over, or another process has it.
        """
        with self._db.write() as connection:
            _keep(connection, job, {})

    def advance(self, change: ProjectChange, job: ClaimedJob, **values: Any) -> None:
        """Record progress (`done`, `total`, `state`, `error`, `options`) as part of a change; errors as in `beat`."""
        _keep(change.connection, job, values)
        if "state" in values:
            self._event(change, job.id, job.file, job.kind, values["state"])
            if job.kind in SILENT:  # most corrections add one
                change.execute(sql.delete(jobs).where(jobs.c.id == job.id))

    def _event(self, change: ProjectChange, job: str, file: str, kind: JobKind, state: str) -> None:
        if kind not in SILENT:
            change.event("job", job=job, file=file, job_kind=kind, state=state)

    def release(self, job: ClaimedJob) -> None:
        """Put a job back, so that another process can continue it.

        Raises:
            LostJobError: if the job is over, or another process has it.
        """
        with self._db.write() as connection:
            _keep(connection, job, {"state": "waiting"})
            others = sql.select(jobs.c.id).where(_is_waiting(job.file, job.kind), jobs.c.id != job.id)
            if job.kind == "propose" and connection.execute(others).first():  # the other job does the same
                connection.execute(sql.delete(jobs).where(jobs.c.id == job.id))
                return
            options = json.loads(one_row(connection, sql.select(jobs).where(jobs.c.id == job.id), "job")["options"])
            options["releases"] = options.get("releases", 0) + 1
            connection.execute(sql.update(jobs).where(jobs.c.id == job.id).values(options=as_json(options)))

    def _claim(self, condition: sql.ColumnElement[bool]) -> ClaimedJob | None:
        claim = {"state": "running", "claims": jobs.c.claims + 1, "beats": jobs.c.beats + 1}
        with self._db.write() as connection:
            if connection.dialect.name == "postgresql":  # SQLite allows only one writer at a time
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
    """Return the SQL condition that a job of some kinds waits, and no running job of its file is in its way."""
    other = jobs.alias()
    is_other = (other.c.file == jobs.c.file) & (other.c.kind != "fill") & (jobs.c.kind != "fill")
    is_busy = sql.exists().where(is_other, other.c.state == "running")
    return (jobs.c.state == "waiting") & jobs.c.kind.in_(kinds) & ~is_busy


def _is_to_be_read(table: sql.FromClause) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a row of `jobs` is an import of a file not read yet, which other workers do."""
    return (table.c.kind == "import") & table.c.file.in_(sql.select(files.c.id).where(files.c.state == "importing"))


def _needs_only(models: Collection[str] | None) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a job needs no model, the default one, or one of some models; None: any."""
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
