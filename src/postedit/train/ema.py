"""The exponential moving average of the weights."""

from copy import deepcopy

import torch
from torch.optim.swa_utils import get_ema_multi_avg_fn

from postedit.core.model import Seq2Seq


class MovingAverage:
    """The average of a model's weights over its updates: after each, a = d a + (1 - d) weights.

    After n updates d is `decay` or, where that is less, (1 + n) / (10 + n), so that the first ones, which are the
    worst, are soon forgotten. The first average is the weights themselves. Buffers are those of the model.

    Args:
        model: what is trained.
        decay: d, 0 to 1.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model)
        """A model with the averaged weights."""
        self._decay, self._updates = decay, 0

    @torch.no_grad()
    def update(self, model: Seq2Seq) -> None:
        """Take account of one more update. Does not wait for the device."""
        done = self._updates
        decay = min(self._decay, (1 + done) / (10 + done)) if done else 0.0
        average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average(list(self.model.parameters()), list(model.parameters()), done)
        for own, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            own.copy_(buffer)
        self._updates += 1

    def resume(self, updates: int) -> None:
        """Go on after so many updates, whose average `model` was given."""
        self._updates = updates
