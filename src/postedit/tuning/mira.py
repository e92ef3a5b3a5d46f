"""Batch MIRA on n-best lists: weights by small corrections, sentence by sentence (Cherry and Foster 2012).

Unlike the search along lines it copes with many features. Each correction moves the weights just so far that the output
with much score and little loss, the hope, is above the one with much score and much loss, the fear, by as much as
their losses differ, but no farther than a bound.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from postedit.evaluate.sufficient_statistics import AdditiveMetric, Floats
from postedit.tuning.lists import NBestLists

_MEMORY: Final = 0.999
"""Share of the statistics of past sentences that stays with each new one; what one adds to BLEU depends on them."""


def mira(
    lists: NBestLists, start: Floats, lower: Floats, *, passes: int = 30, bound: float = 0.01, seed: int = 1
) -> Floats:
    """Return the weights Float[F]: of the means over each pass, those with the lowest loss on the lists.

    Args:
        lists: what the weights choose from.
        start: Float[F].
        lower: Float[F], what no weight may be less than; -inf where any will do.
        passes: how often each sentence is seen.
        bound: how large a correction may be (C in the paper), in words for features that vary by 1.
        seed: of the order of the sentences.
    """
    rng = np.random.default_rng(seed)
    scaled, scales = lists.scaled(), lists.scales
    floor = lower * scales
    weights = np.maximum(start * scales, floor)
    best, best_loss = weights, scaled.loss(weights)
    features, statistics = _divided(scaled.features, scaled.first), _divided(scaled.statistics, scaled.first)
    past = np.zeros(scaled.statistics.shape[1])
    for _ in range(passes):
        total = np.zeros_like(weights)
        for sentence in rng.permutation(len(features)):
            own, counts = features[sentence], statistics[sentence]
            scores, gains = own @ weights, _gains(scaled.metric, past + counts)
            hope, fear = int(np.argmax(scores + gains)), int(np.argmax(scores - gains))
            apart = own[hope] - own[fear]
            wanted = gains[hope] - gains[fear] - apart @ weights
            length = apart @ apart
            if wanted > 0.0 and length > 0.0:
                weights = np.maximum(weights + min(bound, wanted / length) * apart, floor)
            past = _MEMORY * (past + counts[hope])
            total += weights
        mean = total / len(features)
        loss = scaled.loss(mean)
        if loss < best_loss:
            best, best_loss = mean, loss
    return best / scales


def _divided(values: Floats, first: np.ndarray) -> Sequence[Floats]:
    return np.split(values, first[1:-1])


def _gains(metric: AdditiveMetric, sums: Floats) -> Floats:
    """Return how good it is to add each output, in words of the corpus that it is added to (Chiang et al. 2008, 4)."""
    return -metric.loss(sums) * sums[..., -1] / 100.0
