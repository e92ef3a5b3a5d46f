"""Work in processes: order, errors, and the end at any moment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postedit.core.errors import DataError
from postedit.core.processes import LocalExecutor, WorkerError, same_in_all, usable_cores


def double(block: list[int]) -> list[int]:
    return [2 * number for number in block]


def fail(block: list[int]) -> None:
    raise DataError(f"block {block} cannot be used")


def blocked_signals(block: list[int]) -> str:
    command = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    return subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True).stdout.strip()


def die(block: list[int]) -> None:
    os._exit(1)


def test_cores_are_counted_where_the_system_allows_and_otherwise_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == 7


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_whatever_the_number_of_processes(workers: int) -> None:
    blocks = [list(range(first, first + 7)) for first in range(0, 1000, 7)]
    assert list(LocalExecutor(workers).map(same_in_all(double), blocks)) == [double(block) for block in blocks]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_that_of_the_block(workers: int) -> None:
    with pytest.raises(DataError, match=r"block \[0\] cannot be used"):
        list(LocalExecutor(workers).map(same_in_all(fail), [[0]]))


def test_programs_that_processes_start_have_no_signals_blocked() -> None:
    assert list(LocalExecutor(2).map(same_in_all(blocked_signals), [[0]])) == ["set()"]


def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(WorkerError, match="one of 2 worker processes was killed"):
        list(LocalExecutor(2).map(same_in_all(die), [[0], [1]]))


LARGE = """
from postedit.core.processes import map_in_processes

def build(number):
    return lambda item: bytes(10_000_000)

if __name__ == "__main__":
    for taken in range(2):
        results = map_in_processes(build, range(100), 2)
        for _ in range(taken + 1):
            next(results)
        results.close()
"""


@pytest.mark.slow
def test_processes_stopped_while_sending_end(tmp_path: Path) -> None:
    script = tmp_path / "large.py"
    script.write_text(LARGE)
    subprocess.run([sys.executable, script], check=True, timeout=600)


STARTING = """
import os, signal, sys, threading, time
from pathlib import Path
from postedit.core.processes import map_in_processes

starting, interrupted = (Path(__file__).with_name(name) for name in ("starting", "interrupted"))

def build(number):
    return abs

def interrupt():
    while not starting.exists():
        time.sleep(0.01)
    for _ in range(2):
        time.sleep(0.5)
        os.killpg(0, signal.SIGINT)
    interrupted.touch()

if __name__ == "__main__":
    os.setpgrp()
    results = map_in_processes(build, range(4), 2)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        list(results)
    except KeyboardInterrupt:
        sys.exit(130)
else:
    starting.touch()
    while not interrupted.exists():  # as if it imported large modules
        time.sleep(0.01)
"""


@pytest.mark.slow
def test_processes_interrupted_while_starting_print_nothing(tmp_path: Path) -> None:
    script = tmp_path / "starting.py"
    script.write_text(STARTING)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stderr) == (130, "")
