"""Counts of many lines are added up part by part; they can be continued, and drawn in groups."""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postedit.core.errors import DataError
from postedit.core.saved_arrays import SavedArrays
from postedit.evaluate import analyses, significance
from postedit.evaluate.table import to_csv
from postedit.evaluate.test_set import MOST_GAIN, EvaluatedSystem, TestSet, _Tally, evaluate_systems

PE = [f"the {word} house number {row} is {word}" for row, word in enumerate(["old", "new", "red", "big"] * 6)]
MT = [line.replace("old", "new") for line in PE]
SYSTEMS = {"model": [line.replace("red", "old") for line in MT], "other": PE}


class Interrupted:
    """Works in this process, and counts the parts; an interruption comes before one of them."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.parts = at, 0

    def map(self, build: Callable[[int], Callable[[Any], Any]], items: Iterable[Any]) -> Generator[Any, None, None]:
        work = build(0)
        for item in items:
            if self.parts == self.at:
                raise KeyboardInterrupt
            self.parts += 1
            yield work(item)


def evaluated(
    executor: Interrupted, saved: SavedArrays | None = None, progress: Callable[[int], None] = lambda done: None
) -> list[EvaluatedSystem]:
    return evaluate_systems(TestSet(PE, MT, groups=["a", "b"] * 12), SYSTEMS, progress, executor, saved)


def tables(systems: list[EvaluatedSystem]) -> str:
    found = [
        *analyses.significance(systems, analyses.compared(systems, "none", 50)),
        *analyses.by_bucket(systems),
        analyses.edits_made(systems),
    ]
    return to_csv([*found, analyses.overview([system.scores for system in systems])])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.evaluate.test_set.PART", 5)


def test_gains_are_counted_in_changed_sentences_alone() -> None:
    found = [dict(enumerate(one.gains.tolist(), start=-MOST_GAIN)) for one in evaluated(Interrupted())]
    assert [{gain: count for gain, count in one.items() if count} for one in found] == [{}, {-2: 6}, {2: 6}]


def test_only_sentences_without_edits_need_none() -> None:
    (unedited,) = evaluate_systems(TestSet(["a b c", "a b c", "a b c"], ["a b c", "a b x", "a y x"]), {})
    assert unedited.buckets["by kind of edit", "needs none"].sentences == 1
    assert np.flatnonzero(unedited.rates).tolist() == [0, 4, 7]  # 0 %, and the bins up to 40 and to 70 %


def test_edits_made_turn_the_output_into_mt() -> None:
    _, longer = evaluate_systems(TestSet(["a b c d"], ["a b"]), {"longer": ["a b c d"]})
    assert longer.total.made.columns.tolist() == [0, 0, 0, 2, 2]  # two deletions, and the words of mt


def test_counts_of_the_first_sentences_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [one.listed.tolist() for one in evaluated(Interrupted())]
    monkeypatch.setattr("postedit.evaluate.test_set.LISTED", 7)
    assert [one.listed.tolist() for one in evaluated(Interrupted())] == [rows[:7] for rows in whole]


def test_counted_parts_are_not_counted_again(tmp_path: Path) -> None:
    whole, path = Interrupted(), tmp_path / "out.partial"
    expected = tables(evaluated(whole))
    assert whole.parts == 5
    with pytest.raises(KeyboardInterrupt):
        evaluated(Interrupted(3), SavedArrays(path, {}, seconds=0))
    rest, shown = Interrupted(), list[int]()
    assert tables(evaluated(rest, SavedArrays(path, {}, resume=True), shown.append)) == expected
    assert rest.parts == 2
    assert shown == [45, 60, 72], "lines of three systems, first those that were counted before"
    anew = Interrupted()
    assert tables(evaluated(anew, SavedArrays(path, {}))) == expected
    assert anew.parts == 5


def test_a_part_added_to_some_systems_alone_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, path, add, added = tables(evaluated(Interrupted())), tmp_path / "out.partial", _Tally.add, list[int]()

    def interrupted(tally: _Tally, *part: Any) -> None:
        if len(added) == 7:  # the second of three systems, in the third part
            raise KeyboardInterrupt
        added.append(1)
        add(tally, *part)

    monkeypatch.setattr(_Tally, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluated(Interrupted(), SavedArrays(path, {}, seconds=0))
    monkeypatch.setattr(_Tally, "add", add)
    assert tables(evaluated(Interrupted(), SavedArrays(path, {}, resume=True))) == expected


def test_work_of_a_moment_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        evaluated(Interrupted(3), SavedArrays(tmp_path / "out.partial", {}))
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("drawn", [1, 7, 10, 23])
def test_of_many_sentences_groups_are_drawn(drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one = evaluated(Interrupted())[1].resampled
    for module in ("significance", "test_set", "analyses"):
        monkeypatch.setattr(f"postedit.evaluate.{module}.RESAMPLED", drawn)
    grouped = evaluated(Interrupted())
    expected = significance.grouped(one_by_one.chrf)
    assert len(expected) == drawn
    np.testing.assert_array_equal(grouped[1].resampled.chrf, expected)
    np.testing.assert_array_equal(grouped[1].resampled.left.sums, significance.grouped(one_by_one.left.sums))
    _, ter, *_ = analyses.significance(grouped, analyses.compared(grouped, "none", 50))
    assert f"of {drawn} groups of {24 / drawn:.1f} consecutive sentences" in ter.note


def test_groups_of_sentences_are_as_uncertain_as_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    edits = generator.poisson(2.0, (4000, 1)).astype(np.float64)
    counts = np.concatenate([edits, np.full((4000, 1), 10.0)], 1)
    rate = lambda sums: sums[..., 0] / sums[..., 1]  # noqa: E731
    (alone,) = significance.compare([counts], rate, 2000).intervals
    monkeypatch.setattr(significance, "RESAMPLED", 400)
    (together,) = significance.compare([significance.grouped(counts)], rate, 2000).intervals
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.15)


@pytest.mark.parametrize(
    ("values", "systems", "message"),
    [
        ({"pe": "abc"}, {}, "pe is a list of segments, not a single string"),
        ({"pe": None}, {}, "pe is a list of segments, not None"),
        ({"pe": ["a"], "mt": "a"}, {}, "mt is a list of segments, not a single string"),
        ({"pe": ["a"], "tokenize": "zh"}, {}, "tokenize must be none, 13a or characters, not 'zh'"),
        ({"pe": ["a", "b", "c"]}, {"x": "abc"}, "x is a list of segments, not a single string"),
        ({"pe": ["a"]}, [["a"]], "systems must be lists of outputs by name"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(values: Any, systems: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_systems(TestSet(**values), systems)


@pytest.mark.parametrize("kind", [iter, tuple, np.array])
def test_any_iterable_of_texts_is_a_test_set(kind: Callable[[list[str]], Any]) -> None:
    test = TestSet(kind(PE), kind(MT), groups=kind(["a", "b"] * 12))
    systems = {name: kind(outputs) for name, outputs in SYSTEMS.items()}
    assert tables(evaluate_systems(test, systems)) == tables(evaluated(Interrupted()))
