"""Edits in two steps as edits of the first text."""

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.edit_reasons import EditReason, ErrorReason
from postedit.core.editor import Edit
from postedit.text.composed_edits import SureEdit, composed_edits
from postedit.text.edits import apply_edits, edits_between

TEXTS = st.one_of(
    st.lists(st.sampled_from(["a", "b", "cc", "甲"]), max_size=6).map(" ".join), st.text("ab 甲", max_size=8)
)


Steps = Callable[[str, str], tuple[Edit, ...]]
Op = Literal["insert", "delete", "replace"]


def by_characters(old: str, new: str) -> tuple[Edit, ...]:
    """Return edits of single characters, of which neighbours touch."""
    found = []
    for at in range(max(len(old), len(new))):
        old_span, new_span = ((min(at, len(text)), min(at + 1, len(text))) for text in (old, new))
        if old[slice(*old_span)] != new[slice(*new_span)]:
            op: Op = "insert" if at >= len(old) else "delete" if at >= len(new) else "replace"
            found.append(Edit(op, old_span, new_span))
    return tuple(found)


def sure(edits: tuple[Edit, ...], name: str, confidence: float = 0.5) -> list[SureEdit]:
    """Return edits with different confidences and reasons."""
    return [
        SureEdit(Edit(one.op, one.mt_span, one.pe_span, (reason(f"{name}{number}"),)), confidence - number / 100)
        for number, one in enumerate(edits)
    ]


def reason(name: str) -> EditReason:
    return ErrorReason(name, "", "")


STEPS = st.sampled_from([edits_between, by_characters])


@given(TEXTS, TEXTS, TEXTS, STEPS, STEPS)
@settings(max_examples=500)
def test_edits_of_two_steps_give_the_exact_text(mt: str, middle: str, text: str, one: Steps, other: Steps) -> None:
    first, second = sure(one(mt, middle), "first"), sure(other(middle, text), "second", 0.9)
    found = composed_edits(mt, text, first, second)
    edits = [edit for edit, _ in found]
    assert apply_edits(mt, text, edits) == text
    for left, right in pairwise(edits):
        assert left.mt_span[1] <= right.mt_span[0]
        assert left.pe_span[1] <= right.pe_span[0]
    given = {reason: confidence for edit, confidence in (*first, *second) for reason in edit.reasons}
    for edit, confidence in found:
        assert mt[slice(*edit.mt_span)] != text[slice(*edit.pe_span)]
        assert (edit.op == "insert") == (edit.mt_span[0] == edit.mt_span[1])
        assert (edit.op == "delete") == (edit.pe_span[0] == edit.pe_span[1])
        assert confidence == min(given[one] for one in edit.reasons)
    assert bool(found) == (mt != text)


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (("a b c", "a x c", "y x c"), [("a", "y", 0.8, "second0"), ("b", "x", 0.5, "first0")]),
        (("a b c", "a x c", "a y c"), [("b", "y", 0.5, "first0 second0")]),
        (("a b c", "a x c", "a b c"), []),
        (("a b", "b", "b c"), [("a ", "", 0.5, "first0"), ("", " c", 0.8, "second0")]),
        (("a a", "a", "a a"), []),
        (("甲 乙", "甲 丙", "甲 丙 。"), [("乙", "丙 。", 0.5, "first0 second0")]),
    ],
    ids=["apart", "same word", "reverted", "ends", "moved back", "touching"],
)
def test_edits_stay_apart_join_or_vanish(texts: tuple[str, str, str], parts: list[tuple[str, str, float, str]]) -> None:
    mt, middle, text = texts
    first, second = sure(edits_between(mt, middle), "first"), sure(edits_between(middle, text), "second", 0.8)
    found = [
        (
            mt[slice(*edit.mt_span)],
            text[slice(*edit.pe_span)],
            confidence,
            " ".join(one.text for one in edit.reasons if isinstance(one, ErrorReason)),
        )
        for edit, confidence in composed_edits(mt, text, first, second)
    ]
    assert found == parts


def test_of_an_edit_that_is_taken_back_in_part_the_rest_remains() -> None:
    first, second = Edit("replace", (2, 5), (2, 5), (reason("first"),)), Edit("replace", (4, 5), (4, 5))
    found = composed_edits("a b c d", "a x c d", [SureEdit(first, 0.5)], [SureEdit(second, 0.8)])
    assert found == [SureEdit(Edit("replace", (2, 3), (2, 3), first.reasons), 0.5)]
