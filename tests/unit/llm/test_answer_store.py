"""The store of answers: what it counts, and which of several outcomes it keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postedit.llm.answer_store import AnswerStore, Outcome
from postedit.llm.answers import Fault, Item


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    with AnswerStore(tmp_path / "answers", "run", "m") as one:
        yield one


def test_durations_are_quantiles_the_usual_one_of_the_latest(store: AnswerStore) -> None:
    for seconds in range(1, 301):
        store.end(store.begin(1, 0.0) or 0, "answered", cost=0.0, seconds=float(seconds))
    store.keep({})
    store.end(store.begin(1, 0.0) or 0, "lost", cost=0.0, seconds=1e6)
    assert store.figures()["seconds"] == {"median": 151.0, "95 %": 286.0, "all": 300 * 301 / 2}
    assert store.usual_seconds() == 201.0  # of 101 to 300


def test_a_budget_is_not_missed_by_a_rounding_error(store: AnswerStore) -> None:
    assert [store.begin(1, 0.1, 0.3) is not None for _ in range(4)] == [True, True, True, False]


def test_the_latest_outcome_counts(store: AnswerStore) -> None:
    store.keep({"a": Outcome(None, "dropped")})
    store.keep({"a": Outcome(Item("x"), "dropped")})
    assert store.find(["a"]) == {"a": Outcome(Item("x"), "dropped")}
    assert (store.figures()["answers"], store.figures()["asked again"]) == (1, {"dropped": 1})


def test_a_missing_reply_is_asked_for_again_and_a_refusal_is_not(store: AnswerStore) -> None:
    faults: list[Fault] = ["no reply", "rejected", "refused", "cut off"]
    store.keep({fault: Outcome(None, "dropped", fault) for fault in faults})
    assert [store.find([fault])[fault].is_open for fault in faults] == [True, True, False, False]
    assert store.known(faults) == 2
    assert store.figures()["left as mt"] == dict.fromkeys(faults, 1)


def test_answers_of_other_runs_are_known_before_until_they_are_replaced(store: AnswerStore) -> None:
    store.keep({"a": Outcome(Item("x")), "b": Outcome(None, "dropped", "no reply")})
    with AnswerStore(store.path, "other", "m") as other:
        other.find(["a", "b", "c"])
        assert other.figures()["answers known before"] == 2
        other.keep({"b": Outcome(Item("y"), "dropped")})
        figures = other.figures()
    assert (figures["answers known before"], figures["answers"], figures["left as mt"]) == (1, 1, {})
