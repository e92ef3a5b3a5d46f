import math

import numpy as np
import pytest

from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.lexicon import count_links, lexical_scores
from postedit.phrase.source_alignment import Texts

A, B, C, D = 3, 4, 5, 6


@pytest.fixture(scope="module")
def lexicon():
    # A B -> A C D, with B linked to C, and D to nothing; A B -> A, with B deleted; A -> A; C -> C
    mt = Texts(np.array([A, B, A, B, A, C], np.int32), np.array([0, 2, 4, 5, 6]))
    pe = Texts(np.array([A, C, D, A, A, C], np.int32), np.array([0, 3, 4, 5, 6]))
    return count_links(mt, pe, np.array([0, 1, UNLINKED, 0, 0, 0], np.int32), 7)


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
        ([C], [C], 1.0, 0.5),  # C became C each time, but came from B once
        ([60], [70], 1e-4, 1e-4),  # words that only corrections have
    ],
)
def test_lexical_scores(lexicon, old: list[int], new: list[int], forwards: float, backwards: float) -> None:
    assert scores(lexicon, old, new) == pytest.approx([forwards, backwards])


def test_counts_include_words_without_counterpart(lexicon) -> None:
    assert lexicon.old[[0, A, B, C]].tolist() == [1, 3, 2, 1]
    assert lexicon.new[[0, A, C, D]].tolist() == [1, 3, 2, 1]


def test_counts_stay_as_the_table_grows() -> None:
    count = 3000
    mt = Texts(np.tile(np.arange(1, count, dtype=np.int32), 3), np.arange(0, 3 * count - 2))
    pe = Texts(np.concatenate([mt.words[: 2 * count - 2], mt.words[2 * count - 2 :][::-1]]), mt.starts)
    grown = count_links(mt, pe, np.zeros(len(mt.words), np.int32), count)
    for word in (1, count // 3, count - 1):
        assert scores(grown, [word], [word]) == pytest.approx([2 / 3, 2 / 3])
