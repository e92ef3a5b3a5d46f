"""Keys and values token by token, in pages: to keep, reorder, join or roll back rows moves numbers of tokens alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postedit.nn.rows import join_rows

PAGE_BITS: Final = 32
"""Of a token's number within its page; those above them are the page's."""

SPARE: Final = 15
"""Numbers behind a page in memory that may be read, and are not used: vectors are read whole."""


@dataclass(frozen=True, eq=False, slots=True)
class Pages:
    """What attention keeps of the tokens of N rows; see `attention.Kept`.

    Args:
        pages: what each call has left, Bfloat16[M,2D]: keys of all heads side by side, then values. `SPARE` numbers
            follow in memory, which copies of tensors do not have.
        slots_NS: Long[N,S], the token at each slot of a row: its page times 2^32, plus 1 for the first token of the
            page, 2 for the next; 0 where there is none.
    """

    pages: tuple[Tensor, ...]
    slots_NS: Tensor

    def addresses(self) -> NDArray[Any]:
        """Return where the pages begin in memory, Int64[P]."""
        return np.array([page.data_ptr() for page in self.pages], np.int64)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.pages, self.slots_NS[rows])._without_unused()

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        return self._with(other, join_rows)._without_unused()

    def first(self, slots: int) -> Self:
        """Return the same without what stands behind so many slots."""
        return type(self)(self.pages, self.slots_NS[:, :slots])

    def nothing(self, rows: int) -> Self:
        """Return what is kept of so many rows before their first token."""
        return type(self)((), self.slots_NS.new_empty(rows, 0))

    def extended(self, new: Self, place: Callable[[Tensor, Tensor], Tensor]) -> Self:
        """Return the same with one more page."""
        return self._with(new, lambda *slots: place(*(part.view(len(part), 1, -1, 1) for part in slots)).flatten(1))

    def _with(self, other: Self, combine: Callable[[Tensor, Tensor], Tensor]) -> Self:
        moved_NS = other.slots_NS + (other.slots_NS > 0) * (len(self.pages) << PAGE_BITS)
        return type(self)(self.pages + other.pages, combine(self.slots_NS, moved_NS))

    def _without_unused(self) -> Self:
        """Return the same without pages of which no slot has a token any more."""
        number_NS = self.slots_NS >> PAGE_BITS
        real_NS = self.slots_NS > 0
        used = np.zeros(len(self.pages), np.bool_)
        used[number_NS[real_NS].numpy()] = True
        if used.all():
            return self
        fewer = torch.from_numpy(np.arange(len(used)) - (used.cumsum() - 1))
        slots_NS = torch.where(real_NS, self.slots_NS - (fewer[number_NS] << PAGE_BITS), 0)
        return type(self)(tuple(page for page, kept in zip(self.pages, used, strict=True) if kept), slots_NS)
