"""Whose turn it is: projects one after the other, and jobs that dead processes left first."""

import io
import itertools
from types import SimpleNamespace

import pytest
from serve_tools import PAIRS, added_job, xliff

from postedit.serve import job_turns
from postedit.serve.job_turns import JobTurns
from postedit.serve.store import Store
from postedit.serve.store_jobs import JOB_KINDS, JobKind


@pytest.fixture
def turns(store: Store) -> JobTurns:
    """Return what chooses among the jobs of the store, in a process with the model `words` alone."""
    return JobTurns(store.jobs, ["words"])


def test_a_database_that_is_busy_for_long_costs_no_job_its_process(
    turns: JobTurns, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert turns.next(["import"]) is not None
    clock = itertools.count(step=2 * job_turns._DEAD_SECONDS)
    monkeypatch.setattr(job_turns, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert [turns.next(["import"]) for _ in range(3)] == [None] * 3


def test_a_job_that_kills_its_processes_is_given_up(store: Store, turns: JobTurns, waiting: str) -> None:
    assert store.jobs.claim() is not None
    for claim in range(2, job_turns._MOST_INTERRUPTIONS + 1):
        taken = turns._taken_over(waiting, store.jobs.running()[waiting], JOB_KINDS)
        assert taken is not None
        assert taken.claim == claim
    assert turns._taken_over(waiting, store.jobs.running()[waiting], JOB_KINDS) is None
    found = store.jobs.get(waiting)
    assert (found["state"], found["error"][:36]) == ("failed", "the service was interrupted 5 times ")


def test_planned_restarts_give_no_job_up(store: Store, turns: JobTurns, waiting: str) -> None:
    for _ in range(2 * job_turns._MOST_INTERRUPTIONS):
        job = store.jobs.claim()
        assert job is not None
        store.jobs.release(job)
    assert store.jobs.claim() is not None
    for _ in range(job_turns._MOST_INTERRUPTIONS - 1):
        taken = turns._taken_over(waiting, store.jobs.running()[waiting], JOB_KINDS)
        assert taken is not None
    assert turns._taken_over(waiting, store.jobs.running()[waiting], JOB_KINDS) is None
    assert store.jobs.get(waiting)["state"] == "failed"


def test_a_dead_job_is_found_behind_those_of_other_kinds(
    store: Store, turns: JobTurns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_turns, "_DEAD_SECONDS", -1.0)
    kinds: tuple[JobKind, ...] = ("import", "propose")
    with store.database.change("default", "anna") as change:
        for kind in kinds:
            store.jobs.add(change, kind, store.files.create(change, "a.xlf", io.BytesIO(xliff(*PAIRS))))
    assert all(store.jobs.claim([kind]) is not None for kind in kinds)
    found = [turns.next([kind]) for kind in kinds]
    assert [job and job.kind for job in found] == [*kinds]


def test_workers_for_proposals_read_the_files_of_edit_jobs(store: Store, turns: JobTurns) -> None:
    kinds: tuple[JobKind, ...] = ("edit", "import")
    with store.database.change("default", "anna") as change:
        for kind in kinds:
            store.jobs.add(change, kind, store.files.create(change, "a.xlf", io.BytesIO(xliff(*PAIRS))))
    found = [turns.next(kinds, reads=reads) for reads in (True, False, True, False)]
    assert [job and job.kind for job in found] == ["import", "edit", None, None]


def test_projects_take_turns(store: Store, turns: JobTurns) -> None:
    many, few, one = (store.projects.create({"name": name}, "anna") for name in ("many", "few", "one"))
    for project in (many, many, many, many, few, few, one):
        added_job(store, project)
    found = [turns.next(["edit"]) for _ in range(8)]
    assert [job and job.project for job in found] == [many, few, one, many, few, many, many, None]


def test_only_the_latest_turns_are_remembered(store: Store, turns: JobTurns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_turns, "_MOST_SERVED", 1)
    one, other = (store.projects.create({"name": name}, "anna") for name in ("one", "other"))
    for project in (one, one, other, other, one):
        added_job(store, project)
    found = [turns.next(["edit"]) for _ in range(5)]
    assert [job and job.project for job in found] == [one, other, one, other, one]
    assert [*turns._served["edit",]] == [one]


def test_jobs_are_left_to_services_that_have_their_model(store: Store, turns: JobTurns, other_model: str) -> None:
    assert turns.next(["import"]) is None
    assert store.jobs.claim(["import"], {"phrases": 1}) is not None
    beats = store.jobs.running()[other_model]
    assert store.jobs.take_over(other_model, beats, ["import"], ["words"]) is None
    assert store.jobs.take_over(other_model, beats, ["import"], ["words", "phrases"]) is not None


def test_repetitions_are_filled_in_by_services_without_the_model(
    store: Store, turns: JobTurns, other_model: str
) -> None:
    with store.database.change("default", "anna") as change:
        store.jobs.add(change, "fill", store.jobs.get(other_model)["file"])
    assert turns.next(["fill"]) is not None


def _let_time_pass(monkeypatch: pytest.MonkeyPatch, dead_seconds: float) -> None:
    """Let 400 seconds pass between two looks at the clock, too few for a process to be taken for dead."""
    clock = itertools.count(step=400.0)
    monkeypatch.setattr(job_turns, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(job_turns, "_DEAD_SECONDS", dead_seconds)


def test_a_job_waits_for_its_model_while_other_services_work(
    store: Store, turns: JobTurns, other_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_time_pass(monkeypatch, dead_seconds=10_000.0)
    other = store.projects.create({"name": "other"}, "anna")
    with store.database.change(other, "anna") as change:
        at_work = store.jobs.add(change, "import", store.files.create(change, "b.xlf", io.BytesIO(xliff(*PAIRS))))
    claimed = store.jobs.claim(["import"], [])
    assert claimed is not None
    assert claimed.id == at_work
    assert [turns.next(["import"]) for _ in range(3)] == [None] * 3
    turns._own.add(at_work)
    found = turns.next(["import"])
    assert found is not None
    assert found.id == other_model


def test_a_job_behind_another_of_its_file_is_left_to_others(
    store: Store, turns: JobTurns, other_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_time_pass(monkeypatch, dead_seconds=100_000.0)
    with store.database.change("default", "anna") as change:
        behind = store.jobs.add(change, "propose", store.jobs.get(other_model)["file"])
    assert store.jobs.claim(["import"], ["phrases"]) is not None  # in another process
    assert [turns.next(["propose"]) for _ in range(3)] == [None] * 3
    turns._own.add(other_model)  # also if no other process works
    assert [turns.next(["propose"]) for _ in range(3)] == [None] * 3
    assert store.jobs.get(behind)["state"] == "waiting"


def test_a_job_waits_while_other_services_do_work_of_another_kind(
    store: Store, turns: JobTurns, other_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = store.projects.create({"name": "other"}, "anna")
    with store.database.change(other, "anna") as change:
        store.jobs.add(change, "fill", store.files.create(change, "b.xlf", io.BytesIO(xliff(*PAIRS))))
    assert store.jobs.claim(["fill"]) is not None
    _let_time_pass(monkeypatch, dead_seconds=100_000.0)
    assert [turns.next(["import"]) for _ in range(3)] == [None] * 3
