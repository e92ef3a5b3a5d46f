"""Linear layers with weights of eight bits on a CPU, and stacks of Transformer layers made of them.

Every row of activations has a scale of its own, from its largest absolute value, and sums of products are exact
integers. So what a row of a batch gives does not depend on the others; PyTorch's dynamic quantisation has one scale a
tensor, so that a longer call, or other company, would change the output.

Products (`nn.int8_products`) and what stands between them (`nn.int8_kernels`) are kernels of our own, compiled on first
use: they read weights as fast as memory gives them, and go over each row while it is cached.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import Cursor, DecoderCache
from postedit.nn.int8 import fused_layers as kernels
from postedit.nn.int8.integer_products import packed
from postedit.nn.packing import Packing
from postedit.nn.paged_cache import Pages
from postedit.nn.transformer import LayerOutput, Reading, TransformerLayer, TransformerStack

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
        rows = np.ascontiguousarray(x.float().reshape(-1, x.size(-1)).numpy())
        result = np.empty((len(rows), self.weights.outputs), np.float32)
        kernels.linear(rows, self.weights, result)
        return torch.from_numpy(result).view(*x.shape[:-1], self.weights.outputs)


_TINY = 1e-30
"""A row of zeros has some scale too."""

_MOST_INPUTS = (2**31 - 1) // 127**2
"""Of so many the sum of products still has 32 bits."""


class Int8TransformerStack(nn.Module):
    """Transformer layers for inference, in one call of a kernel; see `TransformerStack`, whose methods it has.

    The weights of a layer drive out of the cache what Python and PyTorch had there, so one call a stack is faster than
    one a sublayer, most of all for sentences that are edited alone.
    """

    def __init__(self, stack: TransformerStack) -> None:
        """Round the weights of `stack`, which attends to at most two other texts."""
        super().__init__()
        layers = stack.blocks()
        own = [layer.self_attention for layer in layers]
        read = [cast(MultiHeadAttention, attention) for layer in layers for attention in layer.cross_attentions]
        outputs = [attention.output for layer in layers for attention in _attentions(layer)]
        entries = _int8((one.query, one.key_value) for one in own)
        self.kept_by_reads = _int8((one.key_value,) for one in read) if read else entries.none()
        self.stack = kernels.Stack(
            layers=len(layers),
            reads=len(read) // len(layers),
            heads=own[0].heads,
            before=layers[0].norm == "pre",
            norms=_norms(cast(nn.LayerNorm, norm) for layer in layers for norm in layer.norms),
            entries=entries,
            queries=_int8((one.query,) for one in read) if read else entries.none(),
            outputs=_int8((one,) for one in outputs),
            inner=_int8((layer.inner,) for layer in layers),
            outer=_int8((layer.outer,) for layer in layers),
        )
        self.final_norm = stack.final_norm

    @classmethod
    def made_of(cls, part: nn.Module) -> "Int8TransformerStack | None":
        """Return one if the part is a stack, all its linear layers large enough to be rounded; else None."""
        if type(part) is not TransformerStack or any(type(layer) is not TransformerLayer for layer in part.layers):
            return None
        linear = [layer for layer in part.modules() if isinstance(layer, nn.Linear)]
        possible = len(_attentions(part.blocks()[0])) <= _MOST_SOURCES and all(
            type(layer) is nn.Linear
            and layer.weight.dtype == torch.float32
            and layer.weight.numel() >= Int8Linear.smallest
            for layer in linear
        )
        return cls(part) if possible else None

    def project(self, memory_NSD: Tensor, mask_NS: Tensor, read: int = 0) -> Reading:
        """Return what the layers' cross-attentions number `read` have of a text with mask Bool[N,S]."""
        packing = Packing.worth(mask_NS)
        return self._kept(_rows(memory_NSD, packing)[None], mask_NS, packing, read)

    def project_views(self, views: Sequence[Tensor], mask_NS: Tensor, read: int = 0) -> Reading:
        """Return the same of a text that each layer has a view of its own of, Float[N,S,D]."""
        assert len(views) == self.stack.layers
        packing = Packing.worth(mask_NS)
        return self._kept(np.stack([_rows(view, packing) for view in views]), mask_NS, packing, read)

    def _kept(self, views: Array, mask_NS: Tensor, packing: Packing | None, read: int) -> Reading:
        """Return what the layers keep of their views Float32[L,M,D], or of one [1,M,D]."""
        assert 0 <= read < self.stack.reads
        kept = Pages.blank(self.stack.layers, self.kept_by_reads.outputs, mask_NS.shape, packing)
        kernels.keep(views, self.kept_by_reads, read, self.stack.reads, _halves(kept))
        return Reading(kept, mask_NS)

    def encode(
        self, x_NSD: Tensor, mask_NS: Tensor, readings: Sequence[Reading] = (), need_weights: bool = False
    ) -> LayerOutput:
        """Run without a causal mask over a text with mask Bool[N,S]."""
        packing = Packing.worth(mask_NS)
        page = Pages.blank(1, 2 * x_NSD.size(2), mask_NS.shape, packing)
        return self._run(x_NSD, packing, page, page, mask_NS.unsqueeze(1), readings, need_weights)

    def decode(
        self, x_NKD: Tensor, cursor: Cursor, cache: DecoderCache, readings: Sequence[Reading]
    ) -> tuple[LayerOutput, DecoderCache]:
        """Run K more tokens causally; return the output and the grown cache."""
        page = Pages.blank(self.stack.layers, 2 * x_NKD.size(2), x_NKD.shape[:2], cursor.packing)
        kept = cursor.extend(cast("Pages | None", cache.kept), page)
        output = self._run(x_NKD, cursor.packing, page, kept, cursor.mask, readings, need_weights=True)
        return output, cache.advanced(kept, x_NKD.size(1))

    def _run(
        self,
        x_NKD: Tensor,
        packing: Packing | None,
        page: Pages,
        kept: Pages,
        mask: Tensor | None,
        readings: Sequence[Reading],
        need_weights: bool,
    ) -> LayerOutput:
        """Return the output of all layers, which write to `page`, a part of what is `kept` of the tokens."""
        assert len(readings) == self.stack.reads
        rows, count, width = x_NKD.shape
        x, places = _rows(x_NKD, packing), np.arange(rows * count) if packing is None else packing.index_M.numpy()
        sources = [_source(kept, mask), *(_source(cast(Pages, one.kept), one.mask.unsqueeze(1)) for one in readings)]
        slots = [source.slots.shape[1] for source in sources[1:]]
        sums = [np.empty_like(x) for _ in slots]
        means = [np.zeros((rows, count, wide) if need_weights else (0, 0, 0), np.float32) for wide in slots]
        # Kernels know of so many texts; those that are missing are never asked for.
        missing = _MOST_SOURCES - len(sources)
        kernels.run(
            x,
            self.stack,
            (*sources, *sources[:1] * missing),
            places,
            count,
            _halves(page),
            (*sums, *[x] * missing),
            (*means, *[_NO_MEANS] * missing),
        )
        shape = x_NKD.shape if packing is None else (1, len(x), width)
        last, *reads = (torch.from_numpy(one).view(shape) for one in (x, *sums))
        weights = tuple(map(torch.from_numpy, means)) if need_weights else ()
        output = LayerOutput(self.final_norm(last), weights, tuple(reads))
        return output if packing is None else output.unpacked(packing)


_MOST_SOURCES = 3
"""Texts that a layer attends to, its own included; compiled kernels have a fixed number of arguments."""

_NO_MEANS = np.empty((0, 0, 0), np.float32)


def _attentions(layer: TransformerLayer) -> list[MultiHeadAttention]:
    return [layer.self_attention, *cast("list[MultiHeadAttention]", list(layer.cross_attentions))]


def _int8(layers: Iterable[Sequence[nn.Linear]]) -> kernels.Weights:
    """Return linear layers; those of the same input as one, whose outputs stand side by side."""
    made = []
    for parts in layers:
        weight = torch.cat([part.weight.detach() for part in parts])
        made.append(Int8Linear(weight, torch.cat([part.bias.detach() for part in parts])).weights)
    return kernels.Weights.stacked(made)


def _norms(norms: Iterable[nn.LayerNorm]) -> kernels.Norm:
    found = list(norms)
    weight, bias = (torch.stack([getattr(norm, name).detach() for norm in found]) for name in ("weight", "bias"))
    return kernels.Norm(weight.numpy(), bias.numpy(), np.float32(found[0].eps))


def _source(kept: Pages, mask: Tensor | None) -> kernels.Source:
    slots = kept.slots_NS.contiguous().numpy()
    seen = np.ones((1, 1, slots.shape[1]), np.bool_) if mask is None else mask.contiguous().numpy()
    return kernels.Source(kept.addresses(), slots, seen)


def _halves(page: Pages) -> Array:
    """Return a page UInt16[L,M,2D]."""
    (halves,) = page.pages
    return halves.view(torch.uint16).numpy()


def _rows(x: Tensor, packing: Packing | None = None) -> Array:
    """Return a copy of the rows Float32[M,D] of x Float[...,D], one after the other, or of those in the packing."""
    rows = x.reshape(-1, x.size(-1))
    return np.array((rows if packing is None else rows[packing.index_M]).float().numpy(), order="C")
