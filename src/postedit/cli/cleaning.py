"""Progress and results of cleaning, as a table with examples."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from postedit.cli.tables import new_table, percent
from postedit.data.cleaning.cleaner import CleanReport, CleanStage
from postedit.progress import LineProgress


class StageProgress:
    """Shows the progress of each stage, one after the other.

    Args:
        console: where to show it.
        total: number of triplets; all pass each stage.
    """

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._stage: CleanStage | None = None
        self._progress: LineProgress | None = None
        self._shown = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shown.close()

    def update(self, stage: CleanStage, done: int) -> None:
        """Show that `done` triplets have passed a stage."""
        if self._progress is None or stage != self._stage:
            self._shown.close()
            self._stage, self._progress = stage, LineProgress(self._console, self._total)
            self._shown.enter_context(self._progress)
            self._console.print(f"{stage} ...", style="dim")
        self._progress.update(done)


def print_report(report: CleanReport, out: Console) -> None:
    """Print how many triplets each filter removed, and the first of them."""
    table = new_table(["filter", "removed", "%"], ["removed", "%"])
    for name, taken in report.filters.items():
        table.add_row(name, f"{taken.count:,}", percent(taken.count, report.read))
    out.print(table)
    for name, taken in report.filters.items():
        if taken.examples:
            out.print(Text(f"{name}, for example", style="bold"))
        for one in taken.examples:
            out.print(Text(f"  {one.source}, line {one.line}: {one.detail}"), soft_wrap=True)
            for side, text in one.texts.items():
                out.print(Text(f"    {side:4}{text}", style="dim"), soft_wrap=True)
    share = percent(report.kept, report.read)
    out.print(f"{report.kept:,} of {report.read:,} kept ({share} %), {report.changed:,} of them changed")
