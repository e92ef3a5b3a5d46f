"""Ensembles: several models that decide together on each token."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, cast

import torch
from torch import Tensor, nn

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.hints import NO_HINTS, Hints
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, State, Vocabularies, VocabularyInfo, Writes
from postedit.core.types import Batch, DecoderOutput, Distribution, LabelLoss, Shortlist

Space = Literal["log", "probability"]

_WRITTEN: Final[dict[Writes, str]] = {
    "tokens": "tokens alone",
    "steps": "STEPs of hard attention",
    "operations": "edit operations",
}


class Ensemble(Seq2Seq["EnsembleState"]):
    """A weighted mean of the predictions of several models, in log space (renormalised) or in probability space.

    Members may read different streams; a stream that several members read, and the target, must have the same
    vocabulary for all. Members may be on different devices: inputs are copied to them, and outputs to the device of the
    batch. The attention under a key is the weighted mean over the members that have this key.
    """

    def __init__(
        self, members: Sequence[Seq2Seq], weights: Sequence[float] | None = None, space: Space = "log"
    ) -> None:
        """Combine `members`; `weights` are scaled to sum to 1, and equal if None.

        Raises:
            ModelFolderError: if there is no member, or members differ in vocabularies, in what they write, or in the
                budgets of their hints.
            DataError: if there is not one positive weight per member.
        """
        super().__init__()
        if not members:
            raise ModelFolderError("an ensemble needs at least one model")
        given = check_weights([1.0] * len(members) if weights is None else weights, len(members))
        self.members = nn.ModuleList(members)
        self.weights = [weight / sum(given) for weight in given]
        self.space = space
        self.spec = _joint_spec([member.spec for member in members])

    def encode(self, batch: Batch) -> "EnsembleState":
        """Encode the batch with every member, on the member's device."""
        devices = [device_of(member, batch) for member in self.parts()]
        batches = {device: batch.to(device) for device in dict.fromkeys(devices)}
        states = [member.encode(batches[device]) for member, device in zip(self.parts(), devices, strict=True)]
        return EnsembleState(tuple(states), tuple(devices))

    def decode(self, tokens: Tensor, state: "EnsembleState") -> tuple[DecoderOutput, "EnsembleState"]:
        """Read K more target tokens Long[N,K] with every member, and predict the token that follows each of them."""
        here = tokens.device
        results = [
            member.decode(tokens.to(device), part)
            for member, part, device in zip(self.parts(), state.parts, state.devices, strict=True)
        ]
        outputs = [output for output, _ in results]
        attention = {}
        for key in self.spec.attention:
            having = [(o.attention[key], w) for o, w in zip(outputs, self.weights, strict=True) if key in o.attention]
            total = sum(weight for _, weight in having)
            attention[key] = torch.stack([weights.to(here) * (weight / total) for weights, weight in having]).sum(0)
        parts = tuple(part for _, part in results)
        mean = EnsembleDistribution(
            tuple(o.distribution for o in outputs), state.devices, here, tuple(self.weights), self.space
        )
        return DecoderOutput(mean, attention, self._gate(outputs, tokens)), EnsembleState(parts, state.devices)

    def _gate(self, outputs: Sequence[DecoderOutput], tokens: Tensor) -> dict[str, Tensor]:
        """Return the mean gate Float[N,K,1+copied] if any member copies; members that do not copy count as generating.

        In probability space, these are the mixture weights of the ensemble; in log space, they are an estimate.
        """
        copied = self.spec.copied
        if not copied:
            return {}
        mean = torch.zeros(*tokens.shape, 1 + len(copied), dtype=torch.float32, device=tokens.device)
        for member, output, weight in zip(self.parts(), outputs, self.weights, strict=True):
            gate = output.aux.get("gate")
            places = [0, *(1 + copied.index(name) for name in member.spec.copied)] if gate is not None else [0]
            mean[..., places] += weight * (1.0 if gate is None else gate.to(mean))
        return {"gate": mean}

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return the model grammars of all members."""
        return [constraint for member in self.parts() for constraint in member.constraints(batch)]

    def extra_repr(self) -> str:
        """Return the weights and the space of the mean, for `repr`."""
        return f"weights={self.weights}, space={self.space}"

    def parts(self) -> Sequence[Seq2Seq]:
        """Return the members."""
        return cast("list[Seq2Seq]", list(self.members))


@dataclass(frozen=True, eq=False, slots=True)
class EnsembleState:
    """The states of the members, and their devices."""

    parts: tuple[State, ...]
    devices: tuple[torch.device, ...]

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        parts = (part.select(rows.to(device)) for part, device in zip(self.parts, self.devices, strict=True))
        return type(self)(tuple(parts), self.devices)

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of each row in the last `decode`."""
        parts = (part.rollback(keep.to(device)) for part, device in zip(self.parts, self.devices, strict=True))
        return type(self)(tuple(parts), self.devices)

    def join(self, other: Self) -> Self:
        """Return the rows of this state, then those of `other`."""
        parts = (one.join(another) for one, another in zip(self.parts, other.parts, strict=True))
        return type(self)(tuple(parts), self.devices)


@dataclass(frozen=True, eq=False, slots=True)
class EnsembleDistribution:
    """The weighted mean of the members' distributions, which are on `devices`; it is computed on the device `here`."""

    parts: tuple[Distribution, ...]
    devices: tuple[torch.device, ...]
    here: torch.device
    weights: tuple[float, ...]
    space: Space

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V], on the device `here`."""
        return _mix([part.log_probs().to(self.here) for part in self.parts], self.weights, self.space)

    def at(self, mask: Tensor) -> Self:
        """Return the distributions where `mask` Bool[N,K], M of them in order, as [M,1]."""
        parts = tuple(part.at(mask.to(device)) for part, device in zip(self.parts, self.devices, strict=True))
        return replace(self, parts=parts)

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        log_probs = [part.among(shortlist.to(device)).to(self.here) for part, device in zip(self.parts, self.devices)]
        return shortlist.normalised(_mix(log_probs, self.weights, self.space))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K]; see `core.types.Distribution`."""
        return LogProbDistribution(self.log_probs()).label_loss(labels, mask, smoothing)


@dataclass(frozen=True, eq=False, slots=True)
class LogProbDistribution:
    """A distribution given by its natural-log probabilities Float[N,K,V]."""

    values: Tensor

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V]."""
        return self.values

    def at(self, mask: Tensor) -> Self:
        """Return the distributions where `mask` Bool[N,K], M of them in order, as [M,1]."""
        return type(self)(self.values[mask].unsqueeze(1))

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        return shortlist.normalised(self.values[..., shortlist.token_ids])

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K]; see `core.types.Distribution`."""
        log_probs = self.values[mask]
        nll = -log_probs.gather(1, labels[mask].unsqueeze(1)).sum()
        loss = (1.0 - smoothing) * nll - smoothing * log_probs.mean(1).sum()
        return LabelLoss(loss, nll.detach(), mask.sum())


def check_weights(weights: Sequence[float], members: int) -> Sequence[float]:
    """Check the weights of an ensemble, and return them as floats.

    Raises:
        DataError: if there is not one finite weight above 0 for each member.
    """
    try:
        if isinstance(weights, str | Mapping):
            raise TypeError
        weights = [float(weight) for weight in weights]
    except (TypeError, ValueError):
        raise DataError(f"weights must be a list of numbers, not {weights!r:.80}") from None
    if len(weights) != members:
        raise DataError(
            f"{len(weights)} weights for {members} models: give one weight for each model, in the order of the models"
        )
    wrong = [weight for weight in weights if not 0.0 < weight < math.inf]
    if wrong:
        raise DataError(f"the weight of a model in an ensemble must be above 0, not {wrong[0]}; leave that model out")
    return weights


def device_of(member: Seq2Seq, batch: Batch) -> torch.device:
    """Return the device of a member, or that of the batch if the member has no weights."""
    return next((parameter.device for parameter in member.parameters()), batch.device)


def _mix(log_probs: Sequence[Tensor], weights: Sequence[float], space: Space) -> Tensor:
    stacked = torch.stack(list(log_probs))
    scales = stacked.new_tensor(weights).view(-1, 1, 1, 1)
    if space == "probability":
        return torch.logsumexp(stacked + scales.log(), 0)
    mean = (stacked * scales).sum(0)
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
            raise ModelFolderError(
                f"model 1 writes {_WRITTEN[specs[0].writes]}, model {number} writes {_WRITTEN[spec.writes]}: "
                "an ensemble has models of one kind"
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
        _joint_hints([spec.hints for spec in specs if spec.hints.names]),
    )


def _joint_hints(members: Sequence[Hints]) -> Hints:
    """Return the hints that any member reads; they are written once, so all members must have the same budgets."""
    if any(one.config != members[0].config for one in members):
        raise ModelFolderError(
            "members of the ensemble have other budgets and numbers of hints; train them with the same model.hints"
        )
    names = dict.fromkeys(name for one in members for name in one.names)
    return Hints(tuple(names), members[0].config) if members else NO_HINTS
