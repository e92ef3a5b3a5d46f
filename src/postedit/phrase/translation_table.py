"""Word translation probabilities by EM: IBM model 2 with a preference for the diagonal (Dyer et al. 2013)."""

from typing import Any

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, find, grown, lookup, pair

_TENSION = 4.0
_NULL = 0.08


@compiled
def _pairs(src: Any, src_ends: Any, tgt: Any, tgt_ends: Any) -> Any:
    keys = np.full(1 << 16, EMPTY, np.int64)
    used = 0
    for row in range(src_ends.size - 1):
        for j in range(tgt_ends[row], tgt_ends[row + 1]):
            for i in range(src_ends[row] - 1, src_ends[row + 1]):
                word = 0 if i < src_ends[row] else src[i]
                key = pair(word, tgt[j])
                slot = find(keys, key)
                if keys[slot] == EMPTY:
                    keys[slot] = key
                    used += 1
                    if 2 * used > keys.size:
                        keys = grown(keys)
    return keys


@compiled
def _expect(src: Any, src_ends: Any, tgt: Any, tgt_ends: Any, keys: Any, prob: Any, counts: Any, totals: Any) -> float:
    scores = np.empty(1 << 12, np.float64)
    slots = np.empty(1 << 12, np.int64)
    likelihood = 0.0
    for row in range(src_ends.size - 1):
        first, end = src_ends[row], src_ends[row + 1]
        n, m = end - first, tgt_ends[row + 1] - tgt_ends[row]
        if n == 0 or n >= scores.size:
            continue
        for j in range(m):
            word = tgt[tgt_ends[row] + j]
            norm = 0.0
            for i in range(n):
                scores[i] = np.exp(-_TENSION * abs((i + 0.5) / n - (j + 0.5) / m))
                norm += scores[i]
            total = 0.0
            for i in range(n):
                slots[i] = find(keys, pair(src[first + i], word))
                scores[i] *= (1.0 - _NULL) / norm * prob[slots[i]]
                total += scores[i]
            slots[n] = find(keys, pair(0, word))
            scores[n] = _NULL * prob[slots[n]]
            total += scores[n]
            likelihood += np.log(total)
            for i in range(n + 1):
                share = scores[i] / total
                counts[slots[i]] += share
                totals[src[first + i] if i < n else 0] += share
    return likelihood


@compiled
def _maximise(keys: Any, prob: Any, counts: Any, totals: Any) -> None:
    for slot in range(keys.size):
        if keys[slot] != EMPTY:
            prob[slot] = counts[slot] / max(totals[keys[slot] >> 32], 1e-30)
            counts[slot] = 0.0
    totals[:] = 0.0


@compiled
def _pruned(keys: Any, prob: Any, least: float) -> Any:
    kept = 0
    for slot in range(keys.size):
        if keys[slot] != EMPTY and prob[slot] >= least:
            kept += 1
    size = 16
    while size < 2 * kept:
        size *= 2
    new_keys, new_prob = np.full(size, EMPTY, np.int64), np.zeros(size, np.float32)
    for slot in range(keys.size):
        if keys[slot] != EMPTY and prob[slot] >= least:
            at = find(new_keys, keys[slot])
            new_keys[at], new_prob[at] = keys[slot], prob[slot]
    return new_keys, new_prob


def learn(src: Any, src_ends: Any, tgt: Any, tgt_ends: Any, words: int, iterations: int = 5, least: float = 1e-3) -> Any:
    keys = _pairs(src, src_ends, tgt, tgt_ends)
    prob = np.ones(keys.size, np.float32)
    counts = np.zeros(keys.size, np.float32)
    totals = np.zeros(words, np.float64)
    for _ in range(iterations):
        _expect(src, src_ends, tgt, tgt_ends, keys, prob, counts, totals)
        _maximise(keys, prob, counts, totals)
    return _pruned(keys, prob, least)


@compiled
def align_words(src: Any, n: int, tgt: Any, m: int, keys: Any, prob: Any, out: Any) -> None:
    """Write for each target word the position of the source word that it most probably comes from, or -1."""
    for j in range(m):
        norm = 0.0
        for i in range(n):
            norm += np.exp(-_TENSION * abs((i + 0.5) / n - (j + 0.5) / m))
        best, at = _NULL * lookup(keys, prob, pair(0, tgt[j]), np.float32(1e-7)), -1
        for i in range(n):
            p = lookup(keys, prob, pair(src[i], tgt[j]), np.float32(0.0))
            p *= (1.0 - _NULL) / norm * np.exp(-_TENSION * abs((i + 0.5) / n - (j + 0.5) / m))
            if p > best:
                best, at = p, i
        out[j] = at


@compiled
def aligned_words(src: Any, src_ends: Any, tgt: Any, tgt_ends: Any, keys: Any, prob: Any) -> Any:
    out = np.zeros(tgt.size, np.int32)
    at = np.empty(1 << 14, np.int64)
    for row in range(src_ends.size - 1):
        n, m = src_ends[row + 1] - src_ends[row], tgt_ends[row + 1] - tgt_ends[row]
        words = src[src_ends[row] : src_ends[row + 1]]
        align_words(words, n, tgt[tgt_ends[row] : tgt_ends[row + 1]], m, keys, prob, at)
        for j in range(m):
            out[tgt_ends[row] + j] = words[at[j]] if at[j] >= 0 else 0
    return out
