"""Base of the models whose network is a Transformers checkpoint; all its weights are trained, or only adapters."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.errors import library
from postedit.core.model import Seq2Seq, StateT, Vocabularies
from postedit.core.special_tokens import BOS
from postedit.core.transformers_checkpoint import (
    Kind,
    RowNumbering,
    TransformersCheckpoint,
    check_vocabularies,
    check_weights,
    copy_weights,
)
from postedit.core.wording import public_name
from postedit.nn.heads import SoftmaxDistribution
from postedit.nn.renumbering import RenumberedDistribution, exclusion_bias


class CheckpointNetworkConfig(Config):
    """The configuration of a checkpoint, and its special tokens as rows of its own tables."""

    settings: dict[str, Any] = Field(description="its config.json")
    pad: int | None = Field(None, ge=0, description="the row of its padding")
    eos: int | None = Field(None, ge=0, description="the row of its end of a text or of a turn")
    unk: int | None = Field(None, ge=0, description="the row of its unknown token")
    controls: list[int] = Field([], description="rows of other tokens that occur in no text")
    fingerprint: str | None = Field(None, description="fingerprint of its vocabulary")

    @property
    def numbering(self) -> RowNumbering:
        """The mapping from token ids to rows of the checkpoint."""
        return RowNumbering(int(self.settings["vocab_size"]), self.pad, self.eos, self.unk)

    @classmethod
    def common(cls, checkpoint: TransformersCheckpoint, kind: Kind) -> dict[str, Any]:
        """Return the values of the options above for a checkpoint, which must be of this kind."""
        checkpoint.check_kind(kind)
        check_weights(checkpoint.name)
        numbering, tokens = checkpoint.numbering, checkpoint.tokens
        special = {"pad": numbering.pad, "eos": numbering.eos, "unk": numbering.unk}
        controls = sorted(tokens.rows[token] for token in tokens.controls)
        return {"settings": checkpoint.settings, **special, "controls": controls, "fingerprint": tokens.fingerprint}


class CheckpointConfig(Config):
    """The checkpoint, and the part of it that is trained; sizes are those of the checkpoint."""

    checkpoint: str = Field(description="folder or hub id of a model, read when training begins")
    lora_rank: int = Field(0, ge=0, description="0: all weights are trained; r: those of adapters of rank r alone")
    lora_alpha: float = Field(32.0, gt=0, description="adapters are scaled by lora_alpha / lora_rank")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on the inputs of adapters")
    network: CheckpointNetworkConfig = Field(description="what the checkpoint says of itself; read from the checkpoint")

    @classmethod
    @abstractmethod
    def read_network(cls, values: Mapping[str, Any]) -> CheckpointNetworkConfig | None:
        """Return the `network` section of the checkpoint that unchecked options name; None if options have wrong types.

        Raises:
            RecipeError: if there is no such checkpoint, it is of another kind, or it does not support the options.
        """

    @model_validator(mode="before")
    @classmethod
    def _read_checkpoint(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "network" in values or not isinstance(values.get("checkpoint"), str):
            return values
        found = cls.read_network(values)
        return values if found is None else {**values, "network": found}

    def published(self) -> Self:
        """Return the section with only the last part of the checkpoint's path, if it is a folder."""
        return self.model_copy(update={"checkpoint": public_name(self.checkpoint)})

    def with_adapters(self, network: Any, head: nn.Module) -> Any:
        """Return the network; with `lora_rank`, freeze its weights and add adapters to all but the output layer."""
        if not self.lora_rank:
            return network
        peft = library("peft", "model.lora_rank")
        options = {"lora_alpha": self.lora_alpha, "lora_dropout": self.lora_dropout}
        adapters = peft.LoraConfig(r=self.lora_rank, target_modules="all-linear", **options)
        head.requires_grad_(False)
        return peft.inject_adapter_in_model(adapters, network)


class CheckpointModel(Seq2Seq[StateT]):
    """A network that keeps its own numbering of rows, to and from which token ids are mapped on input and output.

    A subclass creates `network`, and `head`, its output layer.

    Raises:
        RecipeError: if the vocabularies are not those of the checkpoint.
    """

    network: Any  # a module of the library, with methods that `nn.Module` does not declare
    head: nn.Linear
    bias: Tensor  # Float[rows], added to the logits; excludes rows that are never written
    rows: Tensor  # Long[V], row of each token id
    input_rows: Tensor  # Long[V], the same for what the decoder reads, where BOS has the row `bos`

    def __init__(
        self, config: CheckpointConfig, vocabularies: Vocabularies, bos: int, never: Sequence[int], *, keep_bias: bool
    ) -> None:
        """Map token ids to rows, all except BOS in the same way on input and output.

        The decoder reads the row `bos` for BOS; it never writes the rows `never`. With `keep_bias`, the buffer `bias`,
        which excludes all rows that are never written, is saved with the weights.
        """
        super().__init__()
        numbering = config.network.numbering
        table = numbering.table()
        check_vocabularies(vocabularies, len(table), config.network.fingerprint, config.checkpoint)
        self.register_buffer("bias", exclusion_bias(numbering, never), persistent=keep_bias)
        self.register_buffer("rows", torch.tensor(table), persistent=False)
        inputs = [bos if token == BOS else row for token, row in enumerate(table)]
        self.register_buffer("input_rows", torch.tensor(inputs), persistent=False)

    def copy_weights(self, theirs: Any, weights: Mapping[str, Tensor], checkpoint: str, own: int) -> None:
        """Copy `weights` to the network, and the output layer of `theirs`; new rows, from `own` on, become zero.

        Raises:
            RecipeError: if the weights belong to a network of other sizes.
        """
        copy_weights(self.network, weights, checkpoint)
        head = theirs.get_output_embeddings()
        with torch.no_grad():
            self.head.weight.copy_(head.weight)
            if self.head.bias is not None:
                self.head.bias.copy_(head.bias)
            for table in self.tables():
                table[own:] = 0.0

    def tables(self) -> set[Tensor]:
        """Return the tensors with one row per token: the input embeddings and the output layer, which may be one."""
        return {self.network.get_input_embeddings().weight, self.head.weight}

    def distribution(self, h_NKD: Tensor) -> RenumberedDistribution:
        """Return the distribution over token ids, given the features Float[N,K,D]."""
        return RenumberedDistribution(self.of_rows(h_NKD), self.rows)

    def of_rows(self, h_NKD: Tensor) -> SoftmaxDistribution:
        """Return the distribution over rows, given the features Float[N,K,D]."""
        bias = self.bias.to(h_NKD.dtype)
        bias = bias if self.head.bias is None else self.head.bias + bias
        return SoftmaxDistribution(h_NKD, self.head.weight, bias, self._logits)

    def _logits(self, h_NKD: Tensor) -> Tensor:
        logits: Tensor = self.head(h_NKD)
        return logits + self.bias.to(logits.dtype)
