"""Whole words in texts, with the boundaries that search knows."""

from dataclasses import replace

import pytest

from postedit.core.editor import PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.constraints import required_of
from postedit.editing.results import enforce_constraints, has_phrase, unchanged, with_text
from postedit.text.words import splitter


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("das Haus ist alt", "Haus", True),
        ("das Haus ist alt", "Hau", False),
        ("das Hausboot und das Haus", "Haus", True),
        ("Hausboote", "Haus", False),
        ("version 1.25", "1.2", False),
        ("C# und C++", "C++", True),
        ("我非常喜欢苹果。", "苹果", True),
        ("電話をかける。", "電話", True),
        ("हिन्दी", "हिन्द", False),
        ("हिन्दी भाषा", "हिन्दी", True),
        ("cafe\u0301", "cafe", False),
        ("ein Haus", " Haus ", True),
        ("ba-a-a", "a-a", True),
    ],
)
def test_phrases_are_whole_words(text: str, phrase: str, expected: bool) -> None:
    assert has_phrase(text, phrase) is expected


def test_terms_apply_where_running_text_has_their_source() -> None:
    config = SearchConfig.model_validate({"required": [{"target": "phone", "source": "電話"}]})
    assert required_of(Segment("電話をかける。", "call"), config) == ["phone"]
    assert required_of(Segment("電気", "power"), config) == []


def test_required_words_in_running_text_are_found() -> None:
    mt = "我非常喜欢苹果。"
    found = enforce_constraints(mt, PostEdit(mt, False), "", ["苹果"], splitter("none", None))
    assert (found.text, found.skipped) == (mt, None)
    changed = with_text(PostEdit("我喜欢苹果。", True), mt, "我喜欢苹果。")
    found = enforce_constraints(mt, changed, "", ["喜欢 苹果"], splitter("none", None))
    assert (found.text, found.skipped) == ("我喜欢 苹果。", None)


def test_a_segment_that_was_skipped_keeps_its_reason() -> None:
    left = unchanged("das Haus", "too long")
    assert enforce_constraints("das Haus", left, "Die", ["Tür"], splitter("none", None)) == left


@pytest.mark.parametrize(
    ("text", "prefix", "required", "restored"),
    [
        ("Das  Haus ist alt", "", ["das Haus"], "Das Haus ist alt"),
        ("das Haus", "", ["Das haus"], None),
        ("dasHaus", "", ["das Haus"], None),
        ("C ++", "", ["C++"], None),
        ("DAS  Haus ist", "das Haus", [], "das Haus ist"),
        ("das Haus", "das  ", [], "das  Haus"),
        ("das Haus", "das H", [], "das Haus"),
        ("das Haus", "der", [], None),
        ("das", "das Haus", [], None),
        ("haus alt", "Haus", ["Haus"], "Haus alt"),
        ("Haus alt", "haus", ["Haus"], None),
    ],
)
def test_prefix_and_phrases_are_spelt_as_they_were_given(
    text: str, prefix: str, required: list[str], restored: str | None
) -> None:
    found = enforce_constraints("mt", PostEdit(text, True), prefix, required, splitter("none", None))
    assert (found.text, found.skipped) == ((restored, None) if restored is not None else ("mt", "impossible"))
    assert found.changed == (found.text != "mt")


def test_outputs_without_a_phrase_are_left_out_and_mt_stays_on_the_list() -> None:
    mt, best, other = PostEdit("mt", False, -3.0), PostEdit("das Haus", True, -1.0), PostEdit("Haus", True, -2.0)
    found = enforce_constraints("mt", replace(best, alternatives=(other, mt)), "", ["Haus"], splitter("none", None))
    assert found == replace(best, alternatives=(other, mt))
    found = enforce_constraints("mt", replace(other, alternatives=(mt, best)), "", ["das"], splitter("none", None))
    assert found == replace(best, alternatives=(mt,))
