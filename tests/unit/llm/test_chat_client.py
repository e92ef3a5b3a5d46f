"""The client: what it repeats, what it refuses, what it says, and what it must not say."""

import asyncio
import logging
from pathlib import Path

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.core.errors import DataError, RecipeError
from postedit.llm.chat_client import EndpointError, check_client
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig, endpoint_model
from postedit.llm.pacing import Budget, BudgetError, RateLimit, pause_before

KEY = "sk-very-secret-123"


def test_keys_are_sent_and_never_shown(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    asked = segments(5)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with Stub(key=KEY) as stub:
        assert all(one.skipped is None for one in make_editor(stub).edit_segments(asked))
    with Stub(key="another") as stub:
        editor = make_editor(stub, key_variable="OPENAI_API_KEY")
        with pytest.raises(EndpointError, match=r"\$OPENAI_API_KEY") as found:
            editor.edit_segments(asked)
    assert KEY not in str(found.value)
    assert "***" in str(found.value)
    assert KEY not in caplog.text
    assert KEY not in repr(editor.identity())
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nend"])
def test_keys_that_cannot_be_sent_are_refused(
    make_editor: MakeEditor, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Stub() as stub, pytest.raises(DataError, match="OPENAI_API_KEY is no key"):
        make_editor(stub)


@pytest.mark.parametrize("url", ["http://user:secret@host/v1", "ftp://host/v1", "host", "http://h/v1?key=secret"])
def test_addresses_with_secrets_or_without_servers_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be an address"):
        LlmConfig(endpoint=url)


def test_parameters_that_a_server_does_not_know_are_left_out(make_editor: MakeEditor) -> None:
    asked = segments(30)
    with Stub(refuses=("response_format", "seed", "max_tokens", "temperature")) as stub:
        results = make_editor(stub, segments=3, concurrency=1).edit_segments(asked)
    assert all(result.text == corrected(one.mt or "") for one, result in zip(asked, results, strict=True))
    assert set(stub.bodies[-1]) == {"model", "messages", "max_completion_tokens"}
    assert len(stub.bodies) == 10


def test_structured_answers_are_asked_for_unless_told_not_to(make_editor: MakeEditor) -> None:
    for structure, held in (("auto", True), ("json-schema", True), ("none", False)):
        with Stub() as stub:
            make_editor(stub, structure=structure).edit_segments(segments(3))
        assert ("response_format" in stub.bodies[0]) == held


def test_no_more_requests_at_a_time_than_allowed(make_editor: MakeEditor) -> None:
    with Stub(slow=0.02) as stub:
        make_editor(stub, segments=1, concurrency=3).edit_segments(segments(30))
    assert stub.most_at_once == 3


def test_a_server_that_is_away_stops_the_work(make_editor: MakeEditor) -> None:
    with Stub() as stub:
        pass
    with pytest.raises(EndpointError, match="cannot be reached"):
        make_editor(stub, retries=1).edit_segments(segments(50))


def test_a_server_that_always_fails_stops_the_work(make_editor: MakeEditor) -> None:
    with Stub({"500": 1.0}) as stub, pytest.raises(EndpointError, match="again and again: status 500"):
        make_editor(stub, retries=2, segments=2, concurrency=2).edit_segments(segments(50))
    assert len(stub.asked) <= 4 * 3


def test_a_server_that_takes_no_request_stops_the_work_and_is_asked_again(make_editor: MakeEditor) -> None:
    asked = segments(5)
    with Stub({"400": 1.0}) as stub, pytest.raises(EndpointError, match=r"10 requests in a row.*invalid model ID"):
        make_editor(stub).edit_segments(segments(50))
    with Stub({"400": 1.0}) as stub:
        editor = make_editor(stub, segments=2)
        assert {result.skipped for result in editor.edit_segments(asked)} == {"no answer"}
        stub.faults = {}
        assert any(result.changed for result in make_editor(stub, segments=2).edit_segments(asked))


def test_keys_are_sent_unencrypted_to_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for address in ("https://example.org/v1", "http://127.0.0.1:8000/v1", "http://localhost:8000/v1"):
        check_client(LlmConfig(endpoint=address))
    with pytest.raises(DataError, match="https"):
        check_client(LlmConfig(endpoint="http://example.org/v1"))
    monkeypatch.delenv("OPENAI_API_KEY")
    check_client(LlmConfig(endpoint="http://example.org/v1"))


def test_time_outs_are_counted_at_their_most(make_editor: MakeEditor) -> None:
    with Stub(slow=0.5) as stub:
        editor = make_editor(stub, timeout=0.05, retries=1, segments=1)
        (result,) = editor.edit_segments(segments(1))
    assert result.skipped == "no answer"
    figures = editor.store.figures()
    assert figures["failed requests"] == 2 * 2  # together and alone, each repeated once
    assert figures["of which perhaps not charged"] == pytest.approx(editor.store.spent())
    assert editor.store.spent() > 0


def test_prices_are_needed_and_named(make_editor: MakeEditor, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[models.tiny-2]\ninput = 1\noutput = 2\n", encoding="utf-8")
    with Stub() as stub:
        with pytest.raises(RecipeError, match='has no prices of tiny; did you mean "tiny-2"'):
            make_editor(stub, prices=str(other))
        with pytest.raises(ValueError, match="a budget needs prices"):
            make_editor(stub, prices="", budget=1.0)


def test_names_of_models() -> None:
    assert endpoint_model(["runs/model"]) is None
    assert endpoint_model(["openai:gpt"]) == "gpt"
    for wrong in (["openai:"], ["openai:a", "openai:b"], ["openai:a", "runs/model"]):
        with pytest.raises(DataError):
            endpoint_model(wrong)
    assert EndpointSpec("m", LlmConfig()).config.address.startswith("https://")


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


def test_pauses_that_a_server_asks_for_hold_for_all_requests() -> None:
    time = Time()
    limit = RateLimit(0, 0, time, time.sleep)
    limit.pause(7.0)
    asyncio.run(limit.start(1))
    assert time() == 1007.0


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
