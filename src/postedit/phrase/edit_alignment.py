"""Alignment of the words of mt and pe."""
from typing import Any
import numpy as np
from postedit.compiled import compiled
from postedit.phrase.pair_table import EMPTY, find, grown, lookup, pair

_NULL = 0.1
_TENSION = 0.3
_STRENGTH = 2.0

@compiled
def match(mt: Any, pe: Any, links: Any) -> None:
    """Link equal words by fewest edits: links[j] = i or -1."""
    n, m = mt.size, pe.size
    cost = np.empty((n + 1, m + 1), np.int32)
    for j in range(m + 1): cost[n, j] = m - j
    for i in range(n - 1, -1, -1):
        cost[i, m] = n - i
        for j in range(m - 1, -1, -1):
            if mt[i] == pe[j]: cost[i, j] = cost[i + 1, j + 1]
            else: cost[i, j] = 1 + min(cost[i + 1, j + 1], cost[i + 1, j], cost[i, j + 1])
    links[:m] = -1
    i = j = 0
    while i < n and j < m:
        if mt[i] == pe[j]:
            links[j] = i; i += 1; j += 1
        elif cost[i, j] == 1 + cost[i + 1, j + 1]: i += 1; j += 1
        elif cost[i, j] == 1 + cost[i + 1, j]: i += 1
        else: j += 1

@compiled
def rest(mt: Any, pe: Any, links: Any, free: Any, expected: Any) -> None:
    """Free mt positions (bool) and the expected mt position of each pe word."""
    n, m = mt.size, pe.size
    free[:n] = True
    last = -1
    for j in range(m):
        if links[j] >= 0:
            last = links[j]; free[last] = False
        expected[j] = last + 0.5
    nxt = n
    for j in range(m - 1, -1, -1):
        if links[j] >= 0: nxt = links[j]
        else:
            expected[j] = 0.5*(expected[j] - 0.5 + nxt)

@compiled
def similarity(a: Any, b: Any, letters: Any, starts: Any) -> float:
    p, q = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
    k = 0
    while k < min(p, q) and letters[starts[a] + k] == letters[starts[b] + k]: k += 1
    e = 0
    while e < min(p, q) - k and letters[starts[a + 1] - 1 - e] == letters[starts[b + 1] - 1 - e]: e += 1
    return (k + e) / max(p, q, 1)

@compiled
def collect(mt: Any, me: Any, pe: Any, pends: Any, letters: Any, starts: Any) -> Any:
    keys = np.full(1 << 12, EMPTY, np.int64); used = 0
    links = np.empty(1 << 14, np.int64); free = np.empty(1 << 14, np.bool_); exp = np.empty(1 << 14, np.float64)
    for row in range(me.size - 1):
        a, b = mt[me[row]:me[row+1]], pe[pends[row]:pends[row+1]]
        match(a, b, links); rest(a, b, links, free, exp)
        for j in range(b.size):
            if links[j] >= 0: continue
            for i in range(-1, a.size):
                if i >= 0 and not free[i]: continue
                key = pair(0 if i < 0 else a[i], b[j])
                s = find(keys, key)
                if keys[s] == EMPTY:
                    keys[s] = key; used += 1
                    if 2*used > keys.size: keys = grown(keys)
    prob = np.zeros(keys.size, np.float32)
    for s in range(keys.size):
        if keys[s] != EMPTY:
            f = keys[s] >> 32; e = keys[s] & 0xFFFFFFFF
            prob[s] = 0.01 if f == 0 else 0.001 + (0.8 if f == e else 0.3*similarity(f, e, letters, starts)**2)
    return keys, prob

@compiled
def em(mt: Any, me: Any, pe: Any, pends: Any, keys: Any, prob: Any, prior: Any, words: int) -> None:
    counts = np.zeros(keys.size, np.float32); totals = np.zeros(words, np.float64)
    links = np.empty(1 << 14, np.int64); free = np.empty(1 << 14, np.bool_); exp = np.empty(1 << 14, np.float64)
    sc = np.empty(1<<14, np.float64)
    for row in range(me.size - 1):
        a, b = mt[me[row]:me[row+1]], pe[pends[row]:pends[row+1]]
        match(a, b, links); rest(a, b, links, free, exp)
        for j in range(b.size):
            if links[j] >= 0: continue
            total = _NULL * prob[find(keys, pair(0, b[j]))]
            for i in range(a.size):
                if free[i]:
                    sc[i] = np.exp(-_TENSION*abs(i - exp[j]))*prob[find(keys, pair(a[i], b[j]))]
                    total += sc[i]
            s = find(keys, pair(0, b[j])); counts[s] += _NULL*prob[s]/total; totals[0] += _NULL*prob[s]/total
            for i in range(a.size):
                if free[i]:
                    counts[find(keys, pair(a[i], b[j]))] += sc[i]/total; totals[a[i]] += sc[i]/total
    for s in range(keys.size):
        if keys[s] != EMPTY:
            f = keys[s] >> 32
            prob[s] = (counts[s] + _STRENGTH*prior[s])/(totals[f] + _STRENGTH)

@compiled
def align(a: Any, b: Any, keys: Any, prob: Any, links: Any, free: Any, exp: Any) -> None:
    """Competitive linking: the best free pair first, one to one."""
    match(a, b, links); rest(a, b, links, free, exp)
    n, m = a.size, b.size
    score = np.zeros((n, m), np.float64)
    for j in range(m):
        if links[j] >= 0: continue
        null = _NULL*lookup(keys, prob, pair(0, b[j]), np.float32(1e-3))
        for i in range(n):
            if free[i]:
                p = np.exp(-(0.1 if a[i]==b[j] else _TENSION)*abs(i - exp[j]))*lookup(keys, prob, pair(a[i], b[j]), np.float32(0.8 if a[i]==b[j] else 0.0))
                if p > null: score[i, j] = p
    while True:
        best, bi, bj = 0.0, -1, -1
        for i in range(n):
            if free[i]:
                for j in range(m):
                    if links[j] < 0 and score[i, j] > best: best, bi, bj = score[i, j], i, j
        if bi < 0: break
        links[bj] = bi; free[bi] = False

@compiled
def align_all(mt: Any, me: Any, pe: Any, pends: Any, keys: Any, prob: Any) -> Any:
    out = np.empty(pe.size, np.int16)
    links = np.empty(1 << 14, np.int64); free = np.empty(1 << 14, np.bool_); exp = np.empty(1 << 14, np.float64)
    for row in range(me.size - 1):
        a, b = mt[me[row]:me[row+1]], pe[pends[row]:pends[row+1]]
        align(a, b, keys, prob, links, free, exp)
        for j in range(b.size): out[pends[row]+j] = links[j]
    return out
