"""Alignment of the words of mt with those of pe, one to one.

Equal words are linked along a path with the fewest edits. The other words are linked by IBM model 1 with a preference
for the place between the links around them; its prior says that moved words stay equal and that changed words keep most
of their letters. The best pair is linked first (competitive linking, Melamed 2000), so that in a rewritten sentence not
all words are linked to one rare word.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, doubled, find, lookup, pair, table_of
from postedit.phrase.source_alignment import NO_WORD, Texts

UNLINKED: Final = -1

_ITERATIONS: Final = 4
_NO_WORD: Final = 0.1  # prior probability that a word of pe has no counterpart
_DECAY: Final = 0.3  # decay of the probability, in nats per word of distance from the expected place
_DECAY_EQUAL: Final = 0.1  # likewise, for an equal word that moved
_STRENGTH: Final = 2.0  # the prior counts like this many occurrences of a word

# Parts of the prior of a pair of words.
_PRIOR_NO_WORD: Final = 0.01
_PRIOR_ANY: Final = 0.001
_PRIOR_EQUAL: Final = 0.8
_PRIOR_SIMILAR: Final = 0.3
_UNSEEN_NO_WORD: Final = np.float32(5e-3)
_FARTHEST: Final = 6.0  # words from the expected place beyond which there is no link: no phrase would include it
_UNSEEN: Final = np.float32(-1.0)  # marks a pair that is not in a table
_LEAST: Final = np.float32(0.01)  # after training, pairs with a lower probability are not worth their memory


class Spellings(NamedTuple):
    """The letters of all words one after the other, UInt32[L], and where each word begins, Int64[words+1]."""

    letters: Any
    starts: Any


class EditTable(NamedTuple):
    """Probabilities of new words given old ones: a table with keys `pair(old, new)`."""

    keys: Any  # Int64[slots]
    probabilities: Any  # Float32[slots]


def spellings(words: list[str]) -> Spellings:
    """Return the letters of words, as code points."""
    encoded = [word.encode("utf-32-le", "surrogatepass") for word in words]
    starts = np.zeros(len(words) + 1, np.int64)
    starts[1:] = np.cumsum([len(code) // 4 for code in encoded])
    # Writable, like the letters of an editor that learns, so that numba sees one type.
    return Spellings(np.frombuffer(bytearray().join(encoded), np.uint32), starts)


def learn_edits(mt: Texts, pe: Texts, spelt: Spellings) -> EditTable:
    """Return the probabilities of words of pe given words of mt, learnt by EM from the words that are not matched."""
    keys = _unmatched_pairs(mt, pe)
    prior = _prior(keys, spelt)
    probabilities = prior
    for _ in range(_ITERATIONS):
        probabilities = _improved(mt, pe, keys, probabilities, prior, spelt.starts.size)
    return EditTable(keys, probabilities)


def without_rare(table: EditTable) -> EditTable:
    """Return a table with only the likely pairs, for the alignment of further triplets."""
    kept = (table.keys != EMPTY) & (table.probabilities >= _LEAST)
    return EditTable(*table_of(table.keys[kept], table.probabilities[kept]))


@compiled
def matched(mt: Any, pe: Any) -> Any:
    """Return for each word of pe the place of its equal word in mt on a path of fewest edits, or UNLINKED, Int32[m]."""
    n, m = mt.size, pe.size
    cost = np.empty((n + 1, m + 1), np.int32)  # edits from words i and j to the ends
    cost[n] = np.arange(m, -1, -1)
    for i in range(n - 1, -1, -1):
        cost[i, m] = n - i
        for j in range(m - 1, -1, -1):
            if mt[i] == pe[j]:
                cost[i, j] = cost[i + 1, j + 1]
            else:
                cost[i, j] = 1 + min(cost[i + 1, j + 1], cost[i + 1, j], cost[i, j + 1])
    links = np.full(m, UNLINKED, np.int32)
    i = j = 0
    while i < n and j < m:
        if mt[i] == pe[j]:
            links[j] = i
            i, j = i + 1, j + 1
        elif cost[i, j] == 1 + cost[i + 1, j + 1]:
            i, j = i + 1, j + 1
        elif cost[i, j] == 1 + cost[i + 1, j]:
            i += 1
        else:
            j += 1
    return links


@compiled
def _free(links: Any, n: Any) -> Any:
    """Return which of n words of mt have no link, Bool[n]."""
    free = np.ones(n, np.bool_)
    for i in links:
        if i >= 0:
            free[i] = False
    return free


@compiled
def _expected(links: Any, n: Any) -> Any:
    """Return the place in mt where each word of pe is expected, Float64[m]: midway between the links around it."""
    expected = np.empty(links.size, np.float64)
    last = -1
    for j in range(links.size):
        last = links[j] if links[j] >= 0 else last
        expected[j] = last
    following = n
    for j in range(links.size - 1, -1, -1):
        following = links[j] if links[j] >= 0 else following
        expected[j] = (expected[j] + following) / 2.0
    return expected


@compiled
def _near(old: Any, new: Any, distance: Any) -> Any:
    """Return the factor by which a distance in words from the expected place lowers the probability of a pair."""
    return np.exp(-(_DECAY_EQUAL if old == new else _DECAY) * abs(distance))


@compiled
def _unmatched_pairs(mt: Any, pe: Any) -> Any:
    keys = np.full(1 << 12, EMPTY, np.int64)
    used = 0
    for row in range(mt.starts.size - 1):
        old = mt.words[mt.starts[row] : mt.starts[row + 1]]
        new = pe.words[pe.starts[row] : pe.starts[row + 1]]
        links = matched(old, new)
        free = _free(links, old.size)
        for j in range(new.size):
            if links[j] >= 0:
                continue
            for i in range(-1, old.size):
                if i >= 0 and not free[i]:
                    continue
                key = pair(NO_WORD if i < 0 else old[i], new[j])
                slot = find(keys, key)
                if keys[slot] == EMPTY:
                    keys[slot] = key
                    used += 1
                    if 2 * used > keys.size:
                        keys = doubled(keys)
    return keys


@compiled
def _similarity(first: Any, second: Any, spelt: Any) -> Any:
    """Return the share of letters, of the longer of two words, that belong to their common beginning and end."""
    a, b = (
        spelt.letters[spelt.starts[first] : spelt.starts[first + 1]],
        spelt.letters[spelt.starts[second] : spelt.starts[second + 1]],
    )
    shorter, front, back = min(a.size, b.size), 0, 0
    while front < shorter and a[front] == b[front]:
        front += 1
    while back < shorter - front and a[a.size - 1 - back] == b[b.size - 1 - back]:
        back += 1
    return (front + back) / max(a.size, b.size, 1)


@compiled
def _prior(keys: Any, spelt: Any) -> Any:
    prior = np.zeros(keys.size, np.float32)
    for slot in range(keys.size):
        if keys[slot] != EMPTY:
            prior[slot] = _prior_of(keys[slot] >> 32, keys[slot] & 0xFFFFFFFF, spelt)
    return prior


@compiled
def _prior_of(old: Any, new: Any, spelt: Any) -> Any:
    """Return the prior of a pair of words, Float32."""
    if old == NO_WORD:
        return np.float32(_PRIOR_NO_WORD)
    if old == new:
        return np.float32(_PRIOR_ANY + _PRIOR_EQUAL)
    return np.float32(_PRIOR_ANY + _PRIOR_SIMILAR * _similarity(old, new, spelt) ** 2)


@compiled
def _improved(mt: Any, pe: Any, keys: Any, probabilities: Any, prior: Any, words: Any) -> Any:
    """Return the probabilities after one EM step."""
    counts = np.zeros(keys.size, np.float64)
    totals = np.zeros(words, np.float64)
    for row in range(mt.starts.size - 1):
        old = mt.words[mt.starts[row] : mt.starts[row + 1]]
        new = pe.words[pe.starts[row] : pe.starts[row + 1]]
        links = matched(old, new)
        free, expected = _free(links, old.size), _expected(links, old.size)
        shares, slots = np.zeros(old.size, np.float64), np.zeros(old.size, np.int64)
        for j in range(new.size):
            if links[j] >= 0:
                continue
            alone = find(keys, pair(NO_WORD, new[j]))
            none = _NO_WORD * probabilities[alone]
            total = none
            for i in range(old.size):
                if free[i]:
                    slots[i] = find(keys, pair(old[i], new[j]))
                    shares[i] = _near(old[i], new[j], i - expected[j]) * probabilities[slots[i]]
                    total += shares[i]
            counts[alone] += none / total
            totals[NO_WORD] += none / total
            for i in range(old.size):
                if free[i]:
                    counts[slots[i]] += shares[i] / total
                    totals[old[i]] += shares[i] / total
    better = np.zeros(keys.size, np.float32)
    for slot in range(keys.size):
        if keys[slot] != EMPTY:
            better[slot] = (counts[slot] + _STRENGTH * prior[slot]) / (totals[keys[slot] >> 32] + _STRENGTH)
    return better


@compiled
def linked(table: Any, spelt: Any, mt: Any, pe: Any) -> Any:
    """Return the place in mt of the counterpart of each word of pe, Int32[m], or UNLINKED; no two words share one.

    Pairs of words that are not in the table have their prior probability.
    """
    links = matched(mt, pe)
    free, expected = _free(links, mt.size), _expected(links, mt.size)
    scores, pairs = np.empty(mt.size * pe.size, np.float64), np.empty((mt.size * pe.size, 2), np.int32)
    found = 0
    for j in range(pe.size):
        if links[j] >= 0:
            continue
        none = _NO_WORD * lookup(table.keys, table.probabilities, pair(NO_WORD, pe[j]), _UNSEEN_NO_WORD)
        for i in range(mt.size):
            if free[i] and abs(i - expected[j]) < _FARTHEST:
                likely = lookup(table.keys, table.probabilities, pair(mt[i], pe[j]), _UNSEEN)
                if likely == _UNSEEN:
                    likely = _prior_of(mt[i], pe[j], spelt)
                score = _near(mt[i], pe[j], i - expected[j]) * likely
                if score > none:
                    scores[found], pairs[found, 0], pairs[found, 1] = score, i, j
                    found += 1
    for one in np.argsort(-scores[:found], kind="mergesort"):
        i, j = pairs[one]
        if free[i] and links[j] < 0:
            links[j], free[i] = i, False
    return links


@compiled
def all_linked(table: Any, spelt: Any, mt: Any, pe: Any) -> Any:
    """Return the links of all texts, one text after the other, Int32[words of pe]; see `linked`."""
    links = np.empty(pe.words.size, np.int32)
    for row in range(mt.starts.size - 1):
        old = mt.words[mt.starts[row] : mt.starts[row + 1]]
        new = pe.words[pe.starts[row] : pe.starts[row + 1]]
        links[pe.starts[row] : pe.starts[row + 1]] = linked(table, spelt, old, new)
    return links
