"""Dropout, variational dropout and word dropout.

Outside training, each of them returns its input. In training, the units that are kept are scaled by 1/(1-p).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Drop single units with probability p.

    On a CPU, PyTorch draws one number at a time, so dropout would take a third of a training step. Here random bits are
    drawn in 64-bit words, of which each unit uses 16 bits; this rounds p to a multiple of 2**-16 below 1. A compiler
    cannot trace that, so compiled code uses PyTorch's own function.
    """
    if not training or p == 0.0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)
    # A product with a mask of x's own type is the cheapest form: its backward pass is one product too.
    return x * _keep_bits(x.shape, p, x.dtype)


def keep_mask(like: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Return a mask of `shape`: 0 with probability p, else 1/(1-p)."""
    return like.new_empty(shape).bernoulli_(1.0 - p).div_(1.0 - p)


def word_dropout(embedded_NKD: Tensor, p: float, training: bool) -> Tensor:
    """Drop whole words: zero the embedding at a position (Junczys-Dowmunt and Grundkiewicz 2017, 5.2)."""
    if not training or p == 0.0:
        return embedded_NKD
    return embedded_NKD * keep_mask(embedded_NKD, (*embedded_NKD.shape[:2], 1), p)


def variational_dropout(x_NKD: Tensor, p: float, training: bool) -> Tensor:
    """Drop the same units at every step of a row (Gal and Ghahramani 2016)."""
    if not training or p == 0.0:
        return x_NKD
    return x_NKD * keep_mask(x_NKD, (x_NKD.size(0), 1, x_NKD.size(2)), p)


def _keep_bits(shape: torch.Size, p: float, dtype: torch.dtype) -> Tensor:
    """Return a mask of `shape` on the CPU: 0 with probability p, else 1/(1-p), for p rounded as `dropout` says."""
    count = math.prod(shape)
    words = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = words.view(torch.int16)[:count].view(shape)  # uniform over -2**15 .. 2**15 - 1
    dropped = min(round(p * 2**16), 2**16 - 1)  # of the 2**16 numbers
    kept = numbers.ge_(dropped - 2**15)  # 0 or 1
    scale = torch.tensor(2**16 / (2**16 - dropped), dtype=dtype)
    if dtype == torch.bfloat16:
        # Times the bits of the scale, 0 and 1 become the bits of 0 and of the scale: a third of the cost of converting.
        return kept.mul_(int(scale.view(torch.int16))).view(dtype)
    return kept.to(dtype).mul_(scale)
