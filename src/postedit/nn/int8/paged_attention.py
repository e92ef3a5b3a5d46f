"""Attention of rows to keys and values in pages, compiled.

What a row finds does not depend on others: slots that no token of its sentence may look at are left out, so that those
it may look at stand where they would stand alone.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from postedit.nn.int8.epilogues import dots_panel, softmax_panel, widen_panel
from postedit.nn.int8.integer_products import multiply_floats
from postedit.nn.int8.simd import address, compiled
from postedit.nn.paged_cache import PAGE_BITS, SPARE

# A call of a function costs as much as what it does, with as many arrays as there are here.
_inlined: Final = njit(inline="always", nogil=True, error_model="numpy")

_WITHIN: Final = 2**PAGE_BITS - 1
"""The bits of a token's number within its page."""


class Text(NamedTuple):
    """What is attended to.

    Args:
        pages: Int64[P], addresses of `nn.pages`, with room behind each.
        slots: Int64[N,S], which token is where; their keys and values must be finite, even where nobody may look.
        heads: H; each has D / H of a token.
    """

    pages: Any
    slots: Any
    heads: Any


@compiled
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
        end = _seen_by_any(seen, room.seen)
        _hide(seen, own, room.seen[:end], room.hidden)
        _locate(text.slots[sentence], text.pages, room.seen[:end], room.nothing, room.origins)
        for head in range(text.heads):
            _fetch(room, head, q.shape[1] // text.heads, end)
            _attend(q, first, count, head, q.shape[1] // text.heads, end, room, mixed)
            if means.size:
                _add_weights(room, own, room.seen[:end], share, means[sentence])
        first += count


class _Room(NamedTuple):
    """For one head of a sentence: K queries, S slots that any of them sees, width E; S and E rounded up to 16.

    Args:
        seen: Int64[S], these slots.
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

    seen: Any
    asked: Any
    hidden: Any
    scores: Any
    totals: Any
    keys: Any
    values: Any
    found: Any
    origins: Any
    nothing: Any


@compiled
def _room(queries: Any, slots: Any, dim: Any, heads: Any) -> Any:
    wide, high = (dim // heads + 15) // 16 * 16, (slots + 15) // 16 * 16
    return _Room(
        np.empty(slots, np.int64),
        np.zeros((queries, wide), np.float32),
        np.empty((queries, high), np.float32),
        np.empty((queries, high), np.float32),
        np.empty(queries, np.float32),
        np.empty((high // 16, wide // 16, 16, 16), np.float32),
        np.empty((high, wide), np.float32),
        np.empty((queries, wide), np.float32),
        np.empty(high, np.int64),
        np.zeros(2 * dim + SPARE, np.uint16),
    )


@_inlined
def _locate(slots: Any, pages: Any, seen: Any, nothing: Any, origins: Any) -> None:
    """Write where the tokens of slots that are seen stand, and that of nothing up to a multiple of 16."""
    token = 2 * (nothing.size - SPARE)
    for s in range((seen.size + 15) // 16 * 16):
        slot = slots[seen[s]] if s < seen.size else 0
        origins[s] = pages[slot >> PAGE_BITS] + ((slot & _WITHIN) - 1) * token if slot else address(nothing)


@_inlined
def _fetch(room: Any, head: Any, width: Any, end: Any) -> None:
    """Write a head's keys and values."""
    wide, key = room.values.shape[1], 2 * head * width
    value = key + room.nothing.size - SPARE  # D numbers of two bytes behind the key
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


@compiled
def _add_weights(room: Any, tokens: Any, seen: Any, share: Any, means: Any) -> None:
    """Add a head's share to the weights Float32[K,S] of some tokens."""
    for i in range(tokens.size):
        scale = room.totals[i] * share
        for s in range(seen.size):
            means[tokens[i], seen[s]] += room.scores[i, s] * scale


@compiled
def _seen_by_any(seen: Any, places: Any) -> Any:
    """Write which slots any token may attend to by Bool[K or 1,S], the first if there is none; return their number."""
    count = 0
    for s in range(seen.shape[1]):
        if seen[:, s].any():
            places[count] = s
            count += 1
    if not count:
        places[0] = 0
    return max(count, 1)


@compiled
def _hide(seen: Any, tokens: Any, places: Any, hidden: Any) -> None:
    """Write -inf to Float32[K,S] where the first tokens may not look by `seen` Bool[K or 1,S], 0 where they may."""
    for i in range(tokens.size):
        token = min(tokens[i], len(seen) - 1)
        for s in range((places.size + 15) // 16 * 16):
            allowed = s < places.size and seen[token, places[s]]
            hidden[i, s] = np.float32(0.0) if allowed else np.float32(-np.inf)
