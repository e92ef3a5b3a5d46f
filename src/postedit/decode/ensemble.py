"""Several models as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, cast

import torch
from torch import Tensor, nn

from postedit.core.errors import ModelFolderError
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, State, Vocabularies, VocabularyInfo
from postedit.core.types import Batch, DecoderOutput, LabelLoss

Space = Literal["log", "probability"]


class Ensemble(Seq2Seq["EnsembleState"]):
    """A weighted mean of members' predictions, in log space (renormalised) or probability space.

    Members may read different streams; those they share, and the target, must have the same vocabulary.
    Attention under a key is the weighted mean of the members that have it.
    """

    def __init__(
        self, members: Sequence[Seq2Seq], weights: Sequence[float] | None = None, space: Space = "log"
    ) -> None:
        """Combine `members`; `weights` default to equal ones and are scaled to sum to 1.

        Raises:
            ModelFolderError: if members' vocabularies differ.
            ValueError: if there is no member, or weights do not match or are not positive.
        """
        super().__init__()
        weights = [1.0] * len(members) if weights is None else list(weights)
        if not members or len(weights) != len(members) or min(weights) <= 0.0:
            raise ValueError(f"an ensemble needs members and one positive weight each: {len(members)}, {weights}")
        self.members = nn.ModuleList(members)
        self.weights = [weight / sum(weights) for weight in weights]
        self.space = space
        self.spec = _joint_spec([member.spec for member in members])

    def encode(self, batch: Batch) -> "EnsembleState":
        """Encode the batch with every member."""
        return EnsembleState(tuple(member.encode(batch) for member in self._members()))

    def decode(self, tokens: Tensor, state: "EnsembleState") -> tuple[DecoderOutput, "EnsembleState"]:
        """Read K more target tokens Long[N,K] with every member; predict the one after each of them."""
        results = [member.decode(tokens, part) for member, part in zip(self._members(), state.parts, strict=True)]
        outputs = [output for output, _ in results]
        log_probs = _mix([output.log_probs for output in outputs], self.weights, self.space)
        attention = {}
        for key in self.spec.attention:
            having = [(o.attention[key], w) for o, w in zip(outputs, self.weights, strict=True) if key in o.attention]
            total = sum(weight for _, weight in having)
            attention[key] = torch.stack([weights * (weight / total) for weights, weight in having]).sum(0)
        return DecoderOutput(WrittenOut(log_probs), attention), EnsembleState(tuple(part for _, part in results))

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return what any member demands."""
        return [constraint for member in self._members() for constraint in member.constraints(batch)]

    def _members(self) -> list[Seq2Seq]:
        return cast("list[Seq2Seq]", list(self.members))


@dataclass(frozen=True, eq=False, slots=True)
class EnsembleState:
    """The states of the members."""

    parts: tuple[State, ...]

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(tuple(part.select(rows) for part in self.parts))

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of the last decode, row by row."""
        return type(self)(tuple(part.rollback(keep) for part in self.parts))

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        return type(self)(tuple(part.join(added) for part, added in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False, slots=True)
class WrittenOut:
    """A distribution that is already there as log-probabilities Float[N,K,V]."""

    values: Tensor

    def log_probs(self) -> Tensor:
        """Return the log-probabilities."""
        return self.values

    def at(self, mask: Tensor) -> Self:
        """Return the distributions where `mask` Bool[N,K], M of them in order, as [M,1]."""
        return type(self)(self.values[mask].unsqueeze(1))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K]; see `core.types.Distribution`."""
        log_probs = self.values[mask]
        nll = -log_probs.gather(1, labels[mask].unsqueeze(1)).sum()
        loss = (1.0 - smoothing) * nll - smoothing * log_probs.mean(1).sum()
        return LabelLoss(loss, nll.detach(), mask.sum())


def _mix(log_probs: Sequence[Tensor], weights: Sequence[float], space: Space) -> Tensor:
    stacked = torch.stack(list(log_probs))
    shares = stacked.new_tensor(weights).view(-1, 1, 1, 1)
    if space == "probability":
        return torch.logsumexp(stacked + shares.log(), 0)
    mean = (stacked * shares).sum(0)
    return mean - mean.logsumexp(-1, keepdim=True)


def _joint_spec(specs: Sequence[ModelSpec]) -> ModelSpec:
    streams: dict[str, VocabularyInfo] = {}
    for number, spec in enumerate(specs, start=1):
        if spec.vocabularies.target != specs[0].vocabularies.target:
            raise ModelFolderError(
                f"model {number} writes another target vocabulary than model 1; "
                "train the members of an ensemble with the same text processing"
            )
        if spec.writes != specs[0].writes:
            hard, other = (number, 1) if spec.writes == "steps" else (1, number)
            raise ModelFolderError(
                f"model {hard} has hard attention and writes STEPs, model {other} does not: "
                "an ensemble has models of one of the two kinds"
            )
        for name in spec.inputs:
            vocabulary = spec.vocabularies.streams[name]
            if streams.setdefault(name, vocabulary) != vocabulary:
                raise ModelFolderError(f"model {number} reads {name} with another vocabulary than an earlier model")
    return ModelSpec(
        tuple(streams),
        Vocabularies(streams, specs[0].vocabularies.target),
        frozenset().union(*(spec.attention for spec in specs)),
        all(spec.parallel for spec in specs),
        specs[0].writes,
        min((spec.longest for spec in specs if spec.longest is not None), default=None),
    )
