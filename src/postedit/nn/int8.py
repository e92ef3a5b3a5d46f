"""Linear layers with weights of eight bits on a CPU, and Transformer layers made of them.

Every row of activations has a scale of its own, from its largest absolute value, and sums of products are exact
integers. So what a row of a batch gives does not depend on the others; PyTorch's dynamic quantisation has one scale a
tensor, so that a longer call, or other company, would change the output.

Products (`nn.int8_products`) and what stands between them (`nn.int8_kernels`) are kernels of our own, compiled on first
use: they read weights as fast as memory gives them, and go over each row while it is cached.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from postedit.nn import int8_kernels as kernels
from postedit.nn.attention import KeyValue, MultiHeadAttention
from postedit.nn.int8_products import packed
from postedit.nn.rows import Packing
from postedit.nn.transformer import Entry, LayerOutput, Read, TransformerLayer

Array = NDArray[Any]


class Int8Linear(nn.Module):
    """A linear layer with weights of eight bits, one scale for each row of W and one for each row of x."""

    smallest: ClassVar[int] = 2**14
    """Weights. Smaller layers spend more time on being called than they save (benchmarks/inference_layers.py)."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Round `weight` Float[out,in] to -127 .. 127 times scales; `bias` is Float[out].

        Raises:
            ValueError: if there are so many inputs that sums of products would not fit into 32 bits.
        """
        super().__init__()
        if weight.size(1) > _MOST_INPUTS:
            raise ValueError(f"a layer of {weight.size(1):,} inputs is too wide for int8: at most {_MOST_INPUTS:,}")
        weight = weight.float()
        scales = weight.abs().amax(1).clamp_(min=_TINY).div_(127.0)
        rounded = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        self.register_buffer("bias", weight.new_zeros(len(weight)) if bias is None else bias.float())
        # In a layout of our own, and therefore in no state dict.
        self.register_buffer("weight", torch.from_numpy(packed(rounded.numpy())), persistent=False)
        zeros = rounded.sum(1, dtype=torch.int32).mul_(128)
        # Heads of any width have their outputs scaled 16 at a time, from wherever they begin.
        room = -len(weight) % 16 + 16
        steps, added, offsets = (F.pad(part, (0, room)).numpy() for part in (scales, zeros, self.bias))
        self.weights = kernels.Weights.of(self.weight.numpy(), steps, added, offsets, len(weight))

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        rows = _rows(x)
        result = np.empty((len(rows), self.weights.outputs), np.float32)
        kernels.linear(rows, self.weights, result)
        return torch.from_numpy(result).view(*x.shape[:-1], self.weights.outputs)


_TINY = 1e-30
"""A row of zeros has some scale too."""

_MOST_INPUTS = (2**31 - 1) // 127**2
"""Of so many the sum of products still has 32 bits."""


class Int8TransformerLayer(nn.Module):
    """A Transformer layer for inference; see `TransformerLayer`, whose methods it has."""

    def __init__(self, layer: TransformerLayer) -> None:
        """Round the weights of `layer`."""
        super().__init__()
        own = layer.self_attention
        attentions = [own, *cast("list[MultiHeadAttention]", list(layer.cross_attentions))]
        self.norm, self.heads, self.width = layer.norm, own.heads, own.query.in_features // own.heads
        self.queries = [_int8(own.query, own.key_value), *(_int8(attention.query) for attention in attentions[1:])]
        self.key_values = [_int8(attention.key_value) for attention in attentions[1:]]
        self.outputs = [_int8(attention.output) for attention in attentions]
        self.inner, self.outer = _int8(layer.inner), _int8(layer.outer)
        self.norms = [_norm(cast(nn.LayerNorm, norm)) for norm in layer.norms]

    @staticmethod
    def possible(layer: nn.Module) -> bool:
        """Whether a layer is one whose linear layers are all large enough to be rounded."""
        if type(layer) is not TransformerLayer:
            return False
        linear = [part for part in layer.modules() if isinstance(part, nn.Linear)]
        return all(
            type(part) is nn.Linear
            and part.weight.dtype == torch.float32
            and part.weight.numel() >= Int8Linear.smallest
            for part in linear
        )

    def enter(self, x_NKD: Tensor, packing: Packing | None = None) -> Entry:
        """Return what self-attention makes of x on its own; its queries are Float[N,H,K,E]."""
        places = _Places.of(x_NKD, packing)
        (q_NHKE,), own = self._shared(0, self.queries[0], _rows(x_NKD), places, 1)
        return Entry(x_NKD, q_NHKE, KeyValue(*own))

    def project_read(self, memory_NSD: Tensor, read: int = 0, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values that cross-attention number `read` has of a text, packed if there is a packing."""
        places = _Places.of(memory_NSD, packing)
        return KeyValue(*self._shared(None, self.key_values[read], _rows(memory_NSD), places, 0)[1])

    def forward(
        self,
        entry: Entry,
        past: KeyValue,
        past_mask: Tensor | None,
        reads: Sequence[Read],
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> LayerOutput:
        """Return the layer's output; see `TransformerLayer.forward`."""
        places, shape = _Places.of(entry.x_NKD, packing), entry.x_NKD.shape
        change, _ = self._attended(0, entry.queries_NKD, past, past_mask, places, _rows(entry.x_NKD), False)
        x = self._normalised(0, change)
        weights: list[Tensor] = []
        sums: list[Tensor] = []
        for i, read in enumerate(reads, start=1):
            (q_NHKE,), _ = self._shared(i, self.queries[i], x, places, 1)
            change, weights_NKS = self._attended(i, q_NHKE, read.key_value, read.mask, places, x, need_weights)
            sums.append(torch.from_numpy(change).view(shape))
            x = self._normalised(i, change)
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last, result = len(self.norms) - 1, np.empty_like(x)
        kernels.feed(x, self.norm == "pre", self.norms[last], self.inner, self.outer, result)
        x = self._normalised(last, result)
        return LayerOutput(torch.from_numpy(x).view(shape), tuple(weights), tuple(sums))

    def _shared(
        self, sublayer: int | None, weights: kernels.Weights, x: Array, places: "_Places", queries: int
    ) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return W x + b for heads: so many `queries`, Float32[N,H,K,E], and what is kept, Bfloat16[N,H,K,E].

        Queries that have no row are undefined, what else has none is zero. With a `sublayer` x is what goes into it,
        and is normalised if that comes before sublayers. What is kept has half the bytes: to keep it, and to put rows
        together, is a matter of memory.
        """
        shape = places.sentences, self.heads, places.tokens, self.width
        asked = np.empty((queries, *shape), np.float32)
        kept = np.zeros((weights.outputs // (self.heads * self.width) - queries, *shape), np.uint16)
        before = self.norm == "pre" and sublayer is not None
        kernels.share(x, before, self.norms[sublayer or 0], weights, places.rows, asked, kept)
        return torch.from_numpy(asked).unbind(), torch.from_numpy(kept).view(torch.bfloat16).unbind()

    def _attended(
        self,
        sublayer: int,
        q_NHKE: Tensor,
        key_value: KeyValue,
        mask: Tensor | None,
        places: "_Places",
        x: Array,
        need_weights: bool,
    ) -> tuple[Array, Tensor | None]:
        """Return x and what its rows find where `mask` Bool[N or 1,K or 1,S] lets them look; and weights if asked."""
        k_NHSE, v_NHSE = (part.to(torch.bfloat16).contiguous().view(torch.uint16).numpy() for part in key_value)
        slots, result = k_NHSE.shape[2], np.empty_like(x)
        seen = np.ones((1, 1, slots), np.bool_) if mask is None else mask.contiguous().numpy()
        means = np.zeros((places.sentences, places.tokens, slots) if need_weights else (0, 0, 0), np.float32)
        kernels.attended(q_NHKE.numpy(), k_NHSE, v_NHSE, seen, places.rows, self.outputs[sublayer], x, result, means)
        return result, torch.from_numpy(means) if need_weights else None

    def _normalised(self, sublayer: int, x: Array) -> Array:
        if self.norm == "pre":
            return x
        normal = np.empty_like(x)
        kernels.normalise_rows(x, self.norms[sublayer], normal)
        return normal


def _norm(norm: nn.LayerNorm) -> kernels.Norm:
    return kernels.Norm(norm.weight.detach().numpy(), norm.bias.detach().numpy(), np.float32(norm.eps))


class _Places(NamedTuple):
    """Which of N sentences x K tokens the rows of packed hidden states are: Int64[M]."""

    rows: Array
    sentences: int
    tokens: int

    @classmethod
    def of(cls, x_NKD: Tensor, packing: Packing | None) -> Self:
        """Return those of hidden states, all of them if they are not packed."""
        if packing is None:
            return cls(np.arange(x_NKD.size(0) * x_NKD.size(1)), x_NKD.size(0), x_NKD.size(1))
        return cls(packing.index_M.numpy(), *packing.real_NK.shape)


def replace_layers(model: nn.Module) -> None:
    """Put rounded ones in place of the Transformer layers of `model` that are large enough."""
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if Int8TransformerLayer.possible(layer):
                parent.add_module(name, Int8TransformerLayer(cast(TransformerLayer, layer)))


def _int8(*layers: nn.Linear) -> kernels.Weights:
    """Return linear layers of the same input as one, whose outputs stand side by side."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return Int8Linear(weight, torch.cat([layer.bias.detach() for layer in layers])).weights


def _rows(x: Tensor) -> Array:
    """Return the rows Float32[M,D] of x Float[...,D], one after the other, as kernels take them."""
    return np.ascontiguousarray(x.float().reshape(-1, x.size(-1)).numpy())
