"""Compile functions with numba at their first call, cache them on disk, and log it once."""

import logging
from collections.abc import Callable
from typing import Any, Final

from numba import njit
from numba.core import event

_log = logging.getLogger(__name__)


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


def compiled_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function with additional options of numba.

    The cache depends on the file and the target of a function, not on these options: touch the file if they change.
    """
    decorate: Callable[[Any], Any] = njit(cache=True, nogil=True, **options)
    return decorate


compiled: Final = compiled_with()
