"""Search against all sets of edits of tiny sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.phrase.small_lattices import EDIT, MODEL, all_outputs, candidates_from

from postedit.phrase.lattice import path_words, search_lattice
from postedit.phrase.ngram_model import text_log_probability
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT


@given(
    st.lists(st.integers(3, 5), min_size=0, max_size=4), st.lists(EDIT, max_size=6), st.sampled_from([0.0, 0.5, 2.0])
)
def test_search_finds_the_best_of_all_outputs(
    words: list[int], edits: list[tuple[int, int, list[int], int]], weight: float
) -> None:
    mt = np.array([BEGIN, *words, END_OF_TEXT], np.int32)
    candidates, scores = candidates_from(edits, mt.size)
    expected = all_outputs(mt, candidates, scores, weight)
    for outputs in (1, 4, 200):
        paths = search_lattice(mt, candidates, scores, MODEL, weight, outputs, 0)
        assert paths.scores.tolist() == pytest.approx(sorted(expected.values(), reverse=True)[:outputs])
        for number, score in enumerate(paths.scores):
            taken = paths.edits[number, : paths.counts[number]]
            written = path_words(mt, candidates, taken)
            assert expected[tuple(written.tolist())] == pytest.approx(score)
            assert paths.language[number] == pytest.approx(text_log_probability(MODEL, written))
            assert score == pytest.approx(scores[taken].sum() + weight * paths.language[number])
        assert len({tuple(row) for row in paths.edits.tolist()}) == len(paths.scores)


def test_a_replacement_hides_no_kept_words_before_insertions() -> None:
    mt = np.array([BEGIN, 5, 3, 4, END_OF_TEXT], np.int32)
    candidates, scores = candidates_from([(1, 3, [3, 4], 1), (4, 0, [5], 3)], mt.size)
    (best,) = search_lattice(mt, candidates, scores, MODEL, 0.0, 1, 0).scores
    assert best == pytest.approx(3.1)


def test_the_best_of_many_outputs_with_the_same_last_words() -> None:
    mt = np.array([BEGIN, 3, 3, 3, 3, END_OF_TEXT], np.int32)
    edits = [(1, 1, [4], 3), (1, 1, [5], -3), (2, 1, [4], -1), (2, 1, [5], 1)]
    candidates, scores = candidates_from(edits, mt.size)
    expected = sorted(all_outputs(mt, candidates, scores, 0.0).values(), reverse=True)
    assert len(expected) == 9
    for outputs in range(1, 10):
        found = search_lattice(mt, candidates, scores, MODEL, 0.0, outputs, 0).scores
        assert found.tolist() == pytest.approx(expected[:outputs])


def test_a_limit_on_paths_keeps_the_best_ones() -> None:
    mt = np.array([BEGIN, 3, END_OF_TEXT], np.int32)
    candidates, scores = candidates_from([(1, 1, [4], 2), (1, 1, [5], -1)], mt.size)
    assert search_lattice(mt, candidates, scores, MODEL, 0.0, 1, 1).scores.tolist() == pytest.approx([2.1])


def test_a_limit_on_paths_returns_complete_outputs() -> None:
    mt = np.array([BEGIN, 3, 4, 5, END_OF_TEXT], np.int32)
    candidates, scores = candidates_from([(1, 1, [5], 1), (2, 1, [3], 1), (3, 1, [4], -2), (2, 0, [4], 0)], mt.size)
    exact = search_lattice(mt, candidates, scores, MODEL, 0.5, 3, 0)
    limited = search_lattice(mt, candidates, scores, MODEL, 0.5, 3, 1)
    assert limited.scores.size >= 1
    assert limited.scores[0] <= exact.scores[0] + 1e-9


def test_more_paths_than_there_is_room_for_at_first() -> None:
    words = [3, 4, 5] * 10
    mt = np.array([BEGIN, *words, END_OF_TEXT], np.int32)
    edits = [(place, 1, [3 + (word + shift) % 3], 0) for place, word in enumerate(words, 1) for shift in (0, 1, 2)]
    candidates, scores = candidates_from(edits, mt.size)
    paths = search_lattice(mt, candidates, scores, MODEL, 0.5, 50, 0)
    assert paths.scores.size == 50
    assert np.all(np.diff(paths.scores) <= 0.0)
