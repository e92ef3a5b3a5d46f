"""The interface of every architecture: `encode` a batch into a state, `decode` K tokens from a state.

Teacher forcing is K = T, a step of search is K = 1, checking a draft is K = its length: there is no second code path
for inference. The state is a value that is passed in and returned, never kept on the module.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, Self

from torch import Tensor, nn
from typing_extensions import TypeVar

from postedit.core.config import Config
from postedit.core.hints import NO_HINTS, Hints
from postedit.core.types import AttentionKey, Batch, DecoderOutput, LabelLoss

Writes = Literal["tokens", "steps", "operations"]
"""What a model writes: the tokens of the output; or these and the STEPs that move along mt, one for each of its
positions; or these and a STEP for each token of mt that is deleted (`text.edits.target_of`)."""


@dataclass(frozen=True, slots=True)
class VocabularyInfo:
    """The size of a vocabulary, and a fingerprint of its tokens in order."""

    size: int
    fingerprint: str
    copied: int = 0  # how many tokens, the last ones, stand for the unknown tokens of mt, in their order


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """The vocabularies of a model: one for each input stream, and that of the target."""

    streams: Mapping[str, VocabularyInfo]
    target: VocabularyInfo


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The properties of a model that search and training use."""

    inputs: tuple[str, ...]  # streams that it reads
    vocabularies: Vocabularies  # members of an ensemble must agree on that of the target
    attention: frozenset[AttentionKey]  # the keys of `DecoderOutput.attention`
    parallel: bool  # decoding K tokens in one call costs about as much as decoding one
    writes: Writes = "tokens"
    longest: int | None = None  # maximum number of tokens of all inputs together, and of the output; None: no limit
    hints: Hints = NO_HINTS  # further streams that it reads where a batch has them, in the vocabulary of src

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of a training batch: the inputs and the hints."""
        return (*self.inputs, *self.hints.names)

    @property
    def copied(self) -> tuple[str, ...]:
        """The inputs that tokens are copied from."""
        return tuple(name for name in self.inputs if AttentionKey(name, "copy") in self.attention)

    @property
    def coverage_key(self) -> AttentionKey | None:
        """The attention whose coverage is counted: that of copying if there is one, else soft; to mt if there is one.

        None if there is neither.
        """
        kinds = ("copy", "soft")
        keys = [key for key in self.attention if key.kind in kinds]
        return min(keys, key=lambda key: ("mt" not in key.streams, kinds.index(key.kind), key.stream), default=None)


class State(Protocol):
    """The encoded inputs, and everything that a decoder keeps of the tokens decoded so far, for N rows."""

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order: expands, reorders or drops hypotheses."""
        ...

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] (0..K) tokens of the last decode, row by row."""
        ...

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last; they may have read different numbers of tokens.

        Shorter inputs are padded; in a joint attention, padding comes last. Earlier tokens cannot be rolled back.
        """
        ...


class Constraint(Protocol):
    """A rule that forbids next tokens (such as EOS before the end of mt under hard attention), for N rows."""

    def allowed(self) -> Tensor:
        """Bool[N,V]: the tokens that may come next; at least one per row, though several constraints may leave none."""
        ...

    def to_end(self) -> Tensor:
        """Long[N]: the number of tokens that must come before EOS may."""
        ...

    def closing(self) -> Tensor:
        """Long[N] or Long[N,C]: the tokens that lead to the end soonest, each EOS where that is allowed.

        The first is allowed whatever else is.
        """
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the constraint after `tokens` Long[N] were written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        ...


StateT = TypeVar("StateT", bound=State, default=Any)


class Seq2Seq(nn.Module, ABC, Generic[StateT]):
    """Base of every architecture.

    A subclass defines its configuration and inputs on the class, sets `spec` in its constructor
    `__init__(self, config, vocabularies)`, and implements `encode` and `decode`.
    """

    config_class: ClassVar[type[Config]]
    inputs: ClassVar[tuple[str, ...]]
    writes: ClassVar[Writes] = "tokens"
    training_only: ClassVar[tuple[str, ...]] = ()
    """What the names of parameters begin with that `joint_loss` alone uses: `decode` does not."""
    spec: ModelSpec

    @classmethod
    def hints_of(cls, config: Config) -> Hints:
        """Return the hints that a model with a configuration reads; none by default."""
        return NO_HINTS

    @abstractmethod
    def encode(self, batch: Batch) -> StateT:
        """Read the streams `self.spec.inputs` of the batch; the state has one row per sentence."""

    @abstractmethod
    def decode(self, tokens: Tensor, state: StateT) -> tuple[DecoderOutput, StateT]:
        """Read K more target tokens Long[N,K] (the first ever is BOS); predict the one after each of them.

        Rows with fewer than K tokens end in PAD. Outputs there mean nothing, and must be rolled back.
        """

    def embeddings(self) -> Mapping[str, nn.Embedding]:
        """Return the embedding tables that another model may inherit, by text ("src", "mt", "pe"); none by default."""
        return {}

    def load_initial_weights(self) -> None:
        """Load the weights that training starts from, once before training; random weights by default.

        Raises:
            RecipeError: if they cannot be loaded, or do not fit.
        """

    frozen_checkpoint: str | None = None
    """Folder or hub id of a checkpoint with weights that are neither trained nor saved; None: there are none."""

    frozen_sha256: str | None = None
    """SHA-256 digest, in hexadecimal, of these weights; None until they are loaded."""

    def load_frozen_weights(self, checkpoint: str) -> None:
        """Load the weights that are neither trained nor saved from a checkpoint; needed before any use of the model.

        Raises:
            RecipeError: if they cannot be loaded, or do not fit.
        """
        raise NotImplementedError("only a model with a frozen_checkpoint has such weights")

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return the model grammar, constraints on its own output, on the device of the batch; none by default."""
        return ()

    def parts(self) -> "Sequence[Seq2Seq]":
        """Return the models whose predictions this one combines, in order; only itself by default."""
        return (self,)

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of the batch's target under teacher forcing; its `nll` is without `joint_loss`.

        Raises:
            ValueError: if the batch has no target.
        """
        return self.teacher_forced(batch, smoothing)[0]

    def teacher_forced(self, batch: Batch, smoothing: float = 0.0) -> tuple[LabelLoss, DecoderOutput]:
        """Return the loss of the batch's target, in training mode with `joint_loss`, and the output that it is of.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        state = self.encode(batch)
        output, _ = self.decode(batch.target.inputs, state)
        found = output.distribution.label_loss(batch.target.ids, batch.target.mask, smoothing)
        if self.training:
            found = found._replace(loss=found.loss + self.joint_loss(batch, state, output.attention, smoothing))
        return found, output

    def joint_loss(
        self, batch: Batch, state: StateT, attention: Mapping[AttentionKey, Tensor], smoothing: float
    ) -> Tensor | float:
        """Return what training adds to every loss of the target, summed over the batch; 0 by default.

        It is for what is trained together with the model, such as another model.

        Args:
            batch: with a target.
            state: of the batch, encoded.
            attention: Float[B,K,S] each, of the model when it has read the target.
            smoothing: label smoothing.
        """
        return 0.0
