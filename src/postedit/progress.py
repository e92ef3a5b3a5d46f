"""How far long work on lines is: a bar on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from postedit.train.progress import duration

_LOG_SECONDS: Final = 30.0  # between two lines of a log


class LineProgress:
    """Shows on stderr how many lines are done, how many a second, and how long the rest will take.

    Args:
        console: where to show it.
        total: lines in all; None if that is not known.
        done: lines done before, which are not counted in the rate.
    """

    def __init__(self, console: Console, total: int | None, done: int = 0) -> None:
        self._console, self._total, self._before = console, total, done
        self._bar: Progress | None = None
        if console.is_terminal:
            columns = [TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn()]
            self._bar = Progress(BarColumn(), MofNCompleteColumn(), *columns, console=console, transient=True)
            self._task = self._bar.add_task("", total=total, completed=done, rate="")
        self._start = self._logged = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, done: int) -> None:
        """Say that `done` lines are done."""
        now = time.monotonic()
        rate = (done - self._before) / max(now - self._start, 1e-9)
        if self._bar:
            self._bar.update(self._task, completed=done, rate=f"{rate:,.1f} lines/s")
        elif now - self._logged >= _LOG_SECONDS:
            self._logged = now
            left = f", {duration((self._total - done) / rate)} left" if self._total is not None and rate else ""
            of = "" if self._total is None else f" of {self._total:,}"
            self._console.print(f"{done:,}{of} lines, {rate:,.1f} lines/s{left}")
