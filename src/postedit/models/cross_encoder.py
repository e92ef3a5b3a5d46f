"""Attention from mt to src within the decoder (Shin and Lee 2018, as Pal et al. 2020, section 2, describe it)."""

from typing import ClassVar, cast

from pydantic import Field
from torch import Tensor, nn

from postedit.core.model import Vocabularies
from postedit.core.types import AttentionKey, Batch
from postedit.models.transformer_base import TransformerModel
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.dropout import dropout
from postedit.nn.transformer import DropoutRates, Norm, StackConfig, TransformerState

_KEYS = (AttentionKey("src", "soft"), AttentionKey("mt", "soft"))


class CrossEncoderConfig(StackConfig):
    """Sizes; the defaults are those of Transformer base."""

    layers_src: int = Field(6, ge=1, description="layers of the source encoder")
    layers_mt: int = Field(6, ge=1, description="layers of the encoder of mt")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")


class CrossEncoder(TransformerModel):
    """A decoder with three attentions in each layer: from mt to src, from pe to src, and from pe to the result for mt.

    In each layer, with encoded texts h_src and h_mt: m = h_mt + ATT(h_mt, h_src); x = x + ATT(x, x, causal);
    x = x + ATT(x, h_src); x = x + ATT(x, m); x = x + FF(x). The description gives the attentions and their order;
    residual connections and normalisation are those of every other sublayer. Since m does not depend on pe, it is
    computed for all layers when a batch is encoded.
    """

    config_class: ClassVar = CrossEncoderConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: CrossEncoderConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies, self.inputs, _KEYS)
        self.encoder_src = config.stack(config.layers_src)
        self.encoder_mt = config.stack(config.layers_mt)
        self.decoder = config.stack(config.layers_pe, memories=2)
        self.views = nn.ModuleList(
            _SrcAttention(config.dim, config.heads, config.dropout_rates, config.norm) for _ in range(config.layers_pe)
        )
        self.head = self.create_head(config)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode src into one memory and mt into another, with its own attention to src for each decoder layer."""
        src, mt = batch.streams["src"], batch.streams["mt"]
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        mt_NSD = self.encoder_mt.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        views = [cast(_SrcAttention, view)(mt_NSD, src_NSD, src.mask) for view in self.views]
        mt_memory = self.decoder.project_per_layer(views, mt.mask, 1)
        return TransformerState.of({"src": self.decoder.project(src_NSD, src.mask, 0), "mt": mt_memory})


class _SrcAttention(nn.Module):
    """A sublayer in which mt attends to src, with residual connection and normalisation."""

    def __init__(self, dim: int, heads: int, rates: DropoutRates, norm: Norm) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(dim, heads, rates.attention)
        self.layer_norm = nn.LayerNorm(dim)
        self.dropout, self.norm = rates.sublayer, norm

    def forward(self, x_NSD: Tensor, other_NTD: Tensor, other_mask_NT: Tensor) -> Tensor:
        """Return x after attention to the other text, Float[N,S,D]; the values at padding in x are arbitrary."""
        queries = self.layer_norm(x_NSD) if self.norm == "pre" else x_NSD
        attended, _ = self.attention(queries, self.attention.project(other_NTD), other_mask_NT.unsqueeze(1))
        x_NSD = x_NSD + dropout(attended, self.dropout, self.training)
        return x_NSD if self.norm == "pre" else self.layer_norm(x_NSD)
