"""The worker for jobs on files, which read segments and make proposals for them."""

import asyncio
import itertools
import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from postedit.adapt.database import DiskFullError
from postedit.core.errors import DataError, OutputError, PosteditError
from postedit.data.blocks import blocks_of
from postedit.files.tmx import Tmx
from postedit.files.units import Unit
from postedit.serve.backlog import BudgetSpentError, EndpointRefusesError
from postedit.serve.engine import Engine, UnknownNameError
from postedit.serve.job_turns import JobTurns
from postedit.serve.proposer import Made, ProposalRequest, Proposer
from postedit.serve.schema import files
from postedit.serve.service_logs import trace_of
from postedit.serve.store import Store
from postedit.serve.store_base import ProjectChange, Row, as_json
from postedit.serve.store_files import numbered_units
from postedit.serve.store_jobs import ClaimedJob, JobKind, LostJobError
from postedit.serve.store_proposals import EDITED
from postedit.text.language_tags import same_pair
from postedit.text.words import compared_words

_log = logging.getLogger(__name__)

_UNITS_AT_ONCE: Final = 1000  # units per transaction
_SEGMENTS_AT_ONCE: Final = 16  # segments per request to the model; between them, requests of people get their turn
_POLL_SECONDS: Final = 1.0  # between checks for jobs that other processes added
_TOLD_SECONDS: Final = 60.0  # between two lines of the log about one fault of the database
_FULL_SECONDS: Final = 15.0  # before work goes on after the disk was found full
_BEAT_SECONDS: Final = 2.0
_QUIET_SECONDS: Final = 2.0  # without a correction before proposals are renewed
_QUIET_TRIES: Final = 10  # to wait for such a pause; without it, proposals are renewed nevertheless
_LEAST_CHUNKS: Final = 8  # of a file, before others get their turn: those of other projects or, if there is a newer
# correction, those that wait for renewed proposals
_WHOLE_FILES: Final[tuple[JobKind, ...]] = ("import", "edit")


class FileJobs:
    """Works on the jobs of a store, several at a time, until it is stopped.

    Args:
        store: the store with the jobs.
        engine: the engine that makes proposals.
        at_once: number of jobs of each sort that this process works on at a time. The sorts are reading new files, so
            that people can begin; proposals for whole files, for which people wait; jobs that renew proposals, which
            wait for people; and jobs that fill in repetitions.
    """

    def __init__(self, store: Store, engine: Engine, at_once: int = 2) -> None:
        self._store, self._at_once = store, at_once
        self._turns = JobTurns(store.jobs, engine.models)
        self.proposer = Proposer(store, engine)
        self._tasks: list[asyncio.Task[None]] = []
        self._waited: dict[str, float] = {}  # by project, when jobs last waited until corrections paused
        self._told = -math.inf  # when the log last said that jobs wait for the database
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start working, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        sorts: tuple[Sequence[JobKind], ...] = (_WHOLE_FILES, ("propose",), ("fill",)) * self._at_once
        self._tasks = [asyncio.create_task(self._work(kinds)) for kinds in sorts]
        self._tasks += [asyncio.create_task(self._work(("import",), reads=True)) for _ in range(self._at_once)]

    async def stop(self) -> None:
        """Stop; other processes, or this one after its next start, continue the jobs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake_soon(self) -> None:
        """Make workers look for jobs now; may be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _work(self, kinds: Sequence[JobKind], *, reads: bool = False) -> None:
        """Do jobs of some kinds; with `reads`, only read the files of imports, which only such workers begin with."""
        while True:
            try:
                job = await asyncio.to_thread(self._turns.next, kinds, reads=reads)
                if job is None:
                    await self._sleep()
                else:
                    await self._run(job, reads=reads)
            except OutputError as error:
                self._tell(error)
                await asyncio.sleep(_FULL_SECONDS if isinstance(error, DiskFullError) else _POLL_SECONDS)
            except Exception as error:  # whatever the error, other jobs must not wait for ever
                _log.error("a job was left; it is taken over: %s", _reason(error))
                await asyncio.sleep(_POLL_SECONDS)

    def _tell(self, error: OutputError) -> None:
        """Log that jobs wait for the database, from time to time: workers and jobs meet the error again and again."""
        moment = time.monotonic()
        if moment - self._told >= _TOLD_SECONDS:
            self._told = moment
            _log.warning("jobs wait for the database: %s", error)

    async def _sleep(self) -> None:
        # Not `wait_for`: before Python 3.12, it swallows a cancellation that arrives together with the event.
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS):
                await self._wake.wait()
            self._wake.clear()

    async def _run(self, job: ClaimedJob, *, reads: bool = False) -> None:
        """Do a job, and record its outcome; if this process stops, the job is released for another one."""
        try:
            await self._done(job, reads)
        finally:
            self._turns.end(job)

    async def _done(self, job: ClaimedJob, reads: bool) -> None:
        work = asyncio.create_task(self._do(job, reads))
        beats = asyncio.create_task(self._beat(job, work))
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            with suppress(LostJobError, OutputError):  # without a database, it is taken over later
                await asyncio.to_thread(self._store.jobs.release, job)
            raise
        finally:
            beats.cancel()
        error = None if work.cancelled() else work.exception()
        if isinstance(error, DiskFullError):  # small writes may succeed, and a job taken over too often is given up
            with suppress(LostJobError, OutputError):
                await asyncio.to_thread(self._store.jobs.release, job)
        if isinstance(error, OutputError) and _may_pass(error):  # the job is taken over once the database is back
            raise error
        if isinstance(error, (DataError, BudgetSpentError, EndpointRefusesError, UnknownNameError)):
            await asyncio.to_thread(self._store.jobs.fail, job, str(error))
        elif error is not None and not isinstance(error, LostJobError):
            _log.error("job %s failed: %s", job.id, _reason(error))
            await asyncio.to_thread(self._store.jobs.fail, job, "the service failed; its log says why")

    async def _beat(self, job: ClaimedJob, work: "asyncio.Task[None]") -> None:
        while True:
            await asyncio.sleep(_BEAT_SECONDS)
            try:
                await asyncio.to_thread(self._store.jobs.beat, job)
            except LostJobError:
                work.cancel()
                return
            except OutputError as error:
                self._tell(error)

    async def _do(self, job: ClaimedJob, reads: bool) -> None:
        file, again = await asyncio.to_thread(self._store.files.row, job.file), False
        if job.kind == "propose":
            again = not await self._renew(job, file)
        elif job.kind == "fill":
            await asyncio.to_thread(self._store.decisions.fill_on, job)
        else:
            if file["state"] == "importing":
                await asyncio.to_thread(self._read, job, file)
            # A worker for proposals continues what was read, and, after those of others, a file with many segments.
            if reads or not await self._propose_all(job, file, 0):
                await asyncio.to_thread(self._store.jobs.release, job)
                self._wake.set()
                return
        await asyncio.to_thread(self._end, job, again=again)

    def _read(self, job: ClaimedJob, file: Row) -> None:
        """Read the units of a file into segments, continuing after an interruption."""
        store, last = self._store, self._store.proposals.last_number(file["id"])
        file, languages = file if last else self._with_languages(job, file), ("", "")
        with store.files.open(file["id"]) as stream:
            units = numbered_units(store.files.format(file), stream, file["name"])
            for chunk in blocks_of(units, _UNITS_AT_ONCE):
                if languages == ("", ""):
                    languages = self._languages(job, file, chunk)
                _check_languages(file, chunk, languages)
                new = [one for one in chunk if one[0] > last]
                words = sum(len(compared_words(unit.source.text)) for _, unit in new)
                with store.database.change(job.project, job.who) as change:
                    store.jobs.advance(change, job)
                    store.proposals.add(change, file["id"], new)
                    _set(change, file["id"], words=files.c.words + words)
        if not store.proposals.last_number(file["id"]):
            raise DataError(f"{file['name']}: has no segment with text; there is nothing to post-edit")
        with store.database.change(job.project, job.who) as change:
            store.jobs.advance(change, job)
            store.proposals.count_repetitions(change, file["id"])
            _set(change, file["id"], state="ready", source_language=languages[0], target_language=languages[1])
            change.event("file", file=file["id"], action="ready", name=file["name"])

    def _with_languages(self, job: ClaimedJob, file: Row) -> Row:
        """Return a file; TMX of a project without languages gets those of the model, which then stay with the file."""
        if file["format"] != Tmx.name or file["wanted_source"] or file["wanted_target"]:
            return file
        source, target = self.proposer.languages(self._store.projects.row(job.project))
        with self._store.database.change(job.project, job.who) as change:
            self._store.jobs.advance(change, job)
            _set(change, file["id"], wanted_source=source, wanted_target=target)
        return self._store.files.row(file["id"])

    def _languages(self, job: ClaimedJob, file: Row, units: Sequence[tuple[int, Unit]]) -> tuple[str, str]:
        """Return the source and target language of a file.

        Raises:
            DataError: if they are not those of its project or, if the project has none, of the model.
        """
        found = next((unit.languages for _, unit in units if any(unit.languages)), ("", ""))
        named = (file["wanted_source"], file["wanted_target"])
        wanted = named if any(named) else self.proposer.languages(self._store.projects.row(job.project))
        if not same_pair(found, wanted):
            own = f"{found[0] or 'an unknown language'} to {found[1] or 'an unknown one'}"
            owner = "project" if any(named) else "model of the project"
            raise DataError(
                f"{file['name']}: is from {own}, and the {owner} from {wanted[0] or 'any language'} to "
                f"{wanted[1] or 'any'}; add the file to another project"
            )
        return found[0] or named[0], found[1] or named[1]

    async def _propose_all(self, job: ClaimedJob, file: Row, position: int) -> bool:
        """Make proposals for open segments whose proposals are missing or older than a memory position.

        Return whether all are made; False: some are, and a project waits of which no file is worked on.
        """
        left = await asyncio.to_thread(self._store.proposals.count_waiting, file["id"], position)
        total = max(left, (await asyncio.to_thread(self._store.jobs.get, job.id))["total"])
        await asyncio.to_thread(self._advance, job, done=total - left, total=total)
        if not left:
            await asyncio.to_thread(self._note_why_nothing, job)
        after, done, chunks = 0, total - left, 0
        while rows := await asyncio.to_thread(
            self._store.proposals.waiting, file["id"], position, _SEGMENTS_AT_ONCE, after
        ):
            await self._propose_some(job, file, rows, done=done + len(rows), total=total)
            after, done, chunks = rows[-1]["number"], done + len(rows), chunks + 1
            is_turn_over = chunks >= _LEAST_CHUNKS and done < total
            if is_turn_over and await asyncio.to_thread(self._turns.is_awaited, job, _WHOLE_FILES):
                return False
        return True

    def _note_why_nothing(self, job: ClaimedJob) -> None:
        """Add a note to a job that says why its file gets no proposals, unless the file has some."""
        found = self._store.files.get(job.file)
        if found["estimate"] is None:
            confirmed, locked = found["confirmed"], found["segments"] - found["confirmed"]
            sentence = f"no segment is open (confirmed: {confirmed:,}, locked: {locked:,})"
            self._advance(job, options=as_json({**job.options, "note": sentence}))

    async def _propose_some(self, job: ClaimedJob, file: Row, rows: Sequence[Row], **progress: int) -> None:
        def save(made: Made) -> bool:
            with self._store.database.change(job.project, job.who) as change:
                saved = self.proposer.save_part(change, file, made)
                self._store.jobs.advance(change, job, **progress if saved else {})
            return saved

        await self.proposer.propose(file, rows, ProposalRequest("job", job.id), save)

    async def _renew(self, job: ClaimedJob, file: Row) -> bool:
        """Renew the proposals for open segments, oldest first, once corrections pause; return whether all were renewed.

        Among equally old ones, those after the last decision come first. If the model does not learn, only proposals
        that are missing, or stale because of changed settings, are renewed.
        """
        learns = self.proposer.learns(await asyncio.to_thread(self._store.projects.row, job.project))
        wanted = position = await self._quiet_position(job.project) if learns else 0
        last = await asyncio.to_thread(self._store.decisions.last_decided, file["id"])
        for chunks in itertools.count(1):
            rows = await asyncio.to_thread(
                self._store.proposals.oldest,
                file["id"],
                min(wanted, position),  # lower than `wanted` if corrections have been deleted
                _SEGMENTS_AT_ONCE,
                last,
            )
            if not rows:
                break
            await self._propose_some(job, file, rows)
            position = await self.proposer.position(job.project) if learns else 0
            if chunks >= _LEAST_CHUNKS and position != wanted:
                return False
        return True

    async def _quiet_position(self, project: str) -> int:
        """Return the memory position of a project once its corrections pause; jobs that follow soon do not wait."""
        position = await self.proposer.position(project)
        if time.monotonic() - self._waited.get(project, -math.inf) < _QUIET_SECONDS * _QUIET_TRIES:
            return position
        for _ in range(_QUIET_TRIES):
            await asyncio.sleep(_QUIET_SECONDS)
            before, position = position, await self.proposer.position(project)
            if before == position:
                break
        self._waited[project] = time.monotonic()
        return position

    def _end(self, job: ClaimedJob, *, again: bool = False) -> None:
        """Mark a job as done; with `again`, add a new one for the rest, behind those that wait."""
        with self._store.database.change(job.project, job.who) as change:
            if again:
                self._store.jobs.add_once(change, job.kind, job.file)
            self._store.jobs.advance(change, job, state="done")

    def _advance(self, job: ClaimedJob, **values: Any) -> None:
        with self._store.database.change(job.project, job.who) as change:
            self._store.jobs.advance(change, job, **values)


def _reason(error: BaseException) -> str:
    """Return the message of an error for the log; of a defect, only where it happened, since texts may be in it."""
    return str(error) if isinstance(error, PosteditError) else trace_of(error)


def _may_pass(error: OutputError) -> bool:
    """Return whether a database error may be temporary."""
    cause = error.__cause__
    return not isinstance(cause, DBAPIError) or isinstance(cause, (OperationalError, InterfaceError))


def _set(change: ProjectChange, file: str, **values: Any) -> None:
    change.execute(sql.update(files).where(files.c.id == file).values(values))


def _check_languages(file: Row, units: Sequence[tuple[int, Unit]], languages: tuple[str, str]) -> None:
    """Check that units to edit are in the languages of the file; else raise a DataError that names both pairs."""
    for _, unit in units:
        if not same_pair(unit.languages, languages) and EDITED.reason_not_to_edit(unit) is None:
            raise DataError(
                f"{file['name']}: has segments from {' to '.join(languages)}, and others from "
                f"{' to '.join(unit.languages)}; divide it into files of one pair"
            )
