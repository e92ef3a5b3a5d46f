"""The values that pass between data, models, search and training.

Shapes: B sentences, N rows (sentences x beam), K target tokens of one call, S stream length, T target length, V size of
the target vocabulary. The batch is dimension 0 of every tensor. In `nn` and `models`, tensor names end in the letters
of their dimensions, for example `x_NKD`; `nn/__init__.py` explains the letters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from postedit.core.special_tokens import BOS


class AttentionKey(NamedTuple):
    """The stream that a model attends to, and the kind of attention.

    The key of a joint attention over several streams names them all, for example "src+mt". Its S positions are those of
    the first stream, padding included, followed by those of the next.
    """

    stream: str
    kind: Literal["soft", "copy", "hard"]

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams: one, unless the attention is joint."""
        return tuple(self.stream.split("+"))


@dataclass(frozen=True, eq=False, slots=True)
class Tokens:
    """One text of each sentence in the batch, as token ids with a padding mask.

    Raises:
        ValueError: if a tensor does not have the shape and dtype given beside its field.
    """

    ids: Tensor  # Long[B,S]
    mask: Tensor  # Bool[B,S], True at real tokens, which come before all padding; at least one per row

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.ids.dim() != 2 or self.ids.dtype != torch.long:
            raise ValueError(f"{name}.ids must be Long[rows, length], not {self.ids.dtype}{list(self.ids.shape)}")
        if self.mask.shape != self.ids.shape or self.mask.dtype != torch.bool:
            raise ValueError(
                f"{name}.mask must be Bool{list(self.ids.shape)} like ids, not {self.mask.dtype}{list(self.mask.shape)}"
            )

    @property
    def lengths(self) -> Tensor:
        """Long[B]: the number of real tokens in each row."""
        return self.mask.sum(1)

    def to(self, device: torch.device | str) -> Self:
        """Return the same on `device`; tensors that are there already are shared, not copied."""
        return type(self)(self.ids.to(device, non_blocking=True), self.mask.to(device, non_blocking=True))

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.ids[rows], self.mask[rows])


class Stream(Tokens):
    """An input text of each sentence in the batch, ending in EOS."""

    __slots__ = ()


class Target(Tokens):
    """The output that the model should write, each row ending in EOS before its padding."""

    __slots__ = ()

    @property
    def inputs(self) -> Tensor:
        """Long[B,T]: the decoder inputs under teacher forcing: BOS, then all columns of `ids` except the last."""
        start = torch.full_like(self.ids[:, :1], BOS)
        return torch.cat([start, self.ids[:, :-1]], 1)


class _Streams(dict[str, Stream]):
    def __missing__(self, name: str) -> Stream:
        there = " and ".join(self)
        raise ValueError(f'the model reads "{name}", but the batch has {there} alone; give the batch a stream "{name}"')


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Sentences that a model reads together and, in training, their targets.

    Raises:
        ValueError: if there is no stream, or streams and target differ in their number of rows.
    """

    streams: Mapping[str, Stream]  # the input texts by name (`"src"`, `"mt"`)
    target: Target | None = None  # the post-edits, or None at inference

    def __post_init__(self) -> None:
        rows = {name: stream.ids.size(0) for name, stream in self.streams.items()}
        if self.target is not None:
            rows["target"] = self.target.ids.size(0)
        if not self.streams or len(set(rows.values())) != 1:
            raise ValueError(f"a batch needs at least one stream and the same number of rows in all of them: {rows}")
        object.__setattr__(self, "streams", _Streams(self.streams))

    @property
    def rows(self) -> int:
        """B, the number of sentences."""
        return next(iter(self.streams.values())).ids.size(0)

    @property
    def device(self) -> torch.device:
        """The device that the texts are on."""
        return next(iter(self.streams.values())).ids.device

    def to(self, device: torch.device | str) -> "Batch":
        """Return a copy of the batch on `device`."""
        target = None if self.target is None else self.target.to(device)
        return Batch({name: stream.to(device) for name, stream in self.streams.items()}, target)


class LabelLoss(NamedTuple):
    """The loss of a batch, as sums over its labels, so that the sums of several batches and processes can be added."""

    loss: Tensor  # the loss to minimise, with label smoothing
    nll: Tensor  # negative log-likelihood of the labels in nats, detached
    tokens: Tensor  # number of labels, a Long scalar
    risk: Tensor | None = None  # expected cost times number of labels, detached; None: not part of the loss


@dataclass(frozen=True, eq=False, slots=True)
class Shortlist:
    """Part of a vocabulary: the tokens 0 .. first - 1, then `others`, of which rows may be allowed different ones."""

    first: int  # every token with an id below this one is included
    others: Tensor  # Long[E], ids of the other tokens, in ascending order
    allowed: Tensor | None = None  # Bool[N,K,E], which of the `others` each row may write; None: all of them

    @property
    def size(self) -> int:
        """C, the number of tokens in the shortlist."""
        return self.first + len(self.others)

    @property
    def token_ids(self) -> Tensor:
        """Long[C]: the vocabulary id of each column."""
        return torch.cat([torch.arange(self.first, device=self.others.device), self.others])

    def columns(self, tokens: Tensor) -> Tensor:
        """Return the columns Long[...] of `tokens` Long[...], all of which must be in the shortlist."""
        return torch.where(tokens < self.first, tokens, self.first + torch.searchsorted(self.others, tokens))

    def normalised(self, logits: Tensor) -> Tensor:
        """Return the log softmax Float[N,K,C] over the tokens that each row may write; overwrites `logits`."""
        if self.allowed is not None:
            logits[..., self.first :].masked_fill_(~self.allowed, -torch.inf)
        return logits.log_softmax(-1)

    def take(self, rows: slice) -> "Shortlist":
        """Return the shortlist of a slice of the rows."""
        return Shortlist(self.first, self.others, None if self.allowed is None else self.allowed[rows])

    def to(self, device: torch.device) -> "Shortlist":
        """Return the same on `device`; tensors that are there already are shared, not copied."""
        return Shortlist(self.first, self.others.to(device), None if self.allowed is None else self.allowed.to(device))


class Distribution(Protocol):
    """A distribution over the target vocabulary at N x K positions.

    Probabilities are computed on demand: training needs one number per position, search needs all V.
    """

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V]; logsumexp over V is 0."""
        ...

    def at(self, mask: Tensor) -> Self:
        """Return the distributions at the M positions where `mask` Bool[N,K] is True, in order, with shape [M,1]."""
        ...

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist.

        The components of a mixture are renormalised before they are mixed.
        """
        ...

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True, without creating a tensor [N,K,V].

        With smoothing e, the loss of one label is (1-e) * -log p(label) + e * mean over V of -log p.
        """
        ...


@dataclass(frozen=True, eq=False)
class DecoderOutput:
    """The output of a model after each of the K tokens that it has read."""

    distribution: Distribution  # of the next token, at each of the N x K positions
    attention: Mapping[AttentionKey, Tensor]  # Float[N,K,S]; the weights of a position sum to 1 and are 0 on padding
    aux: Mapping[str, Tensor] = field(default_factory=dict)  # further tensors [N,K,...], such as a copy gate

    @cached_property
    def log_probs(self) -> Tensor:
        """Float[N,K,V]: natural-log probabilities of the next token; logsumexp over V is 0."""
        return self.distribution.log_probs()
