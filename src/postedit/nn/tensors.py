"""Tensor helpers: number types under autocast, joining batches, and leaving out padding."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


def compute_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type in which matrix products of `tensor` are computed: the autocast type, if autocast is on."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype


def at_least_float(dtype: torch.dtype) -> torch.dtype:
    """Return single precision for a narrower type, else the type itself."""
    return torch.promote_types(dtype, torch.float32)


def join_rows(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows [N,...] of `first`, then those [M,...] of `second`.

    Every other dimension has the larger of the two sizes; the smaller one is padded at its end with zeros (False, PAD).
    """
    sizes = [max(pair) for pair in zip(first.shape[1:], second.shape[1:], strict=True)]
    return torch.cat([_padded(first, sizes), _padded(second, sizes)])


def _padded(tensor: Tensor, sizes: list[int]) -> Tensor:
    # F.pad takes dimensions from the last to the first, with an amount for both ends of each.
    missing = [amount for old, new in zip(tensor.shape[:0:-1], sizes[::-1]) for amount in (0, new - old)]
    return F.pad(tensor, missing) if any(missing) else tensor


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """The real tokens of N rows of K, so that layers that treat tokens separately need not compute padding."""

    real_NK: Tensor  # Bool[N,K], True at real tokens
    index_M: Tensor  # Long[M], their positions among all N x K tokens, ascending

    @classmethod
    def of(cls, real_NK: Tensor) -> "Packing":
        """Return the packing of the real tokens."""
        return cls(real_NK, real_NK.flatten().nonzero().squeeze(1))

    @classmethod
    def if_useful(cls, real_NK: Tensor) -> "Packing | None":
        """Return the packing if it saves work: on a CPU, without gradients, if there is padding.

        On a GPU, the host would have to wait for the number of real tokens.
        """
        if real_NK.device.type != "cpu" or torch.is_grad_enabled() or bool(real_NK.all()):
            return None
        return cls.of(real_NK)

    def pack(self, x_NKD: Tensor) -> Tensor:
        """Return the real tokens, Float[1,M,D]."""
        return x_NKD.flatten(0, 1)[self.index_M].unsqueeze(0)

    def unpack(self, x_1MD: Tensor) -> Tensor:
        """Return Float[N,K,D], with zeros at padding."""
        x_LD = x_1MD.new_zeros(self.real_NK.numel(), x_1MD.size(-1))
        return x_LD.index_copy_(0, self.index_M, x_1MD[0]).view(*self.real_NK.shape, -1)
