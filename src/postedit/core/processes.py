"""Work spread over processes of this machine; what comes out is in the order of what went in."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any, Final, TypeVar

from postedit.core.errors import PosteditError

In = TypeVar("In")
Out = TypeVar("Out")

_AHEAD: Final = 2
"""Items a process has waiting: enough not to be idle, few enough that memory stays small."""


_SECONDS_TO_SEND: Final = 1.0
"""Many times what the first process, which reads all the time, needs for a result."""


class WorkerError(PosteditError):
    """A process that ended of itself, or was ended from outside."""


def map_in_processes(
    build: Callable[[int], Callable[[In], Out]], items: Iterable[In], processes: int
) -> Generator[Out, None, None]:
    """Yield what the work makes of each item, in order; close the iterator to stop early.

    The processes are new ones and share nothing with this one. They end with it, and when the iterator is closed,
    what they are at included. Ctrl-C is left to this process.

    Args:
        build: called once in every process with its number, from 0 on, it returns the work. It, the items and what
            is made of them must survive pickling.
        items: what to work on; few are read ahead.
        processes: how many.

    Raises:
        WorkerError: if a process ends; what was made of the items before the first that is missing comes before it.
        PosteditError: of the items, once what was made of those before it has come.
    """
    context = get_context("spawn")
    numbers: SimpleQueue[int] = context.SimpleQueue()
    for number in range(processes):
        numbers.put(number)
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _start, (build, numbers, theirs))
    waiting: deque[Future[Out]] = deque()
    source = _Source(items)
    try:
        waiting.extend(pool.submit(_work, item) for item in islice(source, _AHEAD * processes))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(pool.submit(_work, item) for item in islice(source, 1))
            yield done
        if source.error is not None:
            raise source.error
    except BrokenProcessPool:
        raise WorkerError(
            f"one of {processes} worker processes was ended from outside, perhaps for want of memory; fewer of them "
            "(--workers) need less"
        ) from None
    except BaseException:
        ours.close()  # ends the processes at once
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        ours.close()
        theirs.close()


class _Source(Iterator[In]):
    """Items up to the first that cannot be had, and why it cannot."""

    def __init__(self, items: Iterable[In]) -> None:
        self._items = iter(items)
        self.error: PosteditError | None = None

    def __next__(self) -> In:
        if self.error is not None:
            raise StopIteration
        try:
            return next(self._items)
        except PosteditError as error:
            self.error = error
            raise StopIteration from None


_built: Callable[[Any], Any]

_door = threading.Lock()
"""Taken to begin with an item and to leave it: who holds it knows that `_working` stays as it is."""

_working = False


def _start(build: Callable[[int], Callable[[Any], Any]], numbers: "SimpleQueue[int]", stop: Connection) -> None:
    """Make a process ready. Ctrl-C reaches all processes of a terminal; the first one ends the others."""
    global _built
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _built = build(numbers.get())


def _end_with_parent(stop: Connection) -> None:
    """Wait until the first process closes its end of the pipe, or is no more; nobody wants this one's work then.

    Half a result would keep the first process waiting for the other half for ever, so what is on its way gets there.
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
