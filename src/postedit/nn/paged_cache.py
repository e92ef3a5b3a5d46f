"""Keys and values token by token, in pages: to keep, reorder, join or roll back rows moves numbers of tokens alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postedit.nn.packing import Packing, join_rows

PAGE_BITS: Final = 32
"""Of a token's number within its page; those above them are the page's."""

SPARE: Final = 15
"""Numbers behind a page in memory that may be read, and are not used: vectors are read whole."""


@dataclass(frozen=True, eq=False, slots=True)
class Pages:
    """What L layers keep of the tokens of N rows; see `attention.Kept`.

    Args:
        pages: what each call has left, Bfloat16[L,M,2D]: keys of all heads side by side, then values. `SPARE` numbers
            follow in memory, which copies of tensors do not have.
        slots_NS: Long[N,S], the token at each slot of a row: its page times 2^32, plus 1 for the first token of the
            page, 2 for the next; 0 where there is none.
    """

    pages: tuple[Tensor, ...]
    slots_NS: Tensor

    @classmethod
    def blank(cls, layers: int, width: int, shape: Sequence[int], packing: Packing | None = None) -> Self:
        """Return a page Bfloat16[layers,M,width] to be written, of all tokens of `shape` [N,K] or of those packed."""
        if packing is None:
            slots = torch.arange(1, math.prod(shape) + 1)
        else:
            slots = torch.zeros(math.prod(shape), dtype=torch.long)
            slots[packing.index_M] = torch.arange(1, len(packing.index_M) + 1)
        rows = len(slots) if packing is None else len(packing.index_M)
        size = layers * rows * width
        room = torch.empty(size + SPARE, dtype=torch.bfloat16)
        return cls((room[:size].view(layers, rows, width),), slots.view(*shape))

    def addresses(self) -> NDArray[Any]:
        """Return where the pages begin in memory, and the way from a layer to the next in bytes, Int64[2,P].

        A page of one layer is that of a stack whose layers use it in turn: there is no way (`int8_kernels.run`).
        """
        ways = [page.stride(0) * page.element_size() if len(page) > 1 else 0 for page in self.pages]
        return np.array([[page.data_ptr() for page in self.pages], ways], np.int64)

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
