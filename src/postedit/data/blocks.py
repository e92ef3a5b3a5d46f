"""Work on many triplets in blocks, by one process or several; what comes out is in the order of what went in."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final, TypeVar

from postedit.core.errors import DataError

In = TypeVar("In")
Out = TypeVar("Out")

_WAITING: Final = 2
"""Blocks a process that are read ahead: one is worked on, one lies ready."""

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
        DataError: if a process died, for instance because memory ran out.
    """
    if workers == 1:
        yield from map(work, blocks)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)
    waiting: deque[Future[Out]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise DataError(
            f"one of {workers} worker processes died, perhaps because memory ran out; run again with fewer (--workers)"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts() -> None:
    """Let Ctrl-C end the process that gives out the work, and that one alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
