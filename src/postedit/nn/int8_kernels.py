"""What stands between the integer products of a Transformer, compiled: one pass over each row while it is cached.

A row is rounded to bytes 1 .. 255 around 128, as fine as its own largest absolute value allows. What a row gives does
not depend on others. PyTorch has no such operators; made of its own ones they take longer than the products. Attention
is here too, as it takes rows in and gives rows out, and does no work on padding. All arrays are contiguous.

Letters: M rows of width D; N sentences of K tokens, H heads of width E, S slots that are attended to. Rows come as
Float32[M,D], bytes as UInt8[M,D], scales (what a step of a row stands for) as Float32[M].
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numba import njit

from postedit.nn import int8_panels, int8_products, vectors
from postedit.nn.int8_panels import bytes_panel, dots_panel, largest_panel, scale_panel, softmax_panel, widen_panel
from postedit.nn.int8_products import multiply, multiply_floats, tiles
from postedit.nn.pages import PAGE
from postedit.nn.vectors import address


def _forget_older_kernels() -> None:
    """Delete kernels that numba keeps from before a change of what is in them: it knows only of their own file."""
    parts = [Path(str(part.__file__)) for part in (vectors, int8_panels, int8_products)]
    changed = max(part.stat().st_mtime for part in parts)
    for name in (Path(__file__), *parts):
        for index in name.parent.glob(f"__pycache__/{name.stem}.*.nbi"):
            with suppress(OSError):  # another process does the same, or nobody may
                if index.stat().st_mtime < changed:
                    index.unlink()


_forget_older_kernels()

# Sums may be added in another order, which is what lets them be vectorised.
_compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})

_inlined = njit(inline="always", nogil=True, error_model="numpy")

_TINY = np.float32(1e-30)
"""A row of zeros has some scale too."""

_STEPS = np.float32(127.0)

_BLOCK: Final = 128
"""Rows that go through a layer together: enough to make use of weights, few enough to stay in the cache."""

_ANY: Final = np.float32(-np.inf)
"""Not greater than any output."""

_WITHIN: Final = 2**PAGE - 1
"""The bits of a token's number within its page."""

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
        packed: Int8[N/16,K/4,16,4], of `int8_products.packed`.
        steps: Float32[N], what a step of each output's weights stands for; 16 or more zeros follow, as in the next two.
        zeros: Int32[N], what the zero of unsigned bytes adds to each output.
        bias: Float32[N].
        outputs: N.
        tiles: of `int8_products.tiles`.
    """

    packed: Any
    steps: Any
    zeros: Any
    bias: Any
    outputs: Any
    tiles: Any

    @classmethod
    def of(cls, packed: Any, steps: Any, zeros: Any, bias: Any, outputs: int) -> Self:
        """Return the weights with the tiles that this process may use."""
        return cls(packed, steps, zeros, bias, outputs, tiles())

    def __reduce__(self) -> Any:
        """Leave tiles out of copies: another process may have none."""
        return Weights.of, tuple(self[:-1])


class Norm(NamedTuple):
    """A layer normalisation of rows: Float32[D] twice, and what is added to the variance."""

    weight: Any
    bias: Any
    epsilon: Any


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
def attended(
    q: Any, text: Any, mask: Any, places: Any, tokens: Any, weights: Any, x: Any, out: Any, means: Any
) -> None:
    """Write x + W a + b, Float32[M,D], for what tokens find by attention; see `attend`."""
    mixed = np.empty(x.shape, np.float32)
    attend(q, text, mask, places, tokens, mixed, means)
    linear(mixed, weights, out)
    _add_rows(x, 0, len(x), out)


class Text(NamedTuple):
    """What is attended to.

    Args:
        pages: Int64[P], addresses of `nn.pages`; up to 15 numbers behind a page are read, and not used.
        slots: Int64[N,S], which token is where; their keys and values must be finite, even where nobody may look.
        heads: H; each has D / H of a token.
    """

    pages: Any
    slots: Any
    heads: Any


@_compiled
def attend(q: Any, text: Any, mask: Any, places: Any, tokens: Any, mixed: Any, means: Any) -> None:
    """Scaled dot-product attention of tokens that have a row.

    Args:
        q: Float32[M,D], queries.
        text: a `Text`.
        mask: Bool[N or 1,K or 1,S], what may be attended to; a token that may attend to nothing finds zeros.
        places: Int64[M], of rows among all N x K tokens, in order.
        tokens: K.
        mixed: Float32[M,D], the result.
        means: Float32[N,K,S], zeros to which weights are added, the mean over heads; or empty, if they are not wanted.
    """
    if not text.slots.shape[1]:
        mixed[:] = np.float32(0.0)
        return
    room = _room(tokens, text.slots.shape[1], q.shape[1], text.heads)
    share = np.float32(1.0) / np.float32(text.heads)
    first = 0
    while first < len(places):
        sentence = places[first] // tokens
        count = 1
        while first + count < len(places) and places[first + count] // tokens == sentence:
            count += 1
        own = places[first : first + count] - sentence * tokens
        seen = mask[min(sentence, len(mask) - 1)]
        end = _end(seen)
        _hide(seen, own, end, room.hidden)
        _locate(text.slots[sentence], text.pages, end, room.nothing, room.origins)
        for head in range(text.heads):
            _fetch(room, head, q.shape[1] // text.heads, end)
            _attend(q, first, count, head, q.shape[1] // text.heads, end, room, mixed)
            if means.size:
                _add_weights(room, own, end, share, means[sentence])
        first += count


class _Room(NamedTuple):
    """For one head of a sentence: K queries, S slots and width E, the last two rounded up to 16.

    Args:
        asked: Float32[K,E], queries, with zeros behind them.
        hidden: Float32[K,S], 0 where a query may look, else -inf.
        scores: Float32[K,S].
        totals: Float32[K], one over the sum of a query's scores.
        keys: Float32[S/16,E/16,16,16], as `dots_panel` has them.
        values: Float32[S,E].
        found: Float32[K,E].
        origins: Int64[S], where the token of each slot stands; that of `nothing` if there is none.
        nothing: UInt16[2D], a token of zeros.
    """

    asked: Any
    hidden: Any
    scores: Any
    totals: Any
    keys: Any
    values: Any
    found: Any
    origins: Any
    nothing: Any


@_compiled
def _room(queries: Any, slots: Any, dim: Any, heads: Any) -> Any:
    wide, high = (dim // heads + 15) // 16 * 16, (slots + 15) // 16 * 16
    return _Room(
        np.zeros((queries, wide), np.float32),
        np.empty((queries, high), np.float32),
        np.empty((queries, high), np.float32),
        np.empty(queries, np.float32),
        np.empty((high // 16, wide // 16, 16, 16), np.float32),
        np.empty((high, wide), np.float32),
        np.empty((queries, wide), np.float32),
        np.empty(high, np.int64),
        np.zeros(2 * dim + 15, np.uint16),
    )


@_inlined
def _locate(slots: Any, pages: Any, end: Any, nothing: Any, origins: Any) -> None:
    """Write where the tokens of the first `end` slots stand, and of those up to a multiple of 16."""
    token = 2 * (nothing.size - 15)
    for s in range((end + 15) // 16 * 16):
        slot = slots[s] if s < end else 0
        origins[s] = pages[slot >> PAGE] + ((slot & _WITHIN) - 1) * token if slot else address(nothing)


@_inlined
def _fetch(room: Any, head: Any, width: Any, end: Any) -> None:
    """Write a head's keys and values."""
    wide, key = room.values.shape[1], 2 * head * width
    value = key + room.nothing.size - 15  # D numbers of two bytes behind the key
    keys, values, origins = address(room.keys), address(room.values), room.origins
    for s in range((end + 15) // 16 * 16):
        widen_panel(origins[s] + key, wide // 16, keys + 64 * (s // 16 * wide + s % 16), 16 * 64)
    for s in range(end):
        widen_panel(origins[s] + value, wide // 16, values + 4 * s * wide, 64)
    if width % 16:
        room.keys[:, -1, :, width % 16 :] = np.float32(0.0)  # of another head


@_inlined
def _attend(q: Any, first: Any, count: Any, head: Any, width: Any, end: Any, room: Any, mixed: Any) -> None:
    """Write what a head finds for `count` rows from `first` on."""
    wide, high, whole = room.values.shape[1], room.scores.shape[1], (end + 15) // 16 * 16
    factor, start = np.float32(1.0) / np.sqrt(np.float32(width)), head * width
    asked, found, totals = room.asked, room.found, room.totals
    for i in range(count):
        for j in range(width):
            asked[i, j] = q[first + i, start + j] * factor
    keys, scores, hidden = address(room.keys), address(room.scores), address(room.hidden)
    for i in range(count):
        query, row = address(asked) + 4 * i * wide, 4 * i * high
        for s in range(0, whole, 16):
            dots_panel(query, keys + 4 * s * wide, wide // 16, scores + row + 4 * s)
        totals[i] = softmax_panel(scores + row, hidden + row, whole // 16)
    multiply_floats(
        scores, 4 * high, 4, count, address(room.values), 4 * wide, wide // 16, end, address(found), 4 * wide
    )
    for i in range(count):
        for j in range(width):
            mixed[first + i, start + j] = found[i, j] * totals[i]


@_compiled
def _add_weights(room: Any, tokens: Any, end: Any, share: Any, means: Any) -> None:
    """Add a head's share to the weights Float32[K,S] of some tokens."""
    for i in range(tokens.size):
        scale = room.totals[i] * share
        for s in range(end):
            means[tokens[i], s] += room.scores[i, s] * scale


@_compiled
def _end(seen: Any) -> Any:
    """Return how many slots there are up to the last one that any token may attend to, by Bool[K,S]."""
    end = seen.shape[1]
    while end > 1 and not seen[:, end - 1].any():
        end -= 1
    return end


@_compiled
def _hide(seen: Any, tokens: Any, end: Any, hidden: Any) -> None:
    """Write -inf to Float32[K,S] where the first tokens may not look by `seen` Bool[K or 1,S], 0 where they may."""
    for i in range(tokens.size):
        token = min(tokens[i], len(seen) - 1)
        for s in range((end + 15) // 16 * 16):
            hidden[i, s] = np.float32(0.0) if s < end and seen[token, s] else np.float32(-np.inf)
