"""Linear layers with 8-bit weights, and stacks of Transformer layers made of them, as modules.

Each row of activations has its own scale, and sums of products are exact integers, so the result of a row does not
depend on other rows. PyTorch's dynamic quantisation has one scale per tensor, so other rows would change the output.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import CacheSlots, DecoderCache
from postedit.nn.int8 import fused_layers as kernels
from postedit.nn.int8.integer_products import pack_weights
from postedit.nn.int8.paged_cache import PagedKeyValueCache
from postedit.nn.tensors import Packing
from postedit.nn.transformer import LayerOutput, StackMemory, TransformerLayer, TransformerStack

Array = NDArray[Any]


class Int8Linear(nn.Module):
    """A linear layer with 8-bit weights: one scale for each row of W and one for each row of x."""

    min_weights: ClassVar[int] = 2**14
    """Layers with fewer weights lose more time on the call than they save (benchmarks/inference_layers.py)."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Quantise `weight` Float[out,in] to -127 .. 127 times scales; `bias` is Float[out] or None.

        Raises:
            ValueError: if the layer has so many inputs that sums of products would not fit into 32 bits.
        """
        super().__init__()
        if weight.size(1) > _MAX_INPUTS:
            raise ValueError(f"a layer of {weight.size(1):,} inputs is too wide for int8: at most {_MAX_INPUTS:,}")
        weight = weight.float()
        scales = weight.abs().amax(1).clamp_(min=_MIN_MAGNITUDE).div_(127.0)
        quantised = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        self.register_buffer("bias", weight.new_zeros(len(weight)) if bias is None else bias.float())
        # The layout is private to this package, so the weights are in no state dict.
        self.register_buffer("weight", torch.from_numpy(pack_weights(quantised.numpy())), persistent=False)
        zeros = quantised.sum(1, dtype=torch.int32).mul_(128)
        # Outputs are dequantised 16 at a time, starting from any output.
        padding = -len(weight) % 16 + 16
        steps, offsets, biases = (F.pad(part, (0, padding)).numpy() for part in (scales, zeros, self.bias))
        self.weights = kernels.LinearWeights.of(self.weight.numpy(), steps, offsets, biases, len(weight))

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        rows = np.ascontiguousarray(x.float().reshape(-1, x.size(-1)).numpy())
        result = np.empty((len(rows), self.weights.outputs), np.float32)
        kernels.linear(rows, self.weights, result)
        return torch.from_numpy(result).view(*x.shape[:-1], self.weights.outputs)


_MIN_MAGNITUDE = 1e-30
"""Lower bound of the largest weight of an output, so that rows of zeros have a scale."""

_MAX_INPUTS = (2**31 - 1) // 127**2
"""The most inputs whose sum of products fits into 32 bits."""


class Int8TransformerStack(nn.Module):
    """Transformer layers for inference, computed in one kernel call; has the methods of `TransformerStack`.

    The weights of a layer evict other data from the processor's cache, so one call per stack is faster than one per
    sublayer, most of all for single sentences.
    """

    def __init__(self, stack: TransformerStack) -> None:
        """Quantise the weights of `stack`, which has at most two cross-attentions per layer."""
        super().__init__()
        layers = stack.blocks()
        own = [layer.self_attention for layer in layers]
        cross = [cast(MultiHeadAttention, attention) for layer in layers for attention in layer.cross_attentions]
        outputs = [attention.output for layer in layers for attention in _attentions(layer)]
        self_projections = _stack_weights((one.query, one.key_value) for one in own)
        no_weights = self_projections.without_layers()
        self.cross_key_values = _stack_weights((one.key_value,) for one in cross) if cross else no_weights
        self.stack = kernels.StackWeights(
            layers=len(layers),
            cross_attentions=len(cross) // len(layers),
            heads=own[0].heads,
            pre_norm=layers[0].norm == "pre",
            norms=_stack_norms(cast(nn.LayerNorm, norm) for layer in layers for norm in layer.norms),
            self_projections=self_projections,
            cross_queries=_stack_weights((one.query,) for one in cross) if cross else no_weights,
            attention_outputs=_stack_weights((one,) for one in outputs),
            inner=_stack_weights((layer.inner,) for layer in layers),
            outer=_stack_weights((layer.outer,) for layer in layers),
        )
        self.final_norm = stack.final_norm

    @classmethod
    def from_stack(cls, part: nn.Module) -> "Int8TransformerStack | None":
        """Return the int8 form of a `TransformerStack` whose linear layers are all large enough; else None.

        The kernel reports the sum of each cross-attention and the residual; stacks that report otherwise have no form.
        The linear layers of such a stack may still be replaced, one by one.
        """
        if type(part) is not TransformerStack or any(type(layer) is not TransformerLayer for layer in part.layers):
            return None
        linear = [layer for layer in part.modules() if isinstance(layer, nn.Linear)]
        first = part.blocks()[0]
        possible = len(_attentions(first)) <= _MAX_MEMORIES and first.reports == "sum"
        possible = possible and all(
            type(layer) is nn.Linear
            and layer.weight.dtype == torch.float32
            and layer.weight.numel() >= Int8Linear.min_weights
            for layer in linear
        )
        return cls(part) if possible else None

    def project(self, memory_NSD: Tensor, mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return the keys and values of a memory with mask Bool[N,S], for cross-attention `index` of each layer."""
        packing = Packing.if_useful(mask_NS)
        return self._project(_rows(memory_NSD, packing)[None], mask_NS, packing, index)

    def project_per_layer(self, memories: Sequence[Tensor], mask_NS: Tensor, index: int = 0) -> StackMemory:
        """Return keys and values as `project` does, given a separate memory Float[N,S,D] for each layer."""
        assert len(memories) == self.stack.layers
        packing = Packing.if_useful(mask_NS)
        return self._project(np.stack([_rows(memory, packing) for memory in memories]), mask_NS, packing, index)

    def _project(self, memories: Array, mask_NS: Tensor, packing: Packing | None, index: int) -> StackMemory:
        """Project one memory per layer, Float32[L,M,D], or one for all, [1,M,D]."""
        assert 0 <= index < self.stack.cross_attentions
        cache = PagedKeyValueCache.allocate(self.stack.layers, self.cross_key_values.outputs, mask_NS.shape, packing)
        kernels.project_key_values(
            memories, self.cross_key_values, index, self.stack.cross_attentions, _page_array(cache)
        )
        return StackMemory(cache, mask_NS)

    def encode(
        self, x_NSD: Tensor, mask_NS: Tensor, memories: Sequence[StackMemory] = (), need_weights: bool = False
    ) -> LayerOutput:
        """Run all layers over a text with mask Bool[N,S], without a causal mask."""
        packing = Packing.if_useful(mask_NS)
        page = PagedKeyValueCache.allocate(1, 2 * x_NSD.size(2), mask_NS.shape, packing)
        return self._run(x_NSD, packing, page, page, mask_NS.unsqueeze(1), memories, need_weights)

    def decode(
        self, x_NKD: Tensor, slots: CacheSlots, cache: DecoderCache, memories: Sequence[StackMemory]
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run all layers over K more tokens, with causal attention; return the output and the cache after this call."""
        page = PagedKeyValueCache.allocate(self.stack.layers, 2 * x_NKD.size(2), x_NKD.shape[:2], slots.packing)
        past = cast("PagedKeyValueCache | None", cache.key_values)
        key_values = page if past is None else past.append(page, slots.write)
        output = self._run(x_NKD, slots.packing, page, key_values, slots.mask, memories, need_weights=True)
        return output, cache.advanced(key_values, x_NKD.size(1))

    def _run(
        self,
        x_NKD: Tensor,
        packing: Packing | None,
        page: PagedKeyValueCache,
        key_values: PagedKeyValueCache,
        mask: Tensor | None,
        memories: Sequence[StackMemory],
        need_weights: bool,
    ) -> LayerOutput:
        """Return the output of all layers, which write their keys and values to `page`, a part of `key_values`."""
        assert len(memories) == self.stack.cross_attentions
        rows, count, width = x_NKD.shape
        x = _rows(x_NKD, packing)
        positions = np.arange(rows * count) if packing is None else packing.index_M.numpy()
        own = _paged_memory(key_values, mask)
        cross = [_paged_memory(cast(PagedKeyValueCache, one.key_values), one.mask.unsqueeze(1)) for one in memories]
        slots = [memory.slots.shape[1] for memory in cross]
        cross_outputs = [np.empty_like(x) for _ in slots]
        means = [np.zeros((rows, count, wide) if need_weights else (0, 0, 0), np.float32) for wide in slots]
        # Kernels have a fixed number of arguments; those that stand in for missing memories are never used.
        missing = _MAX_MEMORIES - 1 - len(cross)
        all_memories, outputs = (own, *cross, *[own] * missing), (*cross_outputs, *[x] * missing)
        all_means = (*means, *[_NO_MEANS] * missing)
        kernels.transformer_layers(x, self.stack, all_memories, positions, count, _page_array(page), outputs, all_means)
        shape = x_NKD.shape if packing is None else (1, len(x), width)
        last, *after_cross = (torch.from_numpy(one).view(shape) for one in (x, *cross_outputs))
        weights = tuple(map(torch.from_numpy, means)) if need_weights else ()
        output = LayerOutput(self.final_norm(last), weights, tuple(after_cross))
        return output if packing is None else output.unpacked(packing)


_MAX_MEMORIES = 3
"""The most memories of a layer, its own tokens included: compiled kernels have a fixed number of arguments."""

_NO_MEANS = np.empty((0, 0, 0), np.float32)


def _attentions(layer: TransformerLayer) -> list[MultiHeadAttention]:
    return [layer.self_attention, *cast("list[MultiHeadAttention]", list(layer.cross_attentions))]


def _stack_weights(layers: Iterable[Sequence[nn.Linear]]) -> kernels.LinearWeights:
    """Return quantised layers, each from linear layers that read the same input, with their outputs concatenated."""
    quantised = []
    for parts in layers:
        weight = torch.cat([part.weight.detach() for part in parts])
        quantised.append(Int8Linear(weight, torch.cat([part.bias.detach() for part in parts])).weights)
    return kernels.LinearWeights.stack(quantised)


def _stack_norms(norms: Iterable[nn.LayerNorm]) -> kernels.NormWeights:
    layers = list(norms)
    weight, bias = (torch.stack([getattr(norm, name).detach() for norm in layers]) for name in ("weight", "bias"))
    return kernels.NormWeights(weight.numpy(), bias.numpy(), np.float32(layers[0].eps))


def _paged_memory(cache: PagedKeyValueCache, mask: Tensor | None) -> kernels.PagedMemory:
    slots = cache.slots_NS.contiguous().numpy()
    allowed = np.ones((1, 1, slots.shape[1]), np.bool_) if mask is None else mask.contiguous().numpy()
    return kernels.PagedMemory(cache.addresses(), slots, allowed)


def _page_array(cache: PagedKeyValueCache) -> Array:
    """Return the only page of a cache as UInt16[L,M,2D]."""
    (page,) = cache.pages
    return page.view(torch.uint16).numpy()


def _rows(x: Tensor, packing: Packing | None = None) -> Array:
    """Return a copy of the rows of x Float[...,D], or of those in the packing, as Float32[M,D]."""
    rows = x.reshape(-1, x.size(-1))
    return np.array((rows if packing is None else rows[packing.index_M]).float().numpy(), order="C")
