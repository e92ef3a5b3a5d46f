from hypothesis import given
from hypothesis import strategies as st

from postedit.evaluate.word_edits import OPERATIONS, word_edits

WORDS = st.lists(st.sampled_from("abc"), max_size=6)
SENTENCES = st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4)


@given(SENTENCES)
def test_output_equal_to_the_post_edit_has_only_right_edits(sentences: list[tuple[list[str], ...]]) -> None:
    mt, _, pe = zip(*sentences, strict=True)
    quality = word_edits(mt, pe, pe).quality()
    assert quality.made == quality.needed == quality.right


@given(SENTENCES)
def test_unedited_mt_has_no_edits(sentences: list[tuple[list[str], ...]]) -> None:
    mt, _, pe = zip(*sentences, strict=True)
    quality = word_edits(mt, mt, pe).quality()
    assert quality.made == quality.right == 0
    assert quality.precision is None


@given(SENTENCES)
def test_parts_add_up_to_the_whole(sentences: list[tuple[list[str], ...]]) -> None:
    mt, hyp, pe = zip(*sentences, strict=True)
    edits = word_edits(mt, hyp, pe)
    whole = edits.quality()
    assert whole.right <= min(whole.made, whole.needed)
    for name in ("made", "needed", "right"):
        assert sum(getattr(part, name) for part in edits.by_operation()) == getattr(whole, name)


def test_scripts_of_the_best_overlap_are_compared() -> None:
    mt, hyp, pe = [["a", "a", "b"]], [["a", "b"]], [["x", "a", "b"]]
    assert word_edits(mt, hyp, pe).quality().right == 0  # a word deleted is none replaced
    mt, hyp, pe = [["a", "a", "b", "c"]], [["a", "b", "c"]], [["a", "b", "d"]]
    quality = word_edits(mt, hyp, pe).quality()
    assert (quality.made, quality.needed, quality.right) == (1, 2, 1)
    mt, hyp, pe = [["a", "b"]], [["c"]], [["c", "d"]]
    quality = word_edits(mt, hyp, pe).quality()
    assert (quality.made, quality.needed, quality.right) == (2, 2, 1)  # of two scripts, the one that replaces a by c


def test_an_edit_is_right_with_the_same_word_at_the_same_place() -> None:
    mt, hyp, pe = [list("abc")], [list("axcd")], [list("axce")]
    by_operation = dict(zip(OPERATIONS, word_edits(mt, hyp, pe).by_operation(), strict=True))
    assert (by_operation["substitutions"].precision, by_operation["substitutions"].recall) == (100.0, 100.0)
    assert (by_operation["insertions"].made, by_operation["insertions"].right) == (1, 0)
    assert by_operation["deletions"].recall is None
