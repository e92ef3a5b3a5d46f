from typing import Any
import numpy as np
from postedit.compiled import compiled

def suffix_array(tokens, depth=8):
    """Positions sorted by the next `depth` words, by prefix doubling."""
    n = tokens.size
    rank = tokens.astype(np.int64)
    step = 1
    order = np.argsort(rank, kind="stable")
    while step < depth:
        following = np.zeros(n, np.int64)
        following[:-step] = rank[step:] + 1
        key = rank * (int(rank.max()) + 2) + following
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        new = np.zeros(n, np.int64)
        new[order] = np.cumsum(np.concatenate([[0], ranked[1:] != ranked[:-1]]))
        rank = new
        step *= 2
    return order.astype(np.int32)

@compiled
def narrowed(tokens: Any, order: Any, low: int, high: int, depth: int, word: int) -> Any:
    """Return the part of order[low:high] (suffixes that agree on `depth` words) whose next word is `word`."""
    a, b = low, high
    while a < b:
        mid = (a + b) >> 1
        at = order[mid] + depth
        w = tokens[at] if at < tokens.size else -1
        if w < word: a = mid + 1
        else: b = mid
    first = a
    b = high
    # gallop
    step = 1
    while first + step < high:
        at = order[first + step] + depth
        if at < tokens.size and tokens[at] == word: step *= 2
        else: break
    a = first + (step >> 1); b = min(high, first + step)
    while a < b:
        mid = (a + b) >> 1
        at = order[mid] + depth
        w = tokens[at] if at < tokens.size else -1
        if w <= word: a = mid + 1
        else: b = mid
    return first, a
