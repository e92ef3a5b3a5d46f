"""The Transformer with one encoder, of src, mt, or both as one text: baselines of Pal et al. 2020, section 4."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.special_tokens import EOS, SEP
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState


class TransformerConfig(StackConfig):
    """Sizes; the defaults are the paper's (section 4.3: Transformer base)."""

    input: Literal["src", "mt", "src+mt"] = Field("src+mt", description="the text it reads; src+mt as one text")
    layers_encoder: int = Field(6, ge=1, description="layers of the encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")


class Transformer(Seq2Seq[TransformerState]):
    """One encoder, one decoder.

    With `input = "src+mt"` the encoder reads src, a separator and mt as one text: the separator stands in place of the
    end of src, and positions run on over the real tokens, so padding between the texts changes nothing. Which texts a
    model reads is in its `spec.inputs`; the class names all that one may read.
    """

    config_class: ClassVar = TransformerConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: TransformerConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if two texts that are read as one have different embeddings, or streams that share embeddings
                have different vocabularies.
        """
        super().__init__()
        self.key = AttentionKey(config.input, "soft")
        names = self.key.streams
        self.spec = ModelSpec(names, vocabularies, frozenset({self.key}), parallel=True)
        tables, target = embedding_tables(vocabularies, names, config.dim, config.share_embeddings)
        if len({id(table) for table in tables.values()}) > 1:
            raise RecipeError(
                'model.input = "src+mt" reads both as one text and needs model.share_embeddings = "all", '
                f'but that is "{config.share_embeddings}"'
            )
        self.embed, self.embed_pe = (ScaledEmbedding(table, config.dropout) for table in (tables[names[0]], target))
        self.encoder = config.stack(config.layers_encoder)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode the text; keep each decoder layer's keys and values of it."""
        streams = [batch.streams[name] for name in self.spec.inputs]
        mask = torch.cat([stream.mask for stream in streams], 1)
        separated = [stream.ids.masked_fill(stream.ids == EOS, SEP) for stream in streams[:-1]]
        ids = torch.cat([*separated, streams[-1].ids], 1)
        positions = mask.cumsum(1) - 1  # of padding whatever it is, but none before the first
        text_NSD = self.encoder.encode(self.embed(ids, positions.clamp(min=0)), mask).x_NKD
        return TransformerState.of({"text": self.decoder.project(text_NSD, mask)})

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots = state.cache.next_slots(tokens)
        memories = [state.stack_memory("text")]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, (weights,), _), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        return DecoderOutput(self.head(x_NKD), {self.key: weights}), state.with_cache(cache)
