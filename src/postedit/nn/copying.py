"""Heads that copy: mixtures of a distribution over the vocabulary and distributions over input positions.

p(y) = g_0 softmax(W h + b)[y] + sum over copy sources c of g_c sum over positions s with token y of a_c[s]

All computation is in log space. A position of an input adds to the probability of its token, so the vocabulary stays
fixed and search needs no knowledge of copying. As in `nn.heads`, training never holds all logits: the loss processes
positions in chunks and computes the gradients in the same pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from postedit.core.types import LabelLoss, Shortlist
from postedit.nn.heads import SoftmaxDistribution, label_positions, position_chunks
from postedit.nn.tensors import at_least_float, compute_dtype


class CopySource(NamedTuple):
    """A text that tokens are copied from."""

    log_weights: Tensor  # Float[N,K,S], log of a distribution over the positions of the text; -inf at padding
    ids: Tensor  # Long[N,S], its tokens, in the target vocabulary
    mask: Tensor  # Bool[N,S], True at real positions


def pointer_log_weights(queries_NKD: Tensor, memory_NSD: Tensor, mask_NS: Tensor, scale: float = 1.0) -> Tensor:
    """Return Float[N,K,S]: log softmax over real positions of `scale` times the dot products of queries and memory.

    Everything is computed at least in single precision, even under autocast: a gate must distinguish one weight from
    the sum of all others, and bf16 would round dot products in the hundreds to whole nats.
    """
    precision = at_least_float(queries_NKD.dtype)
    with torch.autocast(queries_NKD.device.type, enabled=False):
        scores = torch.bmm(queries_NKD.to(precision), memory_NSD.to(precision).transpose(1, 2)) * scale
    return scores.masked_fill(~mask_NS.unsqueeze(1), -math.inf).log_softmax(-1)


@dataclass(frozen=True, eq=False, slots=True)
class CopyDistribution:
    """The mixture at each of N x K positions, computed when asked for."""

    generator: SoftmaxDistribution  # the distribution over the vocabulary
    log_gates_NKG: Tensor  # log weights of the generator and of each copy source, in that order
    sources: tuple[CopySource, ...]  # the texts that are copied from

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V], at least in single precision."""
        return self._mixed(self.generator.log_probs(), self._ids(), 0.0)

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        ids, others = self._ids(), shortlist.others
        beyond = torch.searchsorted(others, ids).clamp(max=max(0, len(others) - 1))
        listed = ids < shortlist.first
        if len(others):
            listed |= others[beyond] == ids
        columns = torch.where(ids < shortlist.first, ids, shortlist.first + beyond).masked_fill(~listed, 0)
        unlisted = torch.zeros_like(ids, dtype=self.log_gates_NKG.dtype).masked_fill(~listed, -math.inf)
        mixed = self._mixed(self.generator.among(shortlist), columns, unlisted.unsqueeze(1))
        return shortlist.normalised(mixed)

    def _mixed(self, generated: Tensor, columns_NS: Tensor, added: Tensor | float) -> Tensor:
        """Return the log of the mixture Float[N,K,V]; `columns_NS` has the column that each input position adds to."""
        log_gates = self.log_gates_NKG.to(generated.dtype)
        copying = _scatter_log(self._terms(generated.dtype) + added, columns_NS, generated.size(-1))
        return _log_add(log_gates[..., :1] + generated, copying)

    def at(self, mask: Tensor) -> Self:
        """Return the distributions at the M positions where `mask` Bool[N,K] is True, in order, with shape [M,1]."""
        rows = mask.nonzero()[:, 0]
        sources = (
            CopySource(source.log_weights[mask].unsqueeze(1), source.ids[rows], source.mask[rows])
            for source in self.sources
        )
        return type(self)(self.generator.at(mask), self.log_gates_NKG[mask].unsqueeze(1), tuple(sources))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True; see `core.types.Distribution`."""
        positions = label_positions(mask)
        rows = positions // mask.size(1)
        dtype = at_least_float(self.generator.features_NKD.dtype)
        loss, nll = _ChunkedMixture.apply(  # type: ignore[no-untyped-call]  # PyTorch does not type it
            self.generator.features_NKD.flatten(0, 1)[positions],
            self.generator.weight_VD,
            self.generator.bias_V,
            self.log_gates_NKG[..., 0].flatten()[positions].to(dtype),
            self._terms(dtype).flatten(0, 1)[positions],
            self._ids()[rows],
            torch.cat([source.mask for source in self.sources], 1)[rows],
            labels.flatten()[positions],
            mask.flatten()[positions],
            smoothing,
            torch.is_grad_enabled(),
        )
        return LabelLoss(loss, nll, mask.sum())

    def _terms(self, dtype: torch.dtype) -> Tensor:
        """Return Float[N,K,S], the log-probability that each position of the concatenated sources adds to its token."""
        gates = self.log_gates_NKG[..., 1:].to(dtype).unbind(-1)
        terms = [gate.unsqueeze(-1) + source.log_weights.to(dtype) for gate, source in zip(gates, self.sources)]
        return torch.cat(terms, 2)

    def _ids(self) -> Tensor:
        return torch.cat([source.ids for source in self.sources], 1)


def _log_add(one: Tensor, other: Tensor) -> Tensor:
    """Return `torch.logaddexp`, but with a gradient of 0, not NaN, where both are -inf."""
    if not torch.is_grad_enabled():
        return torch.logaddexp(one, other)
    neither = torch.isneginf(one) & torch.isneginf(other)
    found = torch.logaddexp(one.masked_fill(neither, 0.0), other.masked_fill(neither, 0.0))
    return found.masked_fill(neither, -math.inf)


class _ChunkedMixture(torch.autograd.Function):
    """The loss of a mixture with and without label smoothing, each summed over real positions.

    Inputs have one row for each of M positions: features Float[M,D], the log gate of the generator Float[M], the log
    probability that each input position adds Float[M,S], its token Long[M,S] and whether it is real Bool[M,S], labels
    Long[M], and whether the row is real Bool[M].
    """

    @staticmethod
    def forward(
        ctx: Any,
        features_MD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor,
        log_gate_M: Tensor,
        terms_MS: Tensor,
        ids_MS: Tensor,
        mask_MS: Tensor,
        labels_M: Tensor,
        real_M: Tensor,
        smoothing: float,
        need_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        dtype = compute_dtype(features_MD)
        precise = at_least_float(dtype)
        shared = [tensor.detach().to(dtype).requires_grad_(need_gradients) for tensor in (weight_VD, bias_V)]
        own = features_MD.detach().to(dtype), log_gate_M.detach(), terms_MS.detach()
        d_shared = [torch.zeros_like(tensor, dtype=precise) for tensor in (weight_VD, bias_V)]
        d_own = [torch.empty_like(tensor) for tensor in own]
        totals = torch.zeros(2, dtype=precise, device=features_MD.device)
        with torch.set_grad_enabled(need_gradients), torch.autocast(features_MD.device.type, enabled=False):
            # Smoothing compares every pair of input positions.
            widest = max(weight_VD.size(0), ids_MS.size(1) ** 2 if smoothing else 0)
            for rows in position_chunks(labels_M.size(0), widest, features_MD.device):
                inputs = [tensor[rows].requires_grad_(need_gradients) for tensor in own]
                inputs += shared
                texts = ids_MS[rows], mask_MS[rows]
                loss, nll = _mixture_loss(inputs, *texts, labels_M[rows], real_M[rows], smoothing, precise)
                totals += torch.stack([loss.detach(), nll.detach()])
                if need_gradients:
                    gradients = torch.autograd.grad(loss, inputs)
                    for stored, gradient in zip(d_own, gradients[:3]):
                        stored[rows] = gradient
                    for total, gradient in zip(d_shared, gradients[3:]):
                        total += gradient
        ctx.gradients = [d_own[0], *d_shared, *d_own[1:]]
        ctx.dtypes = [tensor.dtype for tensor in (features_MD, weight_VD, bias_V, log_gate_M, terms_MS)]
        loss_sum, nll_sum = totals[0], totals[1]
        ctx.mark_non_differentiable(nll_sum)
        return loss_sum, nll_sum

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [(gradient * d_outputs[0]).to(dtype) for gradient, dtype in zip(ctx.gradients, ctx.dtypes)]
        return (*scaled, None, None, None, None, None, None)


def _mixture_loss(
    inputs: Sequence[Tensor],
    ids_MS: Tensor,
    mask_MS: Tensor,
    labels_M: Tensor,
    real_M: Tensor,
    smoothing: float,
    precise: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Return the loss with and without label smoothing, each summed over real positions.

    `inputs` are features Float[M,D], log gates Float[M], terms Float[M,S], weights Float[V,D] and bias Float[V].
    """
    features_MD, log_gate_M, terms_MS, weight_VD, bias_V = inputs
    generated_MV = F.log_softmax(F.linear(features_MD, weight_VD, bias_V), -1, dtype=precise)
    labels_M1, log_gate_M1 = labels_M.unsqueeze(1), log_gate_M.unsqueeze(1)
    copying_M = _log_sum_exp(terms_MS.masked_fill(ids_MS != labels_M1, -math.inf))
    log_p_M = torch.logaddexp(log_gate_M + generated_MV.gather(1, labels_M1).squeeze(1), copying_M)
    nll = -log_p_M.masked_fill(~real_M, 0.0).sum()
    if smoothing == 0.0:
        return nll, nll
    # log p(y) is the generator's term except for tokens of the inputs; each of these is corrected once.
    same_MSS = (ids_MS.unsqueeze(2) == ids_MS.unsqueeze(1)) & mask_MS.unsqueeze(1)
    first_MS = mask_MS & ~same_MSS.tril(-1).any(2)
    copying_MS = _log_sum_exp(terms_MS.unsqueeze(1).masked_fill(~same_MSS, -math.inf))
    shares_MS = log_gate_M1 + generated_MV.gather(1, ids_MS)
    gained_MS = (torch.logaddexp(shares_MS, copying_MS) - shares_MS).masked_fill(~first_MS, 0.0)
    all_M = weight_VD.size(0) * log_gate_M + generated_MV.sum(1) + gained_MS.sum(1)
    return (1.0 - smoothing) * nll - smoothing / weight_VD.size(0) * all_M.masked_fill(~real_M, 0.0).sum(), nll


def _log_sum_exp(x: Tensor) -> Tensor:
    """Return logsumexp over the last dimension; where all of it is -inf, -inf with a gradient of zero."""
    highest = x.detach().amax(-1, keepdim=True)
    highest = highest.masked_fill(highest == -math.inf, 0.0)
    total = (x - highest).exp().sum(-1)
    some = total > 0.0
    return torch.where(some, total.masked_fill(~some, 1.0).log() + highest.squeeze(-1), -math.inf)


def _scatter_log(terms_NKS: Tensor, ids_NS: Tensor, vocabulary: int) -> Tensor:
    """Return Float[N,K,V]: for each token, the log of the sum of exp(term) over its positions; -inf if it has none."""
    index = ids_NS.unsqueeze(1).expand_as(terms_NKS)
    empty = terms_NKS.new_full((*terms_NKS.shape[:2], vocabulary), -math.inf)
    highest = empty.scatter_reduce(2, index, terms_NKS.detach(), "amax")
    highest = highest.masked_fill(highest == -math.inf, 0.0)
    total = torch.zeros_like(empty).scatter_add(2, index, (terms_NKS - highest.gather(2, index)).exp())
    some = total > 0.0
    return torch.where(some, total.masked_fill(~some, 1.0).log() + highest, -math.inf)


def sigmoid_gates(logits_NK: Tensor) -> Tensor:
    """Return Float[N,K,2], at least in single precision: log sigmoid(logit) and log(1 - sigmoid(logit))."""
    logits_NK = logits_NK.to(at_least_float(logits_NK.dtype))
    return torch.stack([F.logsigmoid(logits_NK), F.logsigmoid(-logits_NK)], -1)


def softmax_gates(logits_NKG: Tensor) -> Tensor:
    """Return Float[N,K,G], at least in single precision: log softmax of the logits."""
    return logits_NKG.log_softmax(-1, dtype=at_least_float(logits_NKG.dtype))
