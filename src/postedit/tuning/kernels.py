"""The arithmetic of n-best lists, compiled."""

from typing import Any

import numpy as np

from postedit.compiled import compiled


@compiled
def sums(features: Any, weights: Any) -> Any:
    """Float[H]: features Float[H,F] times weights Float[F], added up in order.

    A library's product may round equal rows in different ways, and then not the first of equal outputs would count.
    """
    total = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        for column in range(features.shape[1]):
            total[row] += weights[column] * features[row, column]
    return total


@compiled
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


@compiled
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
    steeper = np.empty(heights.size, np.int64)  # lines of a sentence that may yet come on top
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
            place = max(place, crossing)  # rounding does not lead back
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
    """Whether a line is above another one at `low`, or meets it there and rises above it."""
    if low > -np.inf:
        here, there = heights[line] + slopes[line] * low, heights[top] + slopes[top] * low
        return bool(here > there or (here == there and slopes[line] > slopes[top]))
    return bool(slopes[line] < slopes[top] or (slopes[line] == slopes[top] and heights[line] > heights[top]))
