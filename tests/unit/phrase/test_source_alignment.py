import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.phrase.pair_table import lookup, pair
from postedit.phrase.source_alignment import (
    NO_WORD,
    NOT_JOINED,
    Texts,
    all_source_words,
    join_words,
    joined_ids,
    learn_translations,
    source_places,
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


def slow_prior(n: int, place: int, m: int) -> list[float]:
    """Return the prior of each of n source words for word `place` of m, and of none (Dyer et al. 2013, equation 2)."""
    apart = [math.exp(-4.0 * abs((place + 0.5) / m - (i + 0.5) / n)) for i in range(n)]
    return [*(0.92 * one / sum(apart) for one in apart), 0.08]


def slow_translations(src: list[list[int]], pe: list[list[int]]) -> dict[tuple[int, int], float]:
    """Return the probability of each pair of words after five steps of EM."""
    found = {(s, t): 1.0 for old, new in zip(src, pe) for s in (*old, NO_WORD) for t in new}
    for _ in range(5):
        counts, totals = Counter[tuple[int, int]](), Counter[int]()
        for old, new in zip(src, pe):
            for place, target in enumerate(new):
                prior = slow_prior(len(old), place, len(new))
                shares = [share * found[source, target] for share, source in zip(prior, (*old, NO_WORD))]
                for source, share in zip((*old, NO_WORD), shares):
                    counts[source, target] += share / sum(shares)
                    totals[source] += share / sum(shares)
        found = {(source, target): count / totals[source] for (source, target), count in counts.items()}
    return {pair: one for pair, one in found.items() if one >= 1e-3}


SENTENCES = st.lists(st.integers(3, 6), max_size=6)


@settings(max_examples=25)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_translations_are_those_of_a_slow_implementation(rows: list[tuple[list[int], list[int]]]) -> None:
    src, pe = ([list(side) for side in sides] for sides in zip(*rows))
    table, slow = learn_translations(texts(src), texts(pe), 10), slow_translations(src, pe)
    for source in (NO_WORD, 3, 4, 5, 6):
        for target in range(3, 7):
            # Rounding decides whether a probability of nearly 0.001 is kept.
            assert probability(table, source, target) == pytest.approx(slow.get((source, target), 0.0), abs=1.1e-3)
            if slow.get((source, target), 0.0) > 2e-3:
                assert probability(table, source, target) == pytest.approx(slow[source, target], rel=1e-4)
    for old, new in rows:
        places = source_places(table, np.array(old, np.int32), np.array(new, np.int32)).tolist()
        for place, (chosen, target) in enumerate(zip(places, new)):
            prior = slow_prior(len(old), place, len(new))
            likely = [share * probability(table, source, target) for share, source in zip(prior, (*old, NO_WORD))]
            assert likely[chosen] == pytest.approx(max(likely))


def test_pairs_too_rare_to_decide_an_alignment_are_dropped() -> None:
    others = list(range(10, 1100))
    table = learn_translations(texts([[HOUSE], [RED]]), texts([[HAUS, *others], [ROT]]), 1100)
    assert probability(table, RED, ROT) > 0.5
    assert probability(table, HOUSE, HAUS) == 0.0


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
