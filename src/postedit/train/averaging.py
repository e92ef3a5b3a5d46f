"""The element-wise average of several checkpoints of one model."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from postedit.core.errors import ModelFolderError
from postedit.core.tensor_files import load_tensors


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Return the element-wise mean of the weights in the safetensors files `paths`.

    Sums are in double precision, so that the order of `paths` does not matter to the last bit that is kept;
    tensors that are not floating-point are those of the first file.

    Raises:
        ValueError: if there are no paths.
        ModelFolderError: if a file is missing or damaged, or they do not hold tensors of the same names and shapes.
    """
    if not paths:
        raise ValueError("an average needs at least one file")
    first = load_tensors(paths[0])
    sums = {name: tensor.double() for name, tensor in first.items() if tensor.is_floating_point()}
    for path in paths[1:]:
        tensors = load_tensors(path)
        _check_alike(paths[0], first, path, tensors)
        for name, total in sums.items():
            total += tensors[name]
    means = {name: (total / len(paths)).to(first[name].dtype) for name, total in sums.items()}
    return {name: means.get(name, torch.clone(tensor)) for name, tensor in first.items()}


def _check_alike(path: Path, tensors: dict[str, Tensor], other_path: Path, other: dict[str, Tensor]) -> None:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    other_shapes = {name: tensor.shape for name, tensor in other.items()}
    differing = sorted(
        name for name in shapes.keys() | other_shapes.keys() if shapes.get(name) != other_shapes.get(name)
    )
    if differing:
        raise ModelFolderError(
            f"{path} and {other_path} are not weights of the same model: they differ in {', '.join(differing[:5])}"
            + (f" and {len(differing) - 5} more" if len(differing) > 5 else "")
        )
