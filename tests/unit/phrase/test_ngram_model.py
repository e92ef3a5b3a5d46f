import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.phrase.ngram_model import learn_ngrams, log_probability, text_log_probability
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT, TextsBuilder

UNKNOWN = 99
WORDS = [END_OF_TEXT, 3, 4, 5, 6]


def texts_of(rows: list[list[int]]):
    builder = TextsBuilder(bounded=True)
    for row in rows:
        builder.append(row)
    return builder.texts()


class SlowNgrams:
    """Modified Kneser-Ney smoothing by the equations of Chen and Goodman (1999), over all n-grams of some texts."""

    def __init__(self, rows: list[list[int]], order: int, least: int) -> None:
        texts = [(BEGIN, *row, END_OF_TEXT) for row in rows]
        self.least = least
        self.seen = [
            Counter(text[at : at + n] for text in texts for at in range(len(text) - n + 1)) for n in range(order + 1)
        ]
        self.counts = [self._counts(n, order) for n in range(order + 1)]
        self.discounts = [self._discounts(list(counts.values())) for counts in self.counts]

    def _counts(self, n: int, order: int) -> dict[tuple[int, ...], int]:
        before = Counter(gram[1:] for gram in self.seen[n + 1]) if n < order else Counter[tuple[int, ...]]()
        found = {
            gram: count if n == order or gram[:1] == (BEGIN,) else before[gram] for gram, count in self.seen[n].items()
        }
        return {gram: count for gram, count in found.items() if gram != (BEGIN,)}

    @staticmethod
    def _discounts(counts: list[int]) -> list[float]:
        one, two, three, four = (max(1, counts.count(number)) for number in (1, 2, 3, 4))
        share = one / (one + 2 * two)
        found = [0.0, 1 - 2 * share * two / one, 2 - 3 * share * three / two, 3 - 4 * share * four / three]
        return [discount if discount > 0 else count / 2 for count, discount in enumerate(found)]

    def probability(self, context: tuple[int, ...], word: int) -> float:
        n = len(context) + 1
        after = {gram: count for gram, count in self.counts[n].items() if gram[:-1] == context}
        if not after:
            return self.probability(context[1:], word)
        kept = {
            gram: max(0.0, count - self.discounts[n][min(3, count)]) / sum(after.values())
            for gram, count in after.items()
            if n < 3 or self.seen[n][gram] >= self.least
        }
        shorter = self.probability(context[1:], word) if context else 1.0 / (len(self.counts[1]) + 1)
        return kept.get((*context, word), 0.0) + (1.0 - sum(kept.values())) * shorter


SAMPLE = [[3, 4, 5], [3, 4, 6], [4, 4, 5, 3], [6], [3, 4, 5, 6, 6, 3], [5, 3, 4]]


@given(st.lists(st.lists(st.integers(3, 6), max_size=6), min_size=1, max_size=8), st.integers(2, 4))
def test_probabilities_after_any_context_sum_to_1(rows: list[list[int]], order: int) -> None:
    model = learn_ngrams(texts_of(rows), order)
    used = {word for row in rows for word in row} | {END_OF_TEXT}
    for context in ([BEGIN], [BEGIN, 3], [3, 4], [4, 4, 5], [UNKNOWN, 3]):
        known = np.array(context, np.int32)
        total = sum(math.exp(log_probability(model, known, word)) for word in [*used, UNKNOWN])
        assert total == pytest.approx(1.0, abs=1e-5)


def test_a_text_that_was_seen_is_more_probable() -> None:
    model = learn_ngrams(texts_of(SAMPLE), 3)
    seen, turned = ([BEGIN, *row, END_OF_TEXT] for row in ([3, 4, 5], [5, 4, 3]))
    assert text_log_probability(model, np.array(seen)) > text_log_probability(model, np.array(turned))


def test_the_probability_of_a_text_is_that_of_its_words() -> None:
    model = learn_ngrams(texts_of(SAMPLE), 3)
    words = np.array([BEGIN, 3, 4, 6, END_OF_TEXT], np.int32)
    parts = [log_probability(model, words[:place], words[place]) for place in range(1, 5)]
    assert text_log_probability(model, words) == pytest.approx(sum(parts))


def test_only_the_last_words_of_a_context_count() -> None:
    model = learn_ngrams(texts_of(SAMPLE), 3)
    short, long = np.array([3, 4], np.int32), np.array([6, 6, 3, 4], np.int32)
    assert log_probability(model, short, 5) == log_probability(model, long, 5)


def test_rare_ngrams_can_be_left_out() -> None:
    whole, cut = (learn_ngrams(texts_of(SAMPLE), 3, least) for least in (1, 2))
    assert (cut.keys >= 0).sum() < (whole.keys >= 0).sum()
    total = sum(math.exp(log_probability(cut, np.array([3, 4]), word)) for word in [*WORDS, UNKNOWN])
    assert total == pytest.approx(1.0, abs=1e-5)


@given(
    st.lists(st.lists(st.sampled_from([3, 3, 3, 3, 4, 4, 5, 6]), max_size=7), min_size=1, max_size=20),
    st.integers(2, 4),
    st.integers(1, 3),
)
def test_probabilities_are_those_of_the_equations(rows: list[list[int]], order: int, least: int) -> None:
    model, slow = learn_ngrams(texts_of(rows), order, least), SlowNgrams(rows, order, least)
    contexts = {(BEGIN, *row)[:end] for row in rows for end in range(1, len(row) + 2)}
    for context in sorted({one[1 - order :] for one in contexts | {(), (UNKNOWN,), (5, 6), (3, 3, 3)}}):
        for word in [*WORDS, UNKNOWN]:
            found = log_probability(model, np.array(context, np.int32), word)
            assert found == pytest.approx(math.log(slow.probability(context, word)), abs=1e-5)


def test_what_was_not_seen_is_possible_if_the_estimated_discounts_are_0() -> None:
    rows = [[word] for word in range(10, 14)] * 3 + [[word] for word in range(20, 29)] * 4
    model = learn_ngrams(texts_of(rows), 2)
    assert log_probability(model, np.array([BEGIN], np.int32), UNKNOWN) > math.log(1e-4)
