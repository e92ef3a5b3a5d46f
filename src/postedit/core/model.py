"""The interface of every architecture: `encode` a batch into a state, then `decode` K tokens from that state.

With teacher forcing, K = T; in a search step, K = 1; to check a draft, K is its length. So inference needs no second
code path. The state is passed in and returned as a value; it is never stored on the module.
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
"""The kind of target that a model writes (`text.edits.target_of`): "tokens", the output alone; "steps", the output and
a STEP for each move to the next position of mt; "operations", the output and a STEP for each deleted token of mt."""


@dataclass(frozen=True, slots=True)
class VocabularyInfo:
    """The size of a vocabulary, and a fingerprint of its tokens in order."""

    size: int
    fingerprint: str
    copied: int = 0  # number of copied tokens, the last ids, which stand for the unknown tokens of mt in their order


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """The vocabularies of a model: one for each input stream, and one for the target."""

    streams: Mapping[str, VocabularyInfo]
    target: VocabularyInfo


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The properties of a model that search and training rely on."""

    inputs: tuple[str, ...]  # names of the streams that the model reads
    vocabularies: Vocabularies  # the models of an ensemble must have the same target vocabulary
    attention: frozenset[AttentionKey]  # the keys of `DecoderOutput.attention`
    parallel: bool  # whether decoding K tokens in one call costs about as much as decoding one
    writes: Writes = "tokens"
    longest: int | None = None  # maximum number of tokens of all inputs together, and of the output; None: no limit
    hints: Hints = NO_HINTS  # optional streams, in the vocabulary of src, which are read if a batch has them

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of a training batch: the inputs and the hints."""
        return (*self.inputs, *self.hints.names)

    @property
    def copied(self) -> tuple[str, ...]:
        """The inputs that the model copies tokens from."""
        return tuple(name for name in self.inputs if AttentionKey(name, "copy") in self.attention)

    @property
    def coverage_key(self) -> AttentionKey | None:
        """The attention whose coverage is counted; None if the model has neither copy nor soft attention.

        Attention to mt is preferred to attention to other streams, then copy attention to soft attention.
        """
        kinds = ("copy", "soft")
        keys = [key for key in self.attention if key.kind in kinds]
        return min(keys, key=lambda key: ("mt" not in key.streams, kinds.index(key.kind), key.stream), default=None)


class State(Protocol):
    """The encoded inputs of N rows, and everything that the decoder keeps of the tokens read so far."""

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order: to expand, reorder or drop hypotheses."""
        ...

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] (0 to K) tokens of each row in the last `decode`."""
        ...

    def join(self, other: Self) -> Self:
        """Return the rows of this state, then those of `other`, which may have read a different number of tokens.

        Shorter inputs are padded; in a joint attention, padding comes last. Tokens read before cannot be rolled back.
        """
        ...


class Constraint(Protocol):
    """A rule that forbids some next tokens of N rows, such as EOS before the end of mt under hard attention."""

    def allowed(self) -> Tensor:
        """Return Bool[N,V], the tokens that may come next: at least one per row; several constraints may leave none."""
        ...

    def to_end(self) -> Tensor:
        """Return Long[N], the least number of tokens that each row must write before EOS is allowed."""
        ...

    def closing(self) -> Tensor:
        """Return Long[N] or Long[N,C], the tokens that lead to the end soonest, or EOS where EOS is allowed.

        The first token of each row is always allowed.
        """
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the constraint after `tokens` Long[N], one per row, have been written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        ...


StateT = TypeVar("StateT", bound=State, default=Any)


class Seq2Seq(nn.Module, ABC, Generic[StateT]):
    """Base class of every architecture.

    A subclass defines the class attributes `config_class` and `inputs`, sets `spec` in its constructor
    `__init__(self, config, vocabularies)`, and implements `encode` and `decode`.
    """

    config_class: ClassVar[type[Config]]
    inputs: ClassVar[tuple[str, ...]]
    writes: ClassVar[Writes] = "tokens"
    training_only: ClassVar[tuple[str, ...]] = ()
    """Name prefixes of the parameters that only `joint_loss` uses, and `decode` does not."""
    spec: ModelSpec

    @classmethod
    def hints_of(cls, config: Config) -> Hints:
        """Return the hints that a model with this configuration reads; none by default."""
        return NO_HINTS

    @abstractmethod
    def encode(self, batch: Batch) -> StateT:
        """Read the streams `self.spec.inputs` of the batch; the state has one row per sentence."""

    @abstractmethod
    def decode(self, tokens: Tensor, state: StateT) -> tuple[DecoderOutput, StateT]:
        """Read K more target tokens Long[N,K], the first of all being BOS, and predict the token that follows each.

        Rows with fewer than K tokens end in PAD. The outputs at PAD are meaningless, and the PADs must be rolled back.
        """

    def embeddings(self) -> Mapping[str, nn.Embedding]:
        """Return the embedding tables that another model may inherit, by text ("src", "mt", "pe"); by default none."""
        return {}

    def load_initial_weights(self) -> None:
        """Load the weights that training starts from; by default the random weights stay. Called once before training.

        Raises:
            RecipeError: if the weights cannot be loaded, or do not fit the model.
        """

    frozen_checkpoint: str | None = None
    """Folder or hub id of the checkpoint with the frozen weights, neither trained nor saved; None: there are none."""

    frozen_sha256: str | None = None
    """SHA-256 digest, in hexadecimal, of the frozen weights; None until they are loaded."""

    def load_frozen_weights(self, checkpoint: str) -> None:
        """Load the frozen weights from a checkpoint; required before the model is used.

        Raises:
            RecipeError: if the weights cannot be loaded, or do not fit the model.
        """
        raise NotImplementedError("only a model with a frozen_checkpoint has such weights")

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return the model grammar, constraints on its own output, on the device of the batch; by default none."""
        return ()

    def parts(self) -> "Sequence[Seq2Seq]":
        """Return the models whose predictions this model combines, in order; by default only itself."""
        return (self,)

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of the batch's target under teacher forcing.

        In training mode, `joint_loss` is part of `loss`; it is never part of `nll`.

        Raises:
            ValueError: if the batch has no target.
        """
        return self.teacher_forced(batch, smoothing)[0]

    def teacher_forced(self, batch: Batch, smoothing: float = 0.0) -> tuple[LabelLoss, DecoderOutput]:
        """Return the loss of the batch's target, and the decoder output; in training mode `joint_loss` is added.

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
        """Return an extra loss, summed over the batch, that training adds to the loss of the target; 0 by default.

        It trains something together with the model, such as a second model.

        Args:
            batch: a batch with a target.
            state: the encoded batch.
            attention: attention weights Float[B,T,S] of the decoder under teacher forcing, by key.
            smoothing: the label smoothing e of `Distribution.label_loss`.
        """
        return 0.0
