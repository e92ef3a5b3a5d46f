"""Work on many triplets in blocks, by one process or several; what comes out is in the order of what went in."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TypeVar

from postedit.core.processes import map_in_processes

In = TypeVar("In")
Out = TypeVar("Out")

WORTH_A_PROCESS: Final = 20_000
"""Triplets. Fewer are done before further processes have started."""


def workers_for(triplets: int, wanted: int | None) -> int:
    """Return how many processes to use: as many as wanted, or as there are cores and it is worth starting."""
    return wanted or max(1, min(os.cpu_count() or 1, triplets // WORTH_A_PROCESS))


def blocks_of(items: Iterable[In], size: int) -> Iterator[list[In]]:
    """Yield the items in lists of `size`, the last with what is left."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block


def map_blocks(work: Callable[[In], Out], blocks: Iterable[In], workers: int) -> Iterator[Out]:
    """Yield `work(block)` for each block, in order; few blocks are in memory at a time.

    Args:
        work: a function that can be sent to other processes, as its results can.
        blocks: what to work on.
        workers: processes; with 1 it is done in this one.

    Raises:
        WorkerError: if a process died, for instance because memory ran out.
    """
    if workers == 1:
        yield from map(work, blocks)
        return
    with closing(map_in_processes(_Given(work), blocks, workers)) as results:
        yield from results


@dataclass(frozen=True, slots=True)
class _Given(Generic[In, Out]):
    """Hands every process the same work."""

    work: Callable[[In], Out]

    def __call__(self, number: int) -> Callable[[In], Out]:
        return self.work
