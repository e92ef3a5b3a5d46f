"""Edits reverted: what is left is as it was, to the byte."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.editor import Edit, PostEdit
from postedit.editing.results import confidence, keep_edits, with_text
from postedit.text.edits import apply_edits, splice
from postedit.text.words import PlainSplitter

WORDS = st.lists(
    st.sampled_from(["das", "Haus", "ß", "日本", "🙂", "é", "x", "Ha\u0308us", "\u212b", "a\u00a0b\u2009"]),
    min_size=1,
    max_size=8,
)
SPACES = st.sampled_from([" ", "  ", "\t"])


def corrected(mt: str, pe: list[str]) -> PostEdit:
    split = PlainSplitter()
    words = split.spans(mt)
    text, edits = splice(mt, words, split.gaps([word.text for word in words]), pe, split.gaps(pe))
    count = len(edits)
    confidences = tuple((place + 1) / (count + 1) for place in range(count))
    spans = tuple((place, place + 1) for place in range(count))
    return PostEdit(text, text != mt, edits=edits, token_spans=spans, confidences=confidences, reverted=2)


@given(WORDS, WORDS, SPACES, st.data())
def test_edits_that_stay_make_the_text_and_all_else_is_mt(
    mt: list[str], pe: list[str], space: str, data: st.DataObject
) -> None:
    raw = f" {space.join(mt)} "
    result = corrected(raw, pe)
    mask = data.draw(st.lists(st.booleans(), min_size=len(result.edits), max_size=len(result.edits)))
    found = keep_edits(raw, result, mask)
    assert apply_edits(raw, found.text, found.edits) == found.text
    assert found.reverted == 2 + mask.count(False)
    assert found.changed == (found.text != raw)
    done = there = 0
    for edit in found.edits:
        assert raw[done : edit.mt_span[0]] == found.text[there : edit.pe_span[0]]
        done, there = edit.mt_span[1], edit.pe_span[1]
    assert raw[done:] == found.text[there:]
    kept = [edit for edit, stays in zip(result.edits, mask) if stays]
    rows = zip(result.token_spans, result.confidences, mask, strict=True)
    assert [*zip(found.token_spans, found.confidences, strict=True)] == [
        (span, sure) for span, sure, stays in rows if stays
    ]
    assert [found.text[slice(*edit.pe_span)] for edit in found.edits] == [
        result.text[slice(*edit.pe_span)] for edit in kept
    ]
    if not any(mask):
        assert found.text is raw or not result.edits
    if all(mask):
        assert found is result


@pytest.mark.parametrize(("kept", "is_cut"), [([True, False], True), ([False, False], False)])
def test_mt_is_not_cut_off_although_the_output_was(kept: list[bool], is_cut: bool) -> None:
    output = replace(corrected("a b c d", ["a", "x", "c", "y"]), hit_limit=True)
    assert keep_edits("a b c d", output, kept).hit_limit == is_cut


@given(WORDS, WORDS, st.floats(0, 1), st.floats(0, 1))
def test_more_confidence_keeps_fewer_edits(mt: list[str], pe: list[str], one: float, other: float) -> None:
    raw = " ".join(mt)
    result = corrected(raw, pe)
    low, high = sorted((one, other))
    loose, strict = (keep_edits(raw, result, [value >= least for value in result.confidences]) for least in (low, high))
    assert {edit.mt_span for edit in strict.edits} <= {edit.mt_span for edit in loose.edits}
    assert min(strict.confidences, default=1.0) >= high


def test_an_output_that_the_model_would_write_otherwise_is_one_edit() -> None:
    scored = replace(corrected("das Haus", ["ein", "Haus"]), token_scores=(-1.0, -1.0))
    assert with_text(scored, "das Haus", "ein Haus") is scored
    found = with_text(scored, "das Haus", "ein  Haus")
    assert (found.text, found.changed) == ("ein  Haus", True)
    assert found.edits == (Edit("replace", (0, 8), (0, 9)),)
    assert (found.token_spans, found.confidences) == (((0, 2),), (math.exp(-2.0),))
    left = with_text(scored, "das Haus", "das Haus")
    assert (left.changed, left.edits, left.token_spans, left.confidences) == (False, (), (), ())


def test_a_confidence_is_a_probability() -> None:
    assert confidence([math.log(0.5), math.log(0.5)]) == pytest.approx(0.25)
    assert confidence([1e-7]) == 1.0, "rounding may put a logarithm above 0"
