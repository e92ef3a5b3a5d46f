"""Which segments wait, how many may, and which are edited together."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.editor import Constraints, PostEdit, Segment
from postedit.serve.backlog import (
    Backlog,
    EditedSegment,
    OverloadedError,
    Priority,
    TooLargeError,
    WaitingSegment,
    token_count,
)
from postedit.serve.model_work import EditKind

KIND = EditKind("model")
DONE = EditedSegment(PostEdit("", False), "", None)


def item(
    deadline: float = 1.0,
    kind: EditKind = KIND,
    priority: Priority = "interactive",
    client: str = "",
    letters: int = 36,
) -> WaitingSegment:
    """Return a segment of 10 tokens, if it has 36 letters."""
    done = asyncio.get_running_loop().create_future()
    return WaitingSegment(Segment("x" * letters), kind, priority, deadline, client, done)


def add(backlog: Backlog, *items: WaitingSegment) -> None:
    backlog.add(items, lambda tokens: tokens / 10)


def take(backlog: Backlog, tokens: int = 1000) -> list[WaitingSegment]:
    return backlog.take("model", lambda first: tokens)


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__ = test.__name__
    return run


@in_loop
async def test_interactive_segments_go_before_those_of_jobs() -> None:
    backlog = Backlog(1000, 1.0)
    job, interactive = item(1.0, priority="job"), item(9.0)
    add(backlog, job)
    add(backlog, interactive)
    assert take(backlog) == [interactive]
    assert take(backlog) == [job]
    assert take(backlog) == []


@in_loop
async def test_earlier_deadlines_go_first() -> None:
    backlog = Backlog(1000, 1.0)
    late, early = item(9.0), item(1.0)
    add(backlog, late)
    add(backlog, early)
    assert take(backlog) == [early, late]


@in_loop
async def test_batches_hold_one_kind_and_as_many_tokens_as_fit() -> None:
    backlog = Backlog(1000, 1.0)
    other = item(5.0, EditKind("model", n_best=2))
    many = [item(float(row)) for row in range(7)]
    add(backlog, *many, other)
    assert take(backlog, 30) == many[:3]
    assert take(backlog, 5) == many[3:4], "one segment is always taken"
    assert take(backlog) == many[4:]
    assert take(backlog) == [other]


@in_loop
async def test_batches_of_another_model_are_not_taken() -> None:
    backlog = Backlog(1000, 1.0)
    add(backlog, item())
    assert backlog.take("other", lambda first: 1000) == []


@in_loop
async def test_segments_that_ended_a_process_are_edited_alone() -> None:
    backlog = Backlog(1000, 1.0)
    items = [item() for _ in range(4)]
    items[0].deaths = items[2].deaths = 1
    add(backlog, *items)
    assert [len(take(backlog)) for _ in range(4)] == [1, 1, 1, 1]


@in_loop
async def test_requests_beyond_the_limit_are_refused_whole() -> None:
    backlog = Backlog(100, 1.0)
    add(backlog, *(item() for _ in range(9)))
    with pytest.raises(OverloadedError, match="the service has too much in progress; try again in 1 s") as refused:
        add(backlog, item(), item())
    assert refused.value.retry_after == 1.0
    assert backlog.held("interactive") == 90
    add(backlog, item())


@in_loop
async def test_jobs_take_no_place_from_interactive_requests() -> None:
    backlog = Backlog(100, 1.0)
    add(backlog, *(item(priority="job") for _ in range(10)))
    add(backlog, *(item() for _ in range(10)))


@in_loop
async def test_one_client_holds_no_more_than_its_share() -> None:
    backlog = Backlog(100, 0.5)
    add(backlog, *(item(client="a") for _ in range(5)))
    with pytest.raises(OverloadedError, match="you have too much in progress"):
        add(backlog, item(client="a"))
    add(backlog, item(client="b"))
    with pytest.raises(TooLargeError, match="60 tokens, and one client may have 50"):
        add(backlog, *(item(client="c") for _ in range(6)))


@in_loop
async def test_what_is_refused_takes_no_room_from_others_meanwhile() -> None:
    backlog = Backlog(100, 0.5)

    def expect(client: str, tokens: int) -> AbstractContextManager[None]:
        return backlog.expecting("model", "interactive", client, tokens, lambda tokens: tokens / 10)

    with pytest.raises(TooLargeError), expect("a", 1000):
        pytest.fail("it was counted")
    add(backlog, *(item(client="a") for _ in range(5)))
    with pytest.raises(OverloadedError, match="you have too much"), expect("a", 10):
        pytest.fail("it was counted")
    with expect("b", 50):
        assert backlog.held("interactive") == backlog.held("interactive", "model") == 100
    assert backlog.held("interactive") == 50


@in_loop
async def test_segments_keep_their_place_until_they_are_done() -> None:
    backlog = Backlog(20, 1.0)
    items = [item(), item()]
    add(backlog, *items)
    assert take(backlog) == items
    with pytest.raises(OverloadedError):
        add(backlog, item())
    items[0].done.set_result(DONE)
    items[1].done.cancel()
    await asyncio.sleep(0)
    assert backlog.empty
    add(backlog, item(), item())


@in_loop
async def test_segments_given_up_while_they_wait_are_not_taken() -> None:
    backlog = Backlog(100, 1.0)
    items = [item(), item(), item()]
    add(backlog, *items)
    items[1].done.cancel()
    await asyncio.sleep(0)
    assert take(backlog) == [items[0], items[2]]


@in_loop
async def test_segments_given_back_keep_their_place_in_line() -> None:
    backlog = Backlog(100, 1.0)
    items = [item() for _ in range(4)]
    add(backlog, *items)
    taken = take(backlog, 20)
    taken[0].done.cancel()
    backlog.give_back(taken)
    await asyncio.sleep(0)
    assert take(backlog) == items[1:]


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "cancel", "give back"]), st.integers(0, 5)), max_size=40))
def test_places_and_lines_agree_after_any_sequence(steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        backlog = Backlog(200, 1.0)
        alive: list[WaitingSegment] = []
        working: list[WaitingSegment] = []
        for what, number in steps:
            if what == "add":
                new = item(float(number), EditKind("model", n_best=1 + number % 2), letters=4 * number)
                add(backlog, new)
                alive.append(new)
            elif what == "take":
                working += backlog.take("model", lambda first: 3)
            elif what == "cancel" and alive:
                alive.pop(number % len(alive)).done.cancel()
            elif what == "give back":
                backlog.give_back(working)
                working = []
            await asyncio.sleep(0)
            assert backlog.held("interactive") == sum(one.tokens for one in alive)
        backlog.give_back(working)
        await asyncio.sleep(0)
        left: list[WaitingSegment] = []
        while found := take(backlog):
            left += found
        assert {id(one) for one in left} == {id(one) for one in alive}
        assert len(left) == len(alive)

    asyncio.run(run())


def test_tokens_are_about_four_letters_in_any_script() -> None:
    assert token_count(Segment("Press the red button.", "")) == 1 + 21 // 4
    assert token_count(Segment("按下红色按钮。", None)) == 1 + 21 // 4
    assert token_count(Segment("", "", Constraints("x" * 8, ("y" * 4, "z" * 8)))) == 1 + 20 // 4
    assert token_count(Segment("\ud800", "")) == 1, "lone surrogates are counted, and refused elsewhere"
