"""The Transformer with one encoder, which reads src, mt, or both as one text, and the dual-source Transformer."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.model import Vocabularies
from postedit.core.special_tokens import EOS, SEP
from postedit.core.types import AttentionKey, Batch
from postedit.models.transformer_base import DualSourceConfig, DualSourceModel, TransformerModel
from postedit.nn.embeddings import Sharing
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState


class TransformerConfig(StackConfig):
    """Sizes; the defaults are the paper's (section 4.3: Transformer base)."""

    input: Literal["src", "mt", "src+mt"] = Field("src+mt", description="the text it reads; src+mt as one text")
    layers_encoder: int = Field(6, ge=1, description="layers of the encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")


class Transformer(TransformerModel):
    """One encoder and one decoder: the baselines of Pal et al. 2020, section 4.

    With `input = "src+mt"`, the encoder reads src, a separator and mt as one text. The separator replaces the EOS of
    src, and only real tokens are counted in positions, so padding between the texts has no effect. `spec.inputs` names
    the texts that a model reads; the class attribute `inputs` names all that such a model may read.

    Raises:
        RecipeError: if two texts that are read as one have different embeddings, or streams that share embeddings have
            different vocabularies.
    """

    config_class: ClassVar = TransformerConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: TransformerConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        key = AttentionKey(config.input, "soft")
        super().__init__(config, vocabularies, key.streams, (key,))
        self.encoder = config.stack(config.layers_encoder)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = self.create_head(config)

    def create_input_embeddings(self, tables: Mapping[str, nn.Embedding], config: StackConfig) -> None:
        """Create the embedding module `embed`, which all inputs share."""
        table, *others = tables.values()
        if any(other is not table for other in others):
            raise RecipeError(
                'model.input = "src+mt" reads both as one text and needs model.share_embeddings = "all", '
                f'but that is "{config.share_embeddings}"'
            )
        self.embed = ScaledEmbedding(table, config.dropout)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode the input, or both inputs as one text, into a memory."""
        streams = [batch.streams[name] for name in self.spec.inputs]
        mask = torch.cat([stream.mask for stream in streams], 1)
        separated = [stream.ids.masked_fill(stream.ids == EOS, SEP) for stream in streams[:-1]]
        ids = torch.cat([*separated, streams[-1].ids], 1)
        positions = (mask.cumsum(1) - 1).clamp(min=0)  # positions of padding do not matter
        text_NSD = self.encoder.encode(self.embed(ids, positions), mask).x_NKD
        return TransformerState.of({"text": self.decoder.project(text_NSD, mask)})


class DualTransformer(DualSourceModel):
    """Two encoders (Junczys-Dowmunt and Grundkiewicz 2018); each decoder layer attends to itself, then mt, then src.

    The WMT18 winner has one encoder for both texts (`share_encoders`). Ive et al. 2019 (section 5.2) reimplement it,
    including the shared encoder, and call it NO-PNT. This class follows the description by Pal et al. 2020, section 2.
    """

    config_class: ClassVar = DualSourceConfig
