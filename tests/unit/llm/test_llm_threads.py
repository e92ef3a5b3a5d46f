"""One editor in several threads: every answer is kept, and budget and limits hold for all threads together."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from stub_server import Stub, corrected
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.core.errors import OutputError
from postedit.llm import answer_store
from postedit.llm.answer_store import AnswerStore
from postedit.llm.pacing import Budget, BudgetError, RateLimit

THREADS = 6


def at_once(work: Callable[[int], object]) -> list[BaseException | None]:
    """Return the errors of work that threads begin at the same moment, each with its number."""
    ready = threading.Barrier(THREADS)

    def begin(number: int) -> object:
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as executor:
        return [one.exception() for one in [executor.submit(begin, number) for number in range(THREADS)]]


def test_threads_share_an_editor_and_every_answer_is_kept(make_editor: MakeEditor) -> None:
    with Stub(slow=0.005) as stub:
        editor = make_editor(stub, segments=2)

        def edit(number: int) -> None:
            asked = segments(20, seed=number)
            results = editor.edit_segments(asked)
            assert [one.text for one in results] == [corrected(one.mt or "") for one in asked]

        assert at_once(edit) == [None] * THREADS
        requests = len(stub.asked)
        assert editor.store.figures()["requests"] == requests
        assert editor.store.spent() == pytest.approx((stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6)
        edit(0)
        assert len(stub.asked) == requests


def test_threads_keep_to_one_budget(make_editor: MakeEditor) -> None:
    budget = 0.02  # a single thread would need more
    with Stub(slow=0.005) as stub:
        editor = make_editor(stub, segments=2, concurrency=2, budget=budget)
        errors = at_once(lambda number: editor.edit_segments(segments(120, seed=number)))
        assert all(isinstance(error, BudgetError) for error in errors)
        assert 0 < (stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6 <= budget
        assert editor.store.spent() <= budget


def test_programs_with_the_same_run_keep_to_one_budget(make_editor: MakeEditor) -> None:
    budget = 0.02  # a single thread would need more
    with Stub(slow=0.005) as stub:
        options = {"segments": 2, "concurrency": 2, "budget": budget}
        editors = [make_editor(stub, run="shared", **options) for _ in range(THREADS)]  # each counts for itself
        errors = at_once(lambda number: editors[number].edit_segments(segments(120, seed=number)))
        assert all(isinstance(error, BudgetError) for error in errors)
        assert budget / 2 < (stub.prompt_tokens + 4 * stub.answer_tokens) / 1e6 <= budget
        assert editors[0].store.spent() <= budget


def test_a_ledger_records_no_request_that_could_exceed_the_limit(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "answers", "run", "m") as one, AnswerStore(tmp_path / "answers", "run", "m") as two:
        first = one.begin(1, 0.6, 1.0)
        assert first is not None
        assert two.begin(1, 0.6, 1.0) is None
        assert two.spent() == 0.6
        one.end(first, "lost", cost=0.4)
        assert two.begin(1, 0.6, 1.0) is not None


def test_nobody_writes_between_the_triggers_of_a_store_and_its_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, refused = tmp_path / "answers", list[str]()
    with AnswerStore(path, "run", "m") as store:
        store._database.executescript("DROP TRIGGER cost_added; DROP TRIGGER cost_changed; DROP TABLE costs;")
        store.begin(1, 0.25)
    other = sqlite3.connect(path, timeout=0)

    def write_too(statement: str) -> None:
        if statement.strip().startswith("INSERT INTO costs SELECT"):
            try:
                other.execute("INSERT INTO reused VALUES ('run', 'key')")
            except sqlite3.OperationalError as error:
                refused.append(str(error))

    class Watched(sqlite3.Connection):
        def executescript(self, script: str, /) -> sqlite3.Cursor:
            self.set_trace_callback(write_too)
            return super().executescript(script)

    monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Watched))
    with AnswerStore(path, "run", "m") as store:
        assert store.spent() == 0.25
    assert refused == ["database is locked"]
    other.close()


def test_a_store_that_cannot_be_opened_keeps_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers"
    broken = answer_store._SCHEMA.replace("COMMIT;", "INSERT INTO missing VALUES (1);")
    with AnswerStore(path, "run", "m") as store, monkeypatch.context() as patch:
        patch.setattr(answer_store, "_SCHEMA", broken)
        with pytest.raises(OutputError, match="no such table") as caught:
            AnswerStore(path, "run", "m")
        store._database.execute("PRAGMA busy_timeout=0")
        store.begin(1, 0.25)
    assert caught.value.__traceback__, "which holds the connection"


def test_a_thread_waits_for_what_another_may_leave_of_a_budget() -> None:
    budget, done = Budget(1.0), list[str]()
    asyncio.run(budget.reserve(0.8))

    async def second() -> None:
        await asyncio.wait_for(budget.reserve(0.5), 60)
        done.append("reserved")

    with ThreadPoolExecutor(1) as executor:
        work = executor.submit(asyncio.run, second())
        time.sleep(0.05)  # it waits meanwhile
        done.append("settled")
        budget.settle(0.8, 0.2)
        work.result()
    assert done == ["settled", "reserved"]


def test_what_others_spend_is_counted_by_each_user_of_a_budget() -> None:
    budget = Budget(2.0)
    budget.join(lambda: 0.5)
    asyncio.run(budget.reserve(0.4))
    budget.join(lambda: 0.9)
    assert budget.spent == 0.5, "the ledger may count what is under way at its most"
    budget.join(lambda: 1.5)
    assert budget.spent == pytest.approx(1.1)
    budget.settle(0.4, 0.1)
    for _ in range(3):
        budget.leave()
    budget.join(lambda: 0.7)
    assert budget.spent == 0.7


def test_threads_keep_to_one_limit_a_minute() -> None:
    waited = list[float]()

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        raise TimeoutError

    limit = RateLimit(100, 0, lambda: 0.0, sleep)

    async def start() -> None:
        while True:
            await limit.start(1)

    errors = at_once(lambda number: asyncio.run(start()))
    assert sum(isinstance(error, TimeoutError) for error in errors) == len(waited) == THREADS
    assert len(limit._started) == 100


def test_a_request_is_not_noted_by_a_thread_that_lacks_its_answer(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "answers", "run", "m") as store:
        request = store.begin(1, 0.5)
        store.end(request, "answered", cost=0.1)
        with ThreadPoolExecutor(1) as executor:
            executor.submit(store.keep, {}).result()
        assert store.spent() == 0.5
        store.keep({})
        assert store.spent() == 0.1
