"""Commands that are killed at any moment, and continued, end with the bytes of undisturbed ones."""

import random
import signal
import time

import pytest
from commands_to_break import COMMANDS, Command, Workplace
from nursery import Ended

EVERY = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


def finish(place: Workplace, command: Command) -> None:
    """Continue an interrupted command, and compare its end with that of the undisturbed one."""
    ended = place.run(command, *command.resume)
    if "holds no run to resume" in ended.stderr:  # killed before anything was written
        ended = place.run(command)
    assert ended.code == 0, ended.problem
    assert place.results() == place.undisturbed(command).results
    assert place.names() == place.undisturbed(command).names


def stopped(place: Workplace, command: Command, number: signal.Signals, seconds: float) -> Ended:
    """Return how a command ends that gets a signal after so many seconds."""
    place.empty()
    running = place.start(command)
    time.sleep(seconds)
    running.send(number)
    return running.wait()


def kill(place: Workplace, command: Command, moments: int) -> None:
    """Kill a command at random moments, one in each of as many parts of the time it takes; continue it each time."""
    rng = random.Random(f"{command.name} {moments}")
    whole = place.undisturbed(command).seconds
    for part in range(moments):
        seconds = (part + rng.random()) / moments * whole
        ended = stopped(place, command, signal.SIGKILL, seconds)
        while ended.code == 0:  # the machine has less to do than when the time was taken
            finish(place, command)
            whole, seconds = max(seconds, whole / 2), seconds / 2
            ended = stopped(place, command, signal.SIGKILL, seconds)
        assert ended.code == -signal.SIGKILL, ended.problem
        finish(place, command)


@pytest.mark.faults
@EVERY
def test_killed_fifty_times_the_end_is_the_same(command: Command, place: Workplace) -> None:
    kill(place, command, 50)


@pytest.mark.slow
@EVERY
def test_killed_three_times_the_end_is_the_same(command: Command, place: Workplace) -> None:
    kill(place, command, 3)


def signal_at(place: Workplace, command: Command, number: signal.Signals, at: int) -> None:
    """Send a signal before an operation on files; the command saves its work, and is continued."""
    place.empty()
    ended = place.run(command, prepare=place.disturb(at, number=number))
    assert ended.code == 130, ended.problem
    assert "Traceback" not in ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert "--resume" in last or last == "interrupted", ended.stderr
    finish(place, command)


@pytest.mark.slow
@EVERY
def test_signals_are_as_control_c(command: Command, place: Workplace) -> None:
    operations = place.operations(command)
    for number, at in ((signal.SIGTERM, 1), (signal.SIGHUP, operations // 2), (signal.SIGTERM, operations)):
        signal_at(place, command, number, at)


@pytest.mark.faults
@EVERY
def test_signals_at_any_operation_are_as_control_c(command: Command, place: Workplace) -> None:
    """Send both signals in turn, which have one handler."""
    for at in range(1, place.operations(command) + 1):
        signal_at(place, command, (signal.SIGTERM, signal.SIGHUP)[at % 2], at)
