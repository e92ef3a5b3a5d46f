"""Compiled Transformer layers: everything around the integer products, in one pass over each row while it is cached.

A row is quantised to bytes 1 .. 255 around 128, with a scale from its largest absolute value, so the result of a row
does not depend on other rows. All arrays are contiguous.

Letters: M rows of width D; N sentences of K tokens, H heads of width E, S slots that are attended to. Rows are
Float32[M,D], quantised rows UInt8[M,D], their scales (the value of one step) Float32[M].
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from postedit import compiled
from postedit.nn.int8 import epilogues, integer_products, paged_attention, paged_cache, simd
from postedit.nn.int8.epilogues import dequantise, largest_magnitude, quantise
from postedit.nn.int8.integer_products import multiply, tile_config
from postedit.nn.int8.paged_attention import PagedKeyValues, attend
from postedit.nn.int8.simd import address


def _delete_stale_kernels() -> None:
    """Delete cached kernels older than any module that they use: numba checks only the file of the kernel itself."""
    parts = [
        Path(str(part.__file__)) for part in (compiled, simd, paged_cache, epilogues, integer_products, paged_attention)
    ]
    changed = max(part.stat().st_mtime for part in parts)
    for name in (Path(__file__), *parts):
        for index in name.parent.glob(f"__pycache__/{name.stem}.*.nbi"):
            with suppress(OSError):  # another process deletes it too, or the folder is read-only
                if index.stat().st_mtime < changed:
                    index.unlink()


_delete_stale_kernels()

# Reassociation lets LLVM vectorise sums.
_compiled = compiled.compiled_with(error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})

_MIN_MAGNITUDE = np.float32(1e-30)
"""Lower bound of a row's largest absolute value, so that rows of zeros have a scale."""

_LEVELS = np.float32(127.0)

_BLOCK: Final = 128
"""Rows that pass through a layer together: enough to reuse the weights, few enough to stay in the cache."""

_NO_FLOOR: Final = np.float32(-np.inf)

_STRIPE: Final = 256
"""Outputs whose sums are held at a time; a multiple of 64."""


@_compiled
def _quantise_row(row: Any, quantised: Any, buffer: Any) -> Any:
    """Write a row's bytes, and up to 15 more after them; return its scale. `buffer` is Float32[16]."""
    whole = row.size // 16
    rest = row.size - 16 * whole
    highest = np.int32(0)
    if whole:
        highest = largest_magnitude(address(row), whole)
    if rest:
        buffer[:rest] = row[16 * whole :]
        buffer[rest:] = np.float32(0.0)
        highest = max(highest, largest_magnitude(address(buffer), 1))
    cell = buffer[rest : rest + 1]
    cell.view(np.int32)[0] = highest
    largest = max(cell[0], _MIN_MAGNITUDE)
    factor = _LEVELS / largest
    if whole:
        quantise(address(row), factor, address(quantised), whole)
    if rest:
        quantise(address(buffer), factor, address(quantised) + 16 * whole, 1)
    return largest / _LEVELS


@_compiled
def _normalise_row(row: Any, weight: Any, bias: Any, epsilon: Any, out: Any) -> None:
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


class LinearWeights(NamedTuple):
    """A quantised linear layer."""

    packed: Any  # Int8[N/16,K/4,16,4], from `integer_products.pack_weights`
    steps: Any  # Float32[N], the value of one step of each output's weights; padded with at least 16 zeros
    zeros: Any  # Int32[N], what the zero point of the unsigned inputs adds to each output; padded likewise
    bias: Any  # Float32[N], padded likewise
    outputs: Any  # N
    tiles: Any  # from `integer_products.tile_config`

    @classmethod
    def of(cls, packed: Any, steps: Any, zeros: Any, bias: Any, outputs: int) -> Self:
        """Return the weights in aligned memory, with the tile configuration of this process; copies lose alignment."""
        if packed.ctypes.data % integer_products.ALIGNMENT:
            buffer = integer_products.aligned_zeros(packed.shape)
            buffer[...] = packed
            packed = buffer
        return cls(packed, steps, zeros, bias, outputs, tile_config())

    def __reduce__(self) -> Any:
        """Leave the tile configuration out of copies: another process may not have tiles."""
        return LinearWeights.of, tuple(self[:-1])

    @classmethod
    def stack(cls, layers: Sequence["LinearWeights"]) -> "LinearWeights":
        """Return layers of the same size as one value, each array with a new first dimension; see `_layer_weights`."""
        arrays = zip(*(layer[:4] for layer in layers), strict=True)
        packed, steps, zeros, bias = map(np.stack, arrays)
        return cls.of(packed, steps, zeros, bias, layers[0].outputs)

    def without_layers(self) -> "LinearWeights":
        """Return a stack without layers whose arrays have the types of this one's."""
        return self._replace(**{name: getattr(self, name)[:0] for name in ("packed", "steps", "zeros", "bias")})


class NormWeights(NamedTuple):
    """A layer normalisation: weight and bias Float32[D], and the epsilon added to the variance."""

    weight: Any
    bias: Any
    epsilon: Any


class StackWeights(NamedTuple):
    """L Transformer layers, each with self-attention and R cross-attentions."""

    layers: Any  # L
    cross_attentions: Any  # R
    heads: Any  # H
    pre_norm: Any  # whether sublayers normalise their input; else the sum with the residual
    norms: Any  # `NormWeights` of Float32[L (R + 2),D]
    self_projections: Any  # `LinearWeights.stack` of L layers: queries, keys and values of self-attention
    cross_queries: Any  # likewise of L R layers
    attention_outputs: Any  # likewise of L (R + 1) layers
    inner: Any  # likewise of L layers
    outer: Any  # likewise of L layers


class PagedMemory(NamedTuple):
    """A memory that the layers of a stack attend to."""

    pages: Any  # Int64[2,P], from `PagedKeyValueCache.addresses`
    slots: Any  # Int64[N,S], from `PagedKeyValueCache`
    mask: Any  # Bool[N or 1,K or 1,S], True at slots that a token may attend to


@_compiled
def _empty_quantised(rows: Any, weights: Any) -> Any:
    """Return an uninitialised UInt8[M,K] for quantised rows, aligned, with M and K padded as products need them."""
    padded_rows, width = (rows + 15) // 16 * 16, 4 * weights.packed.shape[1]
    buffer = np.empty(padded_rows * width + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + padded_rows * width].reshape(padded_rows, width)


@_compiled
def quantise_rows(x: Any, first: Any, count: Any, quantised: Any, scales: Any) -> None:
    """Write the bytes and scales of `count` rows from `first` on."""
    buffer = np.empty(16, np.float32)
    for i in range(count):
        scales[i] = _quantise_row(x[first + i], quantised[i], buffer)


@_compiled
def _quantise_sublayer_input(
    x: Any, first: Any, count: Any, pre_norm: Any, norm: Any, quantised: Any, scales: Any
) -> None:
    """Write the bytes and scales of rows or, if `pre_norm`, of their layer normalisation."""
    if not pre_norm:
        quantise_rows(x, first, count, quantised, scales)
        return
    buffer, normal = np.empty(16, np.float32), np.empty(x.shape[1], np.float32)
    for i in range(count):
        _normalise_row(x[first + i], norm.weight, norm.bias, norm.epsilon, normal)
        scales[i] = _quantise_row(normal, quantised[i], buffer)


@_compiled
def _dequantise_outputs(
    sums: Any, first: Any, count: Any, scale: Any, weights: Any, floor: Any, out: Any, at: Any, buffer: Any
) -> None:
    """Write max(floor, W x + b) of a row for `count` outputs from `first` on to the flat array `out` from `at` on.

    `out` is Float32, or UInt16 for bfloat16. `sums` is the address of the outputs' sums; up to 15 numbers after them
    are read and not used. `buffer` has 16 numbers of the type of `out`.
    """
    whole, position = count // 16, 4 * first
    steps, zeros, bias = address(weights.steps), address(weights.zeros), address(weights.bias)
    if whole:
        to = address(out) + out.itemsize * at
        dequantise(sums, zeros + position, steps + position, bias + position, scale, floor, to, whole, out)
    if count > 16 * whole:
        position += 64 * whole
        to = address(buffer)
        dequantise(sums + 64 * whole, zeros + position, steps + position, bias + position, scale, floor, to, 1, out)
        for j in range(count - 16 * whole):
            out[at + 16 * whole + j] = buffer[j]


@_compiled
def _linear_block(quantised: Any, scales: Any, count: Any, weights: Any, floor: Any, out: Any) -> None:
    """Write max(floor, W x + b) of `count` quantised rows, a stripe of outputs at a time while it is cached."""
    # One row more than needed, because `_dequantise_outputs` reads up to 15 numbers further.
    sums, buffer = np.empty((len(quantised) + 1, _STRIPE), np.int32), np.empty(16, np.float32)
    flat, outputs = out.reshape(-1), out.shape[1]
    for first in range(0, outputs, _STRIPE):
        multiply(quantised, count, weights.packed[first // 16 : (first + _STRIPE) // 16], sums, weights.tiles)
        stripe = min(_STRIPE, outputs - first)
        for i in range(count):
            at = address(sums) + 4 * _STRIPE * i
            _dequantise_outputs(at, first, stripe, scales[i], weights, floor, flat, i * outputs + first, buffer)


@_compiled
def linear(x: Any, weights: Any, out: Any) -> None:
    """Write W x + b, Float32[M,N]."""
    quantised, scales = _empty_quantised(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        quantise_rows(x, first, count, quantised, scales)
        _linear_block(quantised, scales, count, weights, _NO_FLOOR, out[first : first + count])


@_compiled
def normalise_rows(rows: Any, norm: Any, normal: Any) -> None:
    """Write the layer normalisation of rows."""
    for i in range(len(rows)):
        _normalise_row(rows[i], norm.weight, norm.bias, norm.epsilon, normal[i])


@_compiled
def project_queries_and_key_values(
    x: Any, pre_norm: Any, norm: Any, weights: Any, queries: Any, key_values: Any
) -> None:
    """Write W x + b of an attention: the first outputs as queries, the others as keys and values.

    Args:
        x: Float32[M,D].
        pre_norm: whether x is normalised first.
        norm: `NormWeights`.
        weights: `LinearWeights` with Q + R outputs.
        queries: Float32[M,Q].
        key_values: UInt16[M,R], the other outputs as bfloat16.
    """
    width = queries.shape[1]
    quantised, scales = _empty_quantised(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    # One row more than needed, because `_dequantise_outputs` reads up to 15 numbers further.
    sums, buffer = np.empty((len(quantised) + 1, _STRIPE), np.int32), np.empty(16, np.float32)
    flat_queries, flat_key_values, narrow_buffer = queries.reshape(-1), key_values.reshape(-1), np.empty(16, np.uint16)
    outputs = weights.outputs
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        _quantise_sublayer_input(x, first, count, pre_norm, norm, quantised, scales)
        for start in range(0, outputs, _STRIPE):
            multiply(quantised, count, weights.packed[start // 16 : (start + _STRIPE) // 16], sums, weights.tiles)
            end = min(start + _STRIPE, outputs)
            border = max(start, min(width, end))
            for i in range(count):
                at, row = address(sums) + 4 * _STRIPE * i, first + i
                to = row * width + start
                _dequantise_outputs(at, start, border - start, scales[i], weights, _NO_FLOOR, flat_queries, to, buffer)
                at, to = at + 4 * (border - start), row * key_values.shape[1] + border - width
                _dequantise_outputs(
                    at, border, end - border, scales[i], weights, _NO_FLOOR, flat_key_values, to, narrow_buffer
                )


@_compiled
def feed_forward(x: Any, pre_norm: Any, norm: Any, inner: Any, outer: Any, out: Any) -> None:
    """Write x + W max(0, V x' + b) + c, Float32[M,D], where x' is x, normalised if `pre_norm`."""
    rows = min(len(x), _BLOCK)
    quantised, quantised_hidden = _empty_quantised(rows, inner), _empty_quantised(rows, outer)
    scales, hidden = np.empty(rows, np.float32), np.empty((rows, inner.outputs), np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        _quantise_sublayer_input(x, first, count, pre_norm, norm, quantised, scales)
        _linear_block(quantised, scales, count, inner, np.float32(0.0), hidden)
        quantise_rows(hidden, 0, count, quantised_hidden, scales)
        _linear_block(quantised_hidden, scales, count, outer, _NO_FLOOR, out[first : first + count])
        _add_rows(x, first, count, out)


@_compiled
def _add_rows(x: Any, first: Any, count: Any, out: Any) -> None:
    for i in range(first, first + count):
        row, to = x[i], out[i]
        for j in range(row.size):
            to[j] += row[j]


@_compiled
def _layer_weights(stack: Any, layer: Any) -> Any:
    """Return one layer of `LinearWeights.stack`."""
    return LinearWeights(
        stack.packed[layer], stack.steps[layer], stack.zeros[layer], stack.bias[layer], stack.outputs, stack.tiles
    )


@_compiled
def transformer_layers(
    x: Any, stack: Any, memories: Any, positions: Any, tokens: Any, page: Any, cross_outputs: Any, means: Any
) -> None:
    """Compute all layers of a stack, one after the other.

    Args:
        x: Float32[M,D], hidden states of packed tokens; replaced by the output of the last layer.
        stack: `StackWeights`.
        memories: a `PagedMemory` of the tokens themselves, then one for each of R cross-attentions; more are ignored.
        positions: Int64[M], the positions of the rows among all N x K tokens, ascending.
        tokens: K.
        page: Bfloat16[L,M,2D] as UInt16, to receive the keys and values of self-attention; or [1,M,2D], used by all
            layers in turn (see `PagedKeyValueCache.addresses`).
        cross_outputs: a Float32[M,D] for each cross-attention, to receive the sum of its output and the residual in
            the last layer, before any normalisation; more are ignored.
        means: a Float32[N,K,S] of zeros for each cross-attention, to which its weights in the last layer are added,
            averaged over heads; empty if they are not needed; more are ignored.
    """
    queries, found, mixed = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    no_key_values, no_means = np.empty((len(x), 0), np.uint16), np.empty((0, 0, 0), np.float32)
    norms, pre_norm, attentions = stack.norms, stack.pre_norm, stack.cross_attentions + 1
    for layer in range(stack.layers):
        for i in range(attentions):
            sublayer = layer * (attentions + 1) + i
            norm = NormWeights(norms.weight[sublayer], norms.bias[sublayer], norms.epsilon)
            returned = i > 0 and layer == stack.layers - 1
            if i:
                weights = _layer_weights(stack.cross_queries, layer * stack.cross_attentions + i - 1)
                project_queries_and_key_values(x, pre_norm, norm, weights, queries, no_key_values)
            else:
                weights = _layer_weights(stack.self_projections, layer)
                own_page = page[min(layer, len(page) - 1)]
                project_queries_and_key_values(x, pre_norm, norm, weights, queries, own_page)
            memory = memories[i]
            key_values = PagedKeyValues(memory.pages[0] + layer * memory.pages[1], memory.slots, stack.heads)
            attend(queries, key_values, memory.mask, positions, tokens, mixed, means[i - 1] if returned else no_means)
            linear(mixed, _layer_weights(stack.attention_outputs, layer * attentions + i), found)
            _add_rows(x, 0, len(x), found)
            if returned:
                cross_outputs[i - 1][:] = found
            if pre_norm:
                x[:] = found
            else:
                normalise_rows(found, norm, x)
        sublayer = layer * (attentions + 1) + attentions
        norm = NormWeights(norms.weight[sublayer], norms.bias[sublayer], norms.epsilon)
        feed_forward(x, pre_norm, norm, _layer_weights(stack.inner, layer), _layer_weights(stack.outer, layer), found)
        if pre_norm:
            x[:] = found
        else:
            normalise_rows(found, norm, x)


@_compiled
def project_key_values(memories: Any, weights: Any, first: Any, step: Any, page: Any) -> None:
    """Write the keys and values of a memory for one cross-attention of L layers.

    Args:
        memories: Float32[L,M,D], the memory as each layer sees it; or [1,M,D] if all layers see the same.
        weights: `LinearWeights.stack`.
        first: index of the first layer's weights in the stack.
        step: distance to the weights of the next layer.
        page: Bfloat16[L,M,2D] as UInt16.
    """
    empty, no_queries = np.empty(0, np.float32), np.empty((memories.shape[1], 0), np.float32)
    no_norm = NormWeights(empty, empty, np.float32(0.0))
    for layer in range(len(page)):
        memory = memories[min(layer, len(memories) - 1)]
        layer_weights = _layer_weights(weights, first + layer * step)
        project_queries_and_key_values(memory, False, no_norm, layer_weights, no_queries, page[layer])
