"""Keys and values of the tokens decoded so far, for decoders that attend to their own past.

Caches are left-aligned: token i of a row stands at slot i. While all rows are equally long a call appends; after
a row-wise rollback rows differ in length, and a call writes each row at its own slots. What lies beyond a row's
length is stale and never seen: a query at position p sees slots 0..p only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from postedit.core.special_tokens import PAD
from postedit.nn.attention import Kept
from postedit.nn.packing import Packing


class Growing(Protocol):
    """What is kept of tokens, and can be added to."""

    def extended(self, new: Self, place: Callable[[Tensor, Tensor], Tensor]) -> Self:
        """Return the same with what is kept of more tokens.

        `place` writes [N,.,K,.] to its slots of [N,.,L,.], more of them if they are not enough.
        """


_GrowingT = TypeVar("_GrowingT", bound=Growing)


@dataclass(frozen=True, eq=False, slots=True)
class Cursor:
    """Where the K tokens of one call stand.

    Args:
        positions: Long[N or 1,K], the position of each token in its row.
        mask: Bool[N or 1,K,L], which slots each token sees; None if it sees all of them.
        ragged: True if rows are of different lengths.
        packing: of the tokens that are not PAD, if it pays to leave out those that are.
    """

    positions: Tensor
    mask: Tensor | None
    ragged: bool
    packing: Packing | None = None

    def extend(self, cached: _GrowingT | None, new: _GrowingT) -> _GrowingT:
        """Return the cache with what is kept of the tokens of this call written at their positions."""
        return new if cached is None else cached.extended(new, self._place)

    def _place(self, old_NHLE: Tensor, new_NHKE: Tensor) -> Tensor:
        if not self.ragged:
            return torch.cat([old_NHLE, new_NHKE], 2)
        assert self.mask is not None
        rows, heads, held, width = old_NHLE.shape
        grown = old_NHLE.new_empty(rows, heads, max(held, self.mask.size(2)), width)
        grown[:, :, :held] = old_NHLE
        grown[:, :, held:] = 0.0
        each = torch.arange(rows, device=old_NHLE.device).unsqueeze(1)
        grown[each, :, self.positions] = new_NHKE.transpose(1, 2)
        return grown[:, :, : self.mask.size(2)]


@dataclass(frozen=True, eq=False, slots=True)
class DecoderCache:
    """What the layers keep, and how long each row is.

    Args:
        kept: of the tokens; None before the first call.
        length: tokens decoded in every row, if the rows are equally long; else None.
        lengths: Long[N], tokens decoded in each row, if they are not; else None.
        last: K of the last call, the furthest a rollback may go.
    """

    kept: Kept | None = None
    length: int | None = 0
    lengths: Tensor | None = None
    last: int = 0

    def cursor(self, tokens_NK: Tensor) -> Cursor:
        """Return where the tokens of the next call stand."""
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
        packing = None if count == 1 else Packing.worth(tokens_NK != PAD)
        return Cursor(positions, mask, ragged, packing)

    def advanced(self, kept: Kept, count: int) -> Self:
        """Return the cache after a call of `count` tokens left `kept`."""
        length = None if self.length is None else self.length + count
        lengths = None if self.lengths is None else self.lengths + count
        return type(self)(kept, length, lengths, count)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        kept = None if self.kept is None else self.kept.select(rows)
        lengths = None if self.lengths is None else self.lengths[rows]
        return type(self)(kept, self.length, lengths, self.last)

    def join(self, other: Self, counts: tuple[int, int], device: torch.device) -> Self:
        """Return the rows of both, `counts` of them, those of `other` last."""
        if self.kept is not None:
            kept = self.kept.join(self.kept.nothing(counts[1]) if other.kept is None else other.kept)
        elif other.kept is not None:
            kept = other.kept.nothing(counts[0]).join(other.kept)
        else:
            return self
        if self.length is not None and self.length == other.length:
            return type(self)(kept, self.length, None, 0)
        lengths = [part._lengths(count, device) for part, count in zip((self, other), counts, strict=True)]
        return type(self)(kept, None, torch.cat(lengths), 0)

    def _lengths(self, count: int, device: torch.device) -> Tensor:
        return torch.full((count,), self.length, device=device) if self.lengths is None else self.lengths  # type: ignore[arg-type]

    def rollback(self, keep: Tensor) -> Self:
        """Return the cache after only the first `keep` Long[N] tokens of the last call, row by row."""
        before = (self.length if self.lengths is None else self.lengths) - self.last  # type: ignore[operator]
        lengths = before + keep
        longest = int(lengths.max())
        kept = None if self.kept is None else self.kept.first(longest)
        if bool((lengths == longest).all()):
            return type(self)(kept, longest, None, 0)
        return type(self)(kept, None, lengths, 0)
