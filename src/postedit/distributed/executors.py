"""Executors on this machine, or in a Ray cluster. Every executor yields the same chunks in the same order.

Ray places actors, transfers chunks, restarts an actor that died and repeats its chunks. Stages are pure, so none of
this changes the output. Files are read and written by the calling process only.
"""

import logging
import os
import pickle
import socket
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

from postedit.core.errors import PosteditError, library
from postedit.data.blocks import map_blocks
from postedit.distributed.chunks import Chunk, Stage

_AHEAD: Final = 2  # chunks queued per worker: enough to keep it busy, few enough to keep memory small

_RETRIES: Final = 3
"""Times that a chunk is repeated after its worker died: machines fail now and then, but a chunk that kills every
process must not be repeated for ever."""

_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # messages about restarted actors
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers that request no GPU may see them, as other processes do
}
"""Defaults for the environment of Ray, set before it is imported."""

_CORE_PARTS: Final = 10_000  # resolution of Ray's core counts; it rounds finer ones, and the last worker may not fit
_CONNECT_SECONDS: Final = 10.0  # timeout to reach a cluster; Ray itself tries for more than five minutes


class Executor(Protocol):
    """Applies a stage to chunks."""

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk, in order; close the iterator to stop early.

        Raises:
            PosteditError: if a worker fails, or the stage raises it.
        """


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Runs the stage in so many new processes of this machine, which share no memory; 1 runs in this process."""

    workers: int = 1

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk."""
        yield from map_blocks(stage, chunks, self.workers)


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """Runs the stage in actors of a Ray cluster; an existing connection of this process is reused."""

    workers: int | None = None  # actors; None: one per core, or one per machine for a `multithreaded` stage
    address: str | None = None  # HOST:PORT, or "auto" for the cluster of this machine; None: start one here
    multithreaded: bool = False  # whether the stage uses several cores itself, so that the actors share all cores

    def map(self, stage: Stage, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the result of the stage for each chunk, in order.

        Raises:
            PosteditError: if the cluster cannot be reached, or workers die repeatedly at a chunk.
            RecipeError: if Ray is not installed.
        """
        source = iter(chunks)
        with _connected(self.address, self.workers) as ray:
            pool = self._start_actors(ray, stage)
            for chunk in islice(source, _AHEAD * len(pool.actors)):
                pool.submit(chunk)
            while pool.requests:
                done = pool.next_result()
                for chunk in islice(source, 1):
                    pool.submit(chunk)
                yield done

    def _start_actors(self, ray: Any, stage: Stage) -> "_ActorPool":
        """Return actors for the stage; they start while the first chunks are read."""
        cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        cores = [count for count in cores if count] or [1]
        count = self.workers or (len(cores) if self.multithreaded else sum(cores))
        share = cores_per_worker(cores, count, most=min(cores) if self.multithreaded else 1)
        options = {"num_cpus": share, "max_restarts": -1, "max_task_retries": _RETRIES, "scheduling_strategy": "SPREAD"}
        # As bytes: Ray would share arrays as read-only memory, which is another type for compiled code.
        pickled = ray.put(pickle.dumps(stage))
        return _ActorPool(ray, [pickled], [ray.remote(**options)(_Actor).remote() for _ in range(count)])


def cores_per_worker(cores: Sequence[int], workers: int, most: int) -> float:
    """Return how many cores each worker, which can use `most`, requests so that all fit; Ray would wait for more.

    `cores` has the number of cores of each machine.
    """
    whole = (share for share in range(most, 0, -1) if sum(count // share for count in cores) >= workers)
    return next(whole, _CORE_PARTS // -(-workers // sum(cores)) / _CORE_PARTS)


class _Actor:
    """A process of the cluster that runs one stage."""

    def __init__(self) -> None:
        self._stage: Stage | None = None

    def run(self, stage: Sequence[Any], chunk: Chunk) -> Chunk:
        """Return the result for the chunk; `stage` holds the reference to the pickled stage, which is loaded once."""
        if self._stage is None:
            self._stage = pickle.loads(library("ray", "--engine ray", "ray").get(stage[0]))
        return self._stage(chunk)


@dataclass(frozen=True, slots=True)
class _Request:
    """A chunk sent to an actor: the reference to its result, the index of the actor, and the lines in words."""

    result: Any
    actor: int
    lines: str


@dataclass(frozen=True, slots=True)
class _ActorPool:
    """The actors of a stage, and their pending requests in the order of the chunks."""

    ray: Any
    stage: Sequence[Any]  # the reference to the pickled stage, in a list: Ray does not send the value with each request
    actors: Sequence[Any]
    requests: deque[_Request] = field(default_factory=deque)

    def submit(self, chunk: Chunk) -> None:
        """Send a chunk to the actor with the shortest queue."""
        actor = min(range(len(self.actors)), key=self._queue_lengths().__getitem__)
        lines = f"lines {chunk.first_line + 1:,} to {chunk.first_line + chunk.size:,}"
        self.requests.append(_Request(self.actors[actor].run.remote(self.stage, chunk), actor, lines))

    def next_result(self) -> Chunk:
        """Wait for the oldest request and return its result."""
        request, errors = self.requests.popleft(), self.ray.exceptions
        try:
            chunk: Chunk = self.ray.get(request.result)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.ActorUnavailableError:
            # The actor may have died at a later chunk before this result was transferred.
            lines = " or ".join(one.lines for one in (request, *self.requests) if one.actor == request.actor)
            problem = f"a worker died {_RETRIES + 1} times at {lines}, perhaps for lack of memory"
        except errors.RayActorError as error:
            problem = f"a worker could not be started: {_first_line(error)}"
        except errors.RayError as error:
            problem = f"Ray failed at {request.lines}: {_first_line(error)}"
        else:
            return chunk
        raise PosteditError(problem)

    def _queue_lengths(self) -> Counter[int]:
        """Return the number of unfinished chunks of each actor."""
        if not self.requests:
            return Counter()
        results = [request.result for request in self.requests]
        unfinished = set(self.ray.wait(results, num_returns=len(results), timeout=0)[1])
        return Counter(request.actor for request in self.requests if request.result in unfinished)


def set_ray_environment() -> None:
    """Keep Ray from writing to the terminal and from reporting usage; effective before it is imported."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Yield the library, connected to a cluster."""
    set_ray_environment()
    ray = library("ray", "--engine ray", "ray")
    if ray.is_initialized():
        yield ray
        return
    cores = max(workers or 0, len(os.sched_getaffinity(0)))
    local = {"address": "local", "num_cpus": cores, "include_dashboard": False}
    if address is not None:
        _check_address(address)
    try:
        options = local if address is None else {"address": address}
        ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = "be started here" if address is None else f"be joined at {address}"
        raise PosteditError(f"a Ray cluster cannot {where}: {_first_line(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        form = 'must be HOST:PORT, as `ray start --head` prints it, or "auto" on a machine of the cluster'
        raise PosteditError(f"--address {address}: {form}")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise PosteditError(f"--address {address}: no Ray cluster can be reached there ({error})") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
