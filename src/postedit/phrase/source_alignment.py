"""Alignment of mt with the source: word translation probabilities learnt by EM, and words joined with source words.

The model is that of Dyer et al. (2013): IBM model 2 with a preference for the diagonal instead of a table of positions.
Unlike theirs, its strength is fixed, and distances from the diagonal are those of the middles of words, not their ends.
It is learnt from sources and post-edits, which are better translations than mt, and then applied to mt.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, doubled, find, lookup, pair, table_of

NO_WORD: Final = 0
"""The id that no word has; as the source word of a word, it says that the word has no source."""

_TENSION: Final = 4.0  # how strongly a position prefers the diagonal; Dyer et al. (2013) find values from 4 to 8
_NO_SOURCE: Final = 0.08  # prior probability that a word has no source, as in Dyer et al. (2013)
_UNSEEN: Final = np.float32(1e-7)  # probability of a word without source that was never seen
_ITERATIONS: Final = 5
_NOT_JOINED_BEFORE: Final = np.int32(-1)  # the id of an unknown joined word
_LEAST: Final = 1e-3  # smaller probabilities are dropped: they are most of the table and decide no alignment


class Texts(NamedTuple):
    """Texts one after the other: word ids Int32[W], and where each text begins, followed by the end, Int64[S+1]."""

    words: Any
    starts: Any


def single_text(words: NDArray[np.int32]) -> Texts:
    """Return texts with only this one."""
    return Texts(words, np.array([0, len(words)]))


class TranslationTable(NamedTuple):
    """Probabilities of target words given source words: a table with keys `pair(source, target)`."""

    keys: Any  # Int64[slots]
    probabilities: Any  # Float32[slots]


def learn_translations(src: Texts, pe: Texts, words: int) -> TranslationTable:
    """Return the probabilities of the words of `pe` given those of `src`; all word ids are below `words`."""
    keys = _seen_pairs(src, pe)
    probabilities = np.ones(keys.size, np.float32)
    for _ in range(_ITERATIONS):
        probabilities = _improved(src, pe, keys, probabilities, words)
    kept = (keys != EMPTY) & (probabilities >= _LEAST)
    return TranslationTable(*table_of(keys[kept], probabilities[kept]))


@compiled
def _seen_pairs(src: Any, pe: Any) -> Any:
    """Return the keys of all pairs of a source word, or NO_WORD, and a target word of the same triplet."""
    keys = np.full(1 << 16, EMPTY, np.int64)
    used = 0
    for row in range(src.starts.size - 1):
        for j in range(pe.starts[row], pe.starts[row + 1]):
            for i in range(src.starts[row] - 1, src.starts[row + 1]):
                key = pair(NO_WORD if i < src.starts[row] else src.words[i], pe.words[j])
                slot = find(keys, key)
                if keys[slot] == EMPTY:
                    keys[slot] = key
                    used += 1
                    if 2 * used > keys.size:
                        keys = doubled(keys)
    return keys


@compiled
def _improved(src: Any, pe: Any, keys: Any, probabilities: Any, words: Any) -> Any:
    """Return the probabilities after one EM step."""
    counts = np.zeros(keys.size, np.float32)
    totals = np.zeros(words, np.float64)
    longest = 1
    for row in range(src.starts.size - 1):
        longest = max(longest, src.starts[row + 1] - src.starts[row])
    shares, slots = np.empty(longest + 1, np.float64), np.empty(longest + 1, np.int64)
    prior = np.empty(longest, np.float64)
    for row in range(src.starts.size - 1):
        first, n = src.starts[row], src.starts[row + 1] - src.starts[row]
        m = pe.starts[row + 1] - pe.starts[row]
        for j in range(m):
            word = pe.words[pe.starts[row] + j]
            _fill_prior(n, j, m, prior)
            slots[n] = find(keys, pair(NO_WORD, word))
            shares[n] = _NO_SOURCE * probabilities[slots[n]]
            total = shares[n]
            for i in range(n):
                slots[i] = find(keys, pair(src.words[first + i], word))
                shares[i] = prior[i] * probabilities[slots[i]]
                total += shares[i]
            for i in range(n + 1):
                share = shares[i] / total
                counts[slots[i]] += share
                totals[src.words[first + i] if i < n else NO_WORD] += share
    for slot in range(keys.size):
        if keys[slot] != EMPTY and counts[slot] > 0.0:
            counts[slot] /= totals[keys[slot] >> 32]
    return counts


@compiled
def _fill_prior(n: Any, j: Any, m: Any, prior: Any) -> None:
    """Write to `prior` the prior probabilities that word j of m comes from each of n source words."""
    # The distances form two geometric series around the diagonal: one exponential serves all positions.
    step = np.exp(-_TENSION / max(n, 1))
    center = (j + 0.5) / m * n - 0.5
    total = 0.0
    value = 1.0
    middle = min(max(int(np.floor(center)), 0), max(n - 1, 0))
    for i in range(middle, -1, -1):
        prior[i] = value
        total += value
        value *= step
    value = step ** (1.0 - 2.0 * min(max(center - middle, 0.0), 1.0))
    for i in range(middle + 1, n):
        prior[i] = value
        total += value
        value *= step
    for i in range(n):
        prior[i] *= (1.0 - _NO_SOURCE) / total


@compiled
def source_words(table: Any, src: Any, mt: Any) -> Any:
    """Return the source word that each word of `mt` Int32[n] most probably comes from, or NO_WORD, Int32[n]."""
    found = source_places(table, src, mt)
    for j in range(found.size):
        found[j] = NO_WORD if found[j] < 0 else src[found[j]]
    return found


@compiled
def source_places(table: Any, src: Any, mt: Any) -> Any:
    """Return the place in `src` of the source word of each word of `mt`, Int32[n]; -1 if it comes from none."""
    n, m = src.size, mt.size
    found = np.full(m, -1, np.int32)
    prior = np.empty(max(n, 1), np.float64)
    for j in range(m):
        _fill_prior(n, j, m, prior)
        best = _NO_SOURCE * lookup(table.keys, table.probabilities, pair(NO_WORD, mt[j]), _UNSEEN)
        for i in range(n):
            found_here = lookup(table.keys, table.probabilities, pair(src[i], mt[j]), np.float32(0.0))
            if prior[i] * found_here > best:
                best, found[j] = prior[i] * found_here, i
    return found


@compiled
def all_source_words(table: Any, src: Any, mt: Any) -> Any:
    """Return the source words of all texts, one text after the other, Int32[W]; see `source_words`."""
    found = np.empty(mt.words.size, np.int32)
    for row in range(mt.starts.size - 1):
        start, end = mt.starts[row], mt.starts[row + 1]
        found[start:end] = source_words(table, src.words[src.starts[row] : src.starts[row + 1]], mt.words[start:end])
    return found


class JoinedWords(NamedTuple):
    """The ids of words of mt joined with the source words they come from (Béchara et al. 2011).

    A table with keys `pair(word, source word)`; if it is empty, words are not joined.
    """

    keys: Any  # Int64[slots]
    ids: Any  # Int32[slots]


NOT_JOINED: Final = JoinedWords(np.empty(0, np.int64), np.empty(0, np.int32))


def join_words(words: NDArray[np.int32], sources: NDArray[np.int32]) -> JoinedWords:
    """Return the ids of all words Int32[W] joined with their source words Int32[W]."""
    keys = np.unique(words.astype(np.int64) << 32 | sources)
    return JoinedWords(*table_of(keys, np.arange(keys.size, dtype=np.int32)))


@compiled
def joined_ids(joined: Any, words: Any, sources: Any) -> Any:
    """Return the ids of words joined with source words, -1 if unknown; the words themselves if `joined` is empty."""
    if joined.keys.size == 0:
        return words
    ids = np.empty(words.size, np.int32)
    for place in range(words.size):
        ids[place] = lookup(joined.keys, joined.ids, pair(words[place], sources[place]), _NOT_JOINED_BEFORE)
    return ids


@compiled
def enlarged(joined: Any) -> Any:
    """Return the ids in a table of twice the size, which has room for as many new ones."""
    keys = doubled(joined.keys)
    ids = np.zeros(keys.size, np.int32)
    for slot in range(joined.keys.size):
        if joined.keys[slot] != EMPTY:
            ids[find(keys, joined.keys[slot])] = joined.ids[slot]
    return JoinedWords(keys, ids)


@compiled
def number_joined(joined: Any, known: Any, words: Any, sources: Any) -> Any:
    """Give joined words without an id one from `known` on, in the table itself; return the number above all ids."""
    for place in range(words.size):
        key = pair(words[place], sources[place])
        slot = find(joined.keys, key)
        if joined.keys[slot] == EMPTY:
            joined.keys[slot], joined.ids[slot] = key, known
            known += 1
    return known
