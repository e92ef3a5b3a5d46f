"""Linear layers with weights of eight bits on a CPU, and Transformer layers made of them.

Every row of activations has a scale of its own, from its largest absolute value, and sums of products are exact
integers. So what a row of a batch gives does not depend on the others; PyTorch's dynamic quantisation has one scale a
tensor, so that a longer call, or other company, would change the output.

The products take a fraction of what is done to their factors and sums one operator after the other. That is therefore
done by kernels of our own, which go over each row once (`nn.int8_kernels`).
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self, cast

import torch
from torch import Tensor, nn

from postedit.nn import int8_kernels as kernels
from postedit.nn.attention import KeyValue, MultiHeadAttention
from postedit.nn.rows import Packing
from postedit.nn.transformer import Entry, LayerOutput, Read, TransformerLayer


class Rounded(NamedTuple):
    """Rows in bytes.

    Args:
        bytes: UInt8[...,D], 1 .. 255 around 128.
        scales: Float[M], what a step stands for in each of the rows.
    """

    bytes: Tensor
    scales: Tensor

    @classmethod
    def like(cls, x: Tensor) -> Self:
        """Return room for the rows of x."""
        return cls(torch.empty_like(x, dtype=torch.uint8), x.new_empty(x.numel() // x.size(-1)))

    @classmethod
    def of(cls, x: Tensor) -> Self:
        """Return the rows of x Float[...,D]."""
        rounded = cls.like(x)
        kernels.round_rows(_rows(x), *rounded.arrays())
        return rounded

    @classmethod
    def normalised(cls, x: Tensor, norm: nn.LayerNorm) -> Self:
        """Return the rows of the layer normalisation of x Float[...,D]."""
        rounded = cls.like(x)
        kernels.normalise_rows(_rows(x), norm.weight.numpy(), norm.bias.numpy(), norm.eps, *rounded.arrays())
        return rounded

    def arrays(self):
        """Return both as arrays of rows."""
        return _rows(self.bytes), self.scales.numpy()


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

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        return self.of(Rounded.of(x.float()))

    def of(self, x: Rounded) -> Tensor:
        """Return W x + b, Float[...,out]."""
        sums = self.products(x)
        kernels.scale_rows(_rows(sums), x.scales.numpy(), self.bias.numpy())
        return sums

    def rectified(self, x: Rounded) -> Rounded:
        """Return max(0, W x + b)."""
        sums = self.products(x)
        rounded = Rounded.like(sums)
        kernels.rectify_rows(_rows(sums), x.scales.numpy(), self.bias.numpy(), *rounded.arrays())
        return rounded

    def added(self, x: Rounded, to: Tensor) -> Tensor:
        """Return `to` + W x + b, Float[...,out]."""
        sums = self.products(x)
        kernels.add_rows(_rows(sums), x.scales.numpy(), self.bias.numpy(), _rows(to))
        return sums.view_as(to)

    def products(self, x: Rounded) -> Tensor:
        """Return W x, Float[...,out], for x in steps."""
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            x.bytes, 1.0, 128, self.weight, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return result


_TINY = 1e-30
"""A row of zeros has some scale too."""


class Int8TransformerLayer(nn.Module):
    """A Transformer layer for inference; see `TransformerLayer`, whose methods it has."""

    def __init__(self, layer: TransformerLayer) -> None:
        """Round the weights of `layer`."""
        super().__init__()
        own = layer.self_attention
        self.norm, self.heads, self.width = layer.norm, own.heads, own.query.in_features
        self.entry = _int8(own.query, own.key_value)
        attentions = [own, *cast("list[MultiHeadAttention]", list(layer.cross_attentions))]
        self.outputs = nn.ModuleList(_int8(attention.output) for attention in attentions)
        self.queries = nn.ModuleList(_int8(attention.query) for attention in attentions[1:])
        self.key_values = nn.ModuleList(_int8(attention.key_value) for attention in attentions[1:])
        self.inner, self.outer = _int8(layer.inner), _int8(layer.outer)
        self.norms = layer.norms

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
        """Return what self-attention makes of x on its own; its queries are packed as x is."""
        places = _Places.of(x_NKD, packing)
        q, k, v = self._shared(self.entry, self._before(0, x_NKD), places)
        return Entry(x_NKD, q, KeyValue(k, v))

    def project_read(self, memory_NSD: Tensor, read: int = 0, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values that cross-attention number `read` has of a text, packed if there is a packing."""
        k, v = self._shared(self.key_values[read], Rounded.of(memory_NSD), _Places.of(memory_NSD, packing))
        return KeyValue(k, v)

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
        places = _Places.of(entry.x_NKD, packing)
        mixed, _ = _attend(entry.queries_NKD, past, past_mask, places, False)
        x_NKD = self._normalised(0, self.outputs[0].added(mixed, entry.x_NKD))
        weights: list[Tensor] = []
        sums: list[Tensor] = []
        for i, read in enumerate(reads, start=1):
            (q_NHKE,) = self._shared(self.queries[i - 1], self._before(i, x_NKD), places)
            mixed, weights_NKS = _attend(q_NHKE, read.key_value, read.mask, places, need_weights)
            sums.append(self.outputs[i].added(mixed, x_NKD))
            x_NKD = self._normalised(i, sums[-1])
            if weights_NKS is not None:
                weights.append(weights_NKS)
        last = len(self.norms) - 1
        hidden = self.inner.rectified(self._before(last, x_NKD))
        x_NKD = self._normalised(last, self.outer.added(hidden, x_NKD))
        return LayerOutput(x_NKD, tuple(weights), tuple(sums))

    def _shared(self, linear: "Int8Linear", x: Rounded, places: "_Places") -> tuple[Tensor, ...]:
        """Return the layer's outputs for the heads, Float[N,H,K,E] each; what has no row is undefined."""
        sums = linear.products(x)
        parts = sums.new_empty(
            sums.size(-1) // self.width, places.sentences, self.heads, places.tokens, self.width // self.heads
        )
        kernels.share_rows(_rows(sums), x.scales.numpy(), linear.bias.numpy(), places.index_M.numpy(), parts.numpy())
        return parts.unbind()

    def _before(self, sublayer: int, x_NKD: Tensor) -> Rounded:
        norm = self.norms[sublayer]
        return Rounded.normalised(x_NKD, norm) if self.norm == "pre" else Rounded.of(x_NKD)

    def _normalised(self, sublayer: int, x_NKD: Tensor) -> Tensor:
        return x_NKD if self.norm == "pre" else self.norms[sublayer](x_NKD)


class _Places(NamedTuple):
    """Which of N sentences x K tokens the rows of packed hidden states are: Long[M]."""

    index_M: Tensor
    sentences: int
    tokens: int

    @classmethod
    def of(cls, x_NKD: Tensor, packing: Packing | None) -> Self:
        """Return those of hidden states, all of them if they are not packed."""
        if packing is None:
            return cls(torch.arange(x_NKD.size(0) * x_NKD.size(1)), x_NKD.size(0), x_NKD.size(1))
        return cls(packing.index_M, *packing.real_NK.shape)


def _attend(
    q_NHKE: Tensor, key_value: KeyValue, mask: Tensor | None, places: _Places, need_weights: bool
) -> tuple[Rounded, Tensor | None]:
    """Return what rows find where `mask` Bool[N or 1,K or 1,S] lets them look, and, if asked for, where they found it."""
    k_NHSE, v_NHSE = (part.contiguous() for part in key_value)
    slots = k_NHSE.size(2)
    seen = torch.ones(1, 1, slots, dtype=torch.bool) if mask is None else mask
    mixed = q_NHKE.new_empty(len(places.index_M), q_NHKE.size(1) * q_NHKE.size(3))
    weights_NKS = q_NHKE.new_zeros((places.sentences, places.tokens, slots) if need_weights else (0, 0, 0))
    tensors = q_NHKE, k_NHSE, v_NHSE, seen.contiguous(), places.index_M, mixed, weights_NKS
    kernels.attend(*(tensor.numpy() for tensor in tensors))
    return Rounded.of(mixed), weights_NKS if need_weights else None


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


def _rows(x: Tensor):
    return x.reshape(-1, x.size(-1)).numpy()
