"""Batch MIRA on n-best lists: weights by small updates, sentence by sentence (Cherry and Foster 2012).

Unlike line search it copes with many features. Each update is the smallest, up to a bound, after which the hope (an
output with a high score and a low loss) scores above the fear (a high score and a high loss) by the difference of their
losses.
"""

from typing import Final

import numpy as np

from postedit.evaluate.metrics import Floats
from postedit.tuning.nbest_lists import NBestLists

_DECAY: Final = 0.999
"""Decay of the statistics of past sentences, the context in which the BLEU of an output is computed."""


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
