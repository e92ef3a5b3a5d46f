"""Compile functions with numba at their first call, cache the machine code on disk, and log the first compilation."""

import hashlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from filelock import FileLock, Timeout
from numba import njit
from numba.core import event, types
from numba.core.caching import FunctionCache

_log = logging.getLogger(__name__)

_SOON: Final = 0.5  # seconds of waiting after which it is logged

_CACHED: Final = "a minute, more if busy; once, then cached"
_NOT_CACHED: Final = (
    "a minute, more if busy; each time, as neither postedit's folder nor the cache folder of this user is writable: "
    "set NUMBA_CACHE_DIR to a writable folder"
)


class _Announcer(event.Listener):
    """A listener that logs the first compilation; loading functions from the cache does not count."""

    def __init__(self) -> None:
        self._told, self.cached = False, True

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            _log.info(f"Compiling for this processor ({_CACHED if self.cached else _NOT_CACHED})")

    def on_end(self, event: Any) -> None:
        """Ignore the end of a compilation."""


_announcer: Final = _Announcer()
event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


@cache
def _lock_of(folder: str, process: int) -> FileLock:  # one per process, because a fork must not share its parent's
    return FileLock(str(Path(folder) / "compiling.lock"), thread_local=False)


@cache
def _digest_of_sources() -> str:
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return hashlib.sha256(b"".join(source for source in sources if __name__.encode() in source)).hexdigest()


class _InKnownHome:
    """Part of a locator that finds no folder if the user's home folder is not known; numba would make one named `~`."""

    def ensure_cache_path(self) -> None:
        if not Path(self.get_cache_path()).is_absolute():  # type: ignore[attr-defined]
            raise OSError("the home folder of this user is not known")
        super().ensure_cache_path()  # type: ignore[misc]


def _without_unknown_home(locator: type) -> type:
    return type(locator.__name__, (_InKnownHome, locator), {}) if "UserWide" in locator.__name__ else locator


class _CacheFiles(FunctionCache._impl_class):  # type: ignore[valid-type, misc]
    _locator_classes: ClassVar = [_without_unknown_home(one) for one in FunctionCache._impl_class._locator_classes]


class _SharedCache(FunctionCache):
    """A cache that lets one process compile, while others that start at the same time wait for the result.

    It is invalidated when the sources of any compiled function change: numba checks only the file of the function
    itself, not the files of functions whose machine code is inlined in it.

    There is a lock for each folder of modules, taken by the first function that is not in the cache. Functions call
    only those of lower layers, so processes cannot deadlock. After waiting too long for another process, which may have
    been stopped, this process compiles for itself and does not wait again.
    """

    _impl_class = _CacheFiles

    patience = 300.0  # seconds to wait for other processes; shared by all functions

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _digest_of_sources())
        self._held: list[FileLock] = []

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None to compile it; the lock is acquired if it is not cached."""
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
        """Return a function that calls `compiling`, and releases the locks acquired in the call, even if it fails."""

        def compiling_once(sig: Any) -> Any:
            before = len(self._held)
            try:
                return compiling(sig)
            finally:
                while len(self._held) > before:
                    self._held.pop().release()

        return compiling_once


def _acquire(lock: FileLock) -> None:
    """Acquire a lock.

    Raises:
        Timeout: if another process holds it for too long.
        OSError: if the file system does not allow it.
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
    """Limit how long this process waits for others that compile; after `seconds`, it compiles for itself."""
    _SharedCache.patience = min(seconds, _SharedCache.patience)


def compiled_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function with additional numba options."""

    def decorate(function: Any) -> Any:
        found = njit(nogil=True, **options)(function)
        if hasattr(found, "_cache"):  # not if numba is disabled
            found.compile = _without_literals(found.compile)
            try:
                found._cache = _SharedCache(function)
            except RuntimeError:  # numba finds no folder that it can write
                _announcer.cached = False
            else:
                found.compile = found._cache.releasing(found.compile)
        return found

    return decorate


def _without_literals(compiling: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls `compiling`; numba would compile anew for arguments that are literals, such as 0."""
    return lambda sig: compiling(tuple(map(types.unliteral, sig)) if isinstance(sig, tuple) else sig)


compiled: Final = compiled_with()


def uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function in a thread, where Ctrl-C cannot interrupt it, and return its result.

    In the main thread, Python would raise KeyboardInterrupt only when the function has ended and its result is being
    converted, where numba expects no exception and may crash. The longer a function takes, the likelier that is.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(function, *arguments).result()
