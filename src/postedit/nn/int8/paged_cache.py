"""A paged cache of keys and values: selecting, reordering, joining and rolling back rows moves only token numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postedit.nn.tensors import Packing, join_rows

PAGE_BITS: Final = 32
"""Low bits of a token number: the token's place within its page. The bits above them number the page."""

PAGE_PADDING: Final = 15
"""Numbers after a page in memory that kernels may read but do not use, because they read whole vectors."""


@dataclass(frozen=True, eq=False, slots=True)
class PagedKeyValueCache:
    """Keys and values of L layers for the tokens of N rows; see `nn.cache.KeyValueCache`."""

    # One page per call, Bfloat16[L,M,2D]: keys of all heads side by side, then values. `PAGE_PADDING` numbers follow
    # each page in memory; copies of the tensors lack them.
    pages: tuple[Tensor, ...]
    # Long[N,S], the token number at each slot of a row: its page times 2^32, plus 1 for the first token of the page, 2
    # for the next; 0 if the slot is empty.
    slots_NS: Tensor

    @classmethod
    def allocate(cls, layers: int, width: int, shape: Sequence[int], packing: Packing | None = None) -> Self:
        """Return a cache of one uninitialised page Bfloat16[layers,M,width], for [N,K] tokens or the packed ones."""
        if packing is None:
            slots = torch.arange(1, math.prod(shape) + 1)
        else:
            slots = torch.zeros(math.prod(shape), dtype=torch.long)
            slots[packing.index_M] = torch.arange(1, len(packing.index_M) + 1)
        rows = len(slots) if packing is None else len(packing.index_M)
        size = layers * rows * width
        buffer = torch.empty(size + PAGE_PADDING, dtype=torch.bfloat16)
        return cls((buffer[:size].view(layers, rows, width),), slots.view(*shape))

    def addresses(self) -> NDArray[Any]:
        """Return the address of each page and its stride from one layer to the next in bytes, Int64[2,P].

        The stride is 0 for a page of one layer, which all layers of an encoder use in turn.
        """
        strides = [page.stride(0) * page.element_size() if len(page) > 1 else 0 for page in self.pages]
        return np.array([[page.data_ptr() for page in self.pages], strides], np.int64)

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.pages, self.slots_NS[rows])._drop_unused_pages()

    def join(self, other: Self) -> Self:
        """Return the rows of both caches, those of `other` last."""
        return self._merge(other, join_rows)._drop_unused_pages()

    def truncate(self, slots: int) -> Self:
        """Return the first `slots` slots of every row."""
        return type(self)(self.pages, self.slots_NS[:, :slots])

    def empty(self, rows: int) -> Self:
        """Return a cache of `rows` rows without tokens."""
        return type(self)((), self.slots_NS.new_empty(rows, 0))

    def append(self, new: Self, write: Callable[[Tensor, Tensor], Tensor]) -> Self:
        """Return the cache with the page of `new` added; `write` is `CacheSlots.write`, which adds its slots."""
        return self._merge(new, lambda *slots: write(*(part.view(len(part), 1, -1, 1) for part in slots)).flatten(1))

    def _merge(self, other: Self, combine: Callable[[Tensor, Tensor], Tensor]) -> Self:
        renumbered_NS = other.slots_NS + (other.slots_NS > 0) * (len(self.pages) << PAGE_BITS)
        return type(self)(self.pages + other.pages, combine(self.slots_NS, renumbered_NS))

    def _drop_unused_pages(self) -> Self:
        """Return the cache without pages that no slot refers to."""
        page_NS = self.slots_NS >> PAGE_BITS
        filled_NS = self.slots_NS > 0
        used = np.zeros(len(self.pages), np.bool_)
        used[page_NS[filled_NS].numpy()] = True
        if used.all():
            return self
        dropped_before = torch.from_numpy(np.arange(len(used)) - (used.cumsum() - 1))
        slots_NS = torch.where(filled_NS, self.slots_NS - (dropped_before[page_NS] << PAGE_BITS), 0)
        return type(self)(tuple(page for page, needed in zip(self.pages, used, strict=True) if needed), slots_NS)
