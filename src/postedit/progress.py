"""Long work on lines, and how far it is: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from postedit.data.line_sinks import LineSink
from postedit.train.run_log import duration

Item = TypeVar("Item")

_LOG_SECONDS: Final = 30.0  # between two lines of a log

_LINES_A_LOOK: Final = 1000  # of quick work, that the clock is read after


class LineProgress:
    """Shows on stderr how many lines are done, how many a second, and how long the rest will take.

    Args:
        console: where to show it.
        total: lines in all; None if that is not known.
    """

    def __init__(self, console: Console, total: int | None) -> None:
        self._console, self._total = console, total
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def track(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, which are quick work, and count them as lines; what is tracked later is counted on."""
        for item in items:
            yield item
            self._done += 1
            if self._done % _LINES_A_LOOK == 0:
                self.update(self._done)

    def update(self, done: int, before: int = 0) -> None:
        """Say that `done` lines are done, `before` of them by an earlier run, which say nothing of the rate."""
        now = time.monotonic()
        rate = (done - before) / max(now - self._start, 1e-9)
        if self._bar:
            self._bar.update(self._task, completed=done, rate=f"{rate:,.1f} lines/s")
        elif now - self._logged >= _LOG_SECONDS:
            self._logged = now
            left = f", {duration((self._total - done) / rate)} left" if self._total is not None and rate else ""
            of = "" if self._total is None else f" of {self._total:,}"
            self._console.print(f"{done:,}{of} lines, {rate:,.1f} lines/s{left}")


def fill(file: LineSink, chunks: Iterable[Sequence[str]], total: int, console: Console, what: str = "lines") -> None:
    """Write the lines that a file lacks, as they are made, and show how far it is.

    Args:
        file: may have lines of an earlier run.
        chunks: those that follow them, made as they are asked for; an interruption costs the one in the making.
        total: lines in all, with those of an earlier run.
        console: where to show it.
        what: the lines are, for the message.

    Raises:
        OutputError: if they cannot be written.
        KeyboardInterrupt: after Ctrl-C, with a message; what was done is kept.
    """
    before = file.done
    try:
        with LineProgress(console, total) as progress:
            for lines in chunks:
                file.write(lines)
                progress.update(file.done, before)
    except KeyboardInterrupt:
        raise stopped(file, total, what) from None


def stopped(file: LineSink, total: int, what: str = "lines") -> KeyboardInterrupt:
    """Return an interruption that says how many lines are done, where they are, and how to continue."""
    hint = "; the same command with --resume goes on after them" if file.kept else ""
    return KeyboardInterrupt(f"stopped after {file.done:,} of {total:,} {what}{file.kept}{hint}")
