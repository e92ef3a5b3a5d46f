"""Map a function over items in order: in this process, in several of this machine, or wherever an executor works."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any, Final, Protocol, TypeVar

from postedit.core.errors import PosteditError

In = TypeVar("In")
Out = TypeVar("Out")

_AHEAD: Final = 2  # items waiting per process: enough not to be idle, few enough to keep memory small

_SECONDS_TO_SEND: Final = 1.0
"""Many times the time in which the parent process, which reads all the time, receives a result."""


class WorkerError(PosteditError):
    """A worker process ended unexpectedly, or could not be started."""


class Executor(Protocol):
    """Applies a function to items in some workers. It changes neither the results nor their order."""

    def map(self, build: Callable[[int], Callable[[In], Out]], items: Iterable[In]) -> Generator[Out, None, None]:
        """Yield the result of each item, in order; close the iterator to stop early.

        Args:
            build: called once in every worker with its number from 0, returns the function of an item, which may hold
                a model. `build`, items and results must be picklable.
            items: only a few per worker are read ahead.

        Raises:
            WorkerError: if workers end unexpectedly; the results before the first missing one are yielded first.
            PosteditError: raised by `items` (the results of earlier items are yielded first) or by the function.
        """


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Works in so many new processes of this machine, which share no memory; 1 works in this process."""

    workers: int = 1

    def map(self, build: Callable[[int], Callable[[In], Out]], items: Iterable[In]) -> Generator[Out, None, None]:
        """Yield the result of each item; see `Executor.map`."""
        if self.workers == 1:
            yield from map(build(0), items)
        else:
            yield from map_in_processes(build, items, self.workers)


IN_THIS_PROCESS: Final = LocalExecutor()


def same_in_all(function: Callable[[In], Out]) -> Callable[[int], Callable[[In], Out]]:
    """Return what builds `function` in every worker, for `Executor.map`."""
    return partial(_ignore_number, function)


def _ignore_number(function: Callable[[In], Out], number: int) -> Callable[[In], Out]:
    return function


def map_in_processes(
    build: Callable[[int], Callable[[In], Out]], items: Iterable[In], processes: int
) -> Generator[Out, None, None]:
    """Yield the result of each item, in order; close the iterator to stop early.

    The processes are spawned, so they share nothing with this one. They end with it, and as soon as the iterator is
    closed, even in the middle of an item. They ignore Ctrl-C, which this process handles.

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
        waiting.extend(pool.submit(_work, item) for item in islice(source, _AHEAD * processes))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(pool.submit(_work, item) for item in islice(source, 1))
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
        pool.shutdown(wait=True, cancel_futures=True)
        ours.close()
        theirs.close()


def until_error(items: Iterable[In], errors: list[PosteditError]) -> Iterator[In]:
    """Yield items up to the first error, which is added to `errors`."""
    try:
        yield from items
    except PosteditError as error:
        errors.append(error)


_built: Callable[[Any], Any]

_door = threading.Lock()  # held to change `_working`: whoever holds it knows that `_working` does not change

_working = False


def _start(build: Callable[[int], Callable[[Any], Any]], numbers: "SimpleQueue[int]", stop: Connection) -> None:
    """Prepare a process. It ignores Ctrl-C and SIGHUP, which reach all processes of a terminal: the parent ends it."""
    global _built
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _built = build(numbers.get())


def _end_with_parent(stop: Connection) -> None:
    """End this process when the parent closes its end of the pipe or ends, but finish sending a result first.

    With half a result, the parent would wait for the other half forever.
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
