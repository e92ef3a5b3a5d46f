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
from postedit.nn.attention import Kept, MultiHeadAttention
from postedit.nn.int8_attention import Text
from postedit.nn.int8_products import packed
from postedit.nn.pages import SPARE, Pages
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
        self.norm, self.heads = layer.norm, own.heads
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
        """Return what self-attention makes of x on its own; its queries are Float[M,D]."""
        x = _rows(x_NKD)
        q_MD, page = self._shared(0, self.queries[0], x, x.shape[1])
        return Entry(x_NKD, torch.from_numpy(q_MD), _Places.of(x_NKD, packing).kept(page))

    def project_read(self, memory_NSD: Tensor, read: int = 0, packing: Packing | None = None) -> Pages:
        """Return what cross-attention number `read` keeps of a text, packed if there is a packing."""
        _, page = self._shared(None, self.key_values[read], _rows(memory_NSD), 0)
        return _Places.of(memory_NSD, packing).kept(page)

    def forward(
        self,
        entry: Entry,
        past: Kept,
        past_mask: Tensor | None,
        reads: Sequence[Read],
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> LayerOutput:
        """Return the layer's output; see `TransformerLayer.forward`."""
        places, shape = _Places.of(entry.x_NKD, packing), entry.x_NKD.shape
        x, queries = _rows(entry.x_NKD), entry.queries_NKD.numpy()
        change, _ = self._attended(0, queries, past, past_mask, places, x, False)
        x = self._normalised(0, change)
        weights: list[Tensor] = []
        sums: list[Tensor] = []
        for i, read in enumerate(reads, start=1):
            queries, _ = self._shared(i, self.queries[i], x, x.shape[1])
            change, weights_NKS = self._attended(i, queries, read.kept, read.mask, places, x, need_weights)
            sums.append(torch.from_numpy(change).view(shape))
            x = self._normalised(i, change)
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last, result = len(self.norms) - 1, np.empty_like(x)
        kernels.feed(x, self.norm == "pre", self.norms[last], self.inner, self.outer, result)
        x = self._normalised(last, result)
        return LayerOutput(torch.from_numpy(x).view(shape), tuple(weights), tuple(sums))

    def _shared(self, sublayer: int | None, weights: kernels.Weights, x: Array, queries: int) -> tuple[Array, Array]:
        """Return W x + b: so many `queries` of each row, Float32[M,Q], and what is kept, Bfloat16[M,R] as UInt16.

        With a `sublayer` x is what goes into it, and is normalised if that comes before sublayers. What is kept has
        half the bytes, as it lives long; `SPARE` numbers stand behind it.
        """
        kept = weights.outputs - queries
        asked, room = np.empty((len(x), queries), np.float32), np.empty(len(x) * kept + SPARE, np.uint16)
        page = room[: len(x) * kept].reshape(len(x), kept)
        before = self.norm == "pre" and sublayer is not None
        kernels.share(x, before, self.norms[sublayer or 0], weights, asked, page)
        return asked, page

    def _attended(
        self,
        sublayer: int,
        queries: Array,
        kept: Kept,
        mask: Tensor | None,
        places: "_Places",
        x: Array,
        need_weights: bool,
    ) -> tuple[Array, Tensor | None]:
        """Return x and what its rows find where `mask` Bool[N or 1,K or 1,S] lets them look; and weights if asked."""
        assert isinstance(kept, Pages)
        slots, result = kept.slots_NS.contiguous().numpy(), np.empty_like(x)
        text = Text(kept.addresses(), slots, self.heads)
        seen = np.ones((1, 1, slots.shape[1]), np.bool_) if mask is None else mask.contiguous().numpy()
        shape = (places.sentences, places.tokens, slots.shape[1]) if need_weights else (0, 0, 0)
        means, weights = np.zeros(shape, np.float32), self.outputs[sublayer]
        kernels.attended(queries, text, seen, places.rows, places.tokens, weights, x, result, means)
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

    def kept(self, page: Array) -> Pages:
        """Return what attention keeps, given that of the rows: Bfloat16[M,2D] as UInt16."""
        slots = np.zeros(self.sentences * self.tokens, np.int64)
        slots[self.rows] = np.arange(1, len(self.rows) + 1)
        tokens_NS = torch.from_numpy(slots).view(self.sentences, self.tokens)
        return Pages((torch.from_numpy(page).view(torch.bfloat16),), tokens_NS)


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
