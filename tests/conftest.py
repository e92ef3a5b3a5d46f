"""Settings and fixtures of all tests."""

import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from typer.testing import Result

# A loaded machine is slow, which is no failure.
settings.register_profile("postedit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For `.ci/run`: what a rare example shows does not fail a change that has nothing to do with it.
settings.register_profile("repeatable", settings.get_profile("postedit"), derandomize=True)
settings.load_profile("postedit")


MEMORY = Path("/dev/shm")
ROOM = 6_000_000_000  # free bytes to require; all tests together write much less


def pytest_configure() -> None:
    """Prepare this process and its children.

    Temporary folders are in memory where there is room: databases and atomic files wait for the disk at each change,
    which took a third of the time of all tests. SIGINT gets its handler back if the tests were started in the
    background: child processes, with which Ctrl-C is tested, would otherwise inherit that it is ignored. Models that
    the user has fetched are not seen.
    """
    os.environ["POSTEDIT_MODELS"] = os.devnull
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage during collection of tests, nor later among the objects it made: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _in_words(self: Result) -> str:
    return f"<Result {self.exception!r}: {self.stderr[-2000:]}>"


# A failed assertion on an exit code shows what the command said.
Result.__repr__ = _in_words  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    """Restore the level of the library's logger, which a command may raise to keep warnings off the screen."""
    logger = logging.getLogger("postedit")
    level = logger.level
    yield
    logger.setLevel(level)
