"""Averages of weights: of several checkpoints of a model, and the moving average over its updates."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from postedit.core.errors import ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_tensors
from postedit.core.wording import listed


class MovingAverage:
    """The exponential moving average of a model's weights: after each update, a = d a + (1 - d) weights.

    After n updates d is the smaller of `decay` and (1 + n) / (10 + n), so that the first, worst weights are soon
    forgotten. The first average is the weights themselves. Buffers are copied from the model.

    Args:
        model: the model in training.
        decay: d, 0 to 1.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.model = deepcopy(model)
        """A model with the averaged weights."""
        self.updates, self._decay = 0, decay

    @torch.no_grad()
    def update(self, model: Seq2Seq) -> None:
        """Include the weights after one more update. Does not wait for the device."""
        done = self.updates
        decay = min(self._decay, (1 + done) / (10 + done)) if done else 0.0
        average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average(list(self.model.parameters()), list(model.parameters()), done)
        for own, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            own.copy_(buffer)
        self.updates += 1


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the element-wise mean of the weights in the safetensors files `paths`.

    Sums are in double precision, so the order of `paths` does not change the result. Tensors that are not
    floating-point are taken from the first file.

    Raises:
        ValueError: if there are no paths.
        ModelFolderError: if a file is missing or damaged, or names or shapes of tensors differ.
    """
    if not paths:
        raise ValueError("an average needs at least one file")
    first = load_tensors(paths[0])
    sums = {name: tensor.double() for name, tensor in first.items() if tensor.is_floating_point()}
    for path in paths[1:]:
        tensors = load_tensors(path)
        _check_shapes(paths[0], first, path, tensors)
        for name, total in sums.items():
            total += tensors[name]
    means = {name: (total / len(paths)).to(first[name].dtype) for name, total in sums.items()}
    return {name: means.get(name, torch.clone(tensor)) for name, tensor in first.items()}


def _check_shapes(path: Path, tensors: Mapping[str, Tensor], other_path: Path, other: Mapping[str, Tensor]) -> None:
    one, two = ({(name, tensor.shape) for name, tensor in found.items()} for found in (tensors, other))
    differing = sorted({name for name, _ in one ^ two})
    if differing:
        raise ModelFolderError(
            f"{path} and {other_path} are not weights of the same model: they differ in {listed(differing, 5)}"
        )
