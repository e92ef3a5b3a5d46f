"""What stands between the integer products of a Transformer, compiled: one pass over each row while it is cached.

A row is rounded to bytes 1 .. 255 around 128, as fine as its own largest absolute value allows. What a row gives does
not depend on others. PyTorch has no such operators; made of its own ones they take longer than the products. All arrays
are contiguous.

Letters: M rows of width D; N sentences of K tokens, H heads of width E, S slots that are attended to. Rows come as
Float32[M,D], bytes as UInt8[M,D], scales (what a step of a row stands for) as Float32[M].
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from postedit import compiled
from postedit.nn import paged_cache
from postedit.nn.int8 import epilogues, integer_products, paged_attention, simd
from postedit.nn.int8.epilogues import bytes_panel, largest_panel, scale_panel
from postedit.nn.int8.integer_products import multiply, tiles
from postedit.nn.int8.paged_attention import Text, attend
from postedit.nn.int8.simd import address


def _forget_older_kernels() -> None:
    """Delete kernels that numba keeps from before a change of what is in them: it knows only of their own file."""
    parts = [
        Path(str(part.__file__)) for part in (compiled, simd, paged_cache, epilogues, integer_products, paged_attention)
    ]
    changed = max(part.stat().st_mtime for part in parts)
    for name in (Path(__file__), *parts):
        for index in name.parent.glob(f"__pycache__/{name.stem}.*.nbi"):
            with suppress(OSError):  # another process does the same, or nobody may
                if index.stat().st_mtime < changed:
                    index.unlink()


_forget_older_kernels()

# Sums may be added in another order, which is what lets them be vectorised.
_compiled = compiled.compiled_with(error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})

_TINY = np.float32(1e-30)
"""A row of zeros has some scale too."""

_STEPS = np.float32(127.0)

_BLOCK: Final = 128
"""Rows that go through a layer together: enough to make use of weights, few enough to stay in the cache."""

_ANY: Final = np.float32(-np.inf)
"""Not greater than any output."""

_STRIPE: Final = 256
"""Outputs whose sums are held at a time; a multiple of 64."""


@_compiled
def _round(row: Any, rounded: Any, spare: Any) -> Any:
    """Write a row's bytes, up to 15 more after them, and return its scale; `spare` Float32[16] is for use within."""
    whole = row.size // 16
    rest = row.size - 16 * whole
    highest = np.int32(0)
    if whole:
        highest = largest_panel(address(row), whole)
    if rest:
        spare[:rest] = row[16 * whole :]
        spare[rest:] = np.float32(0.0)
        highest = max(highest, largest_panel(address(spare), 1))
    cell = spare[rest : rest + 1]
    cell.view(np.int32)[0] = highest
    largest = max(cell[0], _TINY)
    factor = _STEPS / largest
    if whole:
        bytes_panel(address(row), factor, address(rounded), whole)
    if rest:
        bytes_panel(address(spare), factor, address(rounded) + 16 * whole, 1)
    return largest / _STEPS


@_compiled
def _normalise(row: Any, weight: Any, bias: Any, epsilon: Any, out: Any) -> None:
    """Write the layer normalisation of a row."""
    mean = np.float32(0.0)
    for j in range(row.size):
        mean += row[j]
    mean /= np.float32(row.size)
    variance = np.float32(0.0)
    for j in range(row.size):
        variance += (row[j] - mean) * (row[j] - mean)
    factor = np.float32(1.0) / np.sqrt(variance / np.float32(row.size) + epsilon)
    for j in range(row.size):
        out[j] = (row[j] - mean) * factor * weight[j] + bias[j]


class Weights(NamedTuple):
    """A linear layer in steps.

    Args:
        packed: Int8[N/16,K/4,16,4], of `integer_products.packed`.
        steps: Float32[N], what a step of each output's weights stands for; 16 or more zeros follow, as in the next two.
        zeros: Int32[N], what the zero of unsigned bytes adds to each output.
        bias: Float32[N].
        outputs: N.
        tiles: of `integer_products.tiles`.
    """

    packed: Any
    steps: Any
    zeros: Any
    bias: Any
    outputs: Any
    tiles: Any

    @classmethod
    def of(cls, packed: Any, steps: Any, zeros: Any, bias: Any, outputs: int) -> Self:
        """Return the weights, aligned as copies are not, with the tiles that this process may use."""
        if packed.ctypes.data % integer_products.STEP:
            room = integer_products.aligned(packed.shape)
            room[...] = packed
            packed = room
        return cls(packed, steps, zeros, bias, outputs, tiles())

    def __reduce__(self) -> Any:
        """Leave tiles out of copies: another process may have none."""
        return Weights.of, tuple(self[:-1])

    @classmethod
    def stacked(cls, layers: Sequence["Weights"]) -> "Weights":
        """Return layers of the same size as one value, each array with a dimension more; see `_number`."""
        arrays = zip(*(layer[:4] for layer in layers), strict=True)
        packed, steps, zeros, bias = map(np.stack, arrays)
        return cls.of(packed, steps, zeros, bias, layers[0].outputs)

    def none(self) -> "Weights":
        """Return none of `stacked` ones."""
        return self._replace(**{name: getattr(self, name)[:0] for name in ("packed", "steps", "zeros", "bias")})


class Norm(NamedTuple):
    """A layer normalisation of rows: Float32[D] twice, and what is added to the variance."""

    weight: Any
    bias: Any
    epsilon: Any


class Stack(NamedTuple):
    """Layers of a Transformer, each with self-attention and R attentions to other texts.

    Args:
        layers: L.
        reads: R.
        heads: H.
        before: whether sublayers have their input normalised; else their sum with it is.
        norms: a `Norm` of Float32[L (R + 2),D].
        entries: `Weights.stacked` of L: queries, keys and values of self-attention.
        queries: of L R.
        outputs: of L (R + 1).
        inner: of L.
        outer: of L.
    """

    layers: Any
    reads: Any
    heads: Any
    before: Any
    norms: Any
    entries: Any
    queries: Any
    outputs: Any
    inner: Any
    outer: Any


class Source(NamedTuple):
    """A text that layers attend to.

    Args:
        pages: Int64[2,P], of `Pages.addresses`.
        slots: Int64[N,S], of `Pages`.
        mask: Bool[N or 1,K or 1,S], what tokens may attend to.
    """

    pages: Any
    slots: Any
    mask: Any


@_compiled
def _bytes_for(rows: Any, weights: Any) -> Any:
    """Return room for rows in bytes, UInt8[M,K], aligned and with M and K rounded up as products need them."""
    high, wide = (rows + 15) // 16 * 16, 4 * weights.packed.shape[1]
    room = np.empty(high * wide + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + high * wide].reshape(high, wide)


@_compiled
def round_rows(x: Any, first: Any, count: Any, rounded: Any, scales: Any) -> None:
    """Write bytes and scales of `count` rows from `first` on."""
    spare = np.empty(16, np.float32)
    for i in range(count):
        scales[i] = _round(x[first + i], rounded[i], spare)


@_compiled
def _round_entry(x: Any, first: Any, count: Any, before: Any, norm: Any, rounded: Any, scales: Any) -> None:
    """Do the same for what goes into a sublayer: rows, or if `before` their layer normalisation."""
    if not before:
        round_rows(x, first, count, rounded, scales)
        return
    spare, normal = np.empty(16, np.float32), np.empty(x.shape[1], np.float32)
    for i in range(count):
        _normalise(x[first + i], norm.weight, norm.bias, norm.epsilon, normal)
        scales[i] = _round(normal, rounded[i], spare)


@_compiled
def _scale(
    sums: Any, first: Any, count: Any, scale: Any, weights: Any, floor: Any, out: Any, at: Any, spare: Any
) -> None:
    """Write max(floor, W x + b) of a row for `count` outputs from `first` on to `out`, flat, from `at` on.

    `out` is Float32, or UInt16 for the upper halves of numbers. `sums` is the address of theirs; up to 15 numbers
    beyond them are read, and not used. `spare`, 16 numbers like `out`, is for use within.
    """
    whole, place = count // 16, 4 * first
    steps, zeros, bias = address(weights.steps), address(weights.zeros), address(weights.bias)
    if whole:
        to = address(out) + out.itemsize * at
        scale_panel(sums, zeros + place, steps + place, bias + place, scale, floor, to, whole, out)
    if count > 16 * whole:
        place += 64 * whole
        to = address(spare)
        scale_panel(sums + 64 * whole, zeros + place, steps + place, bias + place, scale, floor, to, 1, out)
        for j in range(count - 16 * whole):
            out[at + 16 * whole + j] = spare[j]


@_compiled
def _multiply(rounded: Any, scales: Any, count: Any, weights: Any, floor: Any, out: Any) -> None:
    """Write max(floor, W x + b) of `count` rows in bytes, some outputs at a time while they are cached."""
    # A row more than needed, as `_scale` reads up to 15 numbers further.
    sums, spare = np.empty((len(rounded) + 1, _STRIPE), np.int32), np.empty(16, np.float32)
    flat, outputs = out.reshape(-1), out.shape[1]
    for first in range(0, outputs, _STRIPE):
        multiply(rounded, count, weights.packed[first // 16 : (first + _STRIPE) // 16], sums, weights.tiles)
        some = min(_STRIPE, outputs - first)
        for i in range(count):
            at = address(sums) + 4 * _STRIPE * i
            _scale(at, first, some, scales[i], weights, floor, flat, i * outputs + first, spare)


@_compiled
def linear(x: Any, weights: Any, out: Any) -> None:
    """Write W x + b, Float32[M,N]."""
    rounded, scales = _bytes_for(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        round_rows(x, first, count, rounded, scales)
        _multiply(rounded, scales, count, weights, _ANY, out[first : first + count])


@_compiled
def normalise_rows(rows: Any, norm: Any, normal: Any) -> None:
    """Write the layer normalisation of rows."""
    for i in range(len(rows)):
        _normalise(rows[i], norm.weight, norm.bias, norm.epsilon, normal[i])


@_compiled
def share(x: Any, before: Any, norm: Any, weights: Any, queries: Any, kept: Any) -> None:
    """Write W x + b to two places: what attention asks with, and what it keeps.

    Args:
        x: Float32[M,D].
        before: whether x is normalised first.
        norm: a `Norm`.
        weights: for Q + R outputs.
        queries: Float32[M,Q].
        kept: UInt16[M,R], the other outputs, as the upper halves of Float32.
    """
    asked = queries.shape[1]
    rounded, scales = _bytes_for(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    # A row more than needed, as `_scale` reads up to 15 numbers further.
    sums, spare = np.empty((len(rounded) + 1, _STRIPE), np.int32), np.empty(16, np.float32)
    flat, flat_kept, spare_kept = queries.reshape(-1), kept.reshape(-1), np.empty(16, np.uint16)
    outputs = weights.outputs
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        _round_entry(x, first, count, before, norm, rounded, scales)
        for start in range(0, outputs, _STRIPE):
            multiply(rounded, count, weights.packed[start // 16 : (start + _STRIPE) // 16], sums, weights.tiles)
            end = min(start + _STRIPE, outputs)
            between = max(start, min(asked, end))
            for i in range(count):
                at, row = address(sums) + 4 * _STRIPE * i, first + i
                to = row * asked + start
                _scale(at, start, between - start, scales[i], weights, _ANY, flat, to, spare)
                at, to = at + 4 * (between - start), row * kept.shape[1] + between - asked
                _scale(at, between, end - between, scales[i], weights, _ANY, flat_kept, to, spare_kept)


@_compiled
def feed(x: Any, before: Any, norm: Any, inner: Any, outer: Any, out: Any) -> None:
    """Write x + W max(0, V x + b) + c, Float32[M,D]; x is normalised within if `before`."""
    most = min(len(x), _BLOCK)
    rounded, wide = _bytes_for(most, inner), _bytes_for(most, outer)
    scales, hidden = np.empty(most, np.float32), np.empty((most, inner.outputs), np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        _round_entry(x, first, count, before, norm, rounded, scales)
        _multiply(rounded, scales, count, inner, np.float32(0.0), hidden)
        round_rows(hidden, 0, count, wide, scales)
        _multiply(wide, scales, count, outer, _ANY, out[first : first + count])
        _add_rows(x, first, count, out)


@_compiled
def _add_rows(x: Any, first: Any, count: Any, out: Any) -> None:
    for i in range(first, first + count):
        row, to = x[i], out[i]
        for j in range(row.size):
            to[j] += row[j]


@_compiled
def _number(weights: Any, number: Any) -> Any:
    """Return one of `Weights.stacked`."""
    return Weights(
        weights.packed[number],
        weights.steps[number],
        weights.zeros[number],
        weights.bias[number],
        weights.outputs,
        weights.tiles,
    )


@_compiled
def run(x: Any, stack: Any, sources: Any, places: Any, tokens: Any, page: Any, sums: Any, means: Any) -> None:
    """Run layers one after the other.

    Args:
        x: Float32[M,D], hidden states of tokens, to be replaced by what the last layer makes of them.
        stack: a `Stack`.
        sources: the `Source` of the tokens themselves, then those of R other texts, then any others.
        places: Int64[M], of rows among all N x K tokens, in order.
        tokens: K.
        page: Bfloat16[L,M,2D] as UInt16, what self-attention keeps of the tokens; or [1,M,2D] to be used by the layers
            in turn, as `Pages.addresses` has it.
        sums: for each other text Float32[M,D], to be what follows attention to it in the last layer, before any
            normalisation; then any others.
        means: for each other text Float32[N,K,S], zeros to which the weights of the same attention are added, or empty,
            if they are not wanted; then any others.
    """
    queries, found, mixed = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    nothing, unwanted = np.empty((len(x), 0), np.uint16), np.empty((0, 0, 0), np.float32)
    norms, before, attentions = stack.norms, stack.before, stack.reads + 1
    for layer in range(stack.layers):
        for i in range(attentions):
            number = layer * (attentions + 1) + i
            norm = Norm(norms.weight[number], norms.bias[number], norms.epsilon)
            wanted = i > 0 and layer == stack.layers - 1
            if i:
                share(x, before, norm, _number(stack.queries, layer * stack.reads + i - 1), queries, nothing)
            else:
                share(x, before, norm, _number(stack.entries, layer), queries, page[min(layer, len(page) - 1)])
            source = sources[i]
            text = Text(source.pages[0] + layer * source.pages[1], source.slots, stack.heads)
            attend(queries, text, source.mask, places, tokens, mixed, means[i - 1] if wanted else unwanted)
            linear(mixed, _number(stack.outputs, layer * attentions + i), found)
            _add_rows(x, 0, len(x), found)
            if wanted:
                sums[i - 1][:] = found
            if before:
                x[:] = found
            else:
                normalise_rows(found, norm, x)
        number = layer * (attentions + 1) + attentions
        norm = Norm(norms.weight[number], norms.bias[number], norms.epsilon)
        feed(x, before, norm, _number(stack.inner, layer), _number(stack.outer, layer), found)
        if before:
            x[:] = found
        else:
            normalise_rows(found, norm, x)


@_compiled
def keep(views: Any, weights: Any, first: Any, step: Any, page: Any) -> None:
    """Write what L layers keep of a text that they attend to.

    Args:
        views: Float32[L,M,D], the text as each layer sees it; or [1,M,D], if all see the same.
        weights: `Weights.stacked`.
        first: which of them are those of the first layer.
        step: how much further those of the next layer are.
        page: Bfloat16[L,M,2D] as UInt16.
    """
    none, nothing = np.empty(0, np.float32), np.empty((views.shape[1], 0), np.float32)
    unused = Norm(none, none, np.float32(0.0))
    for layer in range(len(page)):
        view = views[min(layer, len(views) - 1)]
        share(view, False, unused, _number(weights, first + layer * step), nothing, page[layer])
