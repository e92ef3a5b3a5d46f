import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from postedit import progress
from postedit.progress import LineProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_log_has_a_line_now_and_then(clock: list[float]) -> None:
    out = io.StringIO()
    with LineProgress(Console(file=out, width=100), total=1000) as shown:
        clock[0] += 60  # until it is known what was done before
        for done in range(100, 310, 10):
            shown.update(done)
            clock[0] += 5
    first, *others = out.getvalue().splitlines()
    assert first == "160 of 1,000 lines, 2.0 lines/s, 7 min 00 s left"
    assert len(others) == 2


def test_no_time_left_is_shown_without_a_total(clock: list[float]) -> None:
    out = io.StringIO()
    with LineProgress(Console(file=out, width=100), total=None) as shown:
        shown.update(0)
        clock[0] += 60
        shown.update(30)
    assert out.getvalue() == "30 lines, 0.5 lines/s\n"


def test_a_terminal_gets_a_bar_that_goes_away(clock: list[float]) -> None:
    out = io.StringIO()
    with LineProgress(Console(file=out, width=100, force_terminal=True), total=10) as shown:
        shown.update(3)
        clock[0] += 40
        shown.update(5)
    assert "5/10" in out.getvalue()
    assert "0.1 lines/s, 1 min 40 s left" in out.getvalue()


def test_tracked_items_add_to_the_count(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINES_PER_UPDATE", 2)
    out = io.StringIO()
    with LineProgress(Console(file=out, width=100), total=8) as shown:
        for _ in range(2):
            for _ in shown.track("abc"):
                clock[0] += 10
    assert out.getvalue() == "4 of 8 lines, 0.1 lines/s, 40 s left\n"
