"""Jobs: claimed once, taken over when their process dies, and the progress figures of what they led to."""

import io
import multiprocessing
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sql
from serve_tools import PAIRS, added_job, decision, imported, work_for_ever, xliff

from postedit.serve import store_decisions
from postedit.serve.schema import files, jobs, segments
from postedit.serve.store import Store
from postedit.serve.store_base import NotFoundError, rows_of
from postedit.serve.store_jobs import ClaimedJob, LostJobError


def test_a_job_is_claimed_once(store: Store, place: str, waiting: str) -> None:
    other = Store(place)
    job = store.jobs.claim()
    assert job is not None
    assert job.id == waiting
    assert other.jobs.claim() is None
    store.jobs.release(job)
    again = other.jobs.claim()
    assert again is not None
    assert (again.id, again.claim) == (waiting, 2)
    other.close()


def test_a_job_is_taken_over_when_its_process_gives_no_sign_of_life(store: Store, waiting: str) -> None:
    dead = store.jobs.claim()
    assert dead is not None
    beats = store.jobs.running()[waiting]
    store.jobs.beat(dead)
    assert store.jobs.take_over(waiting, beats) is None  # it lives
    taken = store.jobs.take_over(waiting, store.jobs.running()[waiting])
    assert taken is not None
    with pytest.raises(LostJobError):
        store.jobs.beat(dead)
    with pytest.raises(LostJobError):
        _end(store, dead)
    assert store.jobs.get(waiting)["state"] == "running"
    assert all(one.get("file") != "none" for one in store.projects.events("default", 0, 99))


def _end(store: Store, job: ClaimedJob) -> None:
    with store.database.change("default", "") as change:
        change.event("file", file="none")
        store.jobs.advance(change, job, state="done")


def test_a_cancelled_job_is_lost(store: Store, waiting: str) -> None:
    job = store.jobs.claim()
    assert job is not None
    store.jobs.cancel(waiting, "anna")
    with pytest.raises(LostJobError):
        store.jobs.beat(job)
    with pytest.raises(NotFoundError, match="has already ended"):
        store.jobs.cancel(waiting, "anna")


def test_repetitions_of_a_file_not_in_the_statistics_are_counted(store: Store) -> None:
    """PostgreSQL expects few segments in such a file; joined with the counts, it counts them again for each one."""
    rows = [{"number": one, "same": f"{one // 2:032x}", "tagged": False, "state": "new"} for one in range(2, 6002)]
    for after in ("ANALYZE serve_segments", "SELECT 1"):
        file = imported(store, xliff(("the house", "die Haus")))
        with store.database.change("default", "anna") as change:
            change.execute(sql.insert(segments), [{**row, "file": file, "src": "the house " * 10} for row in rows])
            change.execute(sql.text(after))
    with store.database.change("default", "anna") as change:
        if store.database.engine.dialect.name == "postgresql":
            change.execute(sql.text("SET LOCAL statement_timeout = '4s'"))
        store.proposals.count_repetitions(change, file)
    with store.database.read() as connection:
        found = rows_of(connection, sql.select(segments.c.repeats).where(segments.c.file == file))
    assert [row["repeats"] for row in found].count(2) == len(rows)


def test_repetitions_are_counted_in_one_statement(store: Store) -> None:
    """Others cannot write meanwhile, so the time must not grow with the number of texts that are repeated."""
    file = imported(store, xliff(*[("the house", "die Haus"), ("a tree", "ein Baum"), ("a bird", "ein Vogel")] * 2))
    updates: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        updates.extend([statement] if statement.startswith("UPDATE serve_segments") else [])

    sql.event.listen(store.database.engine, "before_cursor_execute", note)
    with store.database.change("default", "anna") as change:
        store.proposals.count_repetitions(change, file)
    assert [one["repeats"] for one in store.segments.page(file, after=0, limit=9)["segments"]] == [2] * 6
    assert len(updates) == 1


def test_a_file_that_is_ready_stays_so_when_a_job_on_it_is_cancelled(store: Store, waiting: str) -> None:
    store.jobs.cancel(waiting, "anna")
    assert store.files.get(store.jobs.get(waiting)["file"])["state"] == "ready"


def test_repetitions_are_filled_in_beside_other_work_on_the_file(store: Store) -> None:
    file = imported(store, xliff(*PAIRS))
    with store.database.change("default", "anna") as change:
        for kind in ("fill", "propose", "fill", "propose"):
            store.jobs.add(change, kind, file)
    claimed = [store.jobs.claim() for _ in range(4)]
    assert [job and job.kind for job in claimed] == ["fill", "propose", "fill", None]


@pytest.mark.parametrize(("is_ready", "expected"), [(False, False), (True, True)])
def test_only_what_workers_for_proposals_do_ends_a_turn(store: Store, is_ready: bool, expected: bool) -> None:
    other = store.projects.create({"name": "other"}, "anna")
    for project in ("default", other, other):
        added_job(store, project, kind="edit" if project == "default" else "import")
    job, reading = store.jobs.claim(["edit"]), store.jobs.claim(["import"])
    assert job is not None
    assert reading is not None
    assert reading.project == other
    if is_ready:
        with store.database.change(other, "anna") as change:
            change.execute(sql.update(files).where(files.c.id != reading.file).values(state="ready"))
    assert store.jobs.is_awaited(job, ["import", "edit"], []) is expected, "one is still read, or is to be read"


def test_files_that_are_to_be_read_first_end_no_turn(store: Store) -> None:
    other = store.projects.create({"name": "other"}, "anna")
    added_job(store, "default")
    job = store.jobs.claim(["edit"])
    assert job is not None
    added_job(store, other, kind="import")
    assert not store.jobs.is_awaited(job, ["import", "edit"], [])
    with store.database.change(other, "anna") as change:
        change.execute(sql.update(files).where(files.c.project == other).values(state="ready"))
    assert store.jobs.is_awaited(job, ["import", "edit"], [])


def test_a_released_renewal_does_not_wait_beside_another(store: Store) -> None:
    file = imported(store, xliff(("a", "ein Katz")))
    with store.database.change("default", "anna") as change:
        store.jobs.add_once(change, "propose", file)
    running = store.jobs.claim(["propose"])
    assert running is not None
    with store.database.change("default", "anna") as change:
        store.jobs.add_once(change, "propose", file)
    assert store.jobs.claim(["propose"]) is None, "one at a time for a file"
    store.jobs.release(running)
    assert store.jobs.claim(["propose"]) is not None
    assert store.jobs.claim(["propose"]) is None
    with store.database.read() as connection:
        assert len(rows_of(connection, sql.select(jobs).where(jobs.c.kind == "propose"))) == 1


def test_progress_counts_the_last_confirmation_of_each_segment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = store_decisions.now()
    monkeypatch.setattr(store_decisions, "now", lambda: made)  # else midnight would divide them
    file = imported(store, xliff(("a b", "b c d e"), ("x", "y"), ("x", "y")))
    store.decisions.save(file, 1, decision(store, file, 1, "b", state="draft", seconds=1.5), "ben")
    for target in ("b c d f", "b c d e"):
        store.decisions.save(file, 1, decision(store, file, 1, target, seconds=2.5), "anna")
    store.decisions.save(file, 2, decision(store, file, 2, "z"), "ben")
    found = store.progress.of("default")
    (day,) = found["days"]
    assert (day["segments"], day["words"], day["edits"], day["seconds"], day["timed"]) == (2, 5, 1, 6.5, 1)
    assert day["ter_mt"] == pytest.approx(20)
    assert [(one["name"], one["segments"]) for one in found["people"]] == [("anna", 1), ("ben", 1)]
    for number, state, left in ((1, "draft", [("ben", 1)]), (2, "open", [])):
        store.decisions.save(file, number, decision(store, file, number, "z", state=state), "anna")
        people = store.progress.of("default")["people"]
        assert [(one["name"], one["segments"]) for one in people] == left, "a confirmation was undone"


def test_numbers_order_everything_when_the_clock_jumps(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    years = iter(range(2030, 1000, -1))
    for module in ("store_base", "store_decisions", "store_files", "store_jobs", "store_projects"):
        monkeypatch.setattr(f"postedit.serve.{module}.now", lambda: f"{next(years)}-01-01T00:00:00+00:00")
    file = imported(store, xliff(("a", "b")))
    for target in ("one", "two", "three"):
        store.decisions.save(file, 1, decision(store, file, 1, target), "anna")
    events = store.projects.events("default", 0, 99)
    assert [one["id"] for one in events] == sorted(one["id"] for one in events)
    assert [one["target"] for one in store.segments.history(file, 1)] == ["one", "two", "three"]
    assert [one["target"] for one in store.projects.audit("default", 3)] == ["three", "two", "one"]
    (learnt,) = store.memory.of("default").corrections()
    assert learnt.correction.pe == "three"


def test_the_first_job_of_all_projects_is_first_whatever_the_clock_says(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    years = iter(range(2030, 1000, -1))
    monkeypatch.setattr("postedit.serve.store_jobs.now", lambda: f"{next(years)}-01-01T00:00:00+00:00")
    other = store.projects.create({"name": "other"}, "anna")
    added = []
    for project in ("default", "default", other, "default"):  # the numbers of the events of `other` are lower
        with store.database.change(project, "anna") as change:
            file = store.files.create(change, "a.xlf", io.BytesIO(xliff(("a", "b"))))
            added.append(store.jobs.add(change, "import", file))
    claimed = [store.jobs.claim() for _ in added]
    assert [job and job.id for job in claimed] == added


@pytest.mark.slow
def test_of_three_processes_two_may_die_in_a_job(place: str) -> None:
    """Kill two of three processes while they import files: the third one finishes all."""
    store, rng = Store(place), random.Random(1)
    files = {}
    for turn, count in enumerate((400, 32, 400)):  # one process is soon done with the second file, and takes the last
        with store.database.change("default", "anna") as change:
            content = xliff(*((f"source {number}", f"die {number}") for number in range(count)))
            file = store.files.create(change, f"{turn}.xlf", io.BytesIO(content))
            store.jobs.add(change, "import", file)
        files[file] = count
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["serve_tools"])
    # The first two are so slow that they are at work whenever they are killed.
    workers = [context.Process(target=work_for_ever, args=(place, pace), daemon=True) for pace in (1.0, 1.0, 0.1)]
    for worker in workers[:2]:
        worker.start()
    wait_until(store, lambda job: job["done"] > 0)  # one of them has the last one
    workers[2].start()
    for worker in workers[:2]:
        worker.kill()
        time.sleep(rng.random())
    wait_until(store, lambda job: job["state"] == "done")
    workers[2].kill()
    for file, count in files.items():
        found = store.files.get(file)
        assert (found["state"], found["segments"], found["changed"]) == ("ready", count, count)
        assert found["estimate"]["proposals"] == count
    assert max(one["claims"] for one in _claims(store)) > 2, "one reads, and one makes proposals"


def wait_until(store: Store, condition: Callable[[dict[str, Any]], bool]) -> None:
    end = time.monotonic() + 600
    while not all(map(condition, store.jobs.of_project("default"))):
        assert time.monotonic() < end, store.jobs.of_project("default")
        time.sleep(0.1)


def _claims(store: Store) -> list[dict[str, Any]]:
    with store.database.read() as connection:
        return rows_of(connection, sql.select(jobs.c.claims))
