"""Dropout as the papers use it; each is the identity outside training, and scales by 1/(1-p) within."""

from torch import Tensor


def keep_mask(like: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Return a mask of `shape`: 0 with probability p, else 1/(1-p)."""
    return like.new_empty(shape).bernoulli_(1.0 - p).div_(1.0 - p)


def word_dropout(embedded_NKD: Tensor, p: float, training: bool) -> Tensor:
    """Drop whole words: the embedding at a position is zeroed as one (Junczys-Dowmunt and Grundkiewicz 2017, 5.2)."""
    if not training or p == 0.0:
        return embedded_NKD
    return embedded_NKD * keep_mask(embedded_NKD, (*embedded_NKD.shape[:2], 1), p)


def variational_dropout(x_NKD: Tensor, p: float, training: bool) -> Tensor:
    """Drop the same units at every step of a row (Gal and Ghahramani 2016)."""
    if not training or p == 0.0:
        return x_NKD
    return x_NKD * keep_mask(x_NKD, (x_NKD.size(0), 1, x_NKD.size(2)), p)
