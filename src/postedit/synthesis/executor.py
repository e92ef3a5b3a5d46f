"""Where stages run: here, or in worker processes. What comes out is the same, and in the same order."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol

from postedit.core.processes import map_in_processes
from postedit.synthesis.chunk import Chunk, Stage, StageSpec


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
            WorkerError: if a worker process ends of itself.
        """
        yield from map_in_processes(_Build(spec), chunks, self.workers)


@dataclass(frozen=True, slots=True)
class _Build:
    """Makes the stage in a process, whatever its number."""

    spec: StageSpec

    def __call__(self, number: int) -> Stage:
        return self.spec.build()


def executor(workers: int) -> Executor:
    """Return what runs stages in that many processes; one worker needs no process of its own."""
    return InProcess() if workers == 1 else Processes(workers)
