import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from postedit.evaluate.ter import EditCount, count_edits, edit_rate, ter_signature

words = st.lists(st.sampled_from(["a", "b", "c", "d", "A"]), max_size=7).map(" ".join)


def test_a_shift_is_one_edit() -> None:
    assert count_edits(["c d a b x"], ["a b c d x"]) == [EditCount(edits=1, length=5)]


def test_case_counts_unless_told_otherwise() -> None:
    assert count_edits(["The cat"], ["the cat"])[0].edits == 1
    assert count_edits(["The cat"], ["the cat"], case_sensitive=False)[0].edits == 0


def test_normalising_divides_punctuation_from_words() -> None:
    assert count_edits(["cat ."], ["cat."])[0].edits == 2
    assert count_edits(["cat ."], ["cat."], normalise=True)[0].edits == 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_the_rate_of_the_counts_is_corpus_ter(pairs: list[tuple[str, str]]) -> None:
    hyp, ref = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    expected = TER(case_sensitive=True).corpus_score(hyp, [ref]).score
    assert edit_rate(count_edits(hyp, ref)) == pytest.approx(expected)


def test_signature_tells_case_and_normalisation() -> None:
    assert "case:mixed" in ter_signature()
    assert "case:lc" in ter_signature(case_sensitive=False)
    assert "norm:yes" in ter_signature(normalise=True)


def test_unequal_numbers_of_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        count_edits(["a"], ["a", "b"])
