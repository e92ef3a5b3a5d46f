"""Rows of different batches side by side, and rows of different lengths without their padding."""

from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """The real tokens of N rows of K, so that layers which treat each token alone need not compute the others.

    Args:
        real_NK: Bool[N,K].
        index_M: Long[M], where they are in the rows, one row after the other.
    """

    real_NK: Tensor
    index_M: Tensor

    @classmethod
    def of(cls, real_NK: Tensor) -> "Packing":
        """Return the packing of the tokens that are real."""
        return cls(real_NK, real_NK.flatten().nonzero().squeeze(1))

    @classmethod
    def worth(cls, real_NK: Tensor) -> "Packing | None":
        """Return the packing if some are not real: on a CPU, where each token costs, and without gradients.

        A GPU would have to wait for the number of real tokens.
        """
        if real_NK.device.type != "cpu" or torch.is_grad_enabled() or bool(real_NK.all()):
            return None
        return cls.of(real_NK)

    def pack(self, x_NKD: Tensor) -> Tensor:
        """Return Float[1,M,D], the real tokens."""
        return x_NKD.flatten(0, 1)[self.index_M].unsqueeze(0)

    def unpack(self, x_1MD: Tensor) -> Tensor:
        """Return Float[N,K,D], with zeros for the other tokens."""
        x_LD = x_1MD.new_zeros(self.real_NK.numel(), x_1MD.size(-1))
        return x_LD.index_copy_(0, self.index_M, x_1MD[0]).view(*self.real_NK.shape, -1)
