"""Printing for people: the score table, and consoles that stay legible when piped."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from postedit.evaluate.scores import SystemScores

_PIPED_WIDTH: Final = 500  # a file or a pipe has no width to fold lines for


def console(*, stderr: bool = False) -> Console:
    """Return a console that folds lines at the terminal's width, or nowhere if there is no terminal."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else _PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


def new_table(columns: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns called `numbers` are set flush right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return table


def print_scores(scores: Sequence["SystemScores"], out: Console) -> None:
    """Print one row a system, then the signatures of the scores."""
    with_changes = any(row.changes for row in scores)
    numbers = ["TER", "BLEU", "chrF", *(("changed", "better", "worse", "same") if with_changes else ())]
    table = new_table(["system", *numbers], numbers)
    for row in scores:
        cells = [f"{row.ter:.2f}", f"{row.bleu:.2f}", f"{row.chrf:.2f}"]
        if row.changes:
            changes = row.changes
            cells += [str(count) for count in (changes.changed, changes.better, changes.worse, changes.same)]
        table.add_row(Text(row.name), *cells)
    out.print(table)
    what = "; changed, better, worse, same count sentences against mt" if with_changes else ""
    out.print(f"{scores[0].lines:,} sentences{what}", style="dim", soft_wrap=True)
    for name, signature in scores[0].signatures.items():
        out.print(f"{name}: {signature}", style="dim", soft_wrap=True, markup=False)
