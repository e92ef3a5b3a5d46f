import json
from typing import Any

import pytest

from postedit.core.errors import DataError
from postedit.evaluate.scores import UNEDITED_MT, ChangedSentences, score_system, score_systems

MT = ["a b c d", "the cat sat down", "good morning everyone here", "no change at all"]
PE = ["a b c e", "the cat sat down", "good morning all of you", "no change at all"]
HYP = ["a b c e", "the dog sat down", "good morning everyone there", "no change at all"]


def test_changes_are_counted_by_the_edits_that_remain() -> None:
    scores = score_system("model", HYP, PE, MT)
    assert scores.changes == ChangedSentences(changed=3, better=1, worse=1)
    assert scores.changes.same == 1


def test_doing_nothing_comes_first_and_changes_nothing() -> None:
    first, second = score_systems({"model": HYP}, PE, MT)
    assert (first.name, second.name) == (UNEDITED_MT, "model")
    assert first.changes == ChangedSentences(0, 0, 0)
    assert first.ter == pytest.approx(100 * 4 / 17)


def test_without_mt_there_is_neither_baseline_nor_count() -> None:
    (scores,) = score_systems({"model": HYP}, PE, None)
    assert scores.changes is None


@pytest.mark.parametrize(
    ("hyp", "pe", "options", "message"),
    [
        ("ab", ["a", "b"], {}, "model is a list of segments, not a single string"),
        (["a", "b"], "ab", {}, "pe is a list of segments, not a single string"),
        (["a", None], ["a", "b"], {}, "segment 2 of model is not text but None"),
        (["a"], ["a"], {"tokenize": "intl"}, "tokenize must be none, 13a or characters, not 'intl'"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(hyp: Any, pe: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_systems({"model": hyp}, pe, None, **options)


@pytest.mark.parametrize("systems", [[["a"]], None, "a"])
def test_systems_without_names_are_refused(systems: Any) -> None:
    with pytest.raises(DataError, match="systems must be lists of outputs by name"):
        score_systems(systems, ["a"], None)


def test_no_system_has_the_name_of_the_unedited_mt() -> None:
    with pytest.raises(DataError, match='a system cannot be named "unedited MT"'):
        score_systems({UNEDITED_MT: HYP}, PE, MT)
    assert score_systems({UNEDITED_MT: MT}, PE, None)[0].name == UNEDITED_MT


def test_any_iterable_of_texts_is_scored() -> None:
    (scores,) = score_systems({"model": iter(HYP)}, iter(PE), None)  # type: ignore[dict-item, arg-type]
    assert scores.ter == score_system("model", HYP, PE, None).ter


def test_signatures_follow_the_tokeniser() -> None:
    tokenised = score_system("model", HYP, PE, None).signatures
    raw = score_system("model", HYP, PE, None, "13a").signatures
    assert "tok:none" in tokenised["BLEU"]
    assert "tok:13a" in raw["BLEU"]
    assert "norm:no" in tokenised["TER"]
    assert "norm:yes" in raw["TER"]
    assert all("case:mixed" in signatures["TER"] for signatures in (tokenised, raw))
    assert all("version:" in signature for signature in tokenised.values())


def test_raw_text_is_divided_before_it_is_compared() -> None:
    assert score_system("model", ["A cat, asleep."], ["A cat , asleep ."], None, "13a").ter == 0.0
    assert score_system("model", ["A cat, asleep."], ["A cat , asleep ."], None, "none").ter > 0.0


def test_no_advice_about_tokens_that_are_meant(caplog: pytest.LogCaptureFixture) -> None:
    score_system("model", ["fine ."] * 100, ["fine ."] * 100, None)
    assert not caplog.records


def test_unequal_numbers_of_lines_are_told() -> None:
    with pytest.raises(DataError, match="model has 1 line, the post-edits have 4"):
        score_system("model", ["a"], PE, None)
    with pytest.raises(DataError, match="mt has 1 line"):
        score_system("model", HYP, PE, ["a"])


@pytest.mark.parametrize(
    ("line", "size"), [("x " * 500_001, "500,001 words"), ("x" * 5_000_001, "5,000,001 characters")]
)
def test_a_line_too_long_to_score_is_named_with_the_limit(line: str, size: str) -> None:
    with pytest.raises(DataError, match=rf"^mt, line 2: .*{size} .*500,000 words and 5,000,000 characters"):
        score_system("model", ["a", "b"], ["a", "b"], ["a", line])


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(DataError, match="no lines"):
        score_system("model", [], [], None)


def test_the_record_becomes_json() -> None:
    values = json.loads(json.dumps(score_system("model", HYP, PE, MT).to_dict()))
    assert values["changes"] == {"changed": 3, "better": 1, "worse": 1, "same": 1}
    assert set(values["signatures"]) == {"TER", "BLEU", "chrF"}
