"""What became of triplets that were cleaned, as a table and examples."""

from rich.console import Console
from rich.text import Text

from postedit.cli.tables import new_table
from postedit.data.cleaning.run import CleanReport


def print_report(report: CleanReport, out: Console) -> None:
    """Print how many triplets each filter took, and the first of them."""
    table = new_table(["filter", "took", "%"], ["took", "%"])
    for name, taken in report.filters.items():
        table.add_row(name, f"{taken.count:,}", _percent(taken.count, report.read))
    out.print(table)
    for name, taken in report.filters.items():
        if taken.examples:
            out.print(Text(f"{name}, for instance", style="bold"))
        for one in taken.examples:
            out.print(Text(f"  {one.source}, line {one.line}: {one.detail}"), soft_wrap=True)
            for side, text in one.texts.items():
                out.print(Text(f"    {side:4}{text}", style="dim"), soft_wrap=True)
    share = _percent(report.kept, report.read)
    out.print(f"{report.kept:,} of {report.read:,} kept ({share} %), {report.changed:,} of them changed")


def _percent(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.1f}"
