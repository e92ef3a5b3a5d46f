"""Tests for limits on wrong passwords."""

from contextlib import suppress
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi")
from postedit.serve.account_limits import Throttle
from postedit.serve.http_errors import HttpError


def failing(throttle: Throttle, name: str, address: str) -> bool:
    """Return whether a wrong password was checked."""
    try:
        with throttle.trying(name, address) as this:
            this.has_failed = True
    except HttpError:
        return False
    return True


def test_wrong_passwords_from_elsewhere_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [0.0]
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: moment[0]))
    throttle = Throttle()
    checked = 0
    for moment[0] in range(0, 24 * 3600, 10):  # a day long
        checked += failing(throttle, "admin", "198.51.100.1")
        with throttle.trying("admin", "192.0.2.1"):
            pass
    assert checked < 1500, "about one a minute"
    assert sum(failing(throttle, "admin", f"203.0.113.{number}") for number in range(200)) < 110


def test_a_name_with_an_address_in_it_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: 0.0))
    throttle = Throttle()
    assert all(failing(throttle, "ben at 192.0.2.1", f"203.0.113.{number % 50}") for number in range(50))
    assert [failing(throttle, "ben", "192.0.2.1") for _ in range(6)] == [True] * 5 + [False]


def test_a_right_password_in_between_gives_no_more_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: 0.0))
    throttle, guessed = Throttle(), 0
    while failing(throttle, f"victim {guessed}", "192.0.2.1"):
        guessed += 1
        with suppress(HttpError), throttle.trying("ben", "192.0.2.1"):
            pass
    assert guessed == 20


def test_failures_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [0.0]
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: moment[0]))
    throttle = Throttle()
    assert [failing(throttle, "ben", "192.0.2.1") for _ in range(6)] == [True] * 5 + [False]
    moment[0] = 600
    assert [failing(throttle, "ben", "192.0.2.1") for _ in range(6)] == [True] * 5 + [False]
