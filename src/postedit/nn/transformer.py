"""Transformer layers (Vaswani et al. 2017, 3): one class for encoder and decoder layers, and stacks of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import TypeVar

from postedit.core.config import Config
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import CacheSlots, DecoderCache, DenseKeyValueCache, KeyValue, KeyValueCache
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import Sharing, sinusoids
from postedit.nn.memory import Memory
from postedit.nn.tensors import Packing, compute_dtype
from postedit.nn.transformers_cache import TransformersCache

Norm = Literal["pre", "post"]

CrossOutput = Literal["sum", "attended", "query"]
"""What a layer reports of a cross-attention: the sum of output and residual, the output alone, or the query."""


class DropoutRates(NamedTuple):
    """Dropout rates of a layer: on sublayer outputs, attention weights, and inner units of the feed-forward network."""

    sublayer: float
    attention: float
    inner: float


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


class LayerOutput(NamedTuple):
    """The output of a layer, or of the last layer of a stack, for K tokens."""

    x_NKD: Tensor  # hidden states
    weights: tuple[Tensor, ...]  # Float[N,K,S] for each cross-attention, averaged over heads, if asked for
    # Float[N,K,D] for each cross-attention, as `CrossOutput` says; sums are those before any normalisation
    cross_outputs: tuple[Tensor, ...]

    def unpacked(self, packing: Packing) -> "LayerOutput":
        """Return the output of packed tokens with padding restored."""
        cross_outputs = tuple(map(packing.unpack, self.cross_outputs))
        return LayerOutput(packing.unpack(self.x_NKD), self.weights, cross_outputs)


class TransformerLayer(nn.Module):
    """Self-attention, then cross-attention to each of `memories` encoded texts, then a feed-forward network.

    Without memories it is an encoder layer; with one it is a decoder layer, which needs a causal mask. Every sublayer
    has a residual connection, and layer normalisation of its input (`pre`) or of the sum (`post`).
    """

    def __init__(self, config: "StackConfig", memories: int, reports: CrossOutput) -> None:
        """Create the sublayers."""
        super().__init__()
        self.norm, self.dropout, self.reports = config.norm, config.dropout_rates, reports
        dim, feed_forward, attention = config.dim, config.feed_forward, (config.heads, self.dropout.attention)
        self.self_attention = MultiHeadAttention(dim, *attention)
        self.cross_attentions = nn.ModuleList(MultiHeadAttention(dim, *attention) for _ in range(memories))
        self.inner = nn.Linear(dim, feed_forward)
        self.outer = nn.Linear(feed_forward, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(memories + 2))
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self,
        x_NKD: Tensor,
        mask: Tensor | None,
        memories: Sequence[LayerMemory],
        need_weights: bool = False,
        packing: Packing | None = None,
        append: Callable[[KeyValue], KeyValue] = lambda new: new,
    ) -> LayerOutput:
        """Return the layer's output.

        Args:
            x_NKD: hidden states.
            mask: Bool[N or 1,K or 1,S], True where self-attention is allowed; None: everywhere.
            memories: one for each cross-attention.
            need_weights: whether to return the weights of cross-attention.
            packing: packing of the hidden states, which are then packed on input and output; None: they are not packed.
            append: returns the keys and values to attend to, given those of x; a decoder appends to its cache.
        """
        queries_NKD = self._norm_before(0, x_NKD)
        key_value = append(self.self_attention.project(queries_NKD, packing))
        attended, _ = self.self_attention(queries_NKD, key_value, mask, packing=packing)
        x_NKD = self._norm_after(0, self._add(x_NKD, attended))
        weights: list[Tensor] = []
        cross_outputs: list[Tensor] = []
        for i, (attention, memory) in enumerate(zip(self.cross_attentions, memories, strict=True), start=1):
            queries_NKD = self._norm_before(i, x_NKD)
            attended, weights_NKS = attention(queries_NKD, memory.key_value, memory.mask, need_weights, packing)
            total_NKD = self._add(x_NKD, attended)
            cross_outputs.append({"sum": total_NKD, "attended": attended, "query": queries_NKD}[self.reports])
            x_NKD = self._norm_after(i, total_NKD)
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last = len(self.norms) - 1
        hidden = dropout(F.relu_(self.inner(self._norm_before(last, x_NKD))), self.dropout.inner, self.training)
        x_NKD = self._norm_after(last, self._add(x_NKD, self.outer(hidden)))
        return LayerOutput(x_NKD, tuple(weights), tuple(cross_outputs))

    def project_memory(self, memory_NSD: Tensor, index: int, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values of a memory for cross-attention `index`; with a packing, the memory is packed."""
        return cast(MultiHeadAttention, self.cross_attentions[index]).project(memory_NSD, packing)

    def _norm_before(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        x_NKD = self.norms[sublayer](x_NKD) if self.norm == "pre" else x_NKD
        return x_NKD.to(compute_dtype(x_NKD))  # so that autocast need not convert it for each of several products

    def _add(self, x_NKD: Tensor, change_NKD: Tensor) -> Tensor:
        return x_NKD + dropout(change_NKD, self.dropout.sublayer, self.training)

    def _norm_after(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return x_NKD if self.norm == "pre" else self.norms[sublayer](x_NKD)


class TransformerStack(nn.Module):
    """A stack of layers; with `pre` normalisation, a final layer normalisation follows."""

    def __init__(self, config: "StackConfig", layers: int, memories: int, reports: CrossOutput) -> None:
        """Create `layers` layers with `memories` cross-attentions each."""
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(config, memories, reports) for _ in range(layers))
        self.final_norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    def project(self, memory_NSD: Tensor, mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return the keys and values of a memory with mask Bool[N,S], for cross-attention `index` of each layer."""
        packing = Packing.if_useful(mask_NS)
        packed_NSD = (memory_NSD if packing is None else packing.pack(memory_NSD)).to(compute_dtype(memory_NSD))
        layers = tuple(layer.project_memory(packed_NSD, index, packing) for layer in self.blocks())
        return StackMemory(DenseKeyValueCache(layers), mask_NS)

    def project_per_layer(self, memories: Sequence[Tensor], mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return keys and values as `project` does, given a separate memory Float[N,S,D] for each layer."""
        layers = zip(self.blocks(), memories, strict=True)
        key_values = DenseKeyValueCache(tuple(layer.project_memory(memory, index) for layer, memory in layers))
        return StackMemory(key_values, mask_NS)

    def encode(
        self, x_NSD: Tensor, mask_NS: Tensor, memories: Sequence[StackMemory] = (), need_weights: bool = False
    ) -> LayerOutput:
        """Run all layers over a text with mask Bool[N,S], without a causal mask.

        Attention weights and `cross_outputs` are those of the last layer.
        """
        return self._run(x_NSD, mask_NS.unsqueeze(1), Packing.if_useful(mask_NS), memories, need_weights)

    def decode(
        self, x_NKD: Tensor, slots: CacheSlots, cache: DecoderCache, memories: Sequence[StackMemory]
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run all layers over K more tokens, with causal attention.

        Returns:
            The output, with attention weights and `cross_outputs` of the last layer, and the cache after this call.
        """
        past = cast("DenseKeyValueCache | None", cache.key_values)
        grown: list[KeyValue] = []

        def append(new: KeyValue) -> KeyValue:
            grown.append(new if past is None else past.layers[len(grown)].append(new, slots.write))
            return grown[-1]

        output = self._run(x_NKD, slots.mask, slots.packing, memories, need_weights=True, append=append)
        return output, cache.advanced(DenseKeyValueCache(tuple(grown)), x_NKD.size(1))

    def _run(
        self,
        x_NKD: Tensor,
        mask: Tensor | None,
        packing: Packing | None,
        memories: Sequence[StackMemory],
        need_weights: bool,
        append: Callable[[KeyValue], KeyValue] = lambda new: new,
    ) -> LayerOutput:
        output = LayerOutput(x_NKD if packing is None else packing.pack(x_NKD), (), ())
        for i, layer in enumerate(self.blocks()):
            layer_memories, last = [memory.layer(i) for memory in memories], i == len(self.layers) - 1
            output = layer(output.x_NKD, mask, layer_memories, need_weights and last, packing, append)
        output = output._replace(x_NKD=self.final_norm(output.x_NKD))
        return output if packing is None else output.unpacked(packing)

    def blocks(self) -> list[TransformerLayer]:
        """Return the layers."""
        return cast("list[TransformerLayer]", list(self.layers))


_CacheT = TypeVar("_CacheT", DecoderCache, TransformersCache, default=DecoderCache)


@dataclass(frozen=True, eq=False, slots=True)
class TransformerState(Generic[_CacheT]):
    """The state of a Transformer decoder."""

    memory: Memory  # tensors computed from the inputs, one row per hypothesis
    cache: _CacheT  # keys and values of the tokens decoded so far

    @staticmethod
    def of(memories: Mapping[str, StackMemory], **others: Tensor) -> "TransformerState[DecoderCache]":
        """Return the state of a freshly encoded batch, from memories and any other tensors of the inputs, by name."""
        masks = {f"{name}.mask": memory.mask for name, memory in memories.items()}
        key_values = {name: memory.key_values for name, memory in memories.items()}
        return TransformerState(replace(Memory.of(**masks, **others), key_values=key_values), DecoderCache())

    def stack_memories(self) -> list[StackMemory]:
        """Return all memories, in the order in which they were given."""
        return [StackMemory(cache, self.memory[f"{name}.mask"]) for name, cache in self.memory.key_values.items()]

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.memory.select(rows), self.cache.select(rows))

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of each row in the last `decode`."""
        return type(self)(self.memory, self.cache.rollback(keep))

    def join(self, other: Self) -> Self:
        """Return the rows of both states, those of `other` last."""
        counts = len(self.memory.sentence), len(other.memory.sentence)
        cache = self.cache.join(other.cache, counts, self.memory.sentence.device)
        return type(self)(self.memory.join(other.memory), cache)


class StackConfig(Config):
    """Options that all stacks of a model share; the default sizes are those of Transformer base."""

    dim: int = Field(512, ge=1, description="model width; a multiple of heads")
    heads: int = Field(8, ge=1, description="attention heads")
    feed_forward: int = Field(2048, ge=1, description="inner width of the feed-forward networks")
    dropout: float = Field(0.1, ge=0, lt=1, description="on embeddings, sublayers, attention weights and inner units")
    dropout_attention: float | None = Field(None, ge=0, lt=1, description="on attention weights; unset: as dropout")
    dropout_inner: float | None = Field(None, ge=0, lt=1, description="on inner units; unset: as dropout")
    norm: Norm = Field("pre", description="layer normalisation before each sublayer (with a last one) or after it")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")
    tie_output: bool = Field(True, description="the output layer's weights are the embeddings of pe")

    @property
    def dropout_rates(self) -> DropoutRates:
        """The dropout rates of each layer."""
        own = self.dropout_attention, self.dropout_inner
        return DropoutRates(self.dropout, *(self.dropout if rate is None else rate for rate in own))

    def stack(self, layers: int, memories: int = 0, *, reports: CrossOutput = "sum") -> TransformerStack:
        """Return a stack of `layers` layers with `memories` cross-attentions each."""
        return TransformerStack(self, layers, memories, reports)


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
