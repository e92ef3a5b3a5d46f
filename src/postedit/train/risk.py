"""Minimum risk training: the expected cost of what a model would write (Shen et al. 2016, section 3).

R = sum over candidates y of Q(y) cost(y),   Q(y) = p(y)^a / sum over candidates y' of p(y')^a

A sentence's risk counts as often as the sentence has labels, as its cross-entropy does: so the two mix per label,
a batch may be divided at will, and with TER as cost the mean over labels is weighted as TER over a corpus is.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS, PAD
from postedit.core.types import Batch, LabelLoss, Target
from postedit.train.label_scores import label_log_probs


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output that a model might write.

    Args:
        tokens: symbols, STEPs included where the model writes them, without EOS.
        cost: how bad it is, 0 being perfect.
    """

    tokens: tuple[int, ...]
    cost: float


Propose = Callable[[Seq2Seq, Batch], Sequence[Sequence[Candidate]]]
"""Returns candidates, all different, for each of the B sentences of a batch with a target."""


class RiskLoss(nn.Module):
    """Calls as a model does in training, and returns (1 - weight) cross-entropy + weight risk.

    Candidates come from the model as it is now, without dropout; their scores, from which gradients flow, are those of
    a training pass in which each sentence is encoded once, for its reference and all its candidates.

    Args:
        model: which is trained.
        propose: where candidates come from.
        weight: of the risk, above 0 and at most 1.
        sharpness: the exponent a.
    """

    def __init__(self, model: Seq2Seq, propose: Propose, weight: float, sharpness: float) -> None:
        super().__init__()
        self.model = model
        self.propose = propose
        self.weight = weight
        self.sharpness = sharpness

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the mixed loss of a batch, of which `nll` is that of the references alone.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        with as_it_is(self.model):
            lists = self.propose(self.model, batch)
        candidates = _Candidates.of(lists, batch.device)
        target = _stacked(batch.target, candidates)
        sentences = torch.cat([torch.arange(batch.rows, device=batch.device), candidates.sentences])
        output, _ = self.model.decode(target.inputs, self.model.encode(batch).select(sentences))
        own = (torch.arange(len(sentences), device=batch.device) < batch.rows).unsqueeze(1)
        size = self.model.spec.vocabularies.target.size
        entropy = output.distribution.label_loss(target.ids, target.mask & own, smoothing)
        each = label_log_probs(output.distribution, target.ids, target.mask & ~own, size)
        scores = each.sum(1)[batch.rows :].to(entropy.loss.dtype)  # which is not known where nothing is scored
        risks = candidates.constant.to(scores.dtype).index_add(
            0, candidates.groups, expected_costs(scores, candidates, self.sharpness)
        )
        risk = (risks * batch.target.lengths).sum()
        loss = (1.0 - self.weight) * entropy.loss + self.weight * risk
        return LabelLoss(loss, entropy.nll, entropy.tokens, risk.detach())


@dataclass(frozen=True, eq=False, slots=True)
class _Candidates:
    """The candidates of a batch that have a choice among costs, M in all, of G sentences.

    Where all candidates of a sentence cost the same, so does any distribution over them: nothing is to be learnt, and
    they are not scored.

    Args:
        outputs: M of them, with EOS.
        sentences: Long[M], which they belong to.
        groups: Long[G], the sentences that have some.
        places: Long[M], in a table of G rows.
        costs: Float[G,C], 0 where there is none.
        constant: Float[B], the risk of the sentences that have none.
    """

    outputs: tuple[tuple[int, ...], ...]
    sentences: Tensor
    groups: Tensor
    places: Tensor
    costs: Tensor
    constant: Tensor

    @classmethod
    def of(cls, lists: Sequence[Sequence[Candidate]], device: torch.device) -> "_Candidates":
        """Return what is to be scored of the candidates of B sentences."""
        open_ = [row for row, found in enumerate(lists) if len({one.cost for one in found}) > 1]
        width = max((len(lists[row]) for row in open_), default=1)
        costs = [[one.cost for one in lists[row]] + [0.0] * (width - len(lists[row])) for row in open_]
        constant = [0.0 if row in set(open_) or not found else found[0].cost for row, found in enumerate(lists)]
        places = [group * width + i for group, row in enumerate(open_) for i in range(len(lists[row]))]
        sentences = [row for row in open_ for _ in lists[row]]
        outputs = tuple((*one.tokens, EOS) for row in open_ for one in lists[row])
        numbers = partial(torch.tensor, device=device)
        return cls(
            outputs=outputs,
            sentences=numbers(sentences, dtype=torch.long),
            groups=numbers(open_, dtype=torch.long),
            places=numbers(places, dtype=torch.long),
            costs=numbers(costs, dtype=torch.float32).view(len(open_), width),
            constant=numbers(constant, dtype=torch.float32),
        )


def expected_costs(scores: Tensor, candidates: _Candidates, sharpness: float) -> Tensor:
    """Return the risk Float[G], given the log-probability of each candidate Float[M]."""
    costs = candidates.costs.to(scores.dtype)
    table = scores.new_full((costs.numel(),), -math.inf).scatter(0, candidates.places, sharpness * scores)
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
def as_it_is(model: Seq2Seq) -> Iterator[None]:
    """Let a model in training be used without dropout and gradients within the block.

    Some versions of PyTorch would use the narrow copies of weights that autocast keeps from the block, and that have no
    gradient, in the training pass; so these are made anew.
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
        torch.clear_autocast_cache()
