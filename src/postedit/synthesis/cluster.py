"""Where stages run on many machines: in workers of a Ray cluster, or of one that is started here for the time being.

The work is Ray's: it places workers, carries chunks to them, starts a worker anew that is gone, and gives it its chunks
again. A stage is pure, so nobody can tell by the output. Text is read and written by the process that asks.
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
from typing import Any, Final

from postedit.core.errors import PosteditError
from postedit.core.extras import library
from postedit.synthesis.chunk import Chunk, Stage, StageSpec

_AHEAD: Final = 2
"""Chunks a worker has waiting: enough not to be idle, few enough that memory stays small."""

_RETRIES: Final = 3
"""Times that a chunk is given out again after its worker was lost: machines fail now and then, but a chunk that ends
every process it comes to must not do so for ever."""

_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # what the cluster would print here when it mends itself
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers that ask for no GPU may see them, as other processes do
}
"""What Ray is told before it is imported, unless the user tells it something else."""

_PARTS: Final = 10_000
"""Parts of a core that Ray counts; what is finer it rounds, and then there may be no room for the last worker."""

_CONNECT_SECONDS: Final = 10.0
"""To reach a cluster; Ray itself tries for more than five minutes before it gives up."""


@dataclass(frozen=True, slots=True)
class Ray:
    """Runs the stage in workers of a Ray cluster; one that this process is connected to already serves as it is.

    Args:
        workers: how many. None: one a core; or one a machine, if a stage uses `threads`.
        address: HOST:PORT of the cluster, or "auto" for the one this machine is in. None: workers are started here.
        threads: whether a stage has threads of its own, so that workers share all cores among them.
    """

    workers: int | None = None
    address: str | None = None
    threads: bool = False

    def map(self, spec: StageSpec, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield what the stage makes of each chunk, in order.

        Raises:
            PosteditError: if there is no such cluster; if workers end again and again at a chunk; or if the stage
                raises it.
            RecipeError: if Ray is not installed.
        """
        source = iter(chunks)
        with _connected(self.address, self.workers) as ray:
            team = self._team(ray, spec)
            for chunk in islice(source, _AHEAD * len(team.workers)):
                team.ask(chunk)
            while team.asked:
                done = team.answer()
                for chunk in islice(source, 1):
                    team.ask(chunk)
                yield done

    def _team(self, ray: Any, spec: StageSpec) -> "_Team":
        """Return workers for the stage; they get ready while the first chunks are read."""
        cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        cores = [count for count in cores if count] or [1]
        count = self.workers or (len(cores) if self.threads else sum(cores))
        share = cores_each(cores, count, most=min(cores) if self.threads else 1)
        options = {"num_cpus": share, "max_restarts": -1, "max_task_retries": _RETRIES, "scheduling_strategy": "SPREAD"}
        # As bytes: arrays that workers get from shared memory would be read-only, which compiled code tells apart.
        shared = ray.put(pickle.dumps(spec))
        return _Team(ray, [shared], [ray.remote(**options)(_Worker).remote() for _ in range(count)])


def cores_each(cores: Sequence[int], workers: int, most: int) -> float:
    """Return how many cores a worker asks for, so that there is room for all of them; Ray would wait for ever for more.

    Args:
        cores: of each machine.
        workers: how many.
        most: cores that a worker can use.
    """
    whole = (share for share in range(most, 0, -1) if sum(count // share for count in cores) >= workers)
    return next(whole, _PARTS // -(-workers // sum(cores)) / _PARTS)


class _Worker:
    """A process of the cluster, with a stage of its own."""

    def __init__(self) -> None:
        self._stage: Stage | None = None

    def work(self, spec: Sequence[Any], chunk: Chunk) -> Chunk:
        """Return what the stage makes of the chunk; `spec` holds where Ray has the pickled one, read only once."""
        if self._stage is None:
            pickled = library("ray", "--engine ray", "ray").get(spec[0])
            self._stage = pickle.loads(pickled).build()
        return self._stage(chunk)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A chunk that a worker was given.

    Args:
        answer: what Ray will have the result under.
        worker: its number.
        lines: where the chunk is in the input, in words.
    """

    answer: Any
    worker: int
    lines: str


@dataclass(frozen=True, slots=True)
class _Team:
    """Workers of one stage, and what they were asked and have not been heard on, in order.

    Args:
        ray: the library, connected.
        spec: where Ray has the pickled spec; in a list, so that it is not sent with each chunk.
        workers: Ray's names for them.
        asked: the chunks they were given.
    """

    ray: Any
    spec: Sequence[Any]
    workers: Sequence[Any]
    asked: deque[_Asked] = field(default_factory=deque)

    def ask(self, chunk: Chunk) -> None:
        """Give a chunk to the worker that has the fewest waiting."""
        worker = min(range(len(self.workers)), key=self._load().__getitem__)
        lines = f"lines {chunk.first_line + 1:,} to {chunk.first_line + chunk.read:,}"
        self.asked.append(_Asked(self.workers[worker].work.remote(self.spec, chunk), worker, lines))

    def answer(self) -> Chunk:
        """Return what was made of the first of the chunks, once it is.

        Raises:
            PosteditError: if that failed.
        """
        asked, errors = self.asked.popleft(), self.ray.exceptions
        try:
            chunk: Chunk = self.ray.get(asked.answer)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.ActorUnavailableError:
            # The worker may have ended at a later chunk before the answer to this one had left it.
            lines = " or ".join(one.lines for one in (asked, *self.asked) if one.worker == asked.worker)
            problem = f"a worker was lost {_RETRIES + 1} times at {lines}, perhaps for want of memory"
        except errors.RayActorError as error:
            problem = f"a worker could not be started: {_first_line(error)}"
        except errors.RayError as error:
            problem = f"Ray failed at {asked.lines}: {_first_line(error)}"
        else:
            return chunk
        raise PosteditError(problem)

    def _load(self) -> Counter[int]:
        """Return how many chunks each worker has waiting."""
        if not self.asked:
            return Counter()
        answers = [asked.answer for asked in self.asked]
        waiting = set(self.ray.wait(answers, num_returns=len(answers), timeout=0)[1])
        return Counter(asked.worker for asked in self.asked if asked.answer in waiting)


def quiet() -> None:
    """Keep Ray, if it is not imported yet, from writing to the terminal, and from telling others that it is used."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Give the library, connected to a cluster."""
    quiet()
    ray = library("ray", "--engine ray", "ray")
    if ray.is_initialized():
        yield ray
        return
    cores = max(workers or 0, len(os.sched_getaffinity(0)))
    here = {"address": "local", "num_cpus": cores, "include_dashboard": False}
    if address is not None:
        _check(address)
    try:
        ray.init(
            **(here if address is None else {"address": address}), log_to_driver=False, logging_level=logging.CRITICAL
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = "be started here" if address is None else f"be joined at {address}"
        raise PosteditError(f"a Ray cluster cannot {where}: {_first_line(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Raise an error if nobody is at the address."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise PosteditError(
            f'--address {address}: must be HOST:PORT, as `ray start --head` prints it, or "auto", on a machine of the '
            "cluster"
        )
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise PosteditError(f"--address {address}: no Ray cluster can be reached there ({error})") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
