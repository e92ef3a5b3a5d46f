"""Transformer layers (Vaswani et al. 2017, 3): one class for encoders, decoders and what lies between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.nn.attention import Kept, KeyValue, KeyValues, MultiHeadAttention
from postedit.nn.cache import Cursor, DecoderCache
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import Sharing, sinusoids
from postedit.nn.memory import Memory
from postedit.nn.packing import Packing
from postedit.nn.precision import as_factor

Norm = Literal["pre", "post"]


class Read(NamedTuple):
    """A text that a layer attends to: its keys and values, and Bool[N,1,S], which positions are real."""

    kept: KeyValue
    mask: Tensor


class Reading(NamedTuple):
    """A text that a stack attends to: what the layers keep of it, and Bool[N,S], what is real."""

    kept: Kept
    mask: Tensor

    def of_layer(self, index: int) -> Read:
        """Return what one layer attends to."""
        return Read(cast(KeyValues, self.kept).layers[index], self.mask.unsqueeze(1))


class Entry(NamedTuple):
    """What a layer is about to do with K tokens.

    Args:
        x_NKD: hidden states.
        queries_NKD: the same as self-attention takes them.
        own: their keys and values in self-attention.
    """

    x_NKD: Tensor
    queries_NKD: Tensor
    own: KeyValue


class LayerOutput(NamedTuple):
    """What a layer, or the last layer of a stack, makes of K tokens.

    Args:
        x_NKD: hidden states.
        weights: Float[N,K,S], of each cross-attention, the mean over heads, if asked for.
        reads: Float[N,K,D], what follows each cross-attention: the sum with the residual, before any normalisation.
    """

    x_NKD: Tensor
    weights: tuple[Tensor, ...]
    reads: tuple[Tensor, ...]

    def unpacked(self, packing: Packing) -> "LayerOutput":
        """Return the same with all K tokens a row, after layers that had the real ones alone."""
        return LayerOutput(packing.unpack(self.x_NKD), self.weights, tuple(map(packing.unpack, self.reads)))


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
        self,
        entry: Entry,
        past: KeyValue,
        past_mask: Tensor | None,
        reads: Sequence[Read],
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> LayerOutput:
        """Return the layer's output, given keys and values of its own text, `past`, as far as it may attend to it.

        `entry` comes from `enter`, apart so that a decoder can add its keys and values to those of the past; an
        encoder passes them on. With a packing hidden states come and go packed.
        """
        attended, _ = self.self_attention(entry.queries_NKD, past, past_mask, packing=packing)
        x_NKD = self._normalised(0, self._sum(entry.x_NKD, attended))
        weights: list[Tensor] = []
        sums: list[Tensor] = []
        for i, (attention, read) in enumerate(zip(self.cross_attentions, reads, strict=True), start=1):
            queries_NKD = self._before(i, x_NKD)
            attended, weights_NKS = attention(queries_NKD, read.kept, read.mask, need_weights, packing)
            sums.append(self._sum(x_NKD, attended))
            x_NKD = self._normalised(i, sums[-1])
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last = len(self.norms) - 1
        hidden = dropout(F.relu_(self.inner(self._before(last, x_NKD))), self.dropout, self.training)
        x_NKD = self._normalised(last, self._sum(x_NKD, self.outer(hidden)))
        return LayerOutput(x_NKD, tuple(weights), tuple(sums))

    def enter(self, x_NKD: Tensor, packing: Packing | None = None) -> Entry:
        """Return what self-attention makes of x on its own."""
        queries_NKD = self._before(0, x_NKD)
        return Entry(x_NKD, queries_NKD, self.self_attention.project(queries_NKD, packing))

    def project_read(self, memory_NSD: Tensor, read: int = 0, packing: Packing | None = None) -> KeyValue:
        """Return keys and values of a text, packed if there is a packing, in cross-attention number `read`."""
        return cast(MultiHeadAttention, self.cross_attentions[read]).project(memory_NSD, packing)

    def _before(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return as_factor(self.norms[sublayer](x_NKD) if self.norm == "pre" else x_NKD)

    def _sum(self, x_NKD: Tensor, change_NKD: Tensor) -> Tensor:
        return x_NKD + dropout(change_NKD, self.dropout, self.training)

    def _normalised(self, sublayer: int, x_NKD: Tensor) -> Tensor:
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

    def project(self, memory_NSD: Tensor, mask_NS: Tensor, read: int = 0) -> Reading:
        """Return what the layers' cross-attentions number `read` have of a text with mask Bool[N,S]."""
        packing = Packing.worth(mask_NS)
        factor_NSD = as_factor(memory_NSD if packing is None else packing.pack(memory_NSD))
        layers = tuple(layer.project_read(factor_NSD, read, packing) for layer in self.blocks())
        return Reading(KeyValues(layers), mask_NS)

    def project_views(self, views: Sequence[Tensor], mask_NS: Tensor, read: int = 0) -> Reading:
        """Return the same of a text that each layer has a view of its own of, Float[N,S,D]."""
        layers = zip(self.blocks(), views, strict=True)
        return Reading(KeyValues(tuple(layer.project_read(view, read) for layer, view in layers)), mask_NS)

    def encode(
        self, x_NSD: Tensor, mask_NS: Tensor, readings: Sequence[Reading] = (), need_weights: bool = False
    ) -> LayerOutput:
        """Run without a causal mask over a text with mask Bool[N,S].

        Weights and reads returned are those of the last layer.
        """
        mask, packing = mask_NS.unsqueeze(1), Packing.worth(mask_NS)
        output = LayerOutput(x_NSD if packing is None else packing.pack(x_NSD), (), ())
        for i, layer in enumerate(self.blocks()):
            x_NSD, last = output.x_NKD, i == len(self.layers) - 1
            reads = [reading.of_layer(i) for reading in readings]
            entry = layer.enter(x_NSD, packing)
            output = layer(entry, entry.own, mask, reads, need_weights and last, packing)
        output = output._replace(x_NKD=self.final_norm(output.x_NKD))
        return output if packing is None else output.unpacked(packing)

    def decode(
        self, x_NKD: Tensor, cursor: Cursor, cache: DecoderCache, readings: Sequence[Reading]
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run K more tokens causally.

        Returns:
            The output, with the last layer's attention weights and reads, and the grown cache.
        """
        count, packing = x_NKD.size(1), cursor.packing
        output = LayerOutput(x_NKD if packing is None else packing.pack(x_NKD), (), ())
        past, kept = cast("KeyValues | None", cache.kept), []
        for i, layer in enumerate(self.blocks()):
            x_NKD, last = output.x_NKD, i == len(self.layers) - 1
            entry = layer.enter(x_NKD, packing)
            kept.append(cursor.extend(None if past is None else past.layers[i], entry.own))
            reads = [reading.of_layer(i) for reading in readings]
            output = layer(entry, kept[i], cursor.mask, reads, need_weights=last, packing=packing)
        output = output._replace(x_NKD=self.final_norm(output.x_NKD))
        kept_by_all = KeyValues(tuple(kept))
        return output if packing is None else output.unpacked(packing), cache.advanced(kept_by_all, count)

    def blocks(self) -> list[TransformerLayer]:
        """Return the layers."""
        return cast("list[TransformerLayer]", list(self.layers))


@dataclass(frozen=True, eq=False, slots=True)
class TransformerState:
    """The state of a Transformer's decoder: what it reads, and its cache.

    Args:
        memory: tensors of the inputs, one row a hypothesis.
        cache: of the tokens decoded so far.
    """

    memory: Memory
    cache: DecoderCache

    @classmethod
    def of(cls, readings: Mapping[str, Reading], **others: Tensor) -> Self:
        """Return the state of a freshly encoded batch, with readings by name and any `others` to keep."""
        masks = {f"{name}.mask": reading.mask for name, reading in readings.items()}
        memory = Memory.of(**masks, **others)
        return cls(replace(memory, texts={name: reading.kept for name, reading in readings.items()}), DecoderCache())

    def reading(self, name: str) -> Reading:
        """Return the reading called `name`."""
        return Reading(self.memory.texts[name], self.memory[f"{name}.mask"])

    def after(self, cache: DecoderCache) -> Self:
        """Return the state with another cache."""
        return type(self)(self.memory, cache)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.memory.select(rows), self.cache.select(rows))

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of the last decode, row by row."""
        return type(self)(self.memory, self.cache.rollback(keep))

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        sentences = self.memory.sentence, other.memory.sentence
        counts = len(sentences[0]), len(sentences[1])
        return type(self)(self.memory.join(other.memory), self.cache.join(other.cache, counts, sentences[0].device))


class StackConfig(Config):
    """What all stacks of a model have in common; the defaults are Transformer base."""

    dim: int = Field(512, ge=1, description="model width; a multiple of heads")
    heads: int = Field(8, ge=1, description="attention heads")
    feed_forward: int = Field(2048, ge=1, description="inner width of the feed-forward networks")
    dropout: float = Field(0.1, ge=0, lt=1, description="on embeddings, sublayers, attention weights and inner units")
    norm: Norm = Field("pre", description="layer normalisation before each sublayer (with a last one) or after it")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")
    tie_output: bool = Field(True, description="the output layer's weights are the embeddings of pe")

    def stack(self, layers: int, reads: int = 0) -> TransformerStack:
        """Return `layers` layers that each attend to `reads` texts."""
        return TransformerStack(layers, self.dim, self.heads, self.feed_forward, self.dropout, self.norm, reads)


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
        x_NKD = self.table(ids_NK)
        x_NKD = torch.add(sinusoids(positions, width, x_NKD.dtype), x_NKD, alpha=width**0.5)
        return dropout(x_NKD, self.dropout, self.training)
