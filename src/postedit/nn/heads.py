"""Output heads: from features to a distribution over the target vocabulary.

The N x K x V logits are by far the largest tensor of a model. Search needs all of them, training one number per
position, so a head returns a distribution that computes only what is asked for. Its label loss processes positions in
chunks whose logits fit the cache, and computes the gradients (softmax minus labels) in the same pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from postedit.core.types import LabelLoss, Shortlist
from postedit.nn.tensors import at_least_float, compute_dtype

# Logits held at a time. On a CPU a chunk should fit the cache, on a GPU it should fill the device.
_CHUNK_LOGITS = {"cpu": 2**22}
_CHUNK_LOGITS_ACCELERATOR = 2**28

# Rows of at most this width are not worth folding before their maximum is taken.
_FOLD_WIDTH = 256


class SoftmaxHead(nn.Module):
    """A linear layer and a softmax: `p = softmax(W h + b)`."""

    def __init__(self, dim: int, vocabulary: int, *, tied: nn.Embedding | None = None, copied: int = 0) -> None:
        """Create W Float[V,D] and b Float[V]; take W from the embedding `tied` if it is given.

        The last `copied` tokens, which a model can only copy, have probability 0.
        """
        super().__init__()
        self._first_copied = vocabulary - copied
        self.weight = nn.Parameter(torch.empty(vocabulary, dim)) if tied is None else tied.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        if tied is None:
            nn.init.xavier_uniform_(self.weight)
        self.linear: Callable[[Tensor], Tensor] | None = None  # computes W h + b in inference
        self._factory: LinearFactory | None = None
        self._first_tokens: dict[int, Callable[[Tensor], Tensor]] = {}

    def forward(self, features_NKD: Tensor) -> "SoftmaxDistribution":
        """Return the distribution at each position."""
        return SoftmaxDistribution(features_NKD, self.weight, self.shown_bias, self.linear, self.linear_of_first)

    @property
    def shown_bias(self) -> Tensor:
        """Float[V]: b, with -inf for tokens of probability 0."""
        if self._first_copied == len(self.bias):
            return self.bias
        copied = torch.arange(len(self.bias), device=self.bias.device) >= self._first_copied
        return self.bias.masked_fill(copied, -torch.inf)

    def use_linear_layers(self, factory: "LinearFactory") -> None:
        """Compute W h + b with layers made by `factory`, for inference with 8-bit or packed weights."""
        self._factory, self._first_tokens = factory, {}
        self.linear = factory(self.weight.detach(), self.shown_bias.detach()).forward

    def linear_of_first(self, count: int) -> Callable[[Tensor], Tensor]:
        """Return a function that computes W h + b for the first `count` tokens of the vocabulary."""
        weight, bias = self.weight[:count], self.shown_bias[:count]
        if self._factory is None:
            return partial(F.linear, weight=weight, bias=bias)
        if count not in self._first_tokens:
            self._first_tokens[count] = self._factory(weight.detach(), bias.detach()).forward
        return self._first_tokens[count]


LinearFactory = Callable[[Tensor, Tensor | None], nn.Module]
"""Makes a linear layer from weights Float[out,in] and a bias Float[out]."""


@dataclass(frozen=True, eq=False, slots=True)
class SoftmaxDistribution:
    """`softmax(W h + b)` at each of N x K positions, computed when asked for.

    If given, `linear` computes W h + b, and `linear_of_first(n)` returns a function that does so for tokens 0 .. n - 1.
    """

    features_NKD: Tensor
    weight_VD: Tensor
    bias_V: Tensor
    linear: Callable[[Tensor], Tensor] | None = None
    linear_of_first: Callable[[int], Callable[[Tensor], Tensor]] | None = None

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V], at least in single precision."""
        logits = self.logits()
        return F.log_softmax(logits, -1, dtype=at_least_float(logits.dtype))

    def logits(self) -> Tensor:
        """Return W h + b, Float[N,K,V]."""
        linear = self.linear or partial(F.linear, weight=self.weight_VD, bias=self.bias_V)
        return linear(self.features_NKD)

    def at(self, mask: Tensor) -> Self:
        """Return the distributions at the M positions where `mask` Bool[N,K] is True, in order, with shape [M,1]."""
        return replace(self, features_NKD=self.features_NKD[mask].unsqueeze(1))

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        count = shortlist.first
        if self.linear_of_first is None:
            first = F.linear(self.features_NKD, self.weight_VD[:count], self.bias_V[:count])
        else:
            first = self.linear_of_first(count)(self.features_NKD)
        others = shortlist.others
        rest = F.linear(self.features_NKD, self.weight_VD[others], self.bias_V[others])
        return shortlist.normalised(torch.cat([first, rest], -1).to(at_least_float(first.dtype)))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True; see `core.types.Distribution`."""
        positions = label_positions(mask)
        loss, nll = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]  # PyTorch does not type it
            self.features_NKD.flatten(0, 1)[positions],
            self.weight_VD,
            self.bias_V,
            labels.flatten()[positions],
            mask.flatten()[positions],
            smoothing,
            torch.is_grad_enabled(),
        )
        return LabelLoss(loss, nll, mask.sum())


@dataclass(frozen=True, eq=False, slots=True)
class CappedDistribution(SoftmaxDistribution):
    """`softmax(c tanh(W h / c) + b)`, whose logits lie between -c and c before b is added (Gemma 2)."""

    cap: float = 1.0

    def logits(self) -> Tensor:
        """Return the logits Float[N,K,V], at least in single precision."""
        linear = self.linear or partial(F.linear, weight=self.weight_VD)
        logits = linear(self.features_NKD)
        return torch.tanh(logits.to(at_least_float(logits.dtype)) / self.cap) * self.cap + self.bias_V

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True; computes logits twice, in chunks."""

        def log_probs(h_MD: Tensor) -> Tensor:
            return replace(self, features_NKD=h_MD.unsqueeze(1)).log_probs().squeeze(1)

        return recomputed_label_loss(log_probs, (self.features_NKD,), len(self.bias_V), labels, mask, smoothing)


def recomputed_label_loss(
    log_probs: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    vocabulary: int,
    labels: Tensor,
    mask: Tensor,
    smoothing: float,
) -> LabelLoss:
    """Return the loss of labels under a distribution that has no loss of its own; see `core.types.Distribution`.

    Positions are processed in chunks, whose log-probabilities are computed again in the backward pass.

    Args:
        log_probs: returns log-probabilities Float[M,V], given M positions of each of the inputs.
        inputs: tensors [N,K,...] from which the distributions are computed.
        vocabulary: V.
        labels: Long[N,K].
        mask: Bool[N,K], True where a label counts.
        smoothing: share of each label that is spread evenly over the vocabulary.
    """
    positions = label_positions(mask)
    parts = [part.flatten(0, 1)[positions] for part in (*inputs, labels, mask)]

    def chunk(*rows: Tensor) -> Tensor:
        *given, labels_M, real_M = rows
        log_probs_MV = log_probs(*given)
        terms = log_probs_MV.gather(1, labels_M.unsqueeze(1)).squeeze(1), log_probs_MV.mean(1)
        return -torch.stack([(term * real_M).sum() for term in terms])

    sums = torch.zeros(2, dtype=at_least_float(inputs[0].dtype), device=mask.device)
    for rows in position_chunks(len(positions), vocabulary, mask.device):
        chunked = (part[rows] for part in parts)
        sums = sums + checkpoint(chunk, *chunked, use_reentrant=False, preserve_rng_state=False)
    nll, uniform = sums
    return LabelLoss(torch.lerp(nll, uniform, smoothing), nll.detach(), mask.sum())


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The cross-entropy with and without label smoothing, each summed over the real ones of M positions.

    A pass over the logits costs more than the product that computes them, so passes are few. With p = softmax(l),
    log sum exp(l) is max(l) - log max(p), where max(p) >= 1/V. The gradient is p - (1-s) at the label - s/V. The mean
    of all logits is h mean(W) + mean(b), so the smoothing terms of loss and gradients need no logits.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features_MD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor,
        labels_M: Tensor,
        real_M: Tensor,
        smoothing: float,
        need_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        dtype = compute_dtype(features_MD)
        with torch.autocast(features_MD.device.type, enabled=False):
            h_MD, w_VD, b_V = features_MD.to(dtype), weight_VD.to(dtype), bias_V.to(dtype)
            precise = at_least_float(dtype)
            nll_M = torch.empty(h_MD.size(0), dtype=precise, device=h_MD.device)
            normaliser_M = torch.empty_like(nll_M)
            trained = bool(ctx.needs_input_grad[1])
            gradients = _GradientSums(h_MD, w_VD, real_M, precise, trained) if need_gradients else None
            for rows in position_chunks(h_MD.size(0), w_VD.size(0), h_MD.device):
                logits, labels = F.linear(h_MD[rows], w_VD, b_V), labels_M[rows]
                at_labels = torch.arange(labels.size(0), device=labels.device), labels
                p = torch.softmax(logits, 1)
                normaliser_M[rows] = _row_maximum(logits).to(precise) - _row_maximum(p).to(precise).log()
                nll_M[rows] = normaliser_M[rows] - logits[at_labels]
                if gradients is not None:
                    p[at_labels] += smoothing - 1.0
                    gradients.add(rows, p)
            nll = (nll_M * real_M).sum()
            loss = nll.clone()
            if smoothing:
                mean_D, mean = weight_VD.to(precise).mean(0), bias_V.to(precise).mean()
                uniform = (normaliser_M - (h_MD.to(precise) @ mean_D + mean)) @ real_M.to(precise)
                loss = torch.lerp(nll, uniform, smoothing)
                if gradients is not None:
                    gradients.smooth(smoothing, mean_D)
            if gradients is not None:
                gradients.d_h_MD *= real_M.unsqueeze(1)
        ctx.gradients = gradients
        ctx.dtypes = features_MD.dtype, weight_VD.dtype, bias_V.dtype
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale, gradients = d_outputs[0], ctx.gradients
        features, weight, bias = (
            None if gradient is None else (gradient * scale).to(dtype)
            for gradient, dtype in zip((gradients.d_h_MD, gradients.d_w_VD, gradients.d_b_V), ctx.dtypes, strict=True)
        )
        return features, weight, bias, None, None, None, None


class _GradientSums:
    """Gradients summed over the chunks so far; those of b and, unless W is frozen, of W are in full precision."""

    def __init__(self, h_MD: Tensor, w_VD: Tensor, real_M: Tensor, precise: torch.dtype, trained: bool) -> None:
        self.real_M = real_M.to(h_MD.dtype)
        self.inputs_MD, self.weight_VD = h_MD * self.real_M.unsqueeze(1), w_VD
        self.d_h_MD = torch.empty_like(h_MD)
        self.d_w_VD = torch.zeros_like(w_VD, dtype=precise) if trained else None
        self.d_b_V = torch.zeros(w_VD.size(0), dtype=precise, device=w_VD.device)

    def add(self, rows: slice, d_logits: Tensor) -> None:
        """Add the contribution of some rows, given the gradient of their logits."""
        self.d_b_V += self.real_M[rows] @ d_logits
        torch.mm(d_logits, self.weight_VD, out=self.d_h_MD[rows])
        if self.d_w_VD is not None:
            self.d_w_VD += d_logits.T @ self.inputs_MD[rows]

    def smooth(self, smoothing: float, mean_D: Tensor) -> None:
        """Add the contribution of the term -s/V in the gradient of every logit; `mean_D` is the mean row of W."""
        share = smoothing / self.d_b_V.size(0)
        self.d_b_V -= share * self.real_M.to(self.d_b_V.dtype).sum()
        self.d_h_MD -= (smoothing * mean_D).to(self.d_h_MD.dtype)
        if self.d_w_VD is not None:
            self.d_w_VD -= share * self.inputs_MD.to(self.d_w_VD.dtype).sum(0)


def _row_maximum(x_MV: Tensor) -> Tensor:
    """Return the maximum of each row, Float[M]."""
    while x_MV.device.type == "cpu" and x_MV.element_size() < 4 and x_MV.size(1) > _FOLD_WIDTH:
        # PyTorch compares two tensors of a narrow type much faster than the elements of one tensor.
        half = (x_MV.size(1) + 1) // 2
        x_MV = torch.maximum(x_MV[:, :half], x_MV[:, -half:])
    return x_MV.amax(1)


def label_positions(mask: Tensor) -> Tensor:
    """Return Long[M], the flat indices at which to compute the loss: those where `mask` Bool[N,K] is True.

    On an accelerator it returns all positions, because the host would have to wait for the number of real ones.
    """
    flat = mask.flatten()
    return flat.nonzero().squeeze(1) if mask.device.type == "cpu" else torch.arange(len(flat), device=mask.device)


def position_chunks(positions: int, vocabulary: int, device: torch.device) -> list[slice]:
    """Return slices of the positions, short enough to hold the logits of one slice in memory."""
    size = max(1, _CHUNK_LOGITS.get(device.type, _CHUNK_LOGITS_ACCELERATOR) // vocabulary)
    return [slice(start, start + size) for start in range(0, positions, size)]
