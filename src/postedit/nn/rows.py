"""Rows of different batches, side by side."""

import torch
import torch.nn.functional as F
from torch import Tensor


def join_rows(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows [N,...] of `first`, then those [M,...] of `second`.

    Every other dimension is as long as the longer of both, filled up with zeros (False, PAD) at its end.
    """
    sizes = [max(pair) for pair in zip(first.shape[1:], second.shape[1:], strict=True)]
    return torch.cat([_filled(first, sizes), _filled(second, sizes)])


def _filled(tensor: Tensor, sizes: list[int]) -> Tensor:
    # F.pad counts dimensions from the last one on, and wants an amount for both ends of each.
    missing = [amount for old, new in zip(tensor.shape[:0:-1], sizes[::-1]) for amount in (0, new - old)]
    return F.pad(tensor, missing) if any(missing) else tensor
