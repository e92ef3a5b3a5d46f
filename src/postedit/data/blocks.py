"""Blocks of many items: divide them, process them in parallel with results in order, and sample items evenly."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TypeVar

from postedit.core.processes import map_in_processes

In = TypeVar("In")
Out = TypeVar("Out")

TRIPLETS_PER_WORKER: Final = 20_000
"""Fewer triplets are processed before another process has started."""


def workers_for(triplets: int, requested: int | None) -> int:
    """Return the number of worker processes: as requested, or at most one a core and `TRIPLETS_PER_WORKER` triplets."""
    return requested or max(1, min(os.cpu_count() or 1, triplets // TRIPLETS_PER_WORKER))


def blocks_of(items: Iterable[In], size: int) -> Iterator[list[In]]:
    """Yield the items in lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block


def sample_evenly(items: Iterable[In], total: int, count: int) -> Iterator[In]:
    """Yield `count` of `total` items, evenly spaced and in order; all of them if `total` is at most `count`.

    Nothing is kept in memory, and the selection is deterministic. Items after the first `total` are sampled at the same
    rate.
    """
    for number, item in enumerate(items):
        if total <= count or (number + 1) * count // total > number * count // total:
            yield item


def map_blocks(work: Callable[[In], Out], blocks: Iterable[In], workers: int) -> Iterator[Out]:
    """Yield `work(block)` for each block, in order; few blocks are in memory at a time.

    Args:
        work: a function that can be sent to other processes, as must its results.
        blocks: the inputs.
        workers: number of processes; 1 runs in this process.

    Raises:
        WorkerError: if a process ended unexpectedly, for instance for lack of memory.
    """
    if workers == 1:
        yield from map(work, blocks)
        return
    with closing(map_in_processes(_SameWork(work), blocks, workers)) as results:
        yield from results


@dataclass(frozen=True, slots=True)
class _SameWork(Generic[In, Out]):
    """Gives every process the same function."""

    work: Callable[[In], Out]

    def __call__(self, number: int) -> Callable[[In], Out]:
        return self.work
