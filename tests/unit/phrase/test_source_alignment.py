import numpy as np
import pytest

from postedit.phrase.pair_table import lookup, pair
from postedit.phrase.source_alignment import (
    NO_WORD,
    NOT_JOINED,
    Texts,
    all_source_words,
    join_words,
    joined_ids,
    learn_translations,
    source_words,
)

HOUSE, RED, BLUE, HAUS, ROT, BLAU, NEU = range(3, 10)


def texts(rows: list[list[int]]) -> Texts:
    words = np.array([word for row in rows for word in row], np.int32)
    return Texts(words, np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64))


@pytest.fixture(scope="module")
def table():
    src = texts([[RED, HOUSE], [BLUE, HOUSE], [HOUSE], [RED], [RED, HOUSE]])
    pe = texts([[ROT, HAUS], [BLAU, HAUS], [HAUS], [ROT], [HAUS, ROT]])
    return learn_translations(src, pe, 10)


def probability(table, source: int, target: int) -> float:
    return float(lookup(table.keys, table.probabilities, pair(source, target), np.float32(0.0)))


def test_translations_are_learnt_from_co_occurrence(table) -> None:
    for source, target in ((HOUSE, HAUS), (RED, ROT), (BLUE, BLAU)):
        assert probability(table, source, target) > 0.5
    assert probability(table, HOUSE, ROT) < 0.2


def test_probabilities_of_a_source_word_sum_to_at_most_1(table) -> None:
    for source in (NO_WORD, HOUSE, RED, BLUE):
        assert sum(probability(table, source, target) for target in range(10)) <= 1.0 + 1e-5


def test_words_come_from_their_translations(table) -> None:
    src, mt = np.array([RED, HOUSE], np.int32), np.array([ROT, HAUS, NEU], np.int32)
    assert source_words(table, src, mt).tolist() == [RED, HOUSE, NO_WORD]
    assert source_words(table, src[:0], mt).tolist() == [NO_WORD] * 3
    several = all_source_words(table, texts([[HOUSE], [RED, HOUSE]]), texts([[HAUS], [ROT]]))
    assert several.tolist() == [HOUSE, RED]


def test_words_with_other_sources_are_other_words() -> None:
    words, sources = np.array([3, 3, 4, 3], np.int32), np.array([7, 8, 7, 7], np.int32)
    joined = join_words(words, sources)
    ids = joined_ids(joined, words, sources).tolist()
    assert ids[0] == ids[3]
    assert sorted(set(ids)) == [0, 1, 2]
    assert joined_ids(joined, words[:2], np.array([9, 8], np.int32)).tolist() == [-1, ids[1]]


def test_words_stay_as_they_are_if_they_are_not_joined() -> None:
    words = np.array([3, 0, 4], np.int32)
    assert joined_ids(NOT_JOINED, words, words).tolist() == [3, 0, 4]
