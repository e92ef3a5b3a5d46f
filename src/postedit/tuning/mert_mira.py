"""MERT (Och 2003) and batch MIRA (Cherry and Foster 2012): find weights on n-best lists.

MERT searches exactly along lines of weights w + x d. There the score of each output is linear in x, and the best output
of a sentence changes only at the corners of the upper envelope of these lines. Between corners the corpus loss is
constant, so one pass over the corners gives the loss for every x.

MIRA copes with many features. Each update is the smallest, up to a bound, after which the hope (an output with a high
score and a low loss) scores above the fear (a high score and a high loss) by the difference of their losses.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.core.processes import usable_cores
from postedit.evaluate.metrics import Floats
from postedit.tuning.nbest_lists import NBestLists, envelopes

_MIN_LENGTH: Final = 1e-9  # length below which an interval between corners is a rounding error
_OUTER_LENGTH: Final = 1.0  # length of the intervals beyond the outer corners, for scaled features


_DECAY: Final = 0.999
"""Decay of the statistics of past sentences, the context in which the BLEU of an output is computed."""


@dataclass(frozen=True, slots=True)
class LineOptimum:
    """The best step along a line of weights, and its loss."""

    step: float
    loss: float


def line_optimum(
    lists: NBestLists, weights: Floats, direction: Floats, low: float = -np.inf, high: float = np.inf
) -> LineOptimum:
    """Return the step between `low` and `high` along `direction` Float[F] with the lowest loss.

    The step is the middle of the interval with this loss, the longest one if there are several.
    """
    sums, slopes = lists.sums(weights), lists.sums(direction)
    start, at, before, after = envelopes(sums, slopes, lists.first, low, high)
    order = np.argsort(at, kind="stable")
    gained = lists.statistics[after[order]] - lists.statistics[before[order]]
    totals = lists.statistics[start].sum(0) + np.concatenate([np.zeros((1, gained.shape[1])), np.cumsum(gained, 0)])
    corners = at[order]
    low = low if low > -np.inf else min(high, corners[0] if len(corners) else 0.0) - _OUTER_LENGTH
    high = high if high < np.inf else max(low, corners[-1] if len(corners) else 0.0) + _OUTER_LENGTH
    edges = np.concatenate([[low], corners, [high]])
    lengths = np.diff(edges)
    kept = np.flatnonzero(lengths > _MIN_LENGTH * (1.0 + np.abs(edges[:-1])))
    if not len(kept):  # low and high are one point
        return LineOptimum(float(low), float(lists.metric.loss(totals[0])))
    losses = lists.metric.loss(totals[kept])
    chosen = kept[np.lexsort((-lengths[kept], losses))[0]]
    return LineOptimum(float(edges[chosen] + edges[chosen + 1]) / 2.0, float(losses.min()))


def mert(lists: NBestLists, start: Floats, lower: Floats, *, restarts: int = 20, seed: int = 1) -> Floats:
    """Return the weights Float[F] with the lowest loss found.

    From `start` and from `restarts` random points, search along each axis and as many random lines while the loss
    decreases. `lower` Float[F] are lower bounds of the weights; -inf for none.
    """
    rng = np.random.default_rng(seed)
    scaled, scales = lists.scaled(), lists.scales
    floor = lower * scales
    points = [np.maximum(start * scales, floor)]
    points += [rng.uniform(np.maximum(floor, -1.0), np.maximum(floor, 0.0) + 1.0) for _ in range(restarts)]
    with ThreadPoolExecutor(usable_cores()) as threads:
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
                candidate = np.maximum(weights + found.step * direction, lower)
                # The loss from sums of differences has rounding errors; this one does not.
                candidate_loss = lists.loss(candidate)
                if candidate_loss < loss:
                    weights, loss = candidate, candidate_loss
    return weights, loss


def _reach(weights: Floats, direction: Floats, lower: Floats) -> tuple[float, float]:
    """Return the lowest and highest step that keep all weights above their lower bounds."""
    bound = np.isfinite(lower) & (direction != 0.0)
    steps = (lower[bound] - weights[bound]) / direction[bound]
    down, up = steps[direction[bound] > 0.0], steps[direction[bound] < 0.0]
    return float(down.max(initial=-np.inf)), float(up.min(initial=np.inf))


def mira(
    lists: NBestLists, start: Floats, lower: Floats, *, passes: int = 30, bound: float = 0.01, seed: int = 1
) -> Floats:
    """Return the weights Float[F] with the lowest loss on the lists, among the mean weights of each pass.

    `lower` Float[F] are lower bounds of the weights; -inf for none. `bound` is the largest step of an update (C in the
    paper), for scaled features and gains in words.
    """
    rng = np.random.default_rng(seed)
    scaled, scales = lists.scaled(), lists.scales
    floor = lower * scales
    weights = np.maximum(start * scales, floor)
    best, best_loss = weights, scaled.loss(weights)
    features, statistics = (np.split(values, scaled.first[1:-1]) for values in (scaled.features, scaled.statistics))
    past = np.zeros(scaled.statistics.shape[1])
    for _ in range(passes):
        total = np.zeros_like(weights)
        for sentence in rng.permutation(len(features)):
            own, counts = features[sentence], statistics[sentence]
            # The gain of adding each output to the context, in words of the corpus (Chiang et al. 2008, section 4).
            sums = past + counts
            scores, gains = own @ weights, -scaled.metric.loss(sums) * sums[..., -1] / 100.0
            hope, fear = int(np.argmax(scores + gains)), int(np.argmax(scores - gains))
            apart = own[hope] - own[fear]
            wanted = gains[hope] - gains[fear] - apart @ weights
            length = apart @ apart
            if wanted > 0.0 and length > 0.0:
                weights = np.maximum(weights + min(bound, wanted / length) * apart, floor)
            past = _DECAY * (past + counts[hope])
            total += weights
        mean = total / len(features)
        loss = scaled.loss(mean)
        if loss < best_loss:
            best, best_loss = mean, loss
    return best / scales
