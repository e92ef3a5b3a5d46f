"""What losses over whole outputs need of a model's distributions, some positions at a time.

The logits of all positions are by far the largest tensor of a model. Here those of a stretch of positions are made,
reduced to what is asked for, and thrown away, to be made again in the backward pass; so nothing more than `log_probs`
and `at` is asked of a distribution, and models that copy need nothing of their own.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from postedit.core.types import Distribution

_LOG_PROBS: Final = {"cpu": 2**22}
_LOG_PROBS_ACCELERATOR: Final = 2**27
"""Log-probabilities alive at a time. Fewer than in a loss that needs no graph, as several tensors of the size are."""


def label_log_probs(distribution: Distribution, labels: Tensor, mask: Tensor, vocabulary: int) -> Tensor:
    """Return Float[N,K], differentiable: log p of `labels` Long[N,K] where `mask` Bool[N,K], and 0 elsewhere.

    Args:
        distribution: at N x K positions.
        labels: what is scored.
        mask: which of them count.
        vocabulary: V, from which follows how many positions are done at a time.
    """
    parts = [
        _recomputed(_gather, distribution.at(part), labels[part].view(-1, 1, 1)) for part in stretches(mask, vocabulary)
    ]
    if not parts:
        return torch.zeros(mask.shape, device=mask.device)
    values = torch.cat(parts)
    return values.new_zeros(mask.shape).masked_scatter(mask, values)


def symmetric_divergence(distribution: Distribution, one: Tensor, other: Tensor, vocabulary: int) -> Tensor:
    """Return the sum over positions of KL(p||q) + KL(q||p) in nats, differentiable in both.

    Args:
        distribution: at N x K positions.
        one: Bool[N,K], the M positions of p.
        other: Bool[N,K], as many, those of q, in the same order.
        vocabulary: V.
    """
    pairs = zip(stretches(one, vocabulary), stretches(other, vocabulary), strict=True)
    parts = [_recomputed(_divergence, distribution.at(first), distribution.at(second)) for first, second in pairs]
    return torch.stack(parts).sum()


def stretches(mask: Tensor, vocabulary: int) -> Iterator[Tensor]:
    """Yield masks Bool[N,K] of the real positions, in order, so many at a time as may be written out over V symbols."""
    real = mask.flatten().nonzero().squeeze(1)
    size = max(1, _LOG_PROBS.get(mask.device.type, _LOG_PROBS_ACCELERATOR) // vocabulary)
    for start in range(0, len(real), size):
        part = torch.zeros_like(mask).flatten()
        part[real[start : start + size]] = True
        yield part.view_as(mask)


def _gather(distribution: Distribution, labels: Tensor) -> Tensor:
    return distribution.log_probs().gather(2, labels).flatten()


def _divergence(one: Distribution, other: Distribution) -> Tensor:
    p, q = one.log_probs(), other.log_probs()
    # KL(p||q) + KL(q||p) = sum over V of (p - q) (log p - log q)
    return ((p.exp() - q.exp()) * (p - q)).sum()


def _recomputed(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Call a function without random numbers, whose intermediate values are made again in the backward pass."""
    return cast(Tensor, checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False))
