import json
import re
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from postedit.core.errors import DataError
from postedit.evaluate.assessment_tables import assessment_tables
from postedit.evaluate.error_profile import error_profile
from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.recommendation import Assessment, EditorGain, Workload, costs, recommendation

TER = 20.0


def editor(name: str, saved: list[int], half: list[int] | None = None, **more: Any) -> EditorGain:
    def gains(values: list[int]) -> SentenceGains:
        found = np.array(values)
        folds = np.arange(len(found)) * 10 // len(found)
        return SentenceGains(found, np.full(len(found), 20), found != 0, None if half is None else folds)

    return EditorGain(name, "as it is", gains(saved), None if half is None else gains(half), **more)


GOOD, HARMFUL, IDLE = [1, 0, 1, 0, -1, 1] * 50, [-1, 0] * 150, [0] * 300
HOPEFUL = [3, 0, 0, 0, 0, 0, -3, 0, 0, -3, 3, 2] * 25


def assessment(*editors: EditorGain, **work: Any) -> Assessment:
    words = [["a", "b"], ["c"]]
    profile = error_profile(words, words, [["a", "x"], ["c"]])
    return Assessment(profile, editors, Workload(**work), "none", "TER", {"src is empty": 2}, {"other": "no reason"})


def test_the_best_editor_that_surely_helps_is_recommended() -> None:
    found = recommendation([editor("bad", HARMFUL), editor("good", GOOD)], TER)
    assert (found.answer, found.editor) == ("yes", "good")
    assert "good saves" in found.reason
    assert "95% interval" in found.reason


@pytest.mark.parametrize("saved", [HARMFUL, IDLE, [1, -1, 0] * 100])
def test_the_answer_is_no_where_nothing_helps(saved: list[int]) -> None:
    assert recommendation([editor("one", saved, saved)], TER).answer == "no"


def test_a_gain_too_small_to_matter_is_a_no() -> None:
    sure = editor("one", [1, 0, 0, 1] * 500)
    assert recommendation([sure], TER, Workload(least_share=0.01)).answer == "yes"
    found = recommendation([sure], TER, Workload(least_share=0.5))
    assert found.answer == "no"
    assert "less than the 50% that are worth the trouble" in found.reason


def test_more_triplets_are_recommended_if_they_probably_bring_a_gain() -> None:
    found = recommendation([editor("one", HOPEFUL, IDLE)], TER)
    assert found.answer == "later"
    assert "triplets one is expected to save" in found.reason


def test_triplets_that_are_there_are_not_asked_for() -> None:
    hopeful = editor("one", HOPEFUL, IDLE, available=30_000)
    found = assessment(replace(hopeful, half=None, name="other"), hopeful)
    answer, name, reason = recommendation(found.editors, TER)
    assert (answer, name) == ("all", "one")
    assert "with all 30,000 given triplets one is expected to save" in reason
    assert [row.labels[1] for row in assessment_tables(found)[2].rows] == ["all 30,000 given (rough)"]
    assert [(one["triplets"], one["given"]) for one in found.to_dict()["editors"][1]["expected"]] == [(30_000, True)]


def test_all_triplets_given_come_before_more_for_a_better_editor() -> None:
    needs_more, enough = editor("more", HOPEFUL, IDLE), editor("enough", HOPEFUL, IDLE, available=30_000)
    assert recommendation([needs_more], TER).answer == "later"
    assert recommendation([needs_more, enough], TER)[:2] == ("all", "enough")


def test_more_triplets_are_not_recommended_on_a_mere_chance_of_a_gain() -> None:
    noisy = [5, -4, 4, -4, 0] * 60
    hoped = editor("one", noisy, noisy[::-1])
    assert max(one.gain.points for one in hoped.forecasts(TER)) > 0.02 * TER
    assert recommendation([hoped], TER).answer == "no"


def test_more_triplets_are_not_recommended_for_a_gain_too_small_to_matter() -> None:
    assert recommendation([editor("one", HOPEFUL, IDLE)], TER, Workload(least_share=0.9)).answer == "no"


def test_many_editors_are_held_to_a_higher_standard() -> None:
    narrow = [3] * 6 + [0] * 294
    low = editor("one", narrow).sentences.gain()
    assert low.low > 0
    assert recommendation([editor("one", narrow)], 2.0).answer == "yes"
    idle = [editor(str(number), IDLE) for number in range(30)]
    assert recommendation([editor("one", narrow), *idle], 2.0).answer == "no"


@pytest.mark.parametrize("saved", [GOOD, IDLE])
def test_the_interval_that_is_told_is_wider_if_more_editors_were_tried(saved: list[int]) -> None:
    alone = recommendation([editor("one", saved)], TER)
    among = recommendation([editor("one", saved), editor("b", HARMFUL), editor("c", HARMFUL)], TER)
    assert (among.answer, among.editor) == (alone.answer, "one")
    ends = [re.findall(r"interval (\S+) to (\S+) %", found.reason)[0] for found in (alone, among)]
    (low, high), (lower, higher) = (tuple(map(float, each)) for each in ends)
    assert lower < low < high < higher
    assert "wider as 3 editors were tried" in among.reason
    assert "wider" not in alone.reason


@pytest.mark.parametrize(("cost", "answer"), [(0.5, "yes"), (50.0, "no"), (None, "yes")])
def test_an_editor_that_costs_more_than_it_surely_saves_is_a_no(cost: float | None, answer: str) -> None:
    one = editor("llm", GOOD, cost=cost, currency="EUR")
    work = Workload(words=60_000, hour_price=30.0)  # ten times the words of 300 sentences
    found = recommendation([one], TER, work)
    assert (found.answer, found.editor) == (answer, "llm")
    low = 30.0 * work.saved(one.sentences.gain(), TER).hours.low
    assert 5.0 < low < 500.0
    assert ("it costs 500 EUR for all the work" in found.reason) == (answer == "no")
    assert (f"saves as little as {low:,.2f}" in found.reason) == (answer == "no")
    assert ("what it costs is not known" in found.reason) == (cost is None)
    assert recommendation([one], TER, Workload(words=60_000)).answer == "yes", "an hour without a price"


def test_another_editor_that_pays_is_recommended_now_or_later() -> None:
    dear, work = editor("llm", GOOD, cost=500.0, currency="EUR"), Workload(words=60_000, hour_price=30.0)
    fair = editor("fair", [1, 0, 0, 0, 0, 0] * 50)
    assert fair.sentences.points < dear.sentences.points
    assert recommendation([dear, fair], TER, work)[:2] == ("yes", "fair")
    unknown = editor("llm", GOOD, currency="EUR")
    assert recommendation([unknown, fair], TER, work)[:2] == ("yes", "fair")
    assert recommendation([unknown, fair], TER, Workload(words=60_000))[:2] == ("yes", "llm"), "an hour without a price"
    small = editor("llm", GOOD, cost=0.004, currency="EUR")
    least = recommendation([small], TER, Workload(words=600, words_per_hour=1e6, hour_price=0.1))
    assert re.search(r"costs 0\.0\d EUR .* as little as 0\.00 ", least.reason)
    hopeful = editor("one", HOPEFUL, IDLE)
    found = recommendation([dear, hopeful], TER, work)
    assert found[:2] == ("later", "one")
    assert "llm, saves" in found.reason
    assert "but it costs 5,000 EUR for all the work" in found.reason
    slow = editor("one", HOPEFUL, IDLE, editing_seconds=36_000)
    dear_machine = Workload(words=60_000, hour_price=30.0, machine_price=1_000.0)
    assert recommendation([dear, slow], TER, dear_machine).answer == "no"


def test_nothing_to_correct_is_a_no() -> None:
    found = recommendation([editor("one", IDLE)], 0.0)
    assert found.answer == "no"
    assert "the post-editors changed nothing" in found.reason
    assert recommendation([], TER).answer == "no"


def test_hours_are_saved_in_proportion_to_edits() -> None:
    work = Workload(words=60_000, words_per_hour=600, editing_share=0.5)
    saved = work.saved(editor("one", GOOD).sentences.gain(), TER)
    points = editor("one", GOOD).sentences.points
    assert saved.hours.points == pytest.approx(100 * 0.5 * points / TER)
    assert saved.edits.points == pytest.approx(600 * points)


def test_no_more_can_be_gained_than_there_are_errors() -> None:
    found = assessment(editor("one", [10] * 20, [0] * 20), editor("two", [10] * 20))
    ter = found.profile.ter
    assert found.editors[0].sentences.gain().high > ter
    assert [one.gain(ter).high for one in found.editors] == [ter, ter]
    assert "to 100.0 %" in found.recommendation.reason
    values = found.to_dict()["editors"][0]
    assert values["gain"]["high"] == values["gain"]["points"] == values["expected"][2]["high"] == ter
    assert values["saved"]["hours"]["high"] == pytest.approx(found.work.hours * found.work.editing_share)
    gains, savings, forecasts, *_ = assessment_tables(found)
    assert gains.rows[0].values[2:6:3] == (ter, 100.0)
    assert savings.rows[0].values[2] == values["saved"]["hours"]["high"]
    assert forecasts.rows[0].values[5] == 100.0


def test_work_is_counted_in_what_texts_are_divided_into() -> None:
    found = assessment(editor("one", GOOD), words=5_000)
    assert "Of 5,000 words, which take 8 hours at 600 words an hour" in assessment_tables(found)[1].note
    found = replace(found, tokenizer="characters")
    assert "Of 5,000 characters, which take 8 hours at 600 characters an hour" in assessment_tables(found)[1].note


def test_costs_are_those_of_all_the_work() -> None:
    work = Workload(words=12_000, machine_price=3.0)  # twice the words of 300 sentences
    assert costs(editor("one", GOOD, editing_seconds=600, training_seconds=600), work) == pytest.approx(1.5)
    assert costs(editor("llm", GOOD, cost=0.5, currency="EUR"), work) == pytest.approx(1.0)
    assert costs(editor("llm", GOOD, currency="not known"), work) is None
    assert costs(editor("llm", GOOD, editing_seconds=None, cost=0.5, currency="EUR"), work) is None


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"words": 0}, "words must be above 0, not 0"),
        ({"words_per_hour": float("nan")}, "words_per_hour must be above 0, not nan"),
        ({"editing_share": 1.5}, "editing_share is a share, from 0 to 1, not 1.5"),
        ({"words_per_hour": float("inf")}, "words_per_hour must be a finite number"),
        ({"machine_price": float("inf")}, "machine_price must be a finite number"),
        ({"hour_price": -1.0}, "hour_price must not be below 0, but is -1"),
        ({"words": "a"}, "words must be a number, not 'a'"),
        ({"machine_price": None}, "machine_price must be a number, not None"),
    ],
)
def test_work_out_of_range_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Workload(**option)


def test_json_has_the_same_keys_as_before() -> None:
    values = json.loads(json.dumps(assessment(editor("one", GOOD, HARMFUL)).to_dict()))
    assert list(values) == [
        "format", "recommendation", "confidence", "signature", "words divided by", "errors", "editors", "work",
        "left out", "not tried", "warnings", "notes", "about what is expected",
    ]  # fmt: skip
    assert values["format"] == 1
    assert list(values["recommendation"]) == ["answer", "editor", "reason"]
    assert list(values["editors"][0]) == [
        "name", "how", "gain", "share of edits", "changed", "better", "worse", "saved", "seconds of training",
        "seconds of editing", "cost", "currency", "costs of the work", "expected",
    ]  # fmt: skip
    assert list(values["editors"][0]["expected"][0]) == ["triplets", "points", "low", "high", "rough", "given"]
    assert list(values["errors"]) == [
        "segments", "unchanged", "words", "edits", "ter", "kinds", "changes", "repeated", "systematic", "frequent",
        "terms",
    ]  # fmt: skip


def test_tables_have_a_row_for_each_editor() -> None:
    tables = {
        table.name: table for table in assessment_tables(assessment(editor("one", GOOD, IDLE), editor("b", IDLE)))
    }
    assert [row.labels for row in tables["what each editor gains"].rows] == [("one", "as it is"), ("b", "as it is")]
    assert len(tables["what more triplets would bring"].rows) == 3
    assert len(tables["what that saves and costs"].rows[0].values) == 6  # no price, no money
    paid = assessment_tables(assessment(editor("one", GOOD), hour_price=30.0))[1].rows[0].values
    assert paid[3] == pytest.approx(30 * (paid[0] or 0))


def test_work_in_numbers_of_numpy_becomes_json() -> None:
    work = Workload(words=np.int64(5), hour_price=np.float32(0.5))  # type: ignore[arg-type]
    assert json.loads(json.dumps(asdict(work))) == asdict(Workload(words=5, hour_price=0.5))
