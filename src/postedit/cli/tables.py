"""Print tables for people, also through a pipe."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from postedit.evaluate.scores import SystemScores
    from postedit.evaluate.table import Table

_PIPED_WIDTH: Final = 500  # files and pipes have no width; do not fold their lines


def console(*, stderr: bool = False) -> Console:
    """Return a console that folds lines at the width of the terminal, and not at all without a terminal."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else _PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


def new_table(columns: Sequence[str], numbers: Sequence[str] = ()) -> Grid:
    """Return an empty table; the columns in `numbers` are right-aligned."""
    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return table


def percent(count: int, total: int) -> str:
    """Return `count` in per cent of `total`; 0.0 if both are 0."""
    return f"{100 * count / max(1, total):.1f}"


def print_table(table: "Table", out: Console) -> None:
    """Print an analysis: its name, its rows and its note."""
    out.print(table.name, style="bold")
    _print_rows(table, out)


def print_scores(scores: Sequence["SystemScores"], out: Console) -> None:
    """Print one row per system, then the signatures of the scores."""
    from postedit.evaluate.analyses import overview

    _print_rows(overview(scores), out)
    for name, signature in scores[0].signatures.items():
        out.print(f"{name}: {signature}", style="dim", soft_wrap=True, markup=False)


def _print_rows(table: "Table", out: Console) -> None:
    grid = new_table(table.header(), [column.name for column in table.columns])
    for row in table.rows:
        grid.add_row(*map(Text, table.cells(row)))
    out.print(grid)
    if table.note:
        out.print(table.note, style="dim", soft_wrap=True, markup=False)
