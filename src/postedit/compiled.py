"""Compile functions with numba at their first call, cache them on disk, and log it once."""

import hashlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

_log = logging.getLogger(__name__)

_SOON: Final = 0.5  # seconds, after which waiting is told


class _Announcer(event.Listener):
    """Logs the first compilation; functions loaded from the cache do not count."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            _log.info("Compiling for this processor (up to a minute, once; the result is cached)")

    def on_end(self, event: Any) -> None:
        """Ignore the end of a compilation."""


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


@cache
def _lock_of(folder: str, process: int) -> FileLock:  # of a process, as a fork must not share it
    return FileLock(str(Path(folder) / "compiling.lock"), thread_local=False)


@cache
def _digest_of_sources() -> str:
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return hashlib.sha256(b"".join(source for source in sources if __name__.encode() in source)).hexdigest()


class _SharedCache(FunctionCache):
    """A cache that lets one process compile, while others that start at the same time wait for what it writes.

    It is valid for the sources of all compiled functions: numba looks at the file of a function alone, and not at those
    of the functions whose machine code is within its own.

    A lock for each folder of modules is taken by the first function that is not in the cache. Functions call those of
    lower layers only, so that processes cannot wait for each other. Where one waits too long (the other may have been
    stopped), this process waits no more.
    """

    patience = 300.0  # seconds; of all functions

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _digest_of_sources())
        self._held: list[FileLock] = []

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function; if there is none, None, with the lock held."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is not None:
            return found
        lock = _lock_of(self.cache_path, os.getpid())
        try:
            _acquire(lock)
        except Timeout:
            _SharedCache.patience = 0.0
            return None
        except OSError:
            return None
        self._held.append(lock)
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def releasing(self, compiling: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that compiles, and that then holds no more locks than before, whether it failed or not."""

        def compiling_once(sig: Any) -> Any:
            before = len(self._held)
            try:
                return compiling(sig)
            finally:
                while len(self._held) > before:
                    self._held.pop().release()

        return compiling_once


def _acquire(lock: FileLock) -> None:
    """Take a lock.

    Raises:
        Timeout: if another process keeps it for too long.
        OSError: if it cannot be taken here.
    """
    try:
        lock.acquire(min(_SOON, _SharedCache.patience))
    except Timeout:
        if not _SharedCache.patience:
            raise
        _tell_of_waiting()
        lock.acquire(_SharedCache.patience)


@cache
def _tell_of_waiting() -> None:
    _log.info("Waiting for another process, which compiles for this processor")


def wait_no_longer(seconds: float) -> None:
    """Let this process wait for others that compile only so long; then it compiles for itself."""
    _SharedCache.patience = min(seconds, _SharedCache.patience)


def compiled_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function with additional options of numba."""

    def decorate(function: Any) -> Any:
        found = njit(cache=True, nogil=True, **options)(function)
        if hasattr(found, "_cache"):  # else numba is switched off
            found._cache = _SharedCache(function)
            found.compile = found._cache.releasing(found.compile)
        return found

    return decorate


compiled: Final = compiled_with()


def uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a compiled function, called in a thread, where Ctrl-C does not strike.

    Python handles signals in the main thread, and raises KeyboardInterrupt only when the function has ended: while its
    result is converted, where numba expects no exception and may crash. The longer a function takes, the more likely.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(function, *arguments).result()
