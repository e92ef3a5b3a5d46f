"""Progress of long work on lines: a progress bar on a terminal, and elsewhere a log line from time to time."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from postedit.core.errors import StoppedError
from postedit.core.wording import duration
from postedit.data.line_sinks import LineSink

Item = TypeVar("Item")

_LOG_SECONDS: Final = 30.0
"""Seconds between two log lines."""

_LINES_PER_UPDATE: Final = 1000
"""Lines between two updates in `LineProgress.track`, where each line is quick work."""


class LineProgress:
    """A display of how many lines are done, how many per second, and the time left.

    The first update must come before the work begins; it gives the number of lines that an earlier run has done, which
    do not count for the rate.

    Args:
        console: console that shows the progress.
        total: total number of lines; None: not known.
        what: name of the lines, in the plural.
    """

    def __init__(self, console: Console, total: int | None, what: str = "lines") -> None:
        self._console, self._total, self._what = console, total, what
        self._bar: Progress | None = None
        if console.is_terminal:
            columns = [BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[speed]}"), TimeElapsedColumn()]
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("", total=total, speed="")
        self._before: int | None = None  # lines done at the first update
        self._start = self._logged = 0.0  # times of the first update and of the last log line, in seconds
        self._done = 0

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def track(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, and count each as a line done after it has been processed."""
        if self._before is None:
            self.update(self._done)
        for item in items:
            yield item
            self._done += 1
            if self._done % _LINES_PER_UPDATE == 0:
                self.update(self._done)

    def update(self, done: int) -> None:
        """Show that `done` lines are done, including those of an earlier run."""
        now = time.monotonic()
        if self._before is None:
            self._before, self._start, self._logged = done, now, now
        if self._bar:
            self._bar.update(self._task, completed=done, speed=self._speed(done, now))
        elif now - self._logged >= _LOG_SECONDS:
            self._logged = now
            of = "" if self._total is None else f" of {self._total:,}"
            self._console.print(f"{done:,}{of} {self._what}, {self._speed(done, now)}")

    def _speed(self, done: int, now: float) -> str:
        """Return the rate and, if it is known, the time left; an empty string before the work has begun."""
        made, seconds = done - (self._before or 0), now - self._start
        if not seconds:
            return ""
        rate = f"{made / seconds:,.1f} {self._what}/s"
        if not made or self._total is None:
            return rate
        return f"{rate}, {duration((self._total - done) * seconds / made)} left"


def fill(file: LineSink, chunks: Iterable[Sequence[str]], total: int, console: Console, what: str = "lines") -> None:
    """Write the missing lines of a file as they are produced, and show progress; an interruption loses one chunk.

    `total` includes the lines of an earlier run; `what` is the name of the lines in messages.

    Raises:
        OutputError: if the lines cannot be written.
        StoppedError: if the work cannot continue for now; the message ends like that of Ctrl-C.
        KeyboardInterrupt: after Ctrl-C, with a message that says how to continue; finished chunks are kept.
    """
    try:
        with LineProgress(console, total) as progress:
            progress.update(file.done)
            for lines in chunks:
                file.write(lines)
                progress.update(file.done)
    except KeyboardInterrupt:
        raise stopped(file, total, what) from None
    except StoppedError as error:
        raise type(error)(f"{error}; {stopped(file, total, what)}") from None


def stopped(file: LineSink, total: int, what: str = "lines") -> KeyboardInterrupt:
    """Return a KeyboardInterrupt whose message says how many lines are done, where they are, and how to continue."""
    hint = "; the same command with --resume continues after them" if file.kept else ""
    return KeyboardInterrupt(f"stopped after {file.done:,} of {total:,} {what}{file.kept}{hint}")
