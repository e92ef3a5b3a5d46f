"""Functions that change a process of the command line before its command begins."""

import atexit
import ctypes
import resource
from pathlib import Path
from typing import Any


def small_steps() -> None:
    """Let commands save their progress as often as if their inputs were large."""
    from postedit.core.saved_arrays import SavedArrays
    from postedit.data.cleaning import cleaner
    from postedit.distributed.pipeline import run_job
    from postedit.distributed.resumable_outputs import ResumableOutputs
    from postedit.evaluate import test_set
    from postedit.jobs import corpus_statistics, extraction, gating

    cleaner.BLOCK = 10  # type: ignore[misc]
    corpus_statistics.BLOCK = 10  # type: ignore[misc]
    gating._CHUNK = 10  # type: ignore[misc]
    extraction.PIECE = 6  # type: ignore[misc]
    test_set.PART = 10  # type: ignore[misc]
    functions: list[tuple[Any, str]] = [
        (ResumableOutputs.__init__, "save_seconds"), (run_job, "save_seconds"), (SavedArrays.__init__, "seconds")
    ]  # fmt: skip
    for function, interval in functions:
        function.__kwdefaults__[interval] = 0.0


def disturbed_disk(folder: str, at: int, error: int, signal: int, jump: int, reads: bool, seen: str) -> None:
    """Let operations that change (or read) files below `folder` fail, send a signal, or set the clock, from `at` on.

    Their number is written to the file `seen` at the end. See failing_disk.c.
    """
    small_steps()
    disk = ctypes.CDLL(None)
    atexit.register(lambda: Path(seen).write_text(str(disk.faults_seen())))
    disk.faults_begin(folder.encode(), at, error, signal, jump, int(reads))


def little_memory(megabytes: int) -> None:
    """Let the process have so much more memory than it has already."""
    small_steps()
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = held + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def bounded(megabytes: int, seconds: int) -> None:
    """Let the process have so much more memory, and so many seconds of a processor."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + megabytes * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
