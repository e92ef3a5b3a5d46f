"""What stands between the integer products of a Transformer, compiled: one pass over each row while it is cached.

A row is rounded to bytes 1 .. 255 around 128, as fine as its own largest absolute value allows. What a row gives does
not depend on others. PyTorch has no such operators; made of its own ones they take longer than the products.
Attention is here too, as it takes rows in and gives rows out, and does no work on padding.

Letters: M rows of width D; N sentences of K tokens, H heads of width E, S slots that are attended to. Rows come as
Float32[M,D], bytes as UInt8[M,D], scales (what a step of a row stands for) as Float32[M].
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from postedit.nn.int8_products import multiply

# Sums may be added in another order, which is what lets them be vectorised.
_compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})

_MAGNITUDE = np.int32(0x7FFFFFFF)
"""The bits of a number without its sign; they are in the order of the absolute values, and comparing them is quick."""

_TINY = np.float32(1e-30)
"""A row of zeros has some scale too."""

_STEPS = np.float32(127.0)
_MIDDLE = np.float32(128.5)
"""Added before cutting off decimals: the zero of unsigned bytes, and a half to round."""

_BLOCK: Final = 128
"""Rows that go through a layer together: enough to make use of weights, few enough to stay in the cache."""

_STRIPE: Final = 256
"""Outputs whose sums are held at a time; a multiple of 64."""


@_compiled
def _round(row: Any, rounded: Any, cell: Any) -> Any:
    """Write a row's bytes and return its scale; `cell` Float32[1] is for use within."""
    bits, highest = row.view(np.int32), np.int32(0)
    for j in range(row.size):
        highest = max(highest, bits[j] & _MAGNITUDE)
    cell.view(np.int32)[0] = highest
    largest = max(cell[0], _TINY)
    factor = _STEPS / largest
    for j in range(row.size):
        rounded[j] = np.uint8(np.int32(row[j] * factor + _MIDDLE))
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
        steps: Float32[N], what a step of each output's weights stands for.
        zeros: Int32[N], what the zero of unsigned bytes adds to each output.
        bias: Float32[N].
        tiles: of `int8_products.tiles`.
    """

    packed: Any
    steps: Any
    zeros: Any
    bias: Any
    tiles: Any


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
    cell, width = np.empty(1, np.float32), x.shape[1]
    for i in range(count):
        scales[i] = _round(x[first + i], rounded[i, :width], cell)


@_compiled
def _round_normal_rows(x: Any, first: Any, count: Any, norm: Any, rounded: Any, scales: Any) -> None:
    """Write bytes and scales of the layer normalisation of `count` rows from `first` on."""
    cell, normal = np.empty(1, np.float32), np.empty(x.shape[1], np.float32)
    for i in range(count):
        _normalise(x[first + i], norm.weight, norm.bias, norm.epsilon, normal)
        scales[i] = _round(normal, rounded[i, : normal.size], cell)


@_compiled
def _multiply(rounded: Any, scales: Any, count: Any, weights: Any, out: Any) -> None:
    """Write W x + b of rows in bytes to the first `count` rows of `out`, some outputs at a time while in the cache."""
    sums = np.empty((len(rounded), _STRIPE), np.int32)
    for start in range(0, out.shape[1], _STRIPE):
        multiply(rounded, count, weights.packed[start // 16 : (start + _STRIPE) // 16], sums, weights.tiles)
        end = min(start + _STRIPE, out.shape[1])
        steps, zeros, bias = weights.steps[start:end], weights.zeros[start:end], weights.bias[start:end]
        for i in range(count):
            total, row, scale = sums[i], out[i, start:end], scales[i]
            for j in range(row.size):
                row[j] = np.float32(total[j] - zeros[j]) * (scale * steps[j]) + bias[j]


@_compiled
def linear(x: Any, weights: Any, out: Any) -> None:
    """Write W x + b, Float32[M,N]."""
    rounded, scales = _bytes_for(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        round_rows(x, first, count, rounded, scales)
        _multiply(rounded, scales, count, weights, out[first : first + count])


@_compiled
def normalise_rows(rows: Any, norm: Any, normal: Any) -> None:
    """Write the layer normalisation of rows."""
    for i in range(len(rows)):
        _normalise(rows[i], norm.weight, norm.bias, norm.epsilon, normal[i])


@_compiled
def share(x: Any, before: Any, norm: Any, weights: Any, places: Any, parts: Any) -> None:
    """Give each head its share of W x + b.

    Args:
        x: Float32[M,D].
        before: whether x is normalised first.
        norm: a `Norm`.
        weights: for P x D outputs.
        places: Int64[M], of rows among all N x K tokens.
        parts: Float32[P,N,H,K,E], written where a token has a row.
    """
    heads, tokens, width = parts.shape[2], parts.shape[3], parts.shape[4]
    rounded, scales = _bytes_for(min(len(x), _BLOCK), weights), np.empty(_BLOCK, np.float32)
    rows = np.empty((min(len(x), _BLOCK), weights.bias.size), np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        if before:
            _round_normal_rows(x, first, count, norm, rounded, scales)
        else:
            round_rows(x, first, count, rounded, scales)
        _multiply(rounded, scales, count, weights, rows)
        for i in range(count):
            sentence, token = divmod(places[first + i], tokens)
            start = 0
            for part in range(len(parts)):
                for head in range(heads):
                    values, to = rows[i, start : start + width], parts[part, sentence, head, token]
                    for j in range(width):
                        to[j] = values[j]
                    start += width


@_compiled
def feed(x: Any, before: Any, norm: Any, inner: Any, outer: Any, out: Any) -> None:
    """Write x + W max(0, V x + b) + c, Float32[M,D]; x is normalised within if `before`."""
    most = min(len(x), _BLOCK)
    rounded, wide = _bytes_for(most, inner), _bytes_for(most, outer)
    scales, hidden = np.empty(most, np.float32), np.empty((most, inner.bias.size), np.float32)
    for first in range(0, len(x), _BLOCK):
        count = min(_BLOCK, len(x) - first)
        if before:
            _round_normal_rows(x, first, count, norm, rounded, scales)
        else:
            round_rows(x, first, count, rounded, scales)
        _multiply(rounded, scales, count, inner, hidden)
        for i in range(count):
            row = hidden[i]
            for j in range(row.size):
                row[j] = max(row[j], np.float32(0.0))
        round_rows(hidden, 0, count, wide, scales)
        _multiply(wide, scales, count, outer, out[first : first + count])
        _add_rows(x, first, count, out)


@_compiled
def _add_rows(x: Any, first: Any, count: Any, out: Any) -> None:
    for i in range(first, first + count):
        row, to = x[i], out[i]
        for j in range(row.size):
            to[j] += row[j]


@_compiled
def attended(q: Any, k: Any, v: Any, mask: Any, places: Any, weights: Any, x: Any, out: Any, means: Any) -> None:
    """Write x + W a + b, Float32[M,D], for what tokens find by attention; see `attend`."""
    mixed = np.empty(x.shape, np.float32)
    attend(q, k, v, mask, places, mixed, means)
    linear(mixed, weights, out)
    _add_rows(x, 0, len(x), out)


@_compiled
def _exponentials(x: Any, highest: Any, powers: Any) -> Any:
    """Replace x by exp(x - highest), to single precision, and return their sum; `powers` Int32 is for use within."""
    for s in range(x.size):
        # 2^t = 2^n 2^f with f within a half of 0
        t = max((x[s] - highest) * _LOG2_E, _LOWEST)
        n = np.int32(t - _HALF)
        y = (t - np.float32(n)) * _LN_2
        x[s] = _ONE + y * (_ONE + y * (_C2 + y * (_C3 + y * (_C4 + y * (_C5 + y * _C6)))))
        powers[s] = (n + np.int32(127)) << np.int32(23)
    scale = powers.view(np.float32)
    total = np.float32(0.0)
    for s in range(x.size):
        x[s] *= scale[s]
        total += x[s]
    return total


_ONE, _HALF, _LOWEST = np.float32(1.0), np.float32(0.5), np.float32(-127.0)  # 2^-127 counts as nothing
_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_C2, _C3, _C4, _C5, _C6 = (np.float32(c) for c in (1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720))


@_compiled
def attend(q: Any, k: Any, v: Any, mask: Any, places: Any, mixed: Any, means: Any) -> None:
    """Scaled dot-product attention of tokens that have a row.

    Args:
        q: Float32[N,H,K,E], queries.
        k: Float32[N,H,S,E], keys.
        v: Float32[N,H,S,E], values.
        mask: Bool[N or 1,K or 1,S], what may be attended to.
        places: Int64[M], of rows among all N x K tokens, in order.
        mixed: Float32[M,D], the result.
        means: Float32[N,K,S], zeros to which weights are added, the mean over heads; or empty, if they are not wanted.
    """
    tokens, heads, slots, width = q.shape[2], k.shape[1], k.shape[2], k.shape[3]
    scores, powers = np.empty(slots, np.float32), np.empty(slots, np.int32)
    factor = np.float32(1.0) / np.sqrt(np.float32(width))
    share = np.float32(1.0) / np.float32(heads)
    ends = _ends(mask)
    first = 0
    while first < len(places):
        sentence = places[first] // tokens
        beyond = first
        while beyond < len(places) and places[beyond] // tokens == sentence:
            beyond += 1
        for head in range(heads):
            keys, values, start = k[sentence, head], v[sentence, head], head * width
            for i in range(first, beyond):
                token = places[i] - sentence * tokens
                seen = mask[min(sentence, len(mask) - 1), min(token, mask.shape[1] - 1)]
                end = ends[min(sentence, len(mask) - 1), min(token, mask.shape[1] - 1)]
                query, out = q[sentence, head, token], mixed[i, start : start + width]
                _score(query, keys, factor, scores[:end])
                highest = np.float32(-np.inf)
                for s in range(end):
                    scores[s] = scores[s] if seen[s] else np.float32(-np.inf)
                    highest = max(highest, scores[s])
                total = _exponentials(scores[:end], highest, powers[:end])
                scale = np.float32(1.0) / total
                for s in range(end):
                    scores[s] = scores[s] * scale if seen[s] else np.float32(0.0)
                _mix(scores[:end], values, seen, out)
                if means.size:
                    mean = means[sentence, token]
                    for s in range(end):
                        mean[s] += scores[s] * share
        first = beyond


@_compiled
def _ends(mask: Any) -> Any:
    """Return Int64[N or 1,K or 1]: how many slots there are up to the last one that may be attended to."""
    ends = np.zeros(mask.shape[:2], np.int64)
    for n in range(mask.shape[0]):
        for i in range(mask.shape[1]):
            end = mask.shape[2]
            while end and not mask[n, i, end - 1]:
                end -= 1
            ends[n, i] = end
    return ends


@_compiled
def _score(query: Any, keys: Any, factor: Any, scores: Any) -> None:
    """Write the products of a query Float32[E] and the first keys Float32[S,E], four keys at a time."""
    slots, s = scores.size, 0
    while s + 4 <= slots:
        k0, k1, k2, k3 = keys[s], keys[s + 1], keys[s + 2], keys[s + 3]
        a = b = c = d = np.float32(0.0)
        for j in range(query.size):
            a += query[j] * k0[j]
            b += query[j] * k1[j]
            c += query[j] * k2[j]
            d += query[j] * k3[j]
        scores[s], scores[s + 1], scores[s + 2], scores[s + 3] = a * factor, b * factor, c * factor, d * factor
        s += 4
    while s < slots:
        a, key = np.float32(0.0), keys[s]
        for j in range(query.size):
            a += query[j] * key[j]
        scores[s] = a * factor
        s += 1


@_compiled
def _mix(weights: Any, values: Any, seen: Any, out: Any) -> None:
    """Write the sum of values Float32[S,E] times their weights, four at a time; unseen ones may be no numbers."""
    for j in range(out.size):
        out[j] = np.float32(0.0)
    slots, s = weights.size, 0
    while s < slots:
        if s + 4 <= slots and seen[s] and seen[s + 1] and seen[s + 2] and seen[s + 3]:
            v0, v1, v2, v3 = values[s], values[s + 1], values[s + 2], values[s + 3]
            a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
            for j in range(out.size):
                out[j] += (a * v0[j] + b * v1[j]) + (c * v2[j] + d * v3[j])
            s += 4
        else:
            if seen[s]:
                weight, value = weights[s], values[s]
                for j in range(out.size):
                    out[j] += weight * value[j]
            s += 1
