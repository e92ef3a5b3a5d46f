"""Blocks of many items: divide them, process them in parallel with results in order, and sample items evenly."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final, TypeVar

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

    Items after the first `total` are sampled at the same rate.
    """
    for number, item in enumerate(items):
        if total <= count or (number + 1) * count // total > number * count // total:
            yield item


def map_blocks(work: Callable[[In], Out], blocks: Iterable[In], workers: int) -> Generator[Out, None, None]:
    """Yield `work(block)` for each block, in order, computed by `workers` processes; 1 means this process alone.

    Few blocks are in memory at a time. The function and its results must be picklable.

    Raises:
        WorkerError: if a process ended unexpectedly, for instance for lack of memory.
    """
    if workers == 1:
        yield from map(work, blocks)
    else:
        yield from map_in_processes(partial(_same_work, work), blocks, workers)


def _same_work(work: Callable[[In], Out], number: int) -> Callable[[In], Out]:
    return work
