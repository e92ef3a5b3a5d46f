"""Minimum error rate training: weights by exact search along lines (Och 2003).

Along a line of weights, w + x d, the sum of each output is a straight line in x, and what is on top of a sentence's
list changes only where the upper envelope of these lines has a corner. Between the corners of all sentences nothing
changes, so the corpus loss of every x is known from one pass over them.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.evaluate.sufficient_statistics import Floats
from postedit.tuning import kernels
from postedit.tuning.lists import NBestLists

_NARROW: Final = 1e-9
"""Stretches of a line that are not longer are where corners fall together, but for rounding: nothing is there."""

_OPEN: Final = 1.0
"""How long the stretch beyond the last corner counts, in units of features that vary by 1."""


@dataclass(frozen=True, slots=True)
class LineOptimum:
    """The best place on a line of weights: how far from its origin, and the loss there."""

    step: float
    loss: float


def line_optimum(
    lists: NBestLists, weights: Floats, direction: Floats, low: float = -np.inf, high: float = np.inf
) -> LineOptimum:
    """Return the step from `low` to `high` along `direction` Float[F] with the lowest loss.

    It is the middle of a stretch along which nothing changes; of the longest one, if several are as good.
    """
    start, at, before, after = kernels.envelopes(lists.sums(weights), lists.sums(direction), lists.first, low, high)
    order = np.argsort(at, kind="stable")
    gained = lists.statistics[after[order]] - lists.statistics[before[order]]
    sums = lists.statistics[start].sum(0) + np.concatenate([np.zeros((1, gained.shape[1])), np.cumsum(gained, 0)])
    corners = at[order]
    low = low if low > -np.inf else min(high, corners[0] if len(corners) else 0.0) - _OPEN
    high = high if high < np.inf else max(low, corners[-1] if len(corners) else 0.0) + _OPEN
    edges = np.concatenate([[low], corners, [high]])
    lengths = np.diff(edges)
    there = np.flatnonzero(lengths > _NARROW * (1.0 + np.abs(edges[:-1])))
    if not len(there):  # low and high are one point
        return LineOptimum(float(low), float(lists.metric.loss(sums[0])))
    losses = lists.metric.loss(sums[there])
    chosen = there[np.lexsort((-lengths[there], losses))[0]]
    return LineOptimum(float(edges[chosen] + edges[chosen + 1]) / 2.0, float(losses.min()))


def mert(lists: NBestLists, start: Floats, lower: Floats, *, restarts: int = 20, seed: int = 1) -> Floats:
    """Return the weights Float[F] with the lowest loss that were found.

    From `start` and from `restarts` random points it goes along each axis and as many random lines, as long as that
    helps.

    Args:
        lists: what the weights choose from.
        start: Float[F].
        lower: Float[F], what no weight may be less than; -inf where any will do.
        restarts: further points to start from.
        seed: of what is random.
    """
    rng = np.random.default_rng(seed)
    scaled, scales = lists.scaled(), lists.scales
    floor = lower * scales
    points = [np.maximum(start * scales, floor)]
    points += [rng.uniform(np.maximum(floor, -1.0), np.maximum(floor, 0.0) + 1.0) for _ in range(restarts)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        ends = list(threads.map(lambda point, own: _descend(scaled, point, floor, own), points, rng.spawn(len(points))))
    best, _ = min(ends, key=lambda end: end[1])
    return best / scales


def _descend(lists: NBestLists, weights: Floats, lower: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    loss, before = lists.loss(weights), np.inf
    while loss < before:
        before = loss
        for direction in [*np.eye(len(weights)), *rng.standard_normal((len(weights), len(weights)))]:
            found = line_optimum(lists, weights, direction, *_reach(weights, direction, lower))
            if found.loss < loss:
                there = np.maximum(weights + found.step * direction, lower)
                # Once more without sums of differences: what rounding may have lent the line does not count.
                there_loss = lists.loss(there)
                if there_loss < loss:
                    weights, loss = there, there_loss
    return weights, loss


def _reach(weights: Floats, direction: Floats, lower: Floats) -> tuple[float, float]:
    """Return how far one may go backwards and forwards so that no weight gets below its lower bound."""
    bound = np.isfinite(lower) & (direction != 0.0)
    steps = (lower[bound] - weights[bound]) / direction[bound]
    down, up = steps[direction[bound] > 0.0], steps[direction[bound] < 0.0]
    return float(down.max(initial=-np.inf)), float(up.min(initial=np.inf))
