"""Compile functions with numba at their first call, cache them on disk, and log it once."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

_log = logging.getLogger(__name__)
_PATIENCE: Final = 300.0  # seconds


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


class _SharedCache(FunctionCache):
    """A cache that lets one process compile, while others that start at the same time wait for what it writes.

    A lock for each folder of modules is taken by the first function that is not in the cache, and released when it is.
    Functions call those of lower layers only, so that processes cannot wait for each other; one that waits too long
    (the other may have been stopped) compiles for itself.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        place = str(Path(self.cache_path) / "compiling.lock")
        self._lock = FileLock(place, timeout=_PATIENCE, thread_local=False, is_singleton=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function; if there is none, None, with the lock held."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is not None:
            return found
        try:
            self._lock.acquire()
        except (Timeout, OSError):
            return None
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is not None:
            self._lock.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function, and release the lock."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        finally:
            self._lock.release()


def compiled_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function with additional options of numba.

    The cache depends on the file and the target of a function, not on these options: touch the file if they change.
    """

    def decorate(function: Any) -> Any:
        found = njit(cache=True, nogil=True, **options)(function)
        if hasattr(found, "_cache"):  # else numba is switched off
            found._cache = _SharedCache(function)
        return found

    return decorate


compiled: Final = compiled_with()
