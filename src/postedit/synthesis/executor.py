"""Where stages run: here, or in worker processes. What comes out is the same, and in the same order."""

import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Final, Protocol

from postedit.core.errors import PosteditError
from postedit.synthesis.chunk import Chunk, Stage, StageSpec

AHEAD: Final = 2
"""Chunks a worker has waiting: enough not to be idle, few enough that memory stays small."""


class Executor(Protocol):
    """Runs a stage over chunks."""

    def map(self, spec: StageSpec, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield what the stage makes of each chunk, in order; close the iterator to stop early."""
        ...


class InProcess:
    """Runs the stage here, one chunk after the other."""

    def map(self, spec: StageSpec, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield what the stage makes of each chunk."""
        yield from map(spec.build(), chunks)


@dataclass(frozen=True, slots=True)
class Processes:
    """Runs the stage in `workers` processes, which are new ones and share nothing with this one."""

    workers: int

    def map(self, spec: StageSpec, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield what the stage makes of each chunk, in order.

        Raises:
            PosteditError: if a worker process ends of itself.
        """
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _start, (spec,))
        waiting: deque[Future[Chunk]] = deque()
        source = iter(chunks)
        try:
            waiting.extend(pool.submit(_work, chunk) for chunk in islice(source, AHEAD * self.workers))
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(_work, chunk) for chunk in islice(source, 1))
                yield done
        except BrokenProcessPool:
            raise PosteditError(
                "a worker process was ended from outside, perhaps for want of memory; --resume goes on after the "
                "chunks that are done, and --workers with a smaller number needs less memory"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def executor(workers: int) -> Executor:
    """Return what runs stages in that many processes; one worker needs no process of its own."""
    return InProcess() if workers == 1 else Processes(workers)


_stage: Stage


def _start(spec: StageSpec) -> None:
    """Make a worker ready. Ctrl-C reaches all processes of a terminal; the first one ends the others."""
    global _stage
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _stage = spec.build()


def _end_with_parent() -> None:
    """Wait for the end of the first process, which may be killed; a worker would wait for its next chunk for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(chunk: Chunk) -> Chunk:
    return _stage(chunk)
