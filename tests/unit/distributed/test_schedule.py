"""Which worker gets which item, on a clock of whole seconds."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.distributed.schedule import AHEAD, WINDOW, Schedule


def filled(workers: int, patience: float = 0.0) -> Schedule:
    """Return a schedule whose workers have full queues at second 0: worker w has the items w, w + workers, ..."""
    schedule = Schedule(workers, patience)
    for item in range(AHEAD * workers):
        assert schedule.place_new(0) == item % workers
    return schedule


def known(workers: int = 4, patience: float = 0.0) -> Schedule:
    """Return a schedule in which all workers but the last have done all they had, each in a second, at second 2."""
    schedule = filled(workers, patience)
    for second in range(AHEAD):
        for worker in range(workers - 1):
            assert schedule.came_back(worker + second * workers, worker, second + 1)
    return schedule


def test_no_queue_is_longer_than_another_one_by_two() -> None:
    schedule = filled(3)
    assert [schedule.queue(worker) for worker in range(3)] == [[0, 3], [1, 4], [2, 5]]
    assert schedule.place_new(0) is None
    assert schedule.came_back(1, 1, 5)
    assert schedule.place_new(5) == 1


def test_no_more_waits_than_the_window() -> None:
    schedule = Schedule(2, math.inf)
    sent = 0
    while (worker := schedule.place_new(0)) is not None:
        if sent:
            schedule.came_back(sent, worker, 0)
        sent += 1
    assert sent == WINDOW * 2
    schedule.came_back(0, 0, 1)
    schedule.take()
    assert schedule.place_new(1) is not None


def test_idle_workers_get_what_a_late_one_has_and_the_first_answer_counts() -> None:
    schedule = known()
    assert schedule.place_copy(1.4) is None
    assert [schedule.place_copy(2), schedule.place_copy(2), schedule.place_copy(2)] == [(3, 0), (7, 1), None]
    assert schedule.came_back(3, 0, 3)
    assert not schedule.came_back(3, 3, 4)
    assert schedule.copies == 2


def test_a_worker_that_was_beaten_pauses_as_long_as_it_took() -> None:
    schedule = known()
    for _ in range(2):
        schedule.place_copy(2)
    assert schedule.came_back(3, 0, 3)
    assert schedule.came_back(7, 1, 3)
    assert not schedule.came_back(3, 3, 10)
    assert not schedule.came_back(7, 3, 10)  # given up in its queue

    def gets_something(second: float) -> bool:
        return any(schedule.queue(3) or schedule.place_new(second) == 3 for _ in range(6))

    assert not gets_something(19)
    assert gets_something(20)


def test_a_late_worker_that_is_first_goes_on() -> None:
    schedule = known()
    for _ in range(2):
        schedule.place_copy(2)
    assert schedule.came_back(3, 3, 3)
    assert schedule.came_back(7, 3, 4)
    assert any(schedule.place_new(4) == 3 for _ in range(6))


def test_nothing_is_late_within_the_patience() -> None:
    schedule = known(patience=60)
    assert schedule.place_copy(60) is None
    assert schedule.place_copy(61) == (3, 0)


def test_a_failure_counts_if_nobody_else_has_the_item() -> None:
    schedule = known()
    assert schedule.place_copy(2) == (3, 0)
    assert not schedule.came_back(3, 0, 3, failed=True)
    assert schedule.came_back(3, 3, 4, failed=True)
    assert schedule.came_back(7, 3, 4, failed=True)


@given(st.integers(1, 4), st.integers(1, 60), st.sampled_from([0.0, 3.0, math.inf]), st.integers(0))
def test_every_item_has_one_result(workers: int, items: int, patience: float, seed: int) -> None:
    schedule, now, sent, results, taken = Schedule(workers, patience), 0, 0, set[int](), 0
    chance = Random(seed)
    while taken < items:
        now += 1
        while schedule.place_copy(now):
            pass
        while sent < items and (worker := schedule.place_new(now)) is not None:
            assert len(schedule.queue(worker)) <= AHEAD
            sent += 1
        assert sent - taken <= WINDOW * workers
        for worker in range(workers):
            queue = schedule.queue(worker)
            if not queue or chance.random() < 0.2 * (worker + 1):  # the higher its number, the slower it is
                continue
            item = chance.choice(queue)
            if schedule.came_back(item, worker, now):
                assert item not in results
                results.add(item)
        while taken in results:
            schedule.take()
            taken += 1
        assert now < 10_000
    assert results == set(range(items))
    assert not schedule.unfinished
    assert schedule.copies == 0 or patience < math.inf


def test_one_worker_is_never_left_without_work() -> None:
    schedule = Schedule(1, 0.0)
    for item, seconds in enumerate([1, 1, 1, 1, 50, 1, 1]):
        assert schedule.place_new(100 * item) == 0
        assert schedule.place_copy(100 * item + seconds) is None
        assert schedule.came_back(item, 0, 100 * item + seconds)
        schedule.take()


@pytest.mark.parametrize("workers", [1, 4])
def test_no_item_is_late_before_some_were_done(workers: int) -> None:
    assert filled(workers).place_copy(1e9) is None
