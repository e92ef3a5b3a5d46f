"""Candidate edits of tiny sentences, and all outputs that they make."""

import itertools

import numpy as np
from hypothesis import strategies as st

from postedit.phrase.edit_candidates import Candidates
from postedit.phrase.lattice import path_words
from postedit.phrase.ngram_model import learn_ngrams, text_log_probability
from postedit.phrase.word_ids import TextsBuilder


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
