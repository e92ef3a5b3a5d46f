"""Map a function over items in order: in this process, in several local processes, or in the workers of an executor."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any, Final, Protocol, TypeVar

from postedit.core.errors import PosteditError

In = TypeVar("In")
Out = TypeVar("Out")

_AHEAD: Final = 2  # items queued per process: enough to keep it busy, few enough to use little memory

_OF_TERMINALS: Final = (signal.SIGINT, signal.SIGHUP)  # sent to all processes of a command

_SECONDS_TO_SEND: Final = 1.0
"""Far longer than the parent process, which reads continually, takes to receive a result."""


def usable_cores() -> int:
    """Return the number of processor cores that this process may use; all cores where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerError(PosteditError):
    """A worker process ended unexpectedly, or could not be started."""


class Executor(Protocol):
    """An interface for applying a function to items in workers, which change neither the results nor their order."""

    def map(self, build: Callable[[int], Callable[[In], Out]], items: Iterable[In]) -> Generator[Out, None, None]:
        """Yield the result of each item, in order; close the iterator to stop early.

        Args:
            build: called once in every worker with the worker's number, from 0; returns the function to apply, which
                may hold a model. `build`, items and results must be picklable.
            items: the items, of which only a few per worker are read ahead.

        Raises:
            WorkerError: if workers end unexpectedly; the results before the first missing one are yielded first.
            PosteditError: if `items` raises it (the results of earlier items are yielded first) or the function does.
        """


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An executor with `workers` new processes on this machine, which share no memory; 1 worker is this process."""

    workers: int = 1

    def map(self, build: Callable[[int], Callable[[In], Out]], items: Iterable[In]) -> Generator[Out, None, None]:
        """Yield the result of each item; see `Executor.map`."""
        if self.workers == 1:
            yield from map(build(0), items)
        else:
            yield from map_in_processes(build, items, self.workers)


IN_THIS_PROCESS: Final = LocalExecutor()


def same_in_all(function: Callable[[In], Out]) -> Callable[[int], Callable[[In], Out]]:
    """Return a `build` argument for `Executor.map` with which every worker applies the same `function`."""
    return partial(_ignore_number, function)


def _ignore_number(function: Callable[[In], Out], number: int) -> Callable[[In], Out]:
    return function


def map_in_processes(
    build: Callable[[int], Callable[[In], Out]], items: Iterable[In], processes: int
) -> Generator[Out, None, None]:
    """Yield the result of each item, in order; close the iterator to stop early.

    The processes are spawned, so they share nothing with this one. They end when this process ends, and as soon as the
    iterator is closed, even in the middle of an item. They ignore Ctrl-C, which this process handles.

    Arguments and errors are those of `Executor.map`.
    """
    context = get_context("spawn")
    numbers: SimpleQueue[int] = context.SimpleQueue()
    for number in range(processes):
        numbers.put(number)
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _start, (build, numbers, theirs))
    waiting: deque[Future[Out]] = deque()
    errors: list[PosteditError] = []
    source = until_error(items, errors)
    try:
        waiting.extend(_submitted(pool, item) for item in islice(source, _AHEAD * processes))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(_submitted(pool, item) for item in islice(source, 1))
            yield done
        if errors:
            raise errors[0]
    except BrokenProcessPool:
        raise WorkerError(
            f"one of {processes} worker processes was killed, perhaps because memory ran out; use fewer processes "
            "(--workers)"
        ) from None
    except BaseException:
        ours.close()  # ends the processes at once
        raise
    finally:
        with signals_held():
            pool.shutdown(wait=True, cancel_futures=True)
            ours.close()
            theirs.close()


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back the signals of a terminal from this thread until the block ends, and from processes that it starts.

    Otherwise Ctrl-C would print tracebacks of processes that import their modules, or whose parent does not wait. New
    processes call `ignore_signals` first.
    """
    resource_tracker.ensure_running()  # which would unblock SIGINT when the first process starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_TERMINALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals(*numbers: signal.Signals) -> None:
    """Ignore some signals, and no longer hold any back, since programs that this process starts would inherit that."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_TERMINALS)


def _submitted(pool: ProcessPoolExecutor, item: Any) -> Future[Any]:
    with signals_held():
        return pool.submit(_work, item)


def until_error(items: Iterable[In], errors: list[PosteditError]) -> Iterator[In]:
    """Yield items until `items` raises a PosteditError, which is added to `errors`."""
    try:
        yield from items
    except PosteditError as error:
        errors.append(error)


_built: Callable[[Any], Any]

_door = threading.Lock()  # held to change `_working`, or while `_working` must not change

_working = False


def _start(build: Callable[[int], Callable[[Any], Any]], numbers: "SimpleQueue[int]", stop: Connection) -> None:
    """Prepare a worker process. It ignores the signals of a terminal; the parent ends it."""
    global _built
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    ignore_signals(*_OF_TERMINALS)
    _built = build(numbers.get())


def _end_with_parent(stop: Connection) -> None:
    """End this process when the parent closes its end of the pipe or ends, but finish sending a result first.

    A parent that has received half a result would wait for the other half forever.
    """
    stop.poll(None)
    with _door:
        if not _working:
            time.sleep(_SECONDS_TO_SEND)
        os._exit(1)


def _work(item: Any) -> Any:
    global _working
    with _door:
        _working = True
    try:
        return _built(item)
    finally:
        with _door:
            _working = False
