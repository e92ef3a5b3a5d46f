"""Compiled arithmetic of n-best lists."""

from typing import Any

import numpy as np

from postedit.compiled import compiled


@compiled
def weighted_sums(features: Any, weights: Any) -> Any:
    """Return features Float[H,F] times weights Float[F], summed in order: Float[H].

    A matrix product of a library may round equal rows differently, and ties would no longer go to the first output.
    """
    total = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        for column in range(features.shape[1]):
            total[row] += weights[column] * features[row, column]
    return total


@compiled
def best_indices(scores: Any, first: Any) -> Any:
    """Return the index of the highest of the scores Float[H] of each sentence, Int[S]; the first of equal ones."""
    chosen = np.empty(first.size - 1, np.int64)
    for sentence in range(first.size - 1):
        top = first[sentence]
        for place in range(first[sentence] + 1, first[sentence + 1]):
            if scores[place] > scores[top]:
                top = place
        chosen[sentence] = top
    return chosen


@compiled
def envelopes(heights: Any, slopes: Any, first: Any, low: float, high: float) -> Any:
    """Return the upper envelope of the lines of each sentence between `low` and `high`.

    The lines are height + slope * x; of equal lines, the first counts.

    Args:
        heights: Float[H].
        slopes: Float[H].
        first: Int[S+1], the offset of the lines of each sentence.
        low: the left end; may be -inf.
        high: the right end; may be inf.

    Returns:
        Int[S], the line on top at `low`; and for each corner, in no order over sentences, its x, Float[C], the line on
        top before it, Int[C], and the line on top after it, Int[C].
    """
    start = np.empty(first.size - 1, np.int64)
    at = np.empty(heights.size, np.float64)
    before = np.empty(heights.size, np.int64)
    after = np.empty(heights.size, np.int64)
    steeper = np.empty(heights.size, np.int64)  # lines that may still come on top
    changes = 0
    for sentence in range(first.size - 1):
        top = first[sentence]
        for line in range(first[sentence] + 1, first[sentence + 1]):
            if _beats(heights, slopes, line, top, low):
                top = line
        start[sentence] = top
        count = 0
        for line in range(first[sentence], first[sentence + 1]):
            if slopes[line] > slopes[top]:
                steeper[count] = line
                count += 1
        place = low
        while count:
            crossing, following = np.inf, -1
            for k in range(count):
                line = steeper[k]
                meets = (heights[top] - heights[line]) / (slopes[line] - slopes[top])
                if meets < crossing or (meets == crossing and slopes[line] > slopes[following]):
                    crossing, following = meets, line
            if crossing >= high:
                break
            place = max(place, crossing)  # rounding must not lead back
            at[changes], before[changes], after[changes] = place, top, following
            changes += 1
            top, left = following, 0
            for k in range(count):
                if slopes[steeper[k]] > slopes[top]:
                    steeper[left] = steeper[k]
                    left += 1
            count = left
    return start, at[:changes], before[:changes], after[:changes]


@compiled
def _beats(heights: Any, slopes: Any, line: int, top: int, low: float) -> bool:
    """Return whether a line is above another at `low`, or meets it there and rises above it."""
    if low > -np.inf:
        here, there = heights[line] + slopes[line] * low, heights[top] + slopes[top] * low
        return bool(here > there or (here == there and slopes[line] > slopes[top]))
    return bool(slopes[line] < slopes[top] or (slopes[line] == slopes[top] and heights[line] > heights[top]))
