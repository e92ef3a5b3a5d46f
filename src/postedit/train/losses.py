"""The loss that a run minimises: the model's cross-entropy, with or without coverage, R-Drop or minimum risk.

R-Drop and risk need scores of whole outputs. The logits of all positions are by far the largest tensor of a model, so
`label_log_probs` and `symmetric_divergence` compute them for some positions at a time, reduce them, and compute them
again in the backward pass. They use only `log_probs` and `at` of a distribution, so models that copy need no code of
their own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS, PAD
from postedit.core.types import Batch, Distribution, LabelLoss, Target
from postedit.train.config import TrainConfig

_LOG_PROBS: Final = {"cpu": 2**22}
_LOG_PROBS_ACCELERATOR: Final = 2**27
"""Log-probabilities in memory at a time: fewer than for a loss without a graph, as several tensors have this size."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output that a model might write.

    Args:
        tokens: token ids without EOS, but with STEPs if the model writes them.
        cost: 0 for a perfect output.
    """

    tokens: tuple[int, ...]
    cost: float


Propose = Callable[[Seq2Seq, Batch], Sequence[Sequence[Candidate]]]
"""Returns candidates, all different, for each of the B sentences of a batch with a target."""


def build_loss(model: Seq2Seq, config: TrainConfig, propose: Propose | None) -> nn.Module:
    """Return a module that takes a batch and the label smoothing and returns a `LabelLoss`; often `model` itself.

    Raises:
        RecipeError: if `config` has a risk and `propose` is None, or coverage and the model has no soft attention.
    """
    if config.coverage > 0.0:
        return CoverageLoss(model, config.coverage)
    if config.rdrop > 0.0:
        return RDropLoss(model, config.rdrop)
    if config.risk is None or not config.has_risk:
        return model
    if propose is None:
        raise RecipeError("train.risk needs candidates of the model's outputs; leave it out here, or set weight = 0")
    return RiskLoss(model, propose, config.risk.weight, config.risk.sharpness)


class CoverageLoss(nn.Module):
    """Cross-entropy + weight * covloss, for a model with soft attention (See et al. 2017, eq. 12 and 13).

    covloss = sum over labels t and input tokens i of min(a_ti, c_ti),   c_t = sum over earlier t' of a_t'

    where a is the attention that the coverage penalty of search counts. As in that penalty, EOS is not among the
    input tokens i: the paper's inputs have none, and models attend to it when they need no other token.

    Args:
        model: the model to train.
        weight: the paper's lambda, above 0.

    Raises:
        RecipeError: if the model has no soft attention.
    """

    def __init__(self, model: Seq2Seq, weight: float) -> None:
        super().__init__()
        if (key := model.spec.coverage_key) is None:
            raise RecipeError("train.coverage needs soft attention, which this model does not have: leave it out")
        self.model, self.key, self.weight = model, key, weight

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of a batch; its `nll` is without coverage.

        Raises:
            ValueError: if the batch has no target.
        """
        entropy, output = self.model.teacher_forced(batch, smoothing)
        assert batch.target is not None
        streams = [batch.streams[name] for name in self.key.streams]
        counted = torch.cat([stream.mask & (stream.ids != EOS) for stream in streams], 1)
        real = batch.target.mask.unsqueeze(2) & counted.unsqueeze(1)
        repeated = coverage_loss(output.attention[self.key].masked_fill(~real, 0.0))
        return entropy._replace(loss=entropy.loss + self.weight * repeated.to(entropy.loss.dtype))


def coverage_loss(attention: Tensor) -> Tensor:
    """Return the sum of min(a, c), given the attention Float[N,K,S]: c is the sum of a at earlier steps."""
    earlier = nn.functional.pad(attention[:, :-1], (0, 0, 1, 0)).cumsum(1)
    return torch.minimum(attention, earlier).sum()


class RDropLoss(nn.Module):
    """R-Drop: the loss of two passes with different dropout, and their divergence (Liang et al. 2021, section 2).

    loss = (L_1 + L_2) / 2 + strength / 2 * (KL(p_1||p_2) + KL(p_2||p_1)) / 2

    This is half of the paper's loss, so that learning rate and clipping mean the same as without it. Both passes are
    computed at once, over a batch that has every sentence twice.

    Args:
        model: the model to train.
        strength: the paper's alpha, above 0.
    """

    def __init__(self, model: Seq2Seq, strength: float) -> None:
        super().__init__()
        self.model, self.strength = model, strength

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of a batch, which is decoded twice; each label is counted once.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        twice = torch.arange(batch.rows, device=batch.device).repeat(2)
        target = batch.target.select(twice)
        both = Batch({name: stream.select(twice) for name, stream in batch.streams.items()}, target)
        entropy, output = self.model.teacher_forced(both, smoothing)
        first = (torch.arange(len(twice), device=batch.device) < batch.rows).unsqueeze(1)
        size = self.model.spec.vocabularies.target.size
        divergence = symmetric_divergence(output.distribution, target.mask & first, target.mask & ~first, size)
        loss = (entropy.loss + self.strength * divergence / 2) / 2
        return LabelLoss(loss, entropy.nll / 2, batch.target.mask.sum())


class RiskLoss(nn.Module):
    """(1 - weight) cross-entropy + weight risk: minimum risk training (Shen et al. 2016, section 3).

    What a model adds to its loss in training (`Seq2Seq.joint_loss`) is added here as well, whatever the weight.

    R = sum over candidates y of Q(y) cost(y),   Q(y) = p(y)^a / sum over candidates y' of p(y')^a

    The risk of a sentence is multiplied by its number of labels, as its cross-entropy is. So both can be mixed per
    label, a batch can be divided anywhere, and with TER as cost the mean over labels has the weights of corpus TER.

    The current model without dropout proposes the candidates. Their scores, through which gradients flow, come from a
    training pass that encodes each sentence once, for its reference and all its candidates.

    Args:
        model: the model to train.
        propose: returns the candidates.
        weight: weight of the risk, above 0 and at most 1.
        sharpness: the exponent a.
    """

    def __init__(self, model: Seq2Seq, propose: Propose, weight: float, sharpness: float) -> None:
        super().__init__()
        self.model, self.propose, self.weight, self.sharpness = model, propose, weight, sharpness

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the mixed loss of a batch; its `nll` is that of the references alone.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        with inference_mode(self.model):
            lists = self.propose(self.model, batch)
        candidates = _Candidates.of(lists, batch.device)
        target = _stacked(batch.target, candidates)
        sentences = torch.cat([torch.arange(batch.rows, device=batch.device), candidates.sentences])
        state = self.model.encode(batch)
        output, _ = self.model.decode(target.inputs, state.select(sentences))
        own = (torch.arange(len(sentences), device=batch.device) < batch.rows).unsqueeze(1)
        size = self.model.spec.vocabularies.target.size
        entropy = output.distribution.label_loss(target.ids, target.mask & own, smoothing)
        each = label_log_probs(output.distribution, target.ids, target.mask & ~own, size)
        scores = each.sum(1)[batch.rows :].to(entropy.loss.dtype)  # an empty sum has another type
        risks = candidates.constant.to(scores.dtype).index_add(
            0, candidates.groups, expected_costs(scores, candidates, self.sharpness)
        )
        risk = (risks * batch.target.lengths).sum()
        loss = (1.0 - self.weight) * entropy.loss + self.weight * risk
        if self.model.training:
            rows, width = batch.target.ids.shape
            attention = {key: weights[:rows, :width] for key, weights in output.attention.items()}
            loss = loss + self.model.joint_loss(batch, state, attention, smoothing)
        return LabelLoss(loss, entropy.nll, entropy.tokens, risk.detach())


@dataclass(frozen=True, eq=False, slots=True)
class _Candidates:
    """The M candidates of those G sentences of a batch whose candidates differ in cost.

    Where all candidates of a sentence cost the same, every distribution over them has the same expected cost. There is
    nothing to learn, so they are not scored.

    Args:
        outputs: token ids of the M candidates, with EOS.
        sentences: Long[M], the row in the batch of each output's sentence.
        groups: Long[G], the row in the batch of each of the G sentences.
        indices: Long[M], the index of each output in `costs`, flattened.
        costs: Float[G,C], padded with 0.
        constant: Float[B], the risk of the other sentences of the batch; 0 for the G sentences.
    """

    outputs: tuple[tuple[int, ...], ...]
    sentences: Tensor
    groups: Tensor
    indices: Tensor
    costs: Tensor
    constant: Tensor

    @classmethod
    def of(cls, lists: Sequence[Sequence[Candidate]], device: torch.device) -> "_Candidates":
        """Return the candidates to score, given those of B sentences."""
        rows = [row for row, found in enumerate(lists) if len({one.cost for one in found}) > 1]
        width = max((len(lists[row]) for row in rows), default=1)
        costs = [[one.cost for one in lists[row]] + [0.0] * (width - len(lists[row])) for row in rows]
        constant = [0.0 if row in set(rows) or not found else found[0].cost for row, found in enumerate(lists)]
        indices = [group * width + i for group, row in enumerate(rows) for i in range(len(lists[row]))]
        tensor = partial(torch.tensor, device=device)
        return cls(
            outputs=tuple((*one.tokens, EOS) for row in rows for one in lists[row]),
            sentences=tensor([row for row in rows for _ in lists[row]], dtype=torch.long),
            groups=tensor(rows, dtype=torch.long),
            indices=tensor(indices, dtype=torch.long),
            costs=tensor(costs, dtype=torch.float32).view(len(rows), width),
            constant=tensor(constant, dtype=torch.float32),
        )


def expected_costs(scores: Tensor, candidates: _Candidates, sharpness: float) -> Tensor:
    """Return the risk Float[G], given the log-probability of each candidate Float[M]."""
    costs = candidates.costs.to(scores.dtype)
    table = scores.new_full((costs.numel(),), -math.inf).scatter(0, candidates.indices, sharpness * scores)
    return (table.view_as(costs).softmax(1) * costs).sum(1)


def _stacked(target: Target, candidates: _Candidates) -> Target:
    """Return the B references and the M candidates as one target of B + M rows."""
    if not candidates.outputs:
        return target
    width = max(target.ids.size(1), *map(len, candidates.outputs))
    lengths = torch.tensor([len(output) for output in candidates.outputs])
    ids = torch.tensor([[*output, *[PAD] * (width - len(output))] for output in candidates.outputs])
    mask = torch.arange(width) < lengths.unsqueeze(1)
    wider = width - target.ids.size(1)
    return Target(
        torch.cat([nn.functional.pad(target.ids, (0, wider), value=PAD), ids.to(target.ids.device)]),
        torch.cat([nn.functional.pad(target.mask, (0, wider)), mask.to(target.ids.device)]),
    )


@contextmanager
def inference_mode(model: Seq2Seq) -> Iterator[None]:
    """Switch off dropout and gradients of a model in training within the block.

    Autocast caches weights in bfloat16. Those cached within the block have no gradient, and some versions of PyTorch
    would use them in the training pass, so the cache is cleared.
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
        torch.clear_autocast_cache()


def label_log_probs(distribution: Distribution, labels: Tensor, mask: Tensor, vocabulary: int) -> Tensor:
    """Return Float[N,K], differentiable: log p of `labels` Long[N,K] where `mask` Bool[N,K] is True, and 0 elsewhere.

    `vocabulary` is V, which determines how many positions are computed at a time.
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
        distribution: over N x K positions.
        one: Bool[N,K], the M positions of p.
        other: Bool[N,K], as many positions of q, in the same order.
        vocabulary: V.
    """
    pairs = zip(stretches(one, vocabulary), stretches(other, vocabulary), strict=True)
    parts = [_recomputed(_divergence, distribution.at(first), distribution.at(second)) for first, second in pairs]
    return torch.stack(parts).sum()


def stretches(mask: Tensor, vocabulary: int) -> Iterator[Tensor]:
    """Yield masks Bool[N,K] that divide the positions of `mask`, in order, into parts that fit in memory."""
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
    # KL(p||q) + KL(q||p) = sum over V of (p - q) (log p - log q); a token that neither can write adds nothing.
    return ((p.exp() - q.exp()) * (p - q).masked_fill(torch.isneginf(p) & torch.isneginf(q), 0.0)).sum()


def _recomputed(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Call a function without random numbers; compute its intermediate values again in the backward pass."""
    return cast(Tensor, checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False))
