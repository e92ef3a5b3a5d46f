"""The interface that every architecture implements, and all of search and training rests on.

A model has two verbs: `encode` a batch into a state, `decode` K tokens from a state. Teacher forcing is
K = T, a step of search is K = 1, checking a proposed continuation is K = its length: there is no second code
path for inference. State is a value: it is passed in and returned, never kept on the module.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self

from torch import Tensor, nn
from typing_extensions import TypeVar

from postedit.core.config import Config
from postedit.core.types import AttentionKey, Batch, DecoderOutput, LabelLoss

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class VocabularyInfo:
    """What a model needs to know of a vocabulary: its size, and a fingerprint of its symbols in order."""

    size: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """The vocabularies of a model: one for each input stream, and the target's."""

    streams: "Mapping[str, VocabularyInfo]"
    target: VocabularyInfo


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What search and training may know of a model.

    Args:
        inputs: names of the streams it reads.
        vocabularies: sizes and fingerprints; members of an ensemble must agree on the target's.
        attention: the keys of every `DecoderOutput.attention` it returns.
        parallel: True if decoding K tokens in one call costs about as much as decoding one.
        writes: "tokens", the symbols of the output; or "steps", those and STEPs that lead along mt.
        longest: the most symbols that its inputs may have together, and its output; None: there is no such limit.
    """

    inputs: tuple[str, ...]
    vocabularies: Vocabularies
    attention: frozenset[AttentionKey]
    parallel: bool
    writes: "Writes" = "tokens"
    longest: int | None = None


Writes = Literal["tokens", "steps"]


class State(Protocol):
    """All a model remembers of the inputs and of the tokens decoded so far, for N rows."""

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order: expands, reorders or drops hypotheses."""
        ...

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] (0..K) tokens of the last decode, row by row."""
        ...

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last, which may have read other tokens, and more or fewer.

        Only the longer ones' inputs need no padding. Positions of a joint attention stand as each row was encoded,
        padding last. What was decoded before cannot be rolled back.
        """
        ...


class Constraint(Protocol):
    """What the grammar of a model allows next (such as STEP and EOS under hard attention), for N rows."""

    def allowed(self) -> Tensor:
        """Bool[N,V]: the symbols that may come next; at least one a row."""
        ...

    def to_end(self) -> Tensor:
        """Long[N]: how many symbols must come before EOS may."""
        ...

    def closing(self) -> Tensor:
        """Long[N]: the symbol that may come next and leads to the end soonest; EOS where that may come."""
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the constraint after `tokens` Long[N] were written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        ...


StateT = TypeVar("StateT", bound=State, default=Any)


class Seq2Seq(nn.Module, ABC, Generic[StateT]):
    """Base of every architecture; `StateT` is the state it makes, which search passes back unseen.

    A subclass names its configuration and inputs on the class, sets `spec` in its constructor
    `__init__(self, config, vocabularies)`, and implements `encode` and `decode`.
    """

    config_class: ClassVar[type[Config]]
    inputs: ClassVar[tuple[str, ...]]
    writes: ClassVar[Writes] = "tokens"
    spec: ModelSpec

    @abstractmethod
    def encode(self, batch: Batch) -> StateT:
        """Read the streams `self.spec.inputs` of the batch; the state has one row a sentence."""

    @abstractmethod
    def decode(self, tokens: Tensor, state: StateT) -> tuple[DecoderOutput, StateT]:
        """Read K more target tokens Long[N,K] (the first ever is BOS); predict the one after each of them.

        Rows that have fewer than K end in PAD. What is said there is of no account, and a rollback must take it back.
        """

    def embeddings(self) -> "Mapping[str, nn.Embedding]":
        """Return the embedding tables by text ("src", "mt", "pe") that a later model may inherit; none by default."""
        return {}

    def load_initial_weights(self) -> None:
        """Take the weights that training starts from, where an architecture has some; fresh ones by default.

        Called once before training, and never by a model that is trained.

        Raises:
            RecipeError: if they cannot be had, or do not fit.
        """

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return what the grammar of this model demands of its output; nothing by default."""
        return ()

    def parts(self) -> "Sequence[Seq2Seq]":
        """Return the models whose predictions this one combines, in their order; itself alone by default."""
        return (self,)

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of the batch's target under teacher forcing.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        output, _ = self.decode(batch.target.inputs, self.encode(batch))
        return output.distribution.label_loss(batch.target.ids, batch.target.mask, smoothing)
