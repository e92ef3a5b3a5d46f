"""An n-gram language model with modified Kneser-Ney smoothing (Chen and Goodman 1999), and its lookup."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, SMALLEST, extended, find
from postedit.phrase.source_alignment import Texts

_BEFORE_ALL: Final = -99.0  # log-probability of the word for the beginning, which is never predicted


class NgramModel(NamedTuple):
    """Log-probabilities of n-grams and their backoff weights, as natural logarithms.

    The key of an n-gram is that of its words in reverse order, see `pair_table.extended`.
    """

    keys: Any  # Int64[slots]
    logs: Any  # Float32[slots], of the last word given those before it
    backoffs: Any  # Float32[slots], added for a word that was not seen after this n-gram
    order: int  # words of the longest n-grams
    unknown: float  # log-probability of a word that is in no n-gram


class _Ngrams(NamedTuple):
    """The K distinct n-grams of one length in a text of W words."""

    ids: NDArray[np.int64]  # [W+1], the n-gram that begins at each place of the text, or -1
    places: NDArray[np.int64]  # [K], one place of each
    counts: NDArray[np.int64]  # [K], how often each occurs


def learn_ngrams(texts: Texts, order: int, least: int = 1) -> NgramModel:
    """Return the language model of texts, each with words for beginning and end.

    Args:
        texts: the texts.
        order: the number of words of the longest n-grams.
        least: n-grams of 3 and more words are left out if they occur fewer times than this.
    """
    grams = _ngrams(texts, order)
    start = texts.words[texts.starts[0]]
    keys, logs, backoffs = [], [], []
    shorter: NDArray[np.float64] = np.empty(0)
    unknown = 0.0
    for length, own in enumerate(grams, start=1):
        counts = _continuations(own, grams[length] if length < order else None, texts.words, start)
        counted = np.ones(len(counts), bool) if length > 1 else texts.words[own.places] != start
        discounted = np.maximum(0.0, counts - _discounts(counts[counted])[np.minimum(counts, 3).astype(int)])
        if length == 1:
            shares = np.where(counted, discounted / counts[counted].sum(), 0.0)
            rest = (1.0 - shares.sum()) / (counted.sum() + 1)
            unknown = float(np.log(rest))
            probabilities = shares + rest
            logs.append(np.where(counted, np.log(probabilities), _BEFORE_ALL))
        else:
            context, ending = grams[length - 2].ids[own.places], grams[length - 2].ids[own.places + 1]
            contexts = len(grams[length - 2].counts)
            totals = np.bincount(context, counts, contexts)
            kept = own.counts >= (least if length > 2 else 1)
            shares = np.where(kept, discounted / totals[context], 0.0)
            left = np.clip(1.0 - np.bincount(context, shares, contexts), 1e-12, 1.0)
            backoffs.append(np.log(left))
            probabilities = shares + left[context] * shorter[ending]
            logs.append(np.log(probabilities))
        shorter = probabilities
        keys.append(_keys(texts.words, own.places, length))
    backoffs.append(np.zeros(len(logs[-1])))
    stored = [own.counts >= (least if length > 2 else 1) for length, own in enumerate(grams, start=1)]
    chosen = [np.concatenate([part[kept] for part, kept in zip(parts, stored)]) for parts in (keys, logs, backoffs)]
    slots, stored_logs, stored_backoffs = ngram_table(*chosen)
    return NgramModel(slots, stored_logs, stored_backoffs, order, unknown)


def _ngrams(texts: Texts, order: int) -> list[_Ngrams]:
    words = texts.words
    left = np.repeat(texts.starts[1:], np.diff(texts.starts)) - np.arange(words.size)  # words up to the end of the text
    found: list[_Ngrams] = []
    for length in range(1, order + 1):
        places = np.flatnonzero(left >= length)
        keys = words[places + length - 1].astype(np.int64)
        if found:
            keys += found[-1].ids[places] * (int(words.max(initial=0)) + 1)
        _, first, numbers, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        ids = np.full(words.size + 1, -1, np.int64)
        ids[places] = numbers
        found.append(_Ngrams(ids, places[first], counts))
    return found


def _continuations(
    own: _Ngrams, longer: _Ngrams | None, words: NDArray[np.int32], start: np.int32
) -> NDArray[np.float64]:
    """Return how many different words precede each n-gram; for the longest, and at beginnings of texts, its count."""
    if longer is None:
        return own.counts.astype(np.float64)
    before = np.bincount(own.ids[longer.places + 1], minlength=len(own.counts))
    return np.where(words[own.places] == start, own.counts, before).astype(np.float64)


def _discounts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the discounts of counts of 0, 1, 2, and 3 or more, Float64[4]."""
    one, two, three, four = (max(1, int((counts == number).sum())) for number in (1, 2, 3, 4))
    scale = one / (one + 2 * two)
    found = np.array([0.0, 1 - 2 * scale * two / one, 2 - 3 * scale * three / two, 3 - 4 * scale * four / three])
    # The estimate fails on small texts, in which counts of counts do not decrease: without a discount, words that were
    # not seen in a context would be impossible.
    return np.where(found <= 0.0, np.arange(4) / 2.0, found)


@compiled
def _keys(words: Any, places: Any, length: Any) -> Any:
    keys = np.empty(places.size, np.int64)
    for number in range(places.size):
        key = np.int64(0)
        for offset in range(length - 1, -1, -1):
            key = extended(key, words[places[number] + offset])
        keys[number] = key
    return keys


@compiled
def ngram_table(keys: Any, logs: Any, backoffs: Any) -> Any:
    """Return the hash table of distinct n-grams: the keys, logs and backoffs of an `NgramModel`."""
    size = SMALLEST
    while size < 2 * keys.size:
        size *= 2
    slots = np.full(size, EMPTY, np.int64)
    stored_logs, stored_backoffs = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for number in range(keys.size):
        slot = find(slots, keys[number])
        slots[slot], stored_logs[slot], stored_backoffs[slot] = keys[number], logs[number], backoffs[number]
    return slots, stored_logs, stored_backoffs


@compiled
def log_probability(model: Any, context: Any, word: Any) -> Any:
    """Return the log-probability of a word after the words `context` Int32[n], of which the last `order - 1` count."""
    n = min(context.size, model.order - 1)
    key = extended(np.int64(0), word)
    slot = find(model.keys, key)
    found, matched = model.unknown, 0
    while model.keys[slot] == key:
        found = model.logs[slot]
        if matched == n:
            return found
        matched += 1
        key = extended(key, context[context.size - matched])
        slot = find(model.keys, key)
    key = np.int64(0)
    for length in range(1, n + 1):
        key = extended(key, context[context.size - length])
        if length >= max(matched, 1):
            slot = find(model.keys, key)
            if model.keys[slot] != key:
                break
            found += model.backoffs[slot]
    return found


@compiled
def text_log_probability(model: Any, words: Any) -> Any:
    """Return the log-probability of all words of a text but the first, which is the word for its beginning."""
    total = 0.0
    for place in range(1, words.size):
        total += log_probability(model, words[:place], words[place])
    return total
