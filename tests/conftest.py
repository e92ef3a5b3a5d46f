"""What holds for all tests."""

import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from typer.testing import Result

# A machine that does other work is slow, not wrong.
settings.register_profile("postedit", deadline=None)
settings.load_profile("postedit")


MEMORY = Path("/dev/shm")
ROOM = 6_000_000_000  # bytes; all tests together write much less


def pytest_configure() -> None:
    """Prepare this process and its children.

    Temporary folders are in memory where there is room: databases and atomic files wait for the disk at each change,
    a third of the time of all tests. Ctrl-C is tested with child processes, which would ignore it if the tests were
    started in the background.
    """
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage neither while modules are imported, nor among what they made: all of it stays to the end."""
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
    """Let the library warn again after a command that kept warnings off the screen."""
    logger = logging.getLogger("postedit")
    level = logger.level
    yield
    logger.setLevel(level)
