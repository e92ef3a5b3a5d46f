"""The transference architecture (Pal et al. 2020, section 3): src -> mt -> pe, in standard Transformer blocks."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from postedit.core.model import Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.models.transformer_base import TransformerModel
from postedit.nn.transformer import StackConfig, TransformerState

_MT, _SRC = AttentionKey("mt", "soft"), AttentionKey("src", "soft")


class TransferenceConfig(StackConfig):
    """Sizes; the defaults are the paper's (section 4.3: Transformer base, 6-6-6)."""

    layers_src: int = Field(6, ge=1, description="layers of the source encoder")
    layers_mt: int = Field(6, ge=1, description="layers of the second encoder, which reads mt and attends to src")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")


class Transference(TransformerModel):
    """A source encoder, a second encoder that reads mt and attends to src, and a decoder that attends to the second.

    The second encoder is a decoder stack without a causal mask. The attention reported for src is a product, whose rows
    sum to 1: the decoder's attention to mt times the second encoder's from mt to src, each averaged over heads.

    Deviation: the paper says that layer normalisation follows each stack, which is needed only where sublayers
    normalise their input. So `norm = "pre"` is the default; `"post"` is the original Transformer.
    """

    config_class: ClassVar = TransferenceConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: TransferenceConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies, self.inputs, (_MT, _SRC))
        self.encoder_src = config.stack(config.layers_src)
        self.encoder_mt = config.stack(config.layers_mt, memories=1)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = self.create_head(config)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode src, then mt with attention to src; the memory is the encoded mt."""
        src, mt = batch.streams["src"], batch.streams["mt"]
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        encoded_src = self.encoder_mt.project(src_NSD, src.mask)
        mt_NSD, (mt_to_src,), _ = self.encoder_mt.encode(
            self.embed_mt(mt.ids), mt.mask, [encoded_src], need_weights=True
        )
        return TransformerState.of({"mt": self.decoder.project(mt_NSD, mt.mask)}, mt_to_src=mt_to_src)

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        (to_mt,) = output.weights
        attention = {_MT: to_mt, _SRC: torch.bmm(to_mt, state.memory["mt_to_src"])}
        return DecoderOutput(self.head(output.x_NKD), attention), after
