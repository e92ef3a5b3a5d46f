"""Keys and values of attention, and the self-attention cache, which holds those of the tokens decoded so far.

Decoder caches are left-aligned: token i of a row is in slot i. While all rows have equal lengths, a call appends. After
a row-wise rollback, rows differ in length, and a call writes the tokens of each row to its own next slots. Slots
beyond the length of a row are stale and never attended to: a query at position p attends only to slots 0 to p.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from postedit.core.special_tokens import PAD
from postedit.nn.tensors import Packing, join_rows


class KeyValueCache(Protocol):
    """Keys and values of the tokens of N rows, in all layers of a stack. Immutable: methods return new caches."""

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""

    def join(self, other: Self) -> Self:
        """Return the rows of both caches, those of `other` last."""

    def truncate(self, slots: int) -> Self:
        """Return the first `slots` slots of every row."""

    def empty(self, rows: int) -> Self:
        """Return a cache of `rows` rows without tokens."""


class KeyValue(NamedTuple):
    """Keys and values of one multi-head attention, each Float[N,H,S,E]."""

    k_NHSE: Tensor
    v_NHSE: Tensor

    def append(self, new: "KeyValue", write: Callable[[Tensor, Tensor], Tensor]) -> "KeyValue":
        """Return the keys and values with those of new tokens added by `write`, which is `CacheSlots.write`."""
        return KeyValue(*map(write, self, new))


@dataclass(frozen=True, eq=False, slots=True)
class DenseKeyValueCache:
    """One `KeyValue` per layer; see `KeyValueCache`."""

    layers: tuple[KeyValue, ...]

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return self._map(lambda part: part[rows])

    def join(self, other: Self) -> Self:
        """Return the rows of both caches, those of `other` last."""
        pairs = zip(self.layers, other.layers, strict=True)
        return type(self)(tuple(KeyValue(*map(join_rows, *pair)) for pair in pairs))

    def truncate(self, slots: int) -> Self:
        """Return the first `slots` slots of every row."""
        return self._map(lambda part: part[:, :, :slots])

    def empty(self, rows: int) -> Self:
        """Return a cache of `rows` rows without tokens."""
        return self._map(lambda part: part.new_empty(rows, part.size(1), 0, part.size(3)))

    def _map(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(tuple(KeyValue(*map(change, layer)) for layer in self.layers))


@dataclass(frozen=True, eq=False, slots=True)
class CacheSlots:
    """The cache slots to which one call writes its K tokens."""

    positions: Tensor  # Long[N or 1,K], the position of each token in its row, which is its slot
    mask: Tensor | None  # Bool[N or 1,K,L], True at slots that a token attends to; None if it attends to all of them
    ragged: bool  # True if rows differ in length
    packing: Packing | None = None  # of the tokens that are not PAD; None if leaving out PAD saves no work

    def write(self, old_NHLE: Tensor, new_NHKE: Tensor) -> Tensor:
        """Return the old keys or values, grown if necessary, with the new ones written to their slots."""
        if not self.ragged:
            return torch.cat([old_NHLE, new_NHKE], 2)
        assert self.mask is not None
        rows, heads, length, width = old_NHLE.shape
        grown = old_NHLE.new_empty(rows, heads, max(length, self.mask.size(2)), width)
        grown[:, :, :length] = old_NHLE
        grown[:, :, length:] = 0.0
        row = torch.arange(rows, device=old_NHLE.device).unsqueeze(1)
        grown[row, :, self.positions] = new_NHKE.transpose(1, 2)
        return grown[:, :, : self.mask.size(2)]


@dataclass(frozen=True, eq=False, slots=True)
class DecoderCache:
    """Keys and values of the tokens decoded so far, and the length of each row."""

    key_values: KeyValueCache | None = None  # None before the first call
    length: int | None = 0  # number of tokens in every row, if rows have equal lengths; else None
    lengths: Tensor | None = None  # Long[N], number of tokens in each row, if rows differ in length; else None
    last: int = 0  # the most tokens that a rollback can remove: K of the last call; 0 after a rollback or join

    def next_slots(self, tokens_NK: Tensor) -> CacheSlots:
        """Return the slots of the tokens of the next call."""
        count, device = tokens_NK.size(1), tokens_NK.device
        offsets = torch.arange(count, device=device).unsqueeze(0)
        if self.lengths is None:
            assert self.length is not None
            positions, width = offsets + self.length, self.length + count
        else:
            positions, width = offsets + self.lengths.unsqueeze(1), int(self.lengths.max()) + count
        ragged = self.lengths is not None
        slots = torch.arange(width, device=device)
        mask = slots <= positions.unsqueeze(-1) if ragged or count > 1 else None
        packing = None if count == 1 else Packing.if_useful(tokens_NK != PAD)
        return CacheSlots(positions, mask, ragged, packing)

    def advanced(self, key_values: KeyValueCache, count: int) -> Self:
        """Return the cache after a call of `count` tokens, whose keys and values are in `key_values`."""
        length = None if self.length is None else self.length + count
        lengths = None if self.lengths is None else self.lengths + count
        return type(self)(key_values, length, lengths, count)

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        key_values = None if self.key_values is None else self.key_values.select(rows)
        lengths = None if self.lengths is None else self.lengths[rows]
        return type(self)(key_values, self.length, lengths, self.last)

    def join(self, other: Self, counts: tuple[int, int], device: torch.device) -> Self:
        """Return the rows of both caches, those of `other` last; `counts` holds the number of rows of each."""
        ours, theirs = self.key_values, other.key_values
        if ours is not None:
            key_values = ours.join(ours.empty(counts[1]) if theirs is None else theirs)
        elif theirs is not None:
            key_values = theirs.empty(counts[0]).join(theirs)
        else:
            return self
        if self.length is not None and self.length == other.length:
            return type(self)(key_values, self.length, None, 0)
        lengths = [part._lengths(count, device) for part, count in zip((self, other), counts, strict=True)]
        return type(self)(key_values, None, torch.cat(lengths), 0)

    def _lengths(self, count: int, device: torch.device) -> Tensor:
        return torch.full((count,), self.length, device=device) if self.lengths is None else self.lengths  # type: ignore[arg-type]

    def rollback(self, keep: Tensor) -> Self:
        """Return the cache after only the first `keep` Long[N] tokens of each row in the last call."""
        before = (self.length if self.lengths is None else self.lengths) - self.last  # type: ignore[operator]
        lengths = before + keep
        longest = int(lengths.max())
        key_values = None if self.key_values is None else self.key_values.truncate(longest)
        if bool((lengths == longest).all()):
            return type(self)(key_values, longest, None, 0)
        return type(self)(key_values, None, lengths, 0)
