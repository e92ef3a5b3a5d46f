"""Transformer layers (Vaswani et al. 2017, 3): one class for encoder and decoder layers, and stacks of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.nn.attention import DenseKeyValueCache, KeyValue, KeyValueCache, MultiHeadAttention
from postedit.nn.cache import CacheSlots, DecoderCache
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import Sharing, sinusoids
from postedit.nn.memory import Memory
from postedit.nn.tensors import Packing, to_compute_dtype

Norm = Literal["pre", "post"]


class LayerMemory(NamedTuple):
    """An encoded text as one cross-attention sees it: its keys and values, and Bool[N,1,S], True at real positions."""

    key_value: KeyValue
    mask: Tensor


class StackMemory(NamedTuple):
    """An encoded text as a stack sees it: keys and values for every layer, and Bool[N,S], True at real positions."""

    key_values: KeyValueCache
    mask: Tensor

    def layer(self, index: int) -> LayerMemory:
        """Return the memory of one layer."""
        return LayerMemory(cast(DenseKeyValueCache, self.key_values).layers[index], self.mask.unsqueeze(1))


class SelfAttentionInput(NamedTuple):
    """K tokens at the entry of a layer.

    Args:
        x_NKD: hidden states.
        queries_NKD: hidden states, normalised for self-attention if the layer normalises first.
        key_value: keys and values of the tokens.
    """

    x_NKD: Tensor
    queries_NKD: Tensor
    key_value: KeyValue


class LayerOutput(NamedTuple):
    """The output of a layer, or of the last layer of a stack, for K tokens.

    Args:
        x_NKD: hidden states.
        weights: Float[N,K,S] for each cross-attention, averaged over heads, if asked for.
        cross_outputs: Float[N,K,D] for each cross-attention: its sum with the residual, before any normalisation.
    """

    x_NKD: Tensor
    weights: tuple[Tensor, ...]
    cross_outputs: tuple[Tensor, ...]

    def unpacked(self, packing: Packing) -> "LayerOutput":
        """Return the output of packed tokens with padding restored."""
        cross_outputs = tuple(map(packing.unpack, self.cross_outputs))
        return LayerOutput(packing.unpack(self.x_NKD), self.weights, cross_outputs)


class TransformerLayer(nn.Module):
    """Self-attention, then cross-attention to each of `memories` encoded texts, then a feed-forward network.

    Without memories it is an encoder layer, with one a decoder layer (causal if its mask is). Every sublayer has a
    residual connection, and layer normalisation before it (`pre`) or after the sum (`post`).
    """

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float, norm: Norm, memories: int = 0) -> None:
        """Create the sublayers."""
        super().__init__()
        self.norm, self.dropout = norm, dropout
        self.self_attention = MultiHeadAttention(dim, heads, dropout)
        self.cross_attentions = nn.ModuleList(MultiHeadAttention(dim, heads, dropout) for _ in range(memories))
        self.inner = nn.Linear(dim, feed_forward)
        self.outer = nn.Linear(feed_forward, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(memories + 2))
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self,
        tokens: SelfAttentionInput,
        key_value: KeyValue,
        mask: Tensor | None,
        memories: Sequence[LayerMemory],
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> LayerOutput:
        """Return the layer's output.

        Args:
            tokens: from `self_attention_input`; separate, so that a decoder can add its keys and values to the cache.
            key_value: keys and values for self-attention; an encoder passes those of `tokens`.
            mask: Bool[N or 1,K or 1,S], True where self-attention is allowed; None: everywhere.
            memories: one for each cross-attention.
            need_weights: whether to return the weights of cross-attention.
            packing: None, or that of the hidden states, which are then packed on input and output.
        """
        attended, _ = self.self_attention(tokens.queries_NKD, key_value, mask, packing=packing)
        x_NKD = self._norm_after(0, self._add(tokens.x_NKD, attended))
        weights: list[Tensor] = []
        cross_outputs: list[Tensor] = []
        for i, (attention, memory) in enumerate(zip(self.cross_attentions, memories, strict=True), start=1):
            queries_NKD = self._norm_before(i, x_NKD)
            attended, weights_NKS = attention(queries_NKD, memory.key_value, memory.mask, need_weights, packing)
            cross_outputs.append(self._add(x_NKD, attended))
            x_NKD = self._norm_after(i, cross_outputs[-1])
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last = len(self.norms) - 1
        hidden = dropout(F.relu_(self.inner(self._norm_before(last, x_NKD))), self.dropout, self.training)
        x_NKD = self._norm_after(last, self._add(x_NKD, self.outer(hidden)))
        return LayerOutput(x_NKD, tuple(weights), tuple(cross_outputs))

    def self_attention_input(self, x_NKD: Tensor, packing: Packing | None = None) -> SelfAttentionInput:
        """Return the queries, keys and values of x in self-attention."""
        queries_NKD = self._norm_before(0, x_NKD)
        return SelfAttentionInput(x_NKD, queries_NKD, self.self_attention.project(queries_NKD, packing))

    def project_memory(self, memory_NSD: Tensor, index: int = 0, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values of a memory, packed if there is a packing, in cross-attention `index`."""
        return cast(MultiHeadAttention, self.cross_attentions[index]).project(memory_NSD, packing)

    def _norm_before(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return to_compute_dtype(self.norms[sublayer](x_NKD) if self.norm == "pre" else x_NKD)

    def _add(self, x_NKD: Tensor, change_NKD: Tensor) -> Tensor:
        return x_NKD + dropout(change_NKD, self.dropout, self.training)

    def _norm_after(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return x_NKD if self.norm == "pre" else self.norms[sublayer](x_NKD)


class TransformerStack(nn.Module):
    """A stack of layers; with `pre` normalisation a last layer normalisation follows."""

    def __init__(
        self, layers: int, dim: int, heads: int, feed_forward: int, dropout: float, norm: Norm, memories: int = 0
    ) -> None:
        """Create `layers` layers with `memories` cross-attentions each."""
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerLayer(dim, heads, feed_forward, dropout, norm, memories) for _ in range(layers)
        )
        self.final_norm = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()

    def project(self, memory_NSD: Tensor, mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return the keys and values of a memory with mask Bool[N,S], for cross-attention `index` of each layer."""
        packing = Packing.if_useful(mask_NS)
        packed_NSD = to_compute_dtype(memory_NSD if packing is None else packing.pack(memory_NSD))
        layers = tuple(layer.project_memory(packed_NSD, index, packing) for layer in self.blocks())
        return StackMemory(DenseKeyValueCache(layers), mask_NS)

    def project_per_layer(self, memories: Sequence[Tensor], mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return the same for a memory Float[N,S,D] of its own for each layer."""
        layers = zip(self.blocks(), memories, strict=True)
        key_values = DenseKeyValueCache(tuple(layer.project_memory(memory, index) for layer, memory in layers))
        return StackMemory(key_values, mask_NS)

    def encode(
        self, x_NSD: Tensor, mask_NS: Tensor, memories: Sequence[StackMemory] = (), need_weights: bool = False
    ) -> LayerOutput:
        """Run without a causal mask over a text with mask Bool[N,S].

        Attention weights and `cross_outputs` are those of the last layer.
        """
        mask, packing = mask_NS.unsqueeze(1), Packing.if_useful(mask_NS)
        output = LayerOutput(x_NSD if packing is None else packing.pack(x_NSD), (), ())
        for i, layer in enumerate(self.blocks()):
            last = i == len(self.layers) - 1
            tokens = layer.self_attention_input(output.x_NKD, packing)
            layer_memories = [memory.layer(i) for memory in memories]
            output = layer(tokens, tokens.key_value, mask, layer_memories, need_weights and last, packing)
        output = output._replace(x_NKD=self.final_norm(output.x_NKD))
        return output if packing is None else output.unpacked(packing)

    def decode(
        self, x_NKD: Tensor, slots: CacheSlots, cache: DecoderCache, memories: Sequence[StackMemory]
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run K more tokens causally.

        Returns:
            The output, with attention weights and `cross_outputs` of the last layer, and the grown cache.
        """
        count, packing = x_NKD.size(1), slots.packing
        output = LayerOutput(x_NKD if packing is None else packing.pack(x_NKD), (), ())
        cached, grown = cast("DenseKeyValueCache | None", cache.key_values), []
        for i, layer in enumerate(self.blocks()):
            last = i == len(self.layers) - 1
            tokens = layer.self_attention_input(output.x_NKD, packing)
            grown.append(slots.append(None if cached is None else cached.layers[i], tokens.key_value))
            layer_memories = [memory.layer(i) for memory in memories]
            output = layer(tokens, grown[i], slots.mask, layer_memories, need_weights=last, packing=packing)
        output = output._replace(x_NKD=self.final_norm(output.x_NKD))
        cache = cache.advanced(DenseKeyValueCache(tuple(grown)), count)
        return output if packing is None else output.unpacked(packing), cache

    def blocks(self) -> list[TransformerLayer]:
        """Return the layers."""
        return cast("list[TransformerLayer]", list(self.layers))


@dataclass(frozen=True, eq=False, slots=True)
class TransformerState:
    """The state of a Transformer decoder.

    Args:
        memory: tensors computed from the inputs, one row per hypothesis.
        cache: keys and values of the tokens decoded so far.
    """

    memory: Memory
    cache: DecoderCache

    @classmethod
    def of(cls, memories: Mapping[str, StackMemory], **others: Tensor) -> Self:
        """Return the state of a freshly encoded batch: memories by name, and any other tensors of the inputs."""
        masks = {f"{name}.mask": memory.mask for name, memory in memories.items()}
        key_values = {name: memory.key_values for name, memory in memories.items()}
        return cls(replace(Memory.of(**masks, **others), key_values=key_values), DecoderCache())

    def stack_memory(self, name: str) -> StackMemory:
        """Return the memory called `name`."""
        return StackMemory(self.memory.key_values[name], self.memory[f"{name}.mask"])

    def with_cache(self, cache: DecoderCache) -> Self:
        """Return the state with another cache."""
        return type(self)(self.memory, cache)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.memory.select(rows), self.cache.select(rows))

    def rollback(self, keep: Tensor) -> Self:
        """Return the state with only the first `keep` Long[N] tokens of the last decode in each row."""
        return type(self)(self.memory, self.cache.rollback(keep))

    def join(self, other: Self) -> Self:
        """Return the rows of both states, those of `other` last."""
        sentences = self.memory.sentence, other.memory.sentence
        counts = len(sentences[0]), len(sentences[1])
        return type(self)(self.memory.join(other.memory), self.cache.join(other.cache, counts, sentences[0].device))


class StackConfig(Config):
    """Options that all stacks of a model share; the defaults are Transformer base."""

    dim: int = Field(512, ge=1, description="model width; a multiple of heads")
    heads: int = Field(8, ge=1, description="attention heads")
    feed_forward: int = Field(2048, ge=1, description="inner width of the feed-forward networks")
    dropout: float = Field(0.1, ge=0, lt=1, description="on embeddings, sublayers, attention weights and inner units")
    norm: Norm = Field("pre", description="layer normalisation before each sublayer (with a last one) or after it")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")
    tie_output: bool = Field(True, description="the output layer's weights are the embeddings of pe")

    def stack(self, layers: int, memories: int = 0) -> TransformerStack:
        """Return `layers` layers with `memories` cross-attentions each."""
        return TransformerStack(layers, self.dim, self.heads, self.feed_forward, self.dropout, self.norm, memories)


class ScaledEmbedding(nn.Module):
    """Token embeddings times sqrt(D), plus positions, then dropout (Vaswani et al. 2017, 3.4 and 5.4)."""

    def __init__(self, table: nn.Embedding, dropout: float) -> None:
        """Wrap `table`, which may be shared, and initialise it with standard deviation 1/sqrt(D)."""
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
