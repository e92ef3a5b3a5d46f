"""Compiled attention of packed queries to paged keys and values.

The result of a row does not depend on other rows: slots that no query of a sentence may attend to are left out.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from postedit.nn.int8.epilogues import dot_products, exponentials, widen_bfloat16
from postedit.nn.int8.integer_products import multiply_floats
from postedit.nn.int8.paged_cache import PAGE_BITS, PAGE_PADDING
from postedit.nn.int8.simd import address, compiled

# With this many array arguments, a call would cost as much as the work of these functions.
_inlined: Final = njit(inline="always", nogil=True, error_model="numpy")

_TOKEN_MASK: Final = 2**PAGE_BITS - 1
"""The bits of a token number that say its place within its page."""


class PagedKeyValues(NamedTuple):
    """Keys and values that one layer attends to."""

    pages: Any  # Int64[P], addresses of the layer's part of each page of a `PagedKeyValueCache`, with its padding
    slots: Any  # Int64[N,S], the token number of each slot; keys and values must be finite, even at masked slots
    heads: Any  # H; each has D / H numbers of a token


@compiled
def attend(q: Any, key_values: Any, mask: Any, positions: Any, tokens: Any, mixed: Any, means: Any) -> None:
    """Compute scaled dot-product attention of packed queries.

    Args:
        q: Float32[M,D], queries.
        key_values: a `PagedKeyValues`.
        mask: Bool[N or 1,K or 1,S], True at slots that may be attended to; a query that may attend to none gets zeros.
        positions: Int64[M], the positions of the queries among all N x K tokens, ascending.
        tokens: K.
        mixed: Float32[M,D], the result.
        means: Float32[N,K,S], to which the weights are added, averaged over heads; or empty if they are not needed.
    """
    if not key_values.slots.shape[1]:
        mixed[:] = np.float32(0.0)
        return
    work = _workspace(tokens, key_values.slots.shape[1], q.shape[1], key_values.heads)
    share = np.float32(1.0) / np.float32(key_values.heads)
    first = 0
    while first < len(positions):
        sentence = positions[first] // tokens
        count = 1
        while first + count < len(positions) and positions[first + count] // tokens == sentence:
            count += 1
        own = positions[first : first + count] - sentence * tokens
        allowed = mask[min(sentence, len(mask) - 1)]
        end = _find_visible_slots(allowed, work.visible)
        _fill_additive_mask(allowed, own, work.visible[:end], work.additive_mask)
        _find_addresses(
            key_values.slots[sentence], key_values.pages, work.visible[:end], work.zero_token, work.addresses
        )
        for head in range(key_values.heads):
            _load_head(work, head, q.shape[1] // key_values.heads, end)
            _attend_head(q, first, count, head, q.shape[1] // key_values.heads, end, work, mixed)
            if means.size:
                _add_weights(work, own, work.visible[:end], share, means[sentence])
        first += count


class _Workspace(NamedTuple):
    """Buffers for a head of a sentence: K queries, S visible slots, width E; S and E are padded to multiples of 16."""

    visible: Any  # Int64[S], the slots that any query of the sentence may attend to
    queries: Any  # Float32[K,E], scaled and padded with zeros
    additive_mask: Any  # Float32[K,S], 0 at allowed slots, else -inf
    scores: Any  # Float32[K,S]
    inverse_sums: Any  # Float32[K], one over the sum of the exponentials of each query
    keys: Any  # Float32[S/16,E/16,16,16], in the layout of `dot_products`
    values: Any  # Float32[S,E]
    mixed: Any  # Float32[K,E]
    addresses: Any  # Int64[S], the address of the token in each slot, or of `zero_token` if there is none
    zero_token: Any  # UInt16[2D], keys and values of zero


@compiled
def _workspace(queries: Any, slots: Any, dim: Any, heads: Any) -> Any:
    width, padded_slots = (dim // heads + 15) // 16 * 16, (slots + 15) // 16 * 16
    return _Workspace(
        np.empty(slots, np.int64),
        np.zeros((queries, width), np.float32),
        np.empty((queries, padded_slots), np.float32),
        np.empty((queries, padded_slots), np.float32),
        np.empty(queries, np.float32),
        np.empty((padded_slots // 16, width // 16, 16, 16), np.float32),
        np.empty((padded_slots, width), np.float32),
        np.empty((queries, width), np.float32),
        np.empty(padded_slots, np.int64),
        np.zeros(2 * dim + PAGE_PADDING, np.uint16),
    )


@_inlined
def _find_addresses(slots: Any, pages: Any, visible: Any, zero_token: Any, addresses: Any) -> None:
    """Write the addresses of the tokens in visible slots, padded to a multiple of 16 with that of `zero_token`."""
    token = 2 * (zero_token.size - PAGE_PADDING)
    for s in range((visible.size + 15) // 16 * 16):
        slot = slots[visible[s]] if s < visible.size else 0
        addresses[s] = pages[slot >> PAGE_BITS] + ((slot & _TOKEN_MASK) - 1) * token if slot else address(zero_token)


@_inlined
def _load_head(work: Any, head: Any, width: Any, end: Any) -> None:
    """Write the keys and values of a head as Float32."""
    padded, key = work.values.shape[1], 2 * head * width
    value = key + work.zero_token.size - PAGE_PADDING  # D numbers of two bytes after the key
    keys, values, addresses = address(work.keys), address(work.values), work.addresses
    for s in range((end + 15) // 16 * 16):
        widen_bfloat16(addresses[s] + key, padded // 16, keys + 64 * (s // 16 * padded + s % 16), 16 * 64)
    for s in range(end):
        widen_bfloat16(addresses[s] + value, padded // 16, values + 4 * s * padded, 64)
    if width % 16:
        work.keys[:, -1, :, width % 16 :] = np.float32(0.0)  # these belong to another head


@_inlined
def _attend_head(q: Any, first: Any, count: Any, head: Any, width: Any, end: Any, work: Any, mixed: Any) -> None:
    """Write the attention output of a head for `count` rows from `first` on."""
    padded, row_slots, whole = work.values.shape[1], work.scores.shape[1], (end + 15) // 16 * 16
    factor, start = np.float32(1.0) / np.sqrt(np.float32(width)), head * width
    queries, head_mixed, inverse_sums = work.queries, work.mixed, work.inverse_sums
    for i in range(count):
        for j in range(width):
            queries[i, j] = q[first + i, start + j] * factor
    keys, scores, additive_mask = address(work.keys), address(work.scores), address(work.additive_mask)
    for i in range(count):
        query, row = address(queries) + 4 * i * padded, 4 * i * row_slots
        for s in range(0, whole, 16):
            dot_products(query, keys + 4 * s * padded, padded // 16, scores + row + 4 * s)
        inverse_sums[i] = exponentials(scores + row, additive_mask + row, whole // 16)
    multiply_floats(
        scores, 4 * row_slots, 4, count, address(work.values), 4 * padded, padded // 16, end, address(head_mixed),
        4 * padded,
    )  # fmt: skip
    for i in range(count):
        for j in range(width):
            mixed[first + i, start + j] = head_mixed[i, j] * inverse_sums[i]


@compiled
def _add_weights(work: Any, tokens: Any, visible: Any, share: Any, means: Any) -> None:
    """Add a head's attention weights, times `share`, to the mean weights Float32[K,S] of some tokens."""
    for i in range(tokens.size):
        scale = work.inverse_sums[i] * share
        for s in range(visible.size):
            means[tokens[i], visible[s]] += work.scores[i, s] * scale


@compiled
def _find_visible_slots(mask: Any, slots: Any) -> Any:
    """Write the slots that `mask` Bool[K or 1,S] allows any token, or slot 0 if there is none; return their number."""
    count = 0
    for s in range(mask.shape[1]):
        if mask[:, s].any():
            slots[count] = s
            count += 1
    if not count:
        slots[0] = 0
    return max(count, 1)


@compiled
def _fill_additive_mask(mask: Any, tokens: Any, slots: Any, additive_mask: Any) -> None:
    """Write to Float32[K,S], for each of `tokens`, 0 at slots that `mask` Bool[K or 1,S] allows, else -inf."""
    for i in range(tokens.size):
        token = min(tokens[i], len(mask) - 1)
        for s in range((slots.size + 15) // 16 * 16):
            allowed = s < slots.size and mask[token, slots[s]]
            additive_mask[i, s] = np.float32(0.0) if allowed else np.float32(-np.inf)
