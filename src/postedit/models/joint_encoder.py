"""Three encoders: of src, of mt, and of both (Pal et al. 2018, as Pal et al. 2020, section 2, describe it)."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.embeddings import embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState

_BOTH = AttentionKey("src+mt", "soft")


class JointEncoderConfig(StackConfig):
    """Sizes; the defaults are those of Transformer base."""

    layers_src: int = Field(6, ge=1, description="layers of the source encoder")
    layers_mt: int = Field(6, ge=1, description="layers of the encoder of mt")
    layers_joint: int = Field(6, ge=1, description="layers of the encoder over both")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")


class JointEncoder(Seq2Seq[TransformerState]):
    """Encoders of src and of mt, a third over [encoded src; encoded mt], and a decoder that attends to the third.

    The description names the three encoders and that the joint one attends over a combination of the two encoded
    texts. Taken here: the combination is concatenation along the positions; the joint encoder is a stack of ordinary
    encoder layers on it, without positions of its own, as its inputs have theirs; the decoder attends to its output
    alone, which holds both texts.
    """

    config_class: ClassVar = JointEncoderConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: JointEncoderConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if streams that share embeddings have different vocabularies.
        """
        super().__init__()
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_BOTH}), parallel=True)
        tables, target = embedding_tables(vocabularies, self.inputs, config.dim, config.share_embeddings)
        self.embed_src, self.embed_mt, self.embed_pe = (
            ScaledEmbedding(table, config.dropout) for table in (tables["src"], tables["mt"], target)
        )
        self.encoder_src = config.stack(config.layers_src)
        self.encoder_mt = config.stack(config.layers_mt)
        self.encoder_joint = config.stack(config.layers_joint)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode src, mt, and both; keep each decoder layer's keys and values of the last."""
        src, mt = batch.streams["src"], batch.streams["mt"]
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        mt_NSD = self.encoder_mt.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        mask = torch.cat([src.mask, mt.mask], 1)
        both_NSD = self.encoder_joint.encode(torch.cat([src_NSD, mt_NSD], 1), mask).x_NKD
        return TransformerState.of({"both": self.decoder.project(both_NSD, mask)})

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots = state.cache.next_slots(tokens)
        memories = [state.stack_memory("both")]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, (to_both,), _), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        return DecoderOutput(self.head(x_NKD), {_BOTH: to_both}), state.with_cache(cache)
