"""An executor that works in a Ray cluster.

Ray places actors, transfers items, restarts an actor that died and repeats its items. Functions are pure, so none of
this changes the results. Files are read and written by the calling process only.
"""

import logging
import os
import pickle
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from postedit.core.errors import PosteditError, first_line, library
from postedit.core.processes import WorkerError, until_error, usable_cores
from postedit.distributed.schedule import Schedule

In = TypeVar("In")
Out = TypeVar("Out")

_RETRIES: Final = 3
"""Times that an item is repeated after its worker died: machines fail now and then, but an item that kills every
process must not be repeated for ever."""

_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # messages about restarted actors
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers that request no GPU may see them, as other processes do
}
"""Defaults for the environment of Ray, set before it is imported."""

_CORE_PARTS: Final = 10_000  # resolution of Ray's core counts; it rounds finer ones, and the last worker may not fit
_POLL_SECONDS: Final = 1.0  # between checks for late items
_CONNECT_SECONDS: Final = 10.0  # timeout to reach a cluster; Ray itself tries for more than five minutes


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """Works in actors of a Ray cluster; an existing connection of this process is reused."""

    workers: int | None = None  # number of actors; None: one per core, or one per machine (or GPU) if `multithreaded`
    address: str | None = None  # HOST:PORT, or "auto" for the cluster of this machine; None: start one here
    multithreaded: bool = False  # whether the function uses several cores itself, so that the actors share all cores
    on_gpus: bool = False  # whether actors get GPUs of their own, if the cluster has any
    patience: float = 60.0  # seconds before an item may be sent to a second actor: time to restart the first

    def map(self, build: Callable[[int], Callable[[In], Out]], items: Iterable[In]) -> Generator[Out, None, None]:
        """Yield the result of each item, in order; see `postedit.core.processes.Executor.map`.

        Messages refer to an item by its `str`, which says where in the input it is.

        Raises:
            WorkerError: if the cluster cannot be reached, or workers die repeatedly at an item.
            RecipeError: if Ray is not installed.
        """
        errors: list[PosteditError] = []
        with _connected(self.address, self.workers) as ray:
            pool = self._start_actors(ray, build)
            for item in until_error(items, errors):
                while not pool.submit(item):
                    pool.wait()
                    yield from pool.results()
            while pool.schedule.unfinished:
                pool.wait()
                yield from pool.results()
        if errors:
            raise errors[0]

    def check(self) -> None:
        """Check, before anything is written, that Ray is installed and that a server listens at the address.

        Raises:
            WorkerError: if no server listens there.
            RecipeError: if Ray is not installed.
        """
        _import_ray()
        if self.address is not None:
            _check_address(self.address)

    def _start_actors(self, ray: Any, build: Callable[[int], Callable[[Any], Any]]) -> "_ActorPool":
        """Return actors for the work; they start while the first items are read."""
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        place = placement(machines, self.workers, multithreaded=self.multithreaded, on_gpus=self.on_gpus)
        options = {"max_restarts": -1, "max_task_retries": _RETRIES, "scheduling_strategy": "SPREAD"}
        actor = ray.remote(num_cpus=place.cores, num_gpus=place.gpus, **options)(_Actor)
        # As bytes: Ray would share arrays as read-only memory, which is another type for compiled code.
        pickled = ray.put(pickle.dumps(build))
        actors = [actor.remote(number) for number in range(place.workers)]
        return _ActorPool(ray, [pickled], actors, Schedule(len(actors), self.patience))


@dataclass(frozen=True, slots=True)
class Placement:
    """How many workers there are, and how many cores and GPUs each of them requests."""

    workers: int
    cores: float
    gpus: float = 0


def placement(
    machines: Sequence[Mapping[str, float]], workers: int | None, *, multithreaded: bool, on_gpus: bool
) -> Placement:
    """Return how workers are placed on machines, given by their resources in Ray's terms; see `RayExecutor`."""
    gpus = sum(int(one.get("GPU", 0)) for one in machines) if on_gpus else 0
    cores = [int(one.get("CPU", 0)) for one in machines if one.get("GPU", 0) or not gpus]
    cores = [count for count in cores if count] or [1]
    count = workers or gpus or (len(cores) if multithreaded else sum(cores))
    most = max(1, sum(cores) // count) if gpus else min(cores)
    share = cores_per_worker(cores, count, most=min(most, min(cores)) if multithreaded else 1)
    return Placement(count, share, _CORE_PARTS // -(-count // gpus) / _CORE_PARTS if gpus else 0)


def cores_per_worker(cores: Sequence[int], workers: int, most: int) -> float:
    """Return how many cores, at most `most`, each worker requests so that all fit; Ray would wait for missing ones.

    `cores` has the number of cores of each machine.
    """
    whole = (share for share in range(most, 0, -1) if sum(count // share for count in cores) >= workers)
    return next(whole, _CORE_PARTS // -(-workers // sum(cores)) / _CORE_PARTS)


class _Actor:
    """A process of the cluster that works on items.

    Args:
        number: number of the worker.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._function: Callable[[Any], Any] | None = None

    def run(self, build: Sequence[Any], item: Any) -> Any:
        """Return the result for the item; `build` holds the reference to the pickled builder of the function."""
        if self._function is None:
            loaded = pickle.loads(library("ray", "--engine ray", "ray").get(build[0]))
            self._function = loaded(self._number)
        return self._function(item)


@dataclass(slots=True)
class _Item:
    """An item without a result: the reference to its value in Ray's store, and where in the input it is."""

    value: Any
    where: str


@dataclass(slots=True)
class _ActorPool:
    """The actors, the items sent to them, and the results that have not been taken yet."""

    ray: Any
    build: Sequence[Any]  # the reference to what builds the function, in a list: Ray does not send the value each time
    actors: Sequence[Any]
    schedule: Schedule
    items: dict[int, _Item] = field(default_factory=dict)  # items without a result, by number
    requests: dict[Any, tuple[int, int]] = field(default_factory=dict)  # item and actor, by reference to the result
    finished: dict[int, Any] = field(default_factory=dict)  # results, or errors, by number of the item
    fatal: dict[int, dict[str, None]] = field(default_factory=dict)  # where each actor was when it died too often
    sent: int = 0
    taken: int = 0

    def submit(self, item: object) -> bool:
        """Send an item to an actor; return False if no actor has room for it."""
        actor = self.schedule.place_new(time.monotonic())
        if actor is None:
            return False
        self.items[self.sent] = _Item(self.ray.put(item), str(item))
        self._send(self.sent, actor)
        self.sent += 1
        return True

    def wait(self) -> None:
        """Wait for results, a second at most, and send copies of late items."""
        if not self.requests:
            time.sleep(_POLL_SECONDS)  # all actors pause
        else:
            done, _ = self.ray.wait(list(self.requests), timeout=_POLL_SECONDS, fetch_local=False)
            for reference in done:
                self._receive(reference, *self.requests.pop(reference))
        while (copy := self.schedule.place_copy(time.monotonic())) is not None:
            self._send(*copy)

    def results(self) -> Iterator[Any]:
        """Yield the results that have arrived, in order, up to the first one that is missing."""
        while self.taken in self.finished:
            result = self.finished.pop(self.taken)
            self.taken += 1
            self.schedule.take()
            if isinstance(result, Exception):
                raise result
            yield result

    def _send(self, item: int, actor: int) -> None:
        self.requests[self.actors[actor].run.remote(self.build, self.items[item].value)] = item, actor

    def _receive(self, reference: Any, item: int, actor: int) -> None:
        """Record a result, if it settles its item, and cancel the copies of the item that no actor works on yet."""
        result, died = self._fetch(reference, item, actor)
        if not self.schedule.came_back(item, actor, time.monotonic(), failed=died):
            return
        self.finished[item] = result
        del self.items[item]
        for other, (copied, _) in self.requests.items():
            if copied == item:
                self.ray.cancel(other)

    def _fetch(self, reference: Any, item: int, actor: int) -> tuple[Any, bool]:
        """Return the result or the error that the function raised, and False; or why there is neither, and True."""
        if item not in self.items:
            return None, False
        errors = self.ray.exceptions
        try:
            return self.ray.get(reference), False
        except errors.RayTaskError as error:
            return error.cause, False
        except errors.ActorUnavailableError:
            # The actor may have died at a later item before this result was transferred; that one may be known already.
            queue, where = self.schedule.queue(actor), self.fatal.setdefault(actor, {})
            where |= {self.items[one].where: None for one in queue if one in self.items}
            problem = f"a worker died {_RETRIES + 1} times at {' or '.join(where)}, perhaps for lack of memory"
        except errors.RayActorError as error:
            problem = f"a worker could not be started: {first_line(error)}"
        except errors.RayError as error:
            problem = f"Ray failed at {self.items[item].where}: {first_line(error)}"
        return WorkerError(problem), True


def set_ray_environment() -> None:
    """Keep Ray from writing to the terminal and from reporting usage; to be called before Ray is imported."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def _import_ray() -> Any:
    set_ray_environment()
    return library("ray", "--engine ray", "ray")


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Yield the library, connected to a cluster."""
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    cores = max(workers or 0, usable_cores())
    local = {"address": "local", "num_cpus": cores, "include_dashboard": False}
    if address is not None:
        _check_address(address)
    try:
        options = local if address is None else {"address": address}
        ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = "be started here" if address is None else f"be joined at {address}"
        raise WorkerError(f"a Ray cluster cannot {where}: {first_line(error)}") from None
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
        raise WorkerError(f"--address {address}: {form}")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise WorkerError(f"--address {address}: no Ray cluster can be reached there ({error})") from None
