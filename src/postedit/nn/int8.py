"""Linear layers with weights of eight bits on a CPU, and Transformer layers made of them.

Every row of activations has a scale of its own, from its largest absolute value, and sums of products are exact
integers. So what a row of a batch gives does not depend on the others; PyTorch's dynamic quantisation has one scale a
tensor, so that a longer call, or other company, would change the output.

The products take a fraction of what is done to their factors and sums one operator after the other. That is therefore
done by kernels of our own, which go over each row once (`nn.int8_kernels`).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from postedit.nn import int8_kernels as kernels
from postedit.nn.attention import KeyValue, MultiHeadAttention
from postedit.nn.rows import Packing
from postedit.nn.transformer import Entry, LayerOutput, Read, TransformerLayer

Array = NDArray[Any]


class Rounded(NamedTuple):
    """Rows in bytes.

    Args:
        bytes: UInt8[M,D], 1 .. 255 around 128.
        scales: Float32[M], what a step stands for in each of the rows.
    """

    bytes: Array
    scales: Array

    @classmethod
    def like(cls, x: Array) -> Self:
        """Return room for the rows of x."""
        return cls(np.empty(x.shape, np.uint8), np.empty(len(x), np.float32))

    @classmethod
    def of(cls, x: Array) -> Self:
        """Return the rows of x Float32[M,D]."""
        rounded = cls.like(x)
        kernels.round_rows(x, *rounded)
        return rounded


class Int8Linear(nn.Module):
    """A linear layer with weights of eight bits, one scale for each row of W and one for each row of x."""

    smallest: ClassVar[int] = 2**18
    """Weights. Smaller layers spend more time on being called than they save (benchmarks/inference_layers.py)."""

    weight: Tensor
    scales: Tensor
    zeros: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Round `weight` Float[out,in] to -127 .. 127 times scales; `bias` is Float[out]."""
        super().__init__()
        weight = weight.float()
        scales = weight.abs().amax(1).clamp_(min=_TINY).div_(127.0)
        rounded = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        # In a layout of oneDNN's, and therefore in no state dict.
        self.register_buffer("weight", torch.ops.onednn.qlinear_prepack(rounded, None), persistent=False)
        self.register_buffer("bias", weight.new_zeros(len(weight)) if bias is None else bias.float())
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(len(scales), dtype=torch.long), persistent=False)
        self.offsets = self.bias.numpy()

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        rounded = Rounded.of(_rows(x))
        sums = self.products(rounded)
        kernels.scale_rows(sums, rounded.scales, self.offsets)
        return torch.from_numpy(sums).view(*x.shape[:-1], -1)

    def rectified(self, x: Rounded) -> Rounded:
        """Return max(0, W x + b)."""
        sums = self.products(x)
        rounded = Rounded.like(sums)
        kernels.rectify_rows(sums, x.scales, self.offsets, *rounded)
        return rounded

    def added(self, x: Rounded, to: Array) -> Array:
        """Return `to` + W x + b, Float32[M,out]."""
        sums = self.products(x)
        kernels.add_rows(sums, x.scales, self.offsets, to)
        return sums

    def shared(self, x: Rounded, places: "_Places", heads: int, width: int) -> Array:
        """Return W x + b for heads, Float32[P,N,H,K,width], for P x H x width outputs; what has no row is undefined."""
        sums = self.products(x)
        parts = np.empty((sums.shape[1] // (heads * width), places.sentences, heads, places.tokens, width), np.float32)
        kernels.share_rows(sums, x.scales, self.offsets, places.rows, parts)
        return parts

    def products(self, x: Rounded) -> Array:
        """Return W x, Float32[M,out], for x in steps."""
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            torch.from_numpy(x.bytes), 1.0, 128, self.weight, self.scales, self.zeros, None, 1.0, 0, torch.float32,
            "none", [], "",
        )  # fmt: skip
        return result.numpy()


_TINY = 1e-30
"""A row of zeros has some scale too."""


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
        self.linear = nn.ModuleList([*self.queries, *self.key_values, *self.outputs])  # a list shows no modules
        self.norms = [_Norm.of(cast(nn.LayerNorm, norm)) for norm in layer.norms]

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
        parts = self.queries[0].shared(self._before(0, _rows(x_NKD)), places, self.heads, self.width)
        q_NHKE, k_NHKE, v_NHKE = torch.from_numpy(parts).unbind()
        return Entry(x_NKD, q_NHKE, KeyValue(k_NHKE, v_NHKE))

    def project_read(self, memory_NSD: Tensor, read: int = 0, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values that cross-attention number `read` has of a text, packed if there is a packing."""
        places, rows = _Places.of(memory_NSD, packing), Rounded.of(_rows(memory_NSD))
        parts = self.key_values[read].shared(rows, places, self.heads, self.width)
        return KeyValue(*torch.from_numpy(parts).unbind())

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
        mixed, _ = _attend(entry.queries_NKD.numpy(), past, past_mask, places, False)
        x = self._normalised(0, self.outputs[0].added(mixed, _rows(entry.x_NKD)))
        weights: list[Tensor] = []
        sums: list[Tensor] = []
        for i, read in enumerate(reads, start=1):
            (q_NHKE,) = self.queries[i].shared(self._before(i, x), places, self.heads, self.width)
            mixed, weights_NKS = _attend(q_NHKE, read.key_value, read.mask, places, need_weights)
            change = self.outputs[i].added(mixed, x)
            sums.append(torch.from_numpy(change).view(shape))
            x = self._normalised(i, change)
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last = len(self.norms) - 1
        hidden = self.inner.rectified(self._before(last, x))
        x = self._normalised(last, self.outer.added(hidden, x))
        return LayerOutput(torch.from_numpy(x).view(shape), tuple(weights), tuple(sums))

    def _before(self, sublayer: int, x: Array) -> Rounded:
        return self.norms[sublayer].rounded(x) if self.norm == "pre" else Rounded.of(x)

    def _normalised(self, sublayer: int, x: Array) -> Array:
        return x if self.norm == "pre" else self.norms[sublayer].of_rows(x)


class _Norm(NamedTuple):
    """A layer normalisation of rows."""

    weight: Array
    bias: Array
    epsilon: np.float32

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> Self:
        return cls(norm.weight.detach().numpy(), norm.bias.detach().numpy(), np.float32(norm.eps))

    def rounded(self, x: Array) -> Rounded:
        rounded = Rounded.like(x)
        kernels.round_normal_rows(x, *self, *rounded)
        return rounded

    def of_rows(self, x: Array) -> Array:
        normal = np.empty_like(x)
        kernels.normalise_rows(x, *self, normal)
        return normal


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


def _attend(
    q_NHKE: Array, key_value: KeyValue, mask: Tensor | None, places: _Places, need_weights: bool
) -> tuple[Rounded, Tensor | None]:
    """Return what rows find where `mask` Bool[N or 1,K or 1,S] lets them look, and the weights if asked for."""
    k_NHSE, v_NHSE = (part.contiguous().numpy() for part in key_value)
    slots = k_NHSE.shape[2]
    seen = np.ones((1, 1, slots), np.bool_) if mask is None else mask.contiguous().numpy()
    mixed = np.empty((len(places.rows), q_NHKE.shape[1] * q_NHKE.shape[3]), np.float32)
    weights_NKS = np.zeros((places.sentences, places.tokens, slots) if need_weights else (0, 0, 0), np.float32)
    kernels.attend(q_NHKE, k_NHSE, v_NHSE, seen, places.rows, mixed, weights_NKS)
    return Rounded.of(mixed), torch.from_numpy(weights_NKS) if need_weights else None


def replace_layers(model: nn.Module) -> None:
    """Put rounded ones in place of the Transformer layers of `model` that are large enough."""
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if Int8TransformerLayer.possible(layer):
                parent.add_module(name, Int8TransformerLayer(cast(TransformerLayer, layer)))


def _int8(*layers: nn.Linear) -> Int8Linear:
    """Return linear layers of the same input as one, whose outputs stand side by side."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return Int8Linear(weight, torch.cat([layer.bias.detach() for layer in layers]))


def _rows(x: Tensor) -> Array:
    """Return the rows Float32[M,D] of x Float[...,D]."""
    return x.float().reshape(-1, x.size(-1)).numpy()
