"""Divide items and triplets into blocks, and sample items evenly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from postedit.core.processes import usable_cores

if TYPE_CHECKING:
    from postedit.data.triplets import Triplet  # imports torch, which commands that only count words do not need

In = TypeVar("In")

TRIPLETS_PER_WORKER: Final = 20_000
"""Fewer triplets than this are processed before a further worker process has started."""


@dataclass(frozen=True, slots=True)
class TripletBlock:
    """Triplets of one source that are processed together."""

    number: int  # index of the block over all sources
    source: int  # index of the source
    last: int  # number of triplets up to and including the last of the block, over all sources
    triplets: "Sequence[Triplet]"

    def __str__(self) -> str:
        """Return the range of its triplets in the input, for messages."""
        return f"triplets {self.last - len(self.triplets) + 1:,} to {self.last:,}"


def workers_for(triplets: int, requested: int | None) -> int:
    """Return the number of worker processes: as requested, else one per `TRIPLETS_PER_WORKER`, at most one per core."""
    return requested or max(1, min(usable_cores(), triplets // TRIPLETS_PER_WORKER))


def blocks_of(items: Iterable[In], size: int) -> Iterator[list[In]]:
    """Yield the items in lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block


def triplet_blocks(sources: "Iterable[Iterable[Triplet]]", size: int) -> Iterator[TripletBlock]:
    """Yield the triplets of all sources in blocks of at most `size`."""
    number = last = 0
    for source, triplets in enumerate(sources):
        for block in blocks_of(triplets, size):
            last += len(block)
            yield TripletBlock(number, source, last, block)
            number += 1


def sample_evenly(items: Iterable[In], total: int, count: int) -> Iterator[In]:
    """Yield `count` of `total` items, evenly spaced and in order; all of them if `total` is at most `count`.

    If there are more than `total` items, the further ones are sampled at the same rate.
    """
    for number, item in enumerate(items):
        if total <= count or (number + 1) * count // total > number * count // total:
            yield item
