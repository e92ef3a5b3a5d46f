"""The arithmetic of n-best lists, compiled."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def best(scores: Any, first: Any) -> Any:
    """Int[S]: the place of the highest of the scores Float[H] of each sentence; of equal ones, the first."""
    chosen = np.empty(first.size - 1, np.int64)
    for sentence in range(first.size - 1):
        top = first[sentence]
        for place in range(first[sentence] + 1, first[sentence + 1]):
            if scores[place] > scores[top]:
                top = place
        chosen[sentence] = top
    return chosen


@njit(cache=True, nogil=True)
def envelopes(heights: Any, slopes: Any, first: Any, low: float, high: float) -> Any:
    """Return which of a sentence's lines is on top where, between `low` and `high`.

    The lines are height + slope * x; of lines that are equal, the first counts.

    Args:
        heights: Float[H].
        slopes: Float[H].
        first: Int[S+1], where the lines of each sentence begin.
        low: where to begin; may be -inf.
        high: where to end; may be inf.

    Returns:
        Int[S], the lines on top at `low`; and for each change, in no order over sentences, Float[C], where it is,
        Int[C], the line that was on top, and Int[C], the one that is from there on.
    """
    start = np.empty(first.size - 1, np.int64)
    at = np.empty(heights.size, np.float64)
    before = np.empty(heights.size, np.int64)
    after = np.empty(heights.size, np.int64)
    changes = 0
    longest = 0
    for sentence in range(first.size - 1):
        longest = max(longest, first[sentence + 1] - first[sentence])
    top = np.empty(longest, np.int64)  # the lines of the envelope, by slope
    since = np.empty(longest, np.float64)  # and where each begins
    for sentence in range(first.size - 1):
        begin, end = first[sentence], first[sentence + 1]
        size = 0
        for place in np.argsort(slopes[begin:end], kind="mergesort"):
            line = begin + place
            if size and slopes[line] == slopes[top[size - 1]]:
                if heights[line] <= heights[top[size - 1]]:
                    continue
                size -= 1
            crossing = -np.inf
            while size:
                crossing = (heights[top[size - 1]] - heights[line]) / (slopes[line] - slopes[top[size - 1]])
                if crossing > since[size - 1]:
                    break
                size -= 1
                crossing = -np.inf
            top[size], since[size] = line, crossing
            size += 1
        current = 0
        while current + 1 < size and since[current + 1] <= low:
            current += 1
        start[sentence] = top[current]
        while current + 1 < size and since[current + 1] < high:
            current += 1
            at[changes], before[changes], after[changes] = since[current], top[current - 1], top[current]
            changes += 1
    return start, at[:changes], before[:changes], after[:changes]
