"""The exponential moving average of the weights."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from postedit.core.model import Seq2Seq


class MovingAverage:
    """The average of a model's weights over its updates: after each, a = d a + (1 - d) weights.

    After n updates d is `decay` or, where that is less, (1 + n) / (10 + n), so that the first ones, which are the
    worst, are soon forgotten. Buffers are those of the model.

    Args:
        model: what is trained.
        decay: d, 0 to 1.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self._averaged = AveragedModel(model, multi_avg_fn=_average_at(decay))

    @property
    def model(self) -> Seq2Seq:
        """A model with the averaged weights."""
        return cast(Seq2Seq, self._averaged.module)

    def update(self, model: Seq2Seq) -> None:
        """Take account of one more update. Does not wait for the device."""
        self._averaged.update_parameters(model)

    def resume(self, updates: int) -> None:
        """Go on after so many updates, whose average `model` was given."""
        self._averaged.n_averaged.fill_(updates)


def _average_at(decay: float) -> Callable[[Any, Any, Any], None]:
    def average(averages: Sequence[Tensor], weights: Sequence[Tensor], updates: Tensor) -> None:
        done = int(updates)  # kept on the CPU
        at_last: Any = get_ema_multi_avg_fn(min(decay, (1 + done) / (10 + done)))  # type: ignore[no-untyped-call]
        at_last(averages, weights, updates)

    return average
