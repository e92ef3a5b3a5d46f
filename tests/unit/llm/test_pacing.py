"""Limits a minute, pauses and budgets; and that the client keeps to them."""

import asyncio

import pytest
from stub_server import Stub
from tests.unit.llm.conftest import MakeEditor

from postedit.llm.chat_client import Ask, ChatClient
from postedit.llm.pacing import Budget, BudgetError, RateLimit, pause_before
from postedit.llm.prompts import Question
from postedit.llm.server_errors import Dialect


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def test_no_minute_has_more_requests_or_tokens_than_allowed() -> None:
    time, started = Time(), list[tuple[float, int]]()
    limit = RateLimit(10, 1000, time, time.sleep)

    async def work() -> None:
        for number in range(100):
            count = 20 if number % 7 else 400
            await limit.start(count)
            started.append((time(), count))
            time.now += 0.5

    asyncio.run(work())
    for first, _ in started:
        inside = [count for when, count in started if first <= when < first + 60.0]
        assert len(inside) <= 10
        assert sum(inside) <= 1000
    assert started[-1][0] - started[0][0] < 11 * 60  # 100 requests need 9 full minutes, and tokens no more


def test_a_request_above_the_limit_of_tokens_has_a_minute_of_its_own() -> None:
    time = Time()
    limit = RateLimit(0, 100, time, time.sleep)
    asyncio.run(limit.start(50))
    asyncio.run(limit.start(500))
    assert time() == 1060.0


def test_a_minute_is_counted_from_each_request() -> None:
    time, started = Time(), list[float]()
    limit = RateLimit(2, 0, time, time.sleep)
    for pause in (0.0, 40.0, 0.0, 0.0):
        time.now += pause
        asyncio.run(limit.start(1))
        started.append(time() - 1000.0)
    assert started == [0.0, 40.0, 60.0, 100.0]


def test_pauses_that_a_server_asks_for_hold_for_all_requests() -> None:
    time = Time()
    limit = RateLimit(0, 0, time, time.sleep)
    limit.pause(7.0)
    limit.pause(1.0)
    asyncio.run(limit.start(1))
    assert time() == 1007.0


def test_the_client_keeps_to_limits_and_waits_as_asked(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        editor, time = make_editor(stub), Time()
        messages = editor.prompt.messages([Question("a", "b").line("x")])

        async def ask(limit: RateLimit, count: int) -> float:
            began = time()
            async with ChatClient(editor.spec, None, None, editor.store, limit, Budget(0.0), Dialect()) as client:
                for _ in range(count):
                    await client.ask(Ask(messages, 50, 1, 1))
            return time() - began

        async def sleep(seconds: float) -> None:
            stub.faults = {}
            await time.sleep(seconds)

        assert asyncio.run(ask(RateLimit(2, 0, time, sleep), 3)) == 60.0
        stub.faults = {"429": 1.0}  # until the client has waited for as long as the server asks
        assert asyncio.run(ask(RateLimit(0, 0, time, sleep), 1)) == pytest.approx(0.01)


def test_pauses_grow_and_differ() -> None:
    assert [pause_before(attempt, random_number=lambda: 1.0) for attempt in (1, 2, 3, 20)] == [0.5, 1.0, 2.0, 60.0]
    assert pause_before(1, random_number=lambda: 0.0) == 0.25


def test_budgets_wait_for_reservations_and_refuse_when_there_are_none() -> None:
    async def work() -> list[str]:
        events, budget = list[str](), Budget(1.0, 0.1)
        await budget.reserve(0.8)

        async def second() -> None:
            await budget.reserve(0.5)
            events.append("second")
            budget.settle(0.5, 0.5)

        task = asyncio.create_task(second())
        await asyncio.sleep(0)
        events.append("settled")
        budget.settle(0.8, 0.2)
        await task
        assert budget.spent == pytest.approx(0.8)
        with pytest.raises(BudgetError):
            await budget.reserve(0.3)
        return events

    assert asyncio.run(work()) == ["settled", "second"]
