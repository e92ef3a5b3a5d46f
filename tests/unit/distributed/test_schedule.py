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


def test_what_was_copied_is_not_copied_again_unless_the_copy_is_late_too() -> None:
    schedule = known()
    assert schedule.place_copy(2) == (3, 0)
    assert schedule.came_back(3, 3, 3)  # now the worker is late with its next item, which waited for a copy already
    assert [schedule.place_copy(5), schedule.place_copy(5)] == [(7, 1), None]
    assert schedule.place_copy(7) == (7, 2)


@pytest.mark.parametrize("order", [(3, 7), (7, 3)], ids=["copies first", "given up in its queue first"])
def test_a_worker_that_was_beaten_pauses_as_long_as_it_took(order: tuple[int, int]) -> None:
    schedule = known()
    for _ in range(2):
        schedule.place_copy(2)
    assert schedule.came_back(3, 0, 3)
    assert schedule.came_back(7, 1, 3)
    for second, item in zip((9 if order[0] == 7 else 10, 10), order):
        assert not schedule.came_back(item, 3, second)

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


def test_a_late_worker_gets_nothing_new() -> None:
    schedule = known()
    assert schedule.came_back(3, 3, 1)
    assert schedule.came_back(7, 3, 2)
    late = schedule.place_new(2)
    assert schedule.place_copy(4) is not None
    placed = [schedule.place_new(4) for _ in range(9)]
    assert late not in placed
    assert sum(worker is not None for worker in placed) == 3 * AHEAD - 1, (
        "the others are busy, one of them with the copy"
    )


def test_a_late_worker_does_not_pause_for_what_it_did_not_work_on() -> None:
    schedule = known()
    for _ in range(2):
        schedule.place_copy(2)
    assert schedule.came_back(7, 1, 3)
    assert not schedule.came_back(7, 3, 4)  # given up in its queue
    assert schedule.came_back(3, 3, 5)
    assert any(schedule.place_new(5) == 3 for _ in range(6))


def test_only_results_tell_how_long_an_item_takes() -> None:
    schedule = known()
    assert schedule.came_back(3, 3, 1)
    assert schedule.came_back(7, 3, 2)
    for item in range(8, 28):
        worker = schedule.place_new(2)
        assert worker is not None
        assert schedule.came_back(item, worker, 2, failed=True)
        schedule.take()
    assert schedule.place_new(2) is not None
    assert schedule.place_copy(3.5) is None
    assert schedule.place_copy(3.7) is not None


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


def test_no_item_is_late_before_three_were_done() -> None:
    schedule = filled(4)
    for worker, item, second in ((0, 0, 1), (0, 4, 2)):
        assert schedule.came_back(item, worker, second)
        assert schedule.place_copy(1e9) is None
    assert schedule.came_back(1, 1, 1)
    assert schedule.place_copy(1e9) is not None
