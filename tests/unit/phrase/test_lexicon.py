import math

import numpy as np
import pytest

from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.lexicon import count_links, lexical_scores
from postedit.phrase.source_alignment import Texts

A, B, C, D = 3, 4, 5, 6


@pytest.fixture(scope="module")
def lexicon():
    # A B -> A C D, with B linked to C, and D to nothing; A B -> A, with B deleted; A -> A
    mt = Texts(np.array([A, B, A, B, A], np.int32), np.array([0, 2, 4, 5]))
    pe = Texts(np.array([A, C, D, A, A], np.int32), np.array([0, 3, 4, 5]))
    return count_links(mt, pe, np.array([0, 1, UNLINKED, 0, 0], np.int32), 7)


def scores(lexicon, old: list[int], new: list[int]) -> list[float]:
    found = lexical_scores(lexicon, np.array(old, np.int32), np.array(new, np.int32))
    return [math.exp(score) for score in found]


@pytest.mark.parametrize(
    ("old", "new", "forwards", "backwards"),
    [
        ([A], [A], 1.0, 1.0),
        ([B], [C], 0.5, 1.0),  # B became C once, and was deleted once; C came from B alone
        ([B], [], 1.0, 1.0),  # all words that became nothing are B
        ([], [D], 1.0, 1.0),
        ([B], [C, D], 0.5, 1.0),  # D is explained by no word
        ([A], [C], 1e-4, 1e-4),
    ],
)
def test_lexical_scores(lexicon, old: list[int], new: list[int], forwards: float, backwards: float) -> None:
    assert scores(lexicon, old, new) == pytest.approx([forwards, backwards])


def test_counts_include_words_without_counterpart(lexicon) -> None:
    assert lexicon.old[[0, A, B]].tolist() == [1, 3, 2]
    assert lexicon.new[[0, A, C, D]].tolist() == [1, 3, 1, 1]
