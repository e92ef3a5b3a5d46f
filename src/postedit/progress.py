"""Progress of long work on lines: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from postedit.core.durations import duration
from postedit.core.errors import StoppedError
from postedit.data.line_sinks import LineSink

Item = TypeVar("Item")

_LOG_SECONDS: Final = 30.0
"""Seconds between two lines of a log."""

_LINES_PER_UPDATE: Final = 1000
"""Lines of quick work between two updates."""


class LineProgress:
    """Shows how many lines of `total` (None: unknown) are done, how many per second, and the time left.

    Args:
        console: where to show it.
        total: the number of all lines.
        what: the name of the lines in the plural.
    """

    def __init__(self, console: Console, total: int | None, what: str = "lines") -> None:
        self._console, self._total, self._what = console, total, what
        self._bar: Progress | None = None
        if console.is_terminal:
            columns = [TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn()]
            self._bar = Progress(BarColumn(), MofNCompleteColumn(), *columns, console=console, transient=True)
            self._task = self._bar.add_task("", total=total, rate="")
        self._start = self._logged = time.monotonic()
        self._done = 0

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def track(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, which are quick work, and add them to the lines done."""
        for item in items:
            yield item
            self._done += 1
            if self._done % _LINES_PER_UPDATE == 0:
                self.update(self._done)

    def update(self, done: int, before: int = 0) -> None:
        """Show that `done` lines are done, `before` of them by an earlier run, which do not count for the rate."""
        now = time.monotonic()
        rate = (done - before) / max(now - self._start, 1e-9)
        if self._bar:
            self._bar.update(self._task, completed=done, rate=f"{rate:,.1f} {self._what}/s")
        elif now - self._logged >= _LOG_SECONDS:
            self._logged = now
            left = f", {duration((self._total - done) / rate)} left" if self._total is not None and rate else ""
            of = "" if self._total is None else f" of {self._total:,}"
            self._console.print(f"{done:,}{of} {self._what}, {rate:,.1f} {self._what}/s{left}")


def fill(file: LineSink, chunks: Iterable[Sequence[str]], total: int, console: Console, what: str = "lines") -> None:
    """Write the lines that a file lacks, as they are made, and show the progress; an interruption loses one chunk.

    `total` counts the lines of an earlier run too; `what` is the name of the lines in messages.

    Raises:
        OutputError: if they cannot be written.
        StoppedError: if the work cannot go on now, with a message as for Ctrl-C.
        KeyboardInterrupt: after Ctrl-C, with a message; finished chunks are kept.
    """
    before = file.done
    try:
        with LineProgress(console, total) as progress:
            for lines in chunks:
                file.write(lines)
                progress.update(file.done, before)
    except KeyboardInterrupt:
        raise stopped(file, total, what) from None
    except StoppedError as error:
        raise type(error)(f"{error}; {stopped(file, total, what)}") from None


def stopped(file: LineSink, total: int, what: str = "lines") -> KeyboardInterrupt:
    """Return an interruption that says how many lines are done, where they are, and how to continue."""
    hint = "; the same command with --resume continues after them" if file.kept else ""
    return KeyboardInterrupt(f"stopped after {file.done:,} of {total:,} {what}{file.kept}{hint}")
