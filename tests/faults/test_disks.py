"""Disks that fail, clocks that are set, memory that ends, and two processes that write the same."""

import errno
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from commands_to_break import COMMANDS, Command, Workplace
from nursery import Ended
from test_kills import EVERY, finish

REASONS = {  # a full disk first
    errno.ENOSPC: "the disk is full",
    errno.EIO: "the disk, or the connection to it, has failed",
    errno.EROFS: "read-only",
    errno.ESTALE: "the file server",
}
YEARS = 10 * 365 * 24 * 3600


def refused(ended: Ended, reason: str = "") -> str:
    """Return the last line on standard error of a command that says in a sentence why it stopped."""
    assert ended.code == 1, ended.problem
    assert "Traceback" not in ended.stderr, ended.stderr[-2000:]
    *_, last = ended.stderr.strip().splitlines()
    said = " ".join(ended.stderr.split())
    assert reason in said, ended.stderr[-2000:]
    return last


def fail(place: Workplace, command: Command, at: int, error: int) -> None:
    """Let the disk fail from an operation on, once with nothing written before, and once over the files of before."""
    place.empty()
    refused(place.run(command, prepare=place.disturb(at, error=error)), REASONS[error])
    finish(place, command)
    ended = place.run(command, prepare=place.disturb(at, error=error))
    if ended.code != 0:  # else it had nothing to do
        refused(ended)
    left, whole = place.results(), place.undisturbed(command).results
    assert {name: left.get(name) for name in whole} == whole


@pytest.mark.faults
@EVERY
def test_a_disk_that_is_full_at_any_write(command: Command, place: Workplace) -> None:
    for at in range(1, place.operations(command) + 1):
        fail(place, command, at, errno.ENOSPC)


@pytest.mark.faults
@EVERY
@pytest.mark.parametrize("error", [*REASONS][1:], ids=lambda error: errno.errorcode[error])
def test_a_disk_that_fails_with_another_error(command: Command, error: int, place: Workplace) -> None:
    operations = place.operations(command)
    for at in {1, operations // 2, operations}:
        fail(place, command, at, error)


@pytest.mark.slow
@EVERY
def test_a_disk_that_fails(command: Command, place: Workplace) -> None:
    operations = place.operations(command)
    rng = random.Random(command.name)
    error = [*REASONS][COMMANDS.index(command) % len(REASONS)]
    for at in (rng.randint(1, operations), operations):
        fail(place, command, at, error)


def lose(place: Workplace, command: Command, at: int) -> None:
    """Let the inputs be out of reach from a read on; later the command goes on."""
    place.empty()
    refused(place.run(command, prepare=place.lose_inputs(at, errno.ESTALE)), REASONS[errno.ESTALE])
    finish(place, command)


@pytest.mark.faults
@EVERY
def test_a_share_that_is_lost_at_any_read(command: Command, place: Workplace) -> None:
    for at in range(1, place.reads(command) + 1):
        lose(place, command, at)


@pytest.mark.slow
@EVERY
def test_a_share_that_is_lost(command: Command, place: Workplace) -> None:
    reads = place.reads(command)
    assert reads > 1
    for at in (1, random.Random(command.name).randint(2, reads)):
        lose(place, command, at)


@pytest.mark.faults
@EVERY
@pytest.mark.parametrize("jump", [-YEARS, YEARS], ids=["back", "forward"])
def test_a_clock_that_is_set(command: Command, jump: int, place: Workplace) -> None:
    operations = place.operations(command)
    for at in {1, operations // 2}:
        place.empty()
        ended = place.run(command, prepare=place.disturb(at, jump=jump))
        assert ended.code == 0, ended.problem
        assert place.results() == place.undisturbed(command).results


@pytest.mark.faults
@EVERY
def test_memory_that_ends(command: Command, place: Workplace) -> None:
    """Whatever libraries do then, nothing is damaged and the work can be continued."""
    place.undisturbed(command)
    failed = 0
    for megabytes in (0, 8, 32, 96):
        place.empty()
        ended = place.run(command, prepare=["disturbances:little_memory", megabytes])
        failed += ended.code != 0
        finish(place, command)
    assert failed or command.name in ("clean", "extract")  # which need next to none


@pytest.mark.slow
@EVERY
def test_two_processes_that_write_the_same(command: Command, place: Workplace) -> None:
    undisturbed = place.undisturbed(command)
    place.empty()
    both = [place.start(command), place.start(command)]
    ended = [one.wait() for one in both]
    codes = sorted(one.code for one in ended)
    assert codes in ([0, 0], [0, 1]), [one.problem for one in ended]
    for one in ended:
        if one.code:
            refused(one)
    assert place.results() == undisturbed.results
    assert place.names() == undisturbed.names


@contextmanager
def small_disk(place: Workplace) -> Iterator[Callable[[str], object]]:
    """Mount an empty file system with 4 KiB at the outputs; yield what changes its options."""

    def mount(options: str) -> int:
        return subprocess.run(["mount", "-o", options, "-t", "tmpfs", "tmpfs", place.out], check=False).returncode

    place.empty()
    if shutil.which("mount") is None or mount("size=4k"):
        pytest.skip("file systems cannot be mounted here")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        subprocess.run(["umount", place.out], check=True)


@pytest.mark.slow
@EVERY
def test_a_real_disk_that_is_full_and_one_that_is_read_only(command: Command, place: Workplace) -> None:
    undisturbed = place.undisturbed(command)
    with small_disk(place) as change:
        refused(place.run(command), REASONS[errno.ENOSPC])
        change("size=64m")
        finish(place, command)
        change("ro")
        ended = place.run(command)
        if ended.code != 0:  # else it had nothing to do
            refused(ended)
        assert place.results() == undisturbed.results
