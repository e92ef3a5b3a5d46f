import math

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
