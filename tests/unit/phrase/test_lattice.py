"""Search against all sets of edits of tiny sentences."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.phrase.edit_candidates import Candidates
from postedit.phrase.lattice import path_words, search_lattice
from postedit.phrase.ngram_model import learn_ngrams, text_log_probability
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT, TextsBuilder


def language_model():
    builder = TextsBuilder(bounded=True)
    for row in ([3, 4, 5], [3, 4, 3], [4, 5, 5, 3], [5], [3, 5, 4]):
        builder.append(row)
    return learn_ngrams(builder.texts(), 3)


MODEL = language_model()

EDIT = st.tuples(st.integers(1, 4), st.integers(0, 2), st.lists(st.integers(3, 5), max_size=2), st.integers(-3, 3))


def candidates_from(edits: list[tuple[int, int, list[int], int]], n: int) -> tuple[Candidates, np.ndarray]:
    kept = {}
    for start, length, words, score in edits:
        end = start + length
        if end < n and (length or words):
            kept[start, end, tuple(words)] = score + 0.1
    ordered = sorted(kept)
    words = np.array([word for change in ordered for word in change[2]] + [0], np.int32)
    places = np.cumsum([0, *(len(change[2]) for change in ordered)])
    spans = np.array([(c[0], c[1], p, len(c[2])) for c, p in zip(ordered, places)], np.int32).reshape(-1, 4)
    first = np.searchsorted(spans[:, 0], np.arange(n + 1)).astype(np.int64)
    scores = np.array([kept[change] for change in ordered], np.float64)
    return Candidates(words, spans, np.zeros((len(ordered), 16)), first), scores


def all_outputs(
    mt: np.ndarray, candidates: Candidates, scores: np.ndarray, weight: float
) -> dict[tuple[int, ...], float]:
    """Return the best score of each output, over sets of edits that do not overlap, with no insertion beside one."""
    best: dict[tuple[int, ...], float] = {}
    for size in range(len(scores) + 1):
        for chosen in itertools.combinations(range(len(scores)), size):
            spans = sorted((tuple(candidates.spans[one, :2]), one) for one in chosen)
            pairs = [(left, right) for (left, _), (right, _) in itertools.pairwise(spans)]
            beside = [pair for pair in pairs if pair[0][1] == pair[1][0] and any(start == end for start, end in pair)]
            if beside or any(left[1] > right[0] for left, right in pairs):
                continue
            words = path_words(mt, candidates, np.array([one for _, one in spans], np.int32))
            score = sum(scores[one] for one in chosen) + weight * text_log_probability(MODEL, words)
            output = tuple(words.tolist())
            best[output] = max(best.get(output, -np.inf), score)
    return best


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


def test_a_replacement_does_not_hide_kept_words_that_an_insertion_may_follow() -> None:
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
