"""Executors of one machine. Every executor yields the same chunks in the same order."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from postedit.core.processes import map_in_processes
from postedit.distributed.chunks import Chunk, Stage


class Executor(Protocol):
    """Applies a stage to chunks."""

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk, in order; close the iterator to stop early."""
        ...


class SerialExecutor:
    """Runs the stage in this process, one chunk after another."""

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk."""
        yield from map(stage, chunks)


@dataclass(frozen=True, slots=True)
class ProcessExecutor:
    """Runs the stage in `workers` new processes, which share no memory with this one."""

    workers: int

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk, in order.

        Raises:
            WorkerError: if a worker process dies.
        """
        yield from map_in_processes(partial(_stage_of_worker, stage), chunks, self.workers)


def _stage_of_worker(stage: Stage, number: int) -> Stage:
    return stage


def local_executor(workers: int) -> Executor:
    """Return the executor for that many workers on this machine; one worker needs no process of its own."""
    return SerialExecutor() if workers == 1 else ProcessExecutor(workers)
