"""Answers of language models as corrections of mt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.llm.answers import Item
from postedit.llm.samples import sample_of


@pytest.mark.parametrize(
    ("mt", "answer", "expected"),
    [
        ("1\u00a0000 und 21 000 err .", "1 000 und 21 000 .", "1\u00a0000 und 21 000 ."),
        ("10 km und 10\u00a0km err .", "10 km und 10 km .", "10 km und 10\u00a0km ."),
        ("10\u00a0km und à\u00a010\u00a0km err .", "10 km und à 10 km .", "10\u00a0km und à\u00a010\u00a0km ."),
        ("\u00a0mot err mot\u00a0", "mot mot", "\u00a0mot mot\u00a0"),
    ],
)
def test_special_spaces_come_back_only_where_mt_has_them(mt: str, answer: str, expected: str) -> None:
    found = sample_of(mt, Item(answer))
    assert found.text == expected
    assert [mt[slice(*edit.mt_span)].strip() for edit in found.edits] == ["err"]


def test_a_changed_word_keeps_its_special_space() -> None:
    assert sample_of("10\u00a0km loin", Item("20 km loin")).text == "20\u00a0km loin"


def test_a_space_between_other_words_does_not_become_special() -> None:
    assert sample_of("Oh\u00a0! mais err", Item("Oh mais")).text == "Oh mais"
    assert sample_of("mot : err", Item("mot\u00a0:")).text == "mot\u00a0:"


@given(st.text("ab \u00a0\u3000").filter(str.strip))
def test_mt_with_plain_spaces_is_no_edit(mt: str) -> None:
    found = sample_of(mt, Item(" ".join(mt.split())))
    assert (found.text, found.edits) == (mt, ())
