"""Batch MIRA on n-best lists: weights by small updates, sentence by sentence (Cherry and Foster 2012).

Unlike line search it copes with many features. Each update moves the weights just far enough, up to a bound, that the
hope (the output with a high score and a low loss) scores above the fear (a high score and a high loss) by the
difference of their losses.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from postedit.evaluate.metrics import AdditiveMetric, Floats
from postedit.tuning.nbest_lists import NBestLists

_DECAY: Final = 0.999
"""Decay of the statistics of past sentences; the BLEU gained by a sentence is computed in their context."""


def mira(
    lists: NBestLists, start: Floats, lower: Floats, *, passes: int = 30, bound: float = 0.01, seed: int = 1
) -> Floats:
    """Return the weights Float[F] with the lowest loss on the lists, among the mean weights of each pass.

    Args:
        lists: the n-best lists.
        start: Float[F].
        lower: Float[F], lower bounds of the weights; -inf for none.
        passes: over all sentences.
        bound: the largest step of an update (C in the paper), for scaled features and gains in words.
        seed: of the order of the sentences.
    """
    rng = np.random.default_rng(seed)
    scaled, scales = lists.scaled(), lists.scales
    floor = lower * scales
    weights = np.maximum(start * scales, floor)
    best, best_loss = weights, scaled.loss(weights)
    features, statistics = _by_sentence(scaled.features, scaled.first), _by_sentence(scaled.statistics, scaled.first)
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
            past = _DECAY * (past + counts[hope])
            total += weights
        mean = total / len(features)
        loss = scaled.loss(mean)
        if loss < best_loss:
            best, best_loss = mean, loss
    return best / scales


def _by_sentence(values: Floats, first: np.ndarray) -> Sequence[Floats]:
    return np.split(values, first[1:-1])


def _gains(metric: AdditiveMetric, sums: Floats) -> Floats:
    """Return the gain of adding each output to the context, in words of the corpus (Chiang et al. 2008, section 4)."""
    return -metric.loss(sums) * sums[..., -1] / 100.0
