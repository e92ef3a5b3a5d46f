"""Functions that numba compiles when they are first called, and keeps on disk; that it does so is logged, once."""

import logging
from collections.abc import Callable
from typing import Any, Final

from numba import njit
from numba.core import event

_log = logging.getLogger(__name__)


class _Announcer(event.Listener):
    """Hears of what is compiled, but not of what is found on disk."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            _log.info("Compiling for this processor, for up to a minute; what is compiled is kept for the next time")

    def on_end(self, event: Any) -> None:
        """Do nothing: many short ones follow each other."""


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]

Compile = Callable[[Any], Any]
"""What is put above a function; it has no types then."""


def compiled_with(**options: Any) -> Compile:
    """Return what compiles a function with these options of numba's besides.

    What numba keeps on disk is of a function's own file and target, not of these options: where they change, touch the
    files that use them.
    """
    decorate: Compile = njit(cache=True, nogil=True, **options)
    return decorate


compiled: Final = compiled_with()
