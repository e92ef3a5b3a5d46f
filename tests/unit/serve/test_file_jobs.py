"""The worker for jobs: files are read, and proposals made and renewed, whatever fails meanwhile."""

import asyncio
import io
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sql
from serve_tools import PAIRS, WordEngine, added_job, config_of, decision, imported, replaced, xliff
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.database import DiskFullError, explained
from postedit.core.errors import DataError, OutputError
from postedit.serve import file_jobs, job_turns, store_projects
from postedit.serve.backlog import BudgetSpentError, EndpointRefusesError, EndpointUnavailableError
from postedit.serve.engine import EditedSegments
from postedit.serve.file_jobs import FileJobs
from postedit.serve.proposer import ProposalRequest
from postedit.serve.schema import projects, segments
from postedit.serve.service_logs import JsonFormatter
from postedit.serve.store import Store
from postedit.serve.store_base import as_json
from postedit.serve.store_files import numbered_units
from postedit.serve.store_jobs import JOB_KINDS, JobKind, LostJobError
from postedit.serve.worker_pool import BrokenSegmentError


def test_work_ends_although_the_database_does_not_take_a_job_back(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a running job cannot be given to others is no reason to go on."""
    asked = asyncio.Event()

    async def forever(*_: object, **__: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    def away(_: object) -> None:
        raise OutputError("the database is away")

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", forever)
    monkeypatch.setattr(store.jobs, "release", away)

    async def ends() -> bool:
        jobs_of.start()
        await asyncio.wait_for(asked.wait(), 300)
        ended, _ = await asyncio.wait({asyncio.create_task(jobs_of.stop())}, timeout=300)
        monkeypatch.undo()  # so that what goes on can be ended
        return bool(ended)

    assert asyncio.run(ends())


@pytest.mark.parametrize("turns", range(5))
def test_work_ends_although_it_is_woken_at_the_same_time(jobs_of: FileJobs, turns: int) -> None:
    """A cancellation that comes some turns of the event loop after a job must not get lost."""

    async def stopped() -> None:
        jobs_of.start()
        await asyncio.sleep(0.3)  # all wait for jobs
        jobs_of.wake_soon()
        for _ in range(turns):
            await asyncio.sleep(0)
        await jobs_of.stop()

    asyncio.run(asyncio.wait_for(stopped(), 300))


def _die(*_: Any) -> None:
    raise SystemExit


@pytest.mark.slow
def test_an_import_goes_on_where_a_dead_process_left_it(
    store: Store, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_UNITS_AT_ONCE", 2)
    monkeypatch.setattr(job_turns, "_DEAD_SECONDS", 1.0)
    monkeypatch.setattr(file_jobs, "_BEAT_SECONDS", 0.1)
    monkeypatch.setattr(file_jobs, "_POLL_SECONDS", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(type(store.proposals), "count_repetitions", _die)
        with pytest.raises(SystemExit):
            imported(store, xliff(*PAIRS))
    (job,) = store.jobs.running()
    file = store.jobs.get(job)["file"]
    assert store.files.get(file)["state"] == "importing"
    engine = WordEngine(config_of("x", tmp_path))
    engine.store = store

    async def work() -> None:
        jobs = FileJobs(store, engine)
        jobs.start()
        async with asyncio.timeout(120):
            while store.jobs.get(job)["state"] in ("running", "waiting"):
                await asyncio.sleep(0.05)
        await jobs.stop()

    asyncio.run(work())
    assert store.jobs.get(job)["state"] == "done"
    found = store.segments.page(file, after=0, limit=9)["segments"]
    assert [one["number"] for one in found] == [1, 2, 3, 4, 5]
    assert [one["repeats"] for one in found] == [2, 1, 2, 1, 1]
    assert found[0]["proposal"]["text"] == "das Haus"
    assert store.files.get(file)["words"] == 14


@pytest.mark.parametrize("begun", [False, True])
def test_a_file_whose_import_is_cancelled_says_so(
    store: Store, jobs_of: FileJobs, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_UNITS_AT_ONCE", 2)
    with store.database.change("default", "anna") as change:
        file = store.files.create(change, "a.xlf", io.BytesIO(xliff(*PAIRS)))
        job = store.jobs.add(change, "import", file)
    if begun:

        def cancelling(*given: Any) -> Iterator[Any]:
            units = numbered_units(*given)
            yield from itertools.islice(units, 2)
            store.jobs.cancel(job, "ben")
            yield from units

        monkeypatch.setattr(file_jobs, "numbered_units", cancelling)
        claimed = store.jobs.claim()
        assert claimed is not None
        asyncio.run(jobs_of._run(claimed))
    else:
        store.jobs.cancel(job, "ben")
    found = store.files.get(file)
    assert (found["state"], found["error"]) == ("failed", "reading the file was cancelled; add it again")
    told = [one for one in store.projects.events("default", 0, 99) if one.get("action") == "failed"]
    assert [one["file"] for one in told] == [file]
    assert found["segments"] == (2 if begun else 0)
    assert store.jobs.get(job)["state"] == "cancelled"
    assert store.jobs.claim() is None


def test_a_large_file_does_not_keep_other_projects_waiting(store: Store, jobs_of: FileJobs) -> None:
    kinds: tuple[JobKind, ...] = ("import", "edit")
    large = xliff(*((f"tree {number}", f"die Haus {number}") for number in range(200)))
    other = store.projects.create({"name": "other"}, "anna")
    first, second = (added_job(store, project, large) for project in ("default", other))
    done: list[tuple[str, int]] = []
    for _ in range(4):
        job = jobs_of._turns.next(kinds)
        assert job is not None
        asyncio.run(jobs_of._run(job))
        done.append((job.id, store.jobs.get(job.id)["done"]))
        assert store.jobs.get(job.id)["total"] == 200
    assert done == [(first, 128), (second, 128), (first, 200), (second, 200)]
    assert jobs_of._turns.next(kinds) is None
    assert [store.jobs.get(job)["state"] for job in (first, second)] == ["done", "done"]


def test_a_file_gives_no_turn_to_a_project_that_is_worked_on(store: Store, jobs_of: FileJobs) -> None:
    other = store.projects.create({"name": "other"}, "anna")
    for project in ("default", other):
        added_job(store, project)
    job = store.jobs.claim(["edit"])
    assert job is not None
    assert store.jobs.is_awaited(job, ["edit"], [])
    assert store.jobs.claim(["edit"]) is not None
    for project in ("default", other):
        added_job(store, project)
    assert not store.jobs.is_awaited(job, ["edit"], [])


def test_a_job_of_a_dead_process_does_not_wait_until_all_others_are_done(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_turns, "_DEAD_SECONDS", -1.0)
    large = xliff(*((f"tree {number}", f"die Haus {number}") for number in range(200)))
    other = store.projects.create({"name": "other"}, "anna")
    added_job(store, other)
    left = store.jobs.claim(["edit"])
    for _ in range(3):
        added_job(store, "default", large)
    job = store.jobs.claim(["edit"])
    assert left is not None
    assert job is not None
    jobs_of._turns._own.add(job.id)
    asyncio.run(jobs_of._run(job))
    assert (store.jobs.get(job.id)["state"], store.jobs.get(job.id)["done"]) == ("waiting", 128)
    taken = jobs_of._turns.next(["import", "edit"])
    assert taken is not None
    assert taken.id == left.id


def test_a_file_whose_reader_died_need_not_wait_for_workers_for_proposals(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_turns, "_DEAD_SECONDS", -1.0)
    with store.database.change("default", "anna") as change:
        file = store.files.create(change, "a.xlf", io.BytesIO(xliff(*PAIRS)))
        store.jobs.add(change, "import", file)
    assert store.jobs.claim() is not None
    job = jobs_of._turns.next(["import"], reads=True)
    assert job is not None
    asyncio.run(jobs_of._run(job, reads=True))
    assert (store.files.get(file)["state"], store.jobs.get(job.id)["state"]) == ("ready", "waiting")
    again = jobs_of._turns.next(["import"])
    assert again is not None
    assert again.interruptions == 1


def test_a_job_whose_model_no_service_has_fails_with_the_reason(
    store: Store, jobs_of: FileJobs, other_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_of.proposer._engine, "edit", lambda *_, **given: _check(jobs_of, given["model"]))
    assert jobs_of._turns.next(["import"]) is None
    monkeypatch.setattr(job_turns, "_UNKNOWN_SECONDS", -1.0)
    job = jobs_of._turns.next(["import"])
    assert job is not None
    asyncio.run(jobs_of._run(job))
    found = store.jobs.get(other_model)
    assert found["state"] == "failed"
    assert found["error"].startswith("there is no model 'phrases' here")


def test_a_file_whose_model_no_service_has_is_read(store: Store, jobs_of: FileJobs) -> None:
    store.projects.change("default", {"model": "phrases"}, "anna")
    with store.database.change("default", "anna") as change:
        file = store.files.create(change, "a.xlf", io.BytesIO(xliff(*PAIRS)))
        store.jobs.add(change, "import", file)
    job = store.jobs.claim()
    assert job is not None
    jobs_of._read(job, store.files.row(file))
    assert (store.files.get(file)["state"], store.files.get(file)["segments"]) == ("ready", 5)


async def _check(jobs_of: FileJobs, model: str) -> None:
    jobs_of.proposer._engine._check_model(model)


def test_a_job_is_of_its_process_until_its_end_is_recorded(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, own = jobs_of._turns.next(["import"]), []
    assert job is not None
    assert job.id in jobs_of._turns._own
    monkeypatch.setattr(jobs_of, "_do", lambda *_: _refused())
    monkeypatch.setattr(store.jobs, "fail", lambda failed, _: own.append(failed.id in jobs_of._turns._own))
    asyncio.run(jobs_of._run(job))
    assert own == [True]
    assert not jobs_of._turns._own


async def _refused() -> None:
    raise DataError("no file")


def test_only_an_absent_database_lets_a_job_wait(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = store.jobs.claim()
    assert job is not None

    def fail(kind: type[DBAPIError]) -> None:
        def refuse(*_: Any) -> None:
            with explained(store.database.engine):
                raise kind("INSERT", {}, ValueError("refused"))

        monkeypatch.setattr(type(store.files), "row", refuse)
        asyncio.run(jobs_of._run(job))

    with pytest.raises(OutputError, match="refused"):
        fail(OperationalError)
    assert store.jobs.get(waiting)["state"] == "running"
    fail(IntegrityError)
    assert store.jobs.get(waiting)["state"] == "failed"


def test_a_job_waits_for_room_on_the_disk_however_long_that_takes(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise DiskFullError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.files), "row", refuse)
        for _ in range(2 * job_turns._MOST_INTERRUPTIONS):
            job = jobs_of._turns.next(["import"])
            assert job is not None
            assert not job.interruptions
            with pytest.raises(DiskFullError):
                asyncio.run(jobs_of._run(job))
    job = jobs_of._turns.next(["import"])
    assert job is not None
    asyncio.run(jobs_of._run(job))
    assert store.jobs.get(waiting)["state"] == "done"


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (EndpointUnavailableError("its server is away", 0.01), "done"),
        (EndpointRefusesError("not in this way"), "failed"),
        (BudgetSpentError("not in this way", 0.01), "failed"),
    ],
)
def test_a_job_waits_for_a_language_model_and_not_for_people(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch, error: Exception, state: str
) -> None:
    job, edit, errors = store.jobs.claim(), jobs_of.proposer._engine.edit, [error, error]
    assert job is not None

    async def failing(segments: Any, **options: Any) -> EditedSegments:
        if errors:
            raise errors.pop()
        return await edit(segments, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", failing)
    asyncio.run(jobs_of._run(job))
    found = store.jobs.get(waiting)
    assert (found["state"], found["error"]) == (state, "not in this way" if state == "failed" else "")


@pytest.mark.parametrize(("faulty", "state"), [("the house", "done"), ("the", "failed")])
def test_a_segment_that_breaks_the_model_takes_no_others_along(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch, faulty: str, state: str
) -> None:
    job, edit = store.jobs.claim(), jobs_of.proposer._engine.edit
    assert job is not None

    async def failing(given: Any, **options: Any) -> EditedSegments:
        if any(one.src == faulty or faulty == "the" for one in given):
            raise BrokenSegmentError("the model failed on a segment")
        return await edit(given, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", failing)
    with pytest.raises(BrokenSegmentError):
        asyncio.run(jobs_of.proposer.renewed(store.files.row(job.file), [1, 2], ""))
    asyncio.run(jobs_of._run(job))
    assert store.jobs.get(waiting)["state"] == state
    found = [
        one["proposal"] and one["proposal"]["text"]
        for one in store.segments.page(job.file, after=0, limit=9)["segments"]
    ]
    assert found == ([None, "das rote Haus", None, "ein Baum", None] if state == "done" else [None] * 5)


@pytest.mark.parametrize("method", ["_do", "_done"])
def test_the_log_says_where_a_job_failed_and_quotes_no_text(
    jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    async def fail(*_: Any) -> None:
        raise KeyError("a secret text")

    monkeypatch.setattr(jobs_of, method, fail)

    async def work() -> None:
        task = asyncio.create_task(jobs_of._work(JOB_KINDS))
        async with asyncio.timeout(300):
            while not caplog.records:
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(work())
    written = "".join(map(JsonFormatter().format, caplog.records))
    assert "KeyError in " in written
    assert "secret" not in written


@pytest.mark.parametrize(("segments", "state", "requests"), [(16, "failed", 4), (2, "failed", 3), (1, "done", 1)])
def test_a_broken_model_is_not_tried_on_each_segment(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch, segments: int, state: str, requests: int
) -> None:
    file, tried = imported(store, xliff(*[("a", "b")] * segments)), []
    with store.database.change("default", "anna") as change:
        waiting = store.jobs.add(change, "edit", file)

    async def failing(given: Any, **_: Any) -> EditedSegments:
        tried.append(len(given))
        raise BrokenSegmentError("the model failed on a segment")

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", failing)
    job = store.jobs.claim(["edit"])
    assert job is not None
    asyncio.run(jobs_of._run(job))
    assert (store.jobs.get(waiting)["state"], tried) == (state, [segments, 1, 1, 1][:requests])


@pytest.mark.parametrize("mt", ["b", ""])  # segments without mt are edited apart from the others
def test_neighbouring_segments_that_break_the_model_take_no_others_along(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch, mt: str
) -> None:
    file = imported(store, xliff(*[("bad", mt)] * 4, *[("good", "b")] * 8))
    with store.database.change("default", "anna") as change:
        waiting = store.jobs.add(change, "edit", file)
    job, edit = store.jobs.claim(["edit"]), jobs_of.proposer._engine.edit
    assert job is not None

    async def failing(given: Any, **options: Any) -> EditedSegments:
        if any(one.src == "bad" for one in given):
            raise BrokenSegmentError("the model failed on a segment")
        return await edit(given, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", failing)
    asyncio.run(jobs_of._run(job))
    assert store.jobs.get(waiting)["state"] == "done"
    rows = store.segments.page(file, after=0, limit=99)["segments"]
    assert [one["proposal"] is not None for one in rows] == [False] * 4 + [True] * 8


def test_work_goes_on_after_any_exception(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_POLL_SECONDS", 0.01)
    claims: list[Callable[[], Any]] = [store.jobs.claim, lambda: 1 // 0]
    monkeypatch.setattr(store.jobs, "claim", lambda *_, **__: claims.pop()() if claims else None)

    async def work() -> None:
        task = asyncio.create_task(jobs_of._work(JOB_KINDS))
        async with asyncio.timeout(300):
            while store.jobs.get(waiting)["state"] != "done":
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(work())


def test_the_log_is_not_filled_while_the_database_is_away(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(file_jobs, "_POLL_SECONDS", 0.0)
    claim = Mock(side_effect=[*(OutputError(f"no answer {number}") for number in range(5)), asyncio.CancelledError])
    monkeypatch.setattr(store.jobs, "claim", claim)
    moments = [0.0, 1.0, 59.0, 60.0, 61.0]  # by the number of claims: other tests' services may ask for the time, too
    monkeypatch.setattr(file_jobs, "time", SimpleNamespace(monotonic=lambda: moments[claim.call_count - 1]))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(jobs_of._work(JOB_KINDS))
    told = [one.getMessage() for one in caplog.records if "wait for the database" in one.getMessage()]
    assert told == [f"jobs wait for the database: no answer {number}" for number in (0, 3)]


def test_the_log_is_not_filled_while_signs_of_life_fail(
    store: Store, jobs_of: FileJobs, waiting: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = store.jobs.claim()
    assert job is not None
    monkeypatch.setattr(file_jobs, "_BEAT_SECONDS", 0.0)
    beat = Mock(side_effect=[*(OutputError(f"no answer {number}") for number in range(4)), LostJobError("lost")])
    monkeypatch.setattr(store.jobs, "beat", beat)
    moments = [0.0, 2.0, 60.0, 62.0]  # by the number of beats: services of other tests may ask for the time, too
    monkeypatch.setattr(file_jobs, "time", SimpleNamespace(monotonic=lambda: moments[beat.call_count - 1]))

    async def work() -> None:
        await jobs_of._beat(job, asyncio.create_task(asyncio.sleep(300)))

    asyncio.run(work())
    told = [one.getMessage() for one in caplog.records]
    assert told == [f"jobs wait for the database: no answer {number}" for number in (0, 2)]


@pytest.mark.slow
def test_files_are_read_and_proposals_renewed_while_people_never_pause(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.05)
    numbers = itertools.count(1)

    async def position(_: str) -> int:
        return next(numbers)

    monkeypatch.setattr(jobs_of.proposer, "position", position)
    renewed = [imported(store, xliff(("a", "die")), f"{number}.xlf") for number in range(3)]
    with store.database.change("default", "anna") as change:
        for file in renewed:
            store.jobs.add(change, "propose", file)
        new = store.files.create(change, "new.xlf", io.BytesIO(xliff(*PAIRS)))
        store.jobs.add(change, "import", new)

    async def work() -> None:
        jobs_of.start()
        async with asyncio.timeout(300):
            while store.files.get(new)["state"] != "ready":
                await asyncio.sleep(0.02)
            assert any(one["kind"] == "propose" for one in store.jobs.of_project("default"))
            while any(store.segments.get(file, 1)["proposal"] is None for file in renewed):
                await asyncio.sleep(0.02)
        await jobs_of.stop()

    asyncio.run(work())


def test_files_are_read_while_others_get_their_proposals(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People can begin with a new file at once, however many large ones wait for a slow model."""
    edit, may_end = jobs_of.proposer._engine.edit, asyncio.Event()

    async def slow(*given: Any, **options: Any) -> Any:
        await may_end.wait()
        return await edit(*given, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", slow)
    with store.database.change("default", "anna") as change:
        new = [store.files.create(change, f"{number}.xlf", io.BytesIO(xliff(*PAIRS))) for number in range(4)]
        jobs = [store.jobs.add(change, "import", file) for file in new]

    async def work() -> None:
        jobs_of.start()
        async with asyncio.timeout(300):
            while any(store.files.get(file)["state"] != "ready" for file in new):
                await asyncio.sleep(0.02)
            may_end.set()
            while any(store.jobs.get(job)["state"] != "done" for job in jobs):
                await asyncio.sleep(0.02)
        await jobs_of.stop()

    asyncio.run(work())
    assert all(store.segments.get(file, 1)["proposal"]["text"] == "das Haus" for file in new)


def _teach(store: Store) -> None:
    store.projects.add_corrections("default", [Correction("x", "y", "z", project="default")], "anna")


def _proposed_at(store: Store, file: str) -> list[int]:
    numbers = range(1, 1 + store.files.get(file)["segments"])
    return [row["proposed_at"] for row in store.segments.some(file, numbers)]


def test_a_steady_teacher_keeps_no_segment_of_any_file_old(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.01)
    monkeypatch.setattr(file_jobs, "_SEGMENTS_AT_ONCE", 1)
    monkeypatch.setattr(file_jobs, "_LEAST_CHUNKS", 2)
    content = xliff(*((f"source {number}", "die") for number in range(6)))
    some = [imported(store, content, f"{number}.xlf") for number in range(2)]
    for file in some:
        propose(store, jobs_of, file)
    edit = jobs_of.proposer._engine.edit

    async def teaching(segments: Any, **options: Any) -> EditedSegments:
        await asyncio.to_thread(store.decisions.save, some[0], 1, decision(store, some[0], 1, next(texts)), "anna")
        return await edit(segments, **options)

    texts = map(str, itertools.count())
    monkeypatch.setattr(jobs_of.proposer._engine, "edit", teaching)
    _teach(store)
    before = store.memory.of("default").position.last
    for _ in range(6):
        job = store.jobs.claim(["propose"])
        assert job is not None
        asyncio.run(jobs_of._run(job))
    assert all(min(_proposed_at(store, file)[1:]) >= before for file in some)
    monkeypatch.setattr(jobs_of.proposer._engine, "edit", edit)
    assert renew(store, jobs_of) == set(some), "what was learnt meanwhile is not lost for either"
    last = store.memory.of("default").position.last
    assert {number for file in some for number in _proposed_at(store, file)[1:]} == {last}


def test_jobs_of_a_project_wait_once_until_corrections_pause(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, waits = itertools.count(1), []

    async def position(_: str) -> int:
        return next(numbers)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(jobs_of.proposer, "position", position)
    # Of this module alone: services of other tests may sleep at the same time.
    monkeypatch.setattr(file_jobs, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    first = asyncio.run(jobs_of._quiet_position("default"))
    assert asyncio.run(jobs_of._quiet_position("default")) == first + 1
    assert len(waits) == file_jobs._QUIET_TRIES


def test_renewing_ends_when_corrections_are_deleted_meanwhile(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.0)
    file, edit = imported(store, xliff(*PAIRS)), jobs_of.proposer._engine.edit
    _teach(store)
    deletions = iter((store.projects.delete_corrections,))

    async def deleting(segments: Any, **options: Any) -> EditedSegments:
        for delete in deletions:
            await asyncio.to_thread(delete, "default", "anna")
        return await edit(segments, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", deleting)
    assert renew(store, jobs_of) == {file}
    assert _proposed_at(store, file) == [0] * 5


def test_the_log_says_why_proposals_were_not_renewed(
    store: Store, jobs_of: FileJobs, caplog: pytest.LogCaptureFixture
) -> None:
    file = imported(store, xliff(*PAIRS))
    _teach(store)
    job = store.jobs.claim(["propose"])
    assert job is not None
    store.jobs.fail(job, "the model asks for a source")
    assert store.jobs.of_project("default")[0]["kind"] == "import"
    assert f"of file {file} failed: the model asks for a source" in caplog.text


class _Counter:
    """Counts the segments that an engine is asked for."""

    def __init__(self, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self._edit = 0, engine.edit
        monkeypatch.setattr(engine, "edit", self.edit)

    async def edit(self, segments: Any, **options: Any) -> EditedSegments:
        self.count += len(segments)
        found: EditedSegments = await self._edit(segments, **options)
        return found


def renew(store: Store, jobs_of: FileJobs) -> set[str]:
    """Do the jobs that wait, and return their files."""
    done = set()
    while (job := store.jobs.claim(["propose"])) is not None:
        asyncio.run(jobs_of._run(job))
        done.add(job.file)
    return done


def propose(store: Store, jobs_of: FileJobs, file: str) -> None:
    row, numbers = store.files.row(file), range(1, 1 + store.files.get(file)["segments"])
    jobs_of.proposer.save(
        row, asyncio.run(jobs_of.proposer.made(row, store.segments.some(file, numbers), ProposalRequest("job", "")))
    )


def test_a_model_that_does_not_learn_is_asked_again_for_settings(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def edit(segments: Any, **_: Any) -> EditedSegments:
        return EditedSegments([replaced(one.mt or "", {}) for one in segments], "words", "0", None)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", edit)
    monkeypatch.setattr(jobs_of.proposer._engine, "learns", lambda _: False)
    asked = _Counter(jobs_of.proposer._engine, monkeypatch)
    file = imported(store, xliff(*PAIRS))
    propose(store, jobs_of, file)
    assert asked.count == 5
    store.decisions.save(file, 4, decision(store, file, 4, "der Baum"), "anna")
    assert renew(store, jobs_of) == {file}
    asyncio.run(jobs_of.proposer.renewed(store.files.row(file), [1, 2, 3], ""))
    assert asked.count == 5
    store.projects.change("default", {"min_confidence": 0.5}, "anna")
    assert store.files.get(file)["estimate"]["proposals"] == 5, "the old ones count until there are new ones"
    assert renew(store, jobs_of) == {file}
    assert asked.count == 9
    assert renew(store, jobs_of) == set()


def test_whatever_proposals_come_from_renews_those_of_all_files(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.0)
    some = {imported(store, xliff(("a", "ein Katz")), f"{number}.xlf") for number in range(2)}
    done = imported(store, xliff(("b", "gut")))
    for file in (*some, done):
        propose(store, jobs_of, file)
    store.decisions.save(done, 1, decision(store, done, 1, "gut"), "anna")
    renew(store, jobs_of)
    asked = _Counter(jobs_of.proposer._engine, monkeypatch)
    teach = [Correction("x", "Katz", "Katze", project="default")]
    projects_of = store.projects
    for count, (change, text) in enumerate(
        (
            (lambda: projects_of.add_corrections("default", teach, "anna"), "ein Katze"),
            (lambda: projects_of.undo_correction("default", 2, "anna"), "ein Katz"),
            (lambda: projects_of.set_glossary("default", "cat\tKatze\n", "anna"), "ein Katz"),
            (lambda: projects_of.change("default", {"protect": ["number"]}, "anna"), "ein Katz"),
            (lambda: projects_of.change("default", {"model": "words"}, "anna"), "ein Katz"),
            (lambda: projects_of.add_corrections("default", teach, "anna"), "ein Katze"),
            (lambda: projects_of.delete_corrections("default", "anna"), "ein Katz"),
        ),
        1,
    ):
        change()
        assert renew(store, jobs_of) == some
        assert asked.count == 2 * count
        assert {store.segments.get(file, 1)["proposal"]["text"] for file in some} == {text}
    store.projects.change("default", {"name": "other", "model": "words"}, "anna")
    assert renew(store, jobs_of) == set(), "no proposal comes from the name of a project"


def _deleted_elsewhere(store: Store, jobs_of: FileJobs, place: str) -> tuple[str, str]:
    """Teach two projects, and delete the corrections of the first as another program does; return a file of each."""
    found = []
    for project in ("default", store.projects.create({"name": "other"}, "anna")):
        store.projects.add_corrections(project, [Correction("x", "Katz", "Katze", project=project)], "anna")
        found.append(imported(store, xliff(("a", "ein Katz")), project=project))
        propose(store, jobs_of, found[-1])
    with CorrectionMemory(place) as memory:
        memory.delete("default")
        memory.add([Correction("y", "Hund", "Hunde", project="default")])
    return found[0], found[1]


def test_proposals_forget_what_another_program_deletes(
    store: Store, jobs_of: FileJobs, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.0)
    file, other = _deleted_elsewhere(store, jobs_of, place)
    assert store.forget_deleted()
    assert renew(store, jobs_of) == {file}, "other projects keep their proposals"
    assert [store.segments.get(one, 1)["proposal"]["text"] for one in (file, other)] == ["ein Katz", "ein Katze"]


def test_segments_forget_the_corrections_that_they_taught(store: Store, jobs_of: FileJobs, place: str) -> None:
    file = imported(store, xliff(("a", "ein Katz")))
    propose(store, jobs_of, file)  # with no correction yet
    store.decisions.save(file, 1, decision(store, file, 1, "ein Hund"), "anna")
    assert store.segments.get(file, 1)["correction"] is not None
    with CorrectionMemory(place) as memory:
        memory.delete("default")
    store.forget_deleted()
    assert store.segments.get(file, 1)["correction"] is None


def test_a_project_deleted_meanwhile_does_not_stop_forgetting(
    store: Store, jobs_of: FileJobs, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.projects.create({"name": "other"}, "anna")
    store.projects.add_corrections(project, [Correction("x", "Katz", "Katze", project=project)], "anna")
    propose(store, jobs_of, imported(store, xliff(("a", "ein Katz")), project=project))
    with CorrectionMemory(place) as memory:
        memory.delete(project)
    by_number = CorrectionMemory.by_number

    def deleting(memory: CorrectionMemory, numbers: Iterable[int]) -> dict[int, Correction]:
        store.projects.delete(project, "anna")
        return by_number(memory, numbers)

    monkeypatch.setattr(CorrectionMemory, "by_number", deleting)
    store.projects.forget_deleted_corrections()
    assert project not in [one["id"] for one in store.projects.all()]


def test_a_new_service_forgets_what_was_deleted_before_it_started(
    store: Store, jobs_of: FileJobs, place: str, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.0)
    file, _ = _deleted_elsewhere(store, jobs_of, place)
    serve()
    deadline = time.monotonic() + 600
    while store.segments.get(file, 1)["proposal"]["text"] != "ein Katz":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_proposals_of_former_settings_go_when_decisions_are_taken_back(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "_QUIET_SECONDS", 0.0)
    file = imported(store, xliff(("a", "ein Katz")))
    store.projects.add_corrections("default", [Correction("x", "Katz", "Katze", project="default")], "anna")
    propose(store, jobs_of, file)
    assert store.segments.get(file, 1)["proposal"]["text"] == "ein Katze"
    store.decisions.save(file, 1, decision(store, file, 1, "mein Katz", state="draft"), "anna")
    store.projects.delete_corrections("default", "anna")
    store.decisions.save(file, 1, decision(store, file, 1, "", codes=[], state="open"), "anna")
    renew(store, jobs_of)
    assert store.segments.get(file, 1)["proposal"]["text"] == "ein Katz"


@pytest.mark.parametrize(
    ("setting", "value"), [("min_confidence", 0.5), ("source_language", "ja"), ("target_language", "ja")]
)
def test_proposals_made_with_former_settings_are_not_saved(
    store: Store, jobs_of: FileJobs, setting: str, value: Any
) -> None:
    file = imported(store, xliff(("a", "die")))
    row, segments = store.files.row(file), store.segments.some(file, [1])
    store.projects.add_corrections("default", [Correction("x", "y", "z", project="default")], "anna")
    made = asyncio.run(jobs_of.proposer.made(row, segments, ProposalRequest("job", "")))
    store.projects.change("default", {setting: value}, "anna")
    assert not jobs_of.proposer.save(row, made)
    assert store.segments.get(file, 1)["proposal"] is None
    made = asyncio.run(jobs_of.proposer.made(row, segments, ProposalRequest("job", "")))
    store.projects.delete_corrections("default", "anna")
    store.projects.add_corrections("default", [Correction("x", "y", "other", project="default")], "anna")
    assert not jobs_of.proposer.save(row, made), "numbers have gone on, but in another edition"
    assert store.segments.get(file, 1)["proposal"] is None
    propose(store, jobs_of, file)
    assert store.segments.get(file, 1)["proposal"]["text"] == "das"


def test_proposals_are_made_anew_when_settings_change_meanwhile(
    store: Store, jobs_of: FileJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, edit = imported(store, xliff(*PAIRS)), jobs_of.proposer._engine.edit
    with store.database.change("default", "anna") as change:
        job = store.jobs.add(change, "edit", file)
    changes = iter((0.25, 0.5))

    async def changing(segments: Any, **options: Any) -> EditedSegments:
        for value in itertools.islice(changes, 1):
            await asyncio.to_thread(store.projects.change, "default", {"min_confidence": value}, "anna")
        return await edit(segments, **options)

    monkeypatch.setattr(jobs_of.proposer._engine, "edit", changing)
    claimed = store.jobs.claim(["edit"])
    assert claimed is not None
    asyncio.run(jobs_of._run(claimed))
    found = store.jobs.get(job)
    assert (found["state"], found["done"], found["total"]) == ("done", 5, 5)
    assert store.files.get(file)["estimate"]["proposals"] == 5


def test_proposals_are_saved_by_the_connection_that_locks_the_project(store: Store, jobs_of: FileJobs) -> None:
    file = imported(store, xliff(("a", "die")))
    row, opened = store.files.row(file), []
    made = asyncio.run(jobs_of.proposer.made(row, store.segments.some(file, [1]), ProposalRequest("job", "")))
    with store.database.change("default", "") as change:
        sql.event.listen(store.database.engine, "checkout", lambda *_: opened.append(1))
        jobs_of.proposer.save_part(change, row, made)
    assert opened == [], "many that wait for the lock would leave no connection to the one that has it"
    assert store.segments.get(file, 1)["proposal"]["text"] == "das"


def test_deleted_corrections_leave_no_text(
    store: Store, jobs_of: FileJobs, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_projects, "_PER_PAGE", 1)
    file = imported(store, xliff(("a", "die"), ("b", "die")))
    propose(store, jobs_of, file)
    store.decisions.save(file, 2, decision(store, file, 2, "das"), "anna")
    other = store.projects.create({"name": "other"}, "anna")
    for project in ("default", other):
        store.projects.add_corrections(project, [Correction("a secret", "b", "c", project=project)], "anna")
    reasons = [{"kind": "correction", "count": 1, "corrections": [{"number": 1, "src": "a secret"}]}]
    with store.database.write() as connection:
        for row in store.segments.some(file, [1, 2]):
            proposal = json.loads(row["proposal"])
            proposal["edits"][0]["reasons"] = reasons
            values = {"proposal": as_json(proposal), "explained": True}
            connection.execute(sql.update(segments).where(segments.c.number == row["number"]).values(values))
    assert store.projects.delete_corrections("default", "anna") == 2
    assert list(store.memory.of("default").entries()) == []
    assert len(list(store.memory.of(other).entries())) == 1
    shown = [store.segments.get(file, number) for number in (1, 2)]
    assert [one["correction"] for one in shown] == [None, None]
    assert "secret" not in json.dumps(shown)
    assert shown[1]["proposal"]["text"] == "das", "what was proposed stays"
    assert [one["proposal"]["edits"][0]["reasons"] for one in shown] == [[], []]
    store.projects.delete_corrections(other, "anna")
    store.close()  # which waits until all is overwritten
    if "://" not in place:
        for path in Path(place).parent.glob("postedit.db*"):
            assert b"secret" not in path.read_bytes()


PO_WITH_NUL = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a\\000b"\nmsgstr ""\n'


TWO_PAIRS = xliff(*PAIRS).replace(
    b"</xliff>",
    b'<file original="b" datatype="plaintext" source-language="en" target-language="fr"><body>'
    b'<trans-unit id="9"><source>c</source><target>d</target></trans-unit></body></file></xliff>',
)


FRENCH_TMX = (
    b'<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv>'
    b'<tuv xml:lang="fr"><seg>b</seg></tuv></tu></body></tmx>'
)


def test_files_that_cannot_be_read_end_in_a_sentence(store: Store, tmp_path: Any) -> None:
    engine = WordEngine(config_of("x", tmp_path))
    for content, message in (
        (xliff(("", "")), "no segment with text"),
        (xliff(("a", "b"))[:-30], "a.xlf"),
        (PO_WITH_NUL, "segment 1 has a NUL character"),
        (TWO_PAIRS, "a.xlf: has segments from en to de, and others from en to fr; divide it"),
        (xliff(*PAIRS), "a.xlf: is from en to de, and the project from any language to fr"),
        (xliff(*PAIRS).replace(b'"de"', b'"ja"'), "en to ja, and the model of the project from en to de"),
        (FRENCH_TMX, "a.xlf: has no segments from en to de, only in en, fr"),
    ):
        with store.database.change("default", "anna") as change:
            change.execute(sql.update(projects).values(target_language="fr" if "any" in message else ""))
            file = store.files.create(change, "a.po" if content == PO_WITH_NUL else "a.xlf", io.BytesIO(content))
            store.jobs.add(change, "import", file)
        job = store.jobs.claim()
        assert job is not None
        engine.store = store
        asyncio.run(FileJobs(store, engine)._run(job))
        found = store.files.get(file)
        assert found["state"] == "failed"
        assert message in found["error"]
        assert store.jobs.get(job.id)["error"] == found["error"]
