"""Output heads: from features to a distribution over the target vocabulary.

The output layer is the widest of a model: N x K x V logits are by far its largest tensor. Search needs them,
training needs one number a position. So the head returns a distribution that writes out what is asked for, and
its label loss goes over the real positions in chunks whose logits fit the cache, computing the gradients in the
same pass (they are the softmax minus the labels) and keeping neither logits nor probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from postedit.core.types import LabelLoss, Shortlist

# Logits alive at a time. On a CPU a chunk should stay in the cache, on a GPU it should fill the device.
_CHUNK_LOGITS = {"cpu": 2**22}
_CHUNK_LOGITS_ACCELERATOR = 2**28


class SoftmaxHead(nn.Module):
    """A linear layer and a softmax: `p = softmax(W h + b)`."""

    def __init__(self, dim: int, vocabulary: int, *, tied: nn.Embedding | None = None) -> None:
        """Create W Float[V,D] and b Float[V], or take W from the embedding `tied`."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, dim)) if tied is None else tied.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        if tied is None:
            nn.init.xavier_uniform_(self.weight)
        self.layer: Callable[[Tensor], Tensor] | None = None  # W h + b, computed as is fastest for inference
        self._make: LayerMaker | None = None
        self._first: dict[int, Callable[[Tensor], Tensor]] = {}

    def forward(self, features_NKD: Tensor) -> "SoftmaxDistribution":
        """Return the distribution at each position."""
        return SoftmaxDistribution(features_NKD, self.weight, self.bias, self.layer, self.first)

    def prepare(self, make: "LayerMaker") -> None:
        """For inference: compute W h + b by layers that `make` makes of weights and a bias."""
        self._make, self._first = make, {}
        self.layer = make(self.weight.detach(), self.bias.detach()).forward

    def first(self, symbols: int) -> Callable[[Tensor], Tensor]:
        """Return what computes W h + b for the first so many symbols."""
        weight, bias = self.weight[:symbols], self.bias[:symbols]
        if self._make is None:
            return partial(F.linear, weight=weight, bias=bias)
        if symbols not in self._first:
            self._first[symbols] = self._make(weight.detach(), bias.detach()).forward
        return self._first[symbols]


LayerMaker = Callable[[Tensor, Tensor | None], nn.Module]
"""Makes a linear layer of weights Float[out,in] and a bias Float[out]."""


@dataclass(frozen=True, eq=False, slots=True)
class SoftmaxDistribution:
    """`softmax(W h + b)` at each of N x K positions, not yet computed.

    If they are given, `layer` computes W h + b, and what `first(n)` returns computes it for the first n symbols.
    """

    features_NKD: Tensor
    weight_VD: Tensor
    bias_V: Tensor
    layer: Callable[[Tensor], Tensor] | None = None
    first: Callable[[int], Callable[[Tensor], Tensor]] | None = None

    def log_probs(self) -> Tensor:
        """Float[N,K,V], at least in single precision."""
        linear = self.layer or partial(F.linear, weight=self.weight_VD, bias=self.bias_V)
        logits = linear(self.features_NKD)
        return F.log_softmax(logits, -1, dtype=at_least_float(logits.dtype))

    def at(self, mask: Tensor) -> Self:
        """Return the distributions where `mask` Bool[N,K], M of them in order, as [M,1]."""
        return replace(self, features_NKD=self.features_NKD[mask].unsqueeze(1))

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return Float[N,K,C], natural logarithms, of the symbols of a shortlist if there were no others."""
        count = shortlist.first
        if self.first is None:
            first = F.linear(self.features_NKD, self.weight_VD[:count], self.bias_V[:count])
        else:
            first = self.first(count)(self.features_NKD)
        others = shortlist.others
        rest = F.linear(self.features_NKD, self.weight_VD[others], self.bias_V[others])
        return shortlist.normalised(torch.cat([first, rest], -1).to(at_least_float(first.dtype)))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K]; see `core.types.Distribution`."""
        real = mask.flatten().nonzero().squeeze(1)
        loss, nll = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]  # PyTorch does not type it
            self.features_NKD.flatten(0, 1)[real],
            self.weight_VD,
            self.bias_V,
            labels.flatten()[real],
            smoothing,
            compute_dtype(self.features_NKD),
            torch.is_grad_enabled(),
        )
        return LabelLoss(loss, nll, mask.sum())


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Sum over M positions of the label-smoothed cross-entropy, and of the plain one."""

    @staticmethod
    def forward(
        ctx: Any,
        features_MD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor,
        labels_M: Tensor,
        smoothing: float,
        dtype: torch.dtype,
        need_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        with torch.autocast(features_MD.device.type, enabled=False):
            h_MD, w_VD = features_MD.to(dtype), weight_VD.to(dtype)
            precise = at_least_float(dtype)
            totals = torch.zeros(2, dtype=precise, device=h_MD.device)
            gradients = _Gradients(h_MD, w_VD, precise) if need_gradients else None
            for rows in chunks(h_MD.size(0), w_VD.size(0), h_MD.device):
                logits = F.linear(h_MD[rows], w_VD).to(precise).add_(bias_V)
                labels = labels_M[rows, None]
                normaliser = logits.logsumexp(1, keepdim=True)
                nll = normaliser - logits.gather(1, labels)
                uniform = normaliser - logits.mean(1, keepdim=True) if smoothing else nll
                totals[0] += torch.lerp(nll, uniform, smoothing).sum()
                totals[1] += nll.sum()
                if gradients is not None:
                    d_logits = logits.sub_(normaliser).exp_()  # softmax - smoothed labels, in place
                    if smoothing:
                        d_logits.sub_(smoothing / d_logits.size(1))
                    d_logits.scatter_add_(1, labels, torch.full_like(nll, smoothing - 1.0))
                    gradients.add(rows, d_logits)
        ctx.gradients = gradients
        ctx.dtypes = features_MD.dtype, weight_VD.dtype, bias_V.dtype
        loss, nll_sum = totals[0], totals[1]
        ctx.mark_non_differentiable(nll_sum)
        return loss, nll_sum

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale, gradients = d_outputs[0], ctx.gradients
        features, weight, bias = (
            (gradient * scale).to(dtype)
            for gradient, dtype in zip((gradients.h_MD, gradients.w_VD, gradients.b_V), ctx.dtypes, strict=True)
        )
        return features, weight, bias, None, None, None, None


class _Gradients:
    """Gradients of the chunks so far, those of the weights in full precision."""

    def __init__(self, h_MD: Tensor, w_VD: Tensor, precise: torch.dtype) -> None:
        self.inputs_MD, self.weight_VD = h_MD, w_VD
        self.h_MD = torch.empty_like(h_MD)
        self.w_VD = torch.zeros_like(w_VD, dtype=precise)
        self.b_V = torch.zeros(w_VD.size(0), dtype=precise, device=w_VD.device)

    def add(self, rows: slice, d_logits: Tensor) -> None:
        self.b_V += d_logits.sum(0)
        narrow = d_logits.to(self.inputs_MD.dtype)
        torch.mm(narrow, self.weight_VD, out=self.h_MD[rows])
        self.w_VD += narrow.T @ self.inputs_MD[rows]


def chunks(positions: int, vocabulary: int, device: torch.device) -> list[slice]:
    """Return the stretches of positions whose logits shall be alive at a time."""
    size = max(1, _CHUNK_LOGITS.get(device.type, _CHUNK_LOGITS_ACCELERATOR) // vocabulary)
    return [slice(start, start + size) for start in range(0, positions, size)]


def compute_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type that matrix products of `tensor` have: that of autocast where it is on."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype


def at_least_float(dtype: torch.dtype) -> torch.dtype:
    """Return single precision for a narrower type, else the type itself."""
    return torch.promote_types(dtype, torch.float32)
