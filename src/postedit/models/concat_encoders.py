"""Two encoders whose outputs are concatenated: two earlier systems, as Pal et al. 2020 describe them."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from postedit.core.model import Vocabularies
from postedit.core.types import AttentionKey, Batch
from postedit.models.transformer_base import TransformerModel
from postedit.nn.transformer import StackConfig, TransformerStack, TransformerState

_KEYS = (AttentionKey("src+mt", "soft"),)


class ConcatEncodersConfig(StackConfig):
    """Sizes; the defaults are those of Transformer base."""

    layers_src: int = Field(6, ge=1, description="layers of the source encoder")
    layers_mt: int = Field(6, ge=1, description="layers of the encoder of mt")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")


class _TwoEncoders(TransformerModel):
    """Base class of models that encode src and mt separately, and concatenate the results along positions."""

    inputs: ClassVar = ("src", "mt")
    encoder_src: TransformerStack
    encoder_mt: TransformerStack

    def encode_both(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return [encoded src; encoded mt] Float[N,S,D] and its mask Bool[N,S]."""
        src, mt = batch.streams["src"], batch.streams["mt"]
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        mt_NSD = self.encoder_mt.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        return torch.cat([src_NSD, mt_NSD], 1), torch.cat([src.mask, mt.mask], 1)


class ConcatEncoders(_TwoEncoders):
    """A decoder that attends to [encoded src; encoded mt] as one text (Tebbifakhr et al. 2018; Pal et al. 2020, 3).

    One softmax covers the positions of both texts, so its weights show which text a step relied on. Each text has its
    own encoder, and its own positions from 0. The description calls the concatenation the key of the attention; that it
    is made along the positions, and also gives the values, is our reading.
    """

    config_class: ClassVar = ConcatEncodersConfig

    def __init__(self, config: ConcatEncodersConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies, self.inputs, _KEYS)
        self.encoder_src = config.stack(config.layers_src)
        self.encoder_mt = config.stack(config.layers_mt)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = self.create_head(config)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode both texts into one memory."""
        return TransformerState.of({"both": self.decoder.project(*self.encode_both(batch))})


class JointEncoderConfig(ConcatEncodersConfig):
    """Sizes; the defaults are those of Transformer base."""

    layers_joint: int = Field(6, ge=1, description="layers of the encoder over both")


class JointEncoder(_TwoEncoders):
    """A model whose third encoder reads [encoded src; encoded mt] (Pal et al. 2018; Pal et al. 2020, section 2).

    The description names the three encoders, and says that the joint one attends over a combination of the two encoded
    texts. Here the combination is their concatenation along positions. The joint encoder is a stack of ordinary encoder
    layers, without position embeddings because its inputs already have them. The decoder attends only to its output.
    """

    config_class: ClassVar = JointEncoderConfig

    def __init__(self, config: JointEncoderConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies, self.inputs, _KEYS)
        self.encoder_src = config.stack(config.layers_src)
        self.encoder_mt = config.stack(config.layers_mt)
        self.encoder_joint = config.stack(config.layers_joint)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = self.create_head(config)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode src and mt separately, then both together into one memory."""
        both_NSD, mask = self.encode_both(batch)
        both_NSD = self.encoder_joint.encode(both_NSD, mask).x_NKD
        return TransformerState.of({"both": self.decoder.project(both_NSD, mask)})
