from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.edit_reasons import (
    CitedWord,
    CorrectionReason,
    EditReason,
    NamedCorrection,
    SourceReason,
    TrainingExample,
    TrainingReason,
)
from postedit.explain.reason_texts import excerpts, reason_text

NAMED = NamedCorrection(17, "s", "der Haus", "das Haus", "anna", datetime(2026, 11, 3, tzinfo=UTC))


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            CorrectionReason(3, 1, 0, (NAMED, NamedCorrection(4))),
            'changed 3 times in corrections (last by anna, 2026-11-03, correction 17: "der Haus" → "das Haus"), '
            "left once",
        ),
        (
            CorrectionReason(1, 0, 2, (NamedCorrection(4),)),
            "changed once in corrections (correction 4), changed otherwise twice",
        ),
        (
            CorrectionReason(2, 0, 0, (NAMED,), same_segment=True),
            "the same segment was corrected in this way twice (last by anna, 2026-11-03, correction 17)",
        ),
        (
            TrainingReason(1041, 3, 0, (TrainingExample("der Haus …", "das Haus …"),)),
            'in training: changed 1,041 of 1,044 times, e.g. "der Haus …" → "das Haus …"',
        ),
        (
            TrainingReason(2, 0, 0, (TrainingExample("بيت", "البيت"),)),
            'in training: changed 2 of 2 times, e.g. \u2068"بيت"\u2069 → \u2068"البيت"\u2069',
        ),
        (
            SourceReason((CitedWord("red", (0, 3)), CitedWord("house", (4, 9), 1.24))),
            'in the source: "red", "house" (1.2 nats)',
        ),
    ],
)
def test_sentences(reason: EditReason, text: str) -> None:
    assert reason_text(reason) == text


def test_only_what_differs_and_the_words_around_it_are_quoted() -> None:
    same = "Wörter, die am Anfang stehen und am Ende "
    before, after = excerpts(f"{same}alt {same}", f"{same}neu {same}")
    assert before == "… Anfang stehen und am Ende alt Wörter, die am Anfang …"
    assert after == before.replace("alt", "neu")
    assert excerpts("ab" * 99 + "x", "ab" * 99 + "y") == ("… " + "ab" * 10 + "x", "… " + "ab" * 10 + "y")
    assert excerpts("x", "") == ("x", "")


def test_no_excerpt_begins_or_ends_between_a_letter_and_its_marks() -> None:
    same = "ที่" * 30
    before, after = excerpts(f"{same}a{same}", f"{same}b{same}")
    assert before == f"… {'ที่' * 7}a{'ที่' * 7} …"
    assert after == before.replace("a", "b")


@given(
    st.text("ab \u0301", max_size=90),
    st.text("ab \u0301", max_size=90),
    st.text("ab \u0301", max_size=90),
    st.text("ab \u0301", max_size=90),
)
def test_what_differs_is_in_the_excerpts(front: str, old: str, new: str, back: str) -> None:
    before, after = front + old + back, front + new + back
    shown = [text.removeprefix("… ").removesuffix(" …") for text in excerpts(before, after)]
    places = range(len(before) - len(shown[0]) + 1)
    assert any(before[:at] + shown[1] + before[at + len(shown[0]) :] == after for at in places)
    assert any(before.startswith(shown[0], at) for at in places)
