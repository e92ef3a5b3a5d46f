"""Transformer layers (Vaswani et al. 2017, 3): one class for encoders, decoders and what lies between them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from postedit.nn.attention import KeyValue, MultiHeadAttention
from postedit.nn.cache import Cursor, DecoderCache
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import sinusoids

Norm = Literal["pre", "post"]


class Read(NamedTuple):
    """A text that a layer attends to: its keys and values, and Bool[N,1,S], which positions are real."""

    key_value: KeyValue
    mask: Tensor


class LayerOutput(NamedTuple):
    """Hidden states Float[N,K,D], and the weights Float[N,K,S] of the last cross-attention, if asked for."""

    x_NKD: Tensor
    weights_NKS: Tensor | None


class TransformerLayer(nn.Module):
    """Self-attention, then attention to each of `reads` texts, then a feed-forward network.

    With no reads it is an encoder layer, with one a decoder layer (causal or not: the mask decides). Every
    sublayer has a residual connection and is normalised before it (`pre`) or after the sum (`post`).
    """

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float, norm: Norm, reads: int = 0) -> None:
        """Create the sublayers."""
        super().__init__()
        self.norm, self.dropout = norm, dropout
        self.self_attention = MultiHeadAttention(dim, heads, dropout)
        self.cross_attentions = nn.ModuleList(MultiHeadAttention(dim, heads, dropout) for _ in range(reads))
        self.inner = nn.Linear(dim, feed_forward)
        self.outer = nn.Linear(feed_forward, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(reads + 2))
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self, x_NKD: Tensor, past: KeyValue, past_mask: Tensor | None, reads: Sequence[Read], need_weights: bool = False
    ) -> LayerOutput:
        """Return the layer's output, given keys and values `past` of what it may attend to of its own text.

        `past` comes from `project`, so that a decoder can keep it; an encoder passes `project(x)` on.
        """
        attended, _ = self.self_attention(self._before(0, x_NKD), past, past_mask)
        x_NKD = self._after(0, x_NKD, attended)
        weights: Tensor | None = None
        for i, (attention, read) in enumerate(zip(self.cross_attentions, reads, strict=True), start=1):
            attended, weights = attention(self._before(i, x_NKD), read.key_value, read.mask, need_weights)
            x_NKD = self._after(i, x_NKD, attended)
        last = len(self.norms) - 1
        hidden = dropout(F.relu(self.inner(self._before(last, x_NKD))), self.dropout, self.training)
        return LayerOutput(self._after(last, x_NKD, self.outer(hidden)), weights)

    def project(self, x_NKD: Tensor) -> KeyValue:
        """Return the keys and values that self-attention has of x."""
        return self.self_attention.project(self._before(0, x_NKD))

    def project_read(self, memory_NSD: Tensor) -> KeyValue:
        """Return the keys and values that the first cross-attention has of a text."""
        return cast(MultiHeadAttention, self.cross_attentions[0]).project(memory_NSD)

    def _before(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return self.norms[sublayer](x_NKD) if self.norm == "pre" else x_NKD

    def _after(self, sublayer: int, x_NKD: Tensor, change_NKD: Tensor) -> Tensor:
        x_NKD = x_NKD + dropout(change_NKD, self.dropout, self.training)
        return x_NKD if self.norm == "pre" else self.norms[sublayer](x_NKD)


class TransformerStack(nn.Module):
    """Layers on top of each other; with `pre` normalisation a last one follows them."""

    def __init__(
        self, layers: int, dim: int, heads: int, feed_forward: int, dropout: float, norm: Norm, reads: int = 0
    ) -> None:
        """Create `layers` layers that each attend to `reads` texts."""
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerLayer(dim, heads, feed_forward, dropout, norm, reads) for _ in range(layers)
        )
        self.final_norm = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()

    def project(self, memory_NSD: Tensor) -> tuple[KeyValue, ...]:
        """Return the keys and values that each layer has of a text it attends to (stacks with one read)."""
        return tuple(layer.project_read(memory_NSD) for layer in self._layers())

    def encode(
        self,
        x_NSD: Tensor,
        mask_NS: Tensor,
        read: tuple[tuple[KeyValue, ...], Tensor] | None = None,
        need_weights: bool = False,
    ) -> LayerOutput:
        """Run without a causal mask; `read` is another text's `project`ed keys and values and its mask Bool[N,S].

        The weights returned are those of the last layer's attention to that text.
        """
        mask = mask_NS.unsqueeze(1)
        weights = None
        for i, layer in enumerate(self._layers()):
            reads = [] if read is None else [Read(read[0][i], read[1].unsqueeze(1))]
            last = i == len(self.layers) - 1
            x_NSD, weights = layer(x_NSD, layer.project(x_NSD), mask, reads, need_weights and last)
        return LayerOutput(self.final_norm(x_NSD), weights)

    def decode(
        self, x_NKD: Tensor, cursor: Cursor, cache: DecoderCache, reads: tuple[KeyValue, ...], mask_NS: Tensor
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run K more tokens causally; `reads` holds each layer's keys and values of the text with mask Bool[N,S].

        Returns:
            The output with the last layer's attention weights to that text, and the grown cache.
        """
        mask = mask_NS.unsqueeze(1)
        weights = None
        kept = []
        for i, (layer, read) in enumerate(zip(self._layers(), reads, strict=True)):
            kept.append(cursor.extend(cache.layer(i), layer.project(x_NKD)))
            last = i == len(self.layers) - 1
            x_NKD, weights = layer(x_NKD, kept[i], cursor.mask, [Read(read, mask)], need_weights=last)
        return LayerOutput(self.final_norm(x_NKD), weights), cache.advanced(kept, x_NKD.size(1))

    def _layers(self) -> list[TransformerLayer]:
        return cast("list[TransformerLayer]", list(self.layers))


class ScaledEmbedding(nn.Module):
    """Token embeddings times sqrt(D), plus positions, then dropout (Vaswani et al. 2017, 3.4 and 5.4)."""

    def __init__(self, table: nn.Embedding, dropout: float) -> None:
        """Wrap `table`, which may be shared, and initialise it with deviation 1/sqrt(D)."""
        super().__init__()
        self.table, self.dropout = table, dropout
        nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
        if table.padding_idx is not None:
            with torch.no_grad():
                table.weight[table.padding_idx].zero_()

    def forward(self, ids_NK: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return Float[N,K,D]; `positions` Long[N or 1,K] default to 0, 1, ..."""
        if positions is None:
            positions = torch.arange(ids_NK.size(1), device=ids_NK.device).unsqueeze(0)
        width = self.table.embedding_dim
        x_NKD = self.table(ids_NK) * width**0.5
        return dropout(x_NKD + sinusoids(positions, width, x_NKD.dtype), self.dropout, self.training)
