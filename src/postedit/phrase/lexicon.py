"""Lexical probabilities of edits, in both directions, from the linked words of all triplets."""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.pair_table import EMPTY, doubled, find, lookup, pair
from postedit.phrase.source_alignment import NO_WORD, Texts

_LEAST: Final = 1e-4  # lower bound of a probability


class EditLexicon(NamedTuple):
    """How often each word of mt became each word of pe: a table with keys `pair(old, new)`.

    NO_WORD stands for the counterpart of a word without link.
    """

    keys: Any  # Int64[slots]
    counts: Any  # Float32[slots]
    old: Any  # Float32[words], counts of words of mt
    new: Any  # Float32[words], counts of words of pe


def count_links(mt: Texts, pe: Texts, links: Any, words: int) -> EditLexicon:
    """Return the lexicon of linked texts; all word ids are below `words`."""
    return EditLexicon(*_counted(mt, pe, links, words))


@compiled
def _counted(mt: Any, pe: Any, links: Any, words: Any) -> Any:
    keys, counts = np.full(1 << 12, EMPTY, np.int64), np.zeros(1 << 12, np.float32)
    old_counts, new_counts = np.zeros(words, np.float32), np.zeros(words, np.float32)
    used = 0
    for row in range(mt.starts.size - 1):
        start, n = mt.starts[row], mt.starts[row + 1] - mt.starts[row]
        first, m = pe.starts[row], pe.starts[row + 1] - pe.starts[row]
        free = np.ones(n, np.bool_)
        for j in range(m + n):
            if j < m:  # a word of pe, with its counterpart
                i = links[first + j]
                new = pe.words[first + j]
                old = NO_WORD if i == UNLINKED else mt.words[start + i]
                if i != UNLINKED:
                    free[i] = False
            elif free[j - m]:  # a word of mt without a counterpart
                old, new = mt.words[start + j - m], NO_WORD
            else:
                continue
            old_counts[old] += 1.0
            new_counts[new] += 1.0
            slot = find(keys, pair(old, new))
            if keys[slot] == EMPTY:
                keys[slot] = pair(old, new)
                used += 1
                if 2 * used > keys.size:
                    larger = doubled(keys)
                    moved = np.zeros(larger.size, np.float32)
                    for each in range(keys.size):
                        if keys[each] != EMPTY:
                            moved[find(larger, keys[each])] = counts[each]
                    keys, counts = larger, moved
                    slot = find(keys, pair(old, new))
            counts[slot] += 1.0
    return keys, counts, old_counts, new_counts


@compiled
def lexical_scores(lexicon: Any, old: Any, new: Any) -> Any:
    """Return the log-probability of the words `new` Int32[m] given `old` Int32[n], and of `old` given `new`.

    Each word is scored given the word of the other side, or none, that explains it best.
    """
    forwards = backwards = 0.0
    for j in range(new.size):
        best = _LEAST
        for i in range(-1, old.size):
            word = NO_WORD if i < 0 else old[i]
            count = lookup(lexicon.keys, lexicon.counts, pair(word, new[j]), np.float32(0.0))
            best = max(best, count / _times(lexicon.old, word))
        forwards += np.log(best)
    for i in range(old.size):
        best = _LEAST
        for j in range(-1, new.size):
            word = NO_WORD if j < 0 else new[j]
            count = lookup(lexicon.keys, lexicon.counts, pair(old[i], word), np.float32(0.0))
            best = max(best, count / _times(lexicon.new, word))
        backwards += np.log(best)
    return forwards, backwards


@compiled
def _times(counts: Any, word: Any) -> Any:
    """Return how often a word was seen, but at least 1; words known only from corrections have no counts."""
    return max(counts[word], 1.0) if word < counts.size else 1.0
