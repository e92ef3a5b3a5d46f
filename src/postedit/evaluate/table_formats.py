"""Write tables as CSV, Markdown and LaTeX."""

import csv
import io
from collections.abc import Sequence
from typing import Final

from postedit.evaluate.table import Table

_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "−": "$-$",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_MARKDOWN: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>|#"} | {"\n": " "})


def to_csv(tables: Sequence[Table]) -> str:
    """Return one line per value: table, system, part (bucket or other system), measure, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "system", "part", "measure", "value"])
    for table in tables:
        for row in table.rows:
            for column, value in zip(table.columns, row.values, strict=True):
                part = " ".join(row.labels[1:])
                writer.writerow([table.name, row.labels[0], part, column.name, "" if value is None else value])
    return out.getvalue()


def to_markdown(tables: Sequence[Table]) -> str:
    """Return each table with a heading and its note."""
    return "\n".join(_markdown(table) for table in tables)


def to_latex(tables: Sequence[Table]) -> str:
    """Return a `table` environment for each table, with rules of the package booktabs."""
    return "% needs \\usepackage{booktabs}\n" + "\n".join(_latex(table) for table in tables)


def _markdown(table: Table) -> str:
    rows = [table.header(), *map(table.cells, table.rows)]
    lines = [f"| {' | '.join(cell.translate(_MARKDOWN) for cell in row)} |" for row in rows]
    rule = f"| {' | '.join(['---'] * len(table.keys) + ['---:'] * len(table.columns))} |"
    note = [table.note.translate(_MARKDOWN), ""] if table.note else []
    return "\n".join([f"## {table.title}", "", lines[0], rule, *lines[1:], "", *note])


def _latex(table: Table) -> str:
    head, *body = (
        " & ".join(cell.translate(_LATEX) for cell in row) + r" \\"
        for row in [table.header(), *map(table.cells, table.rows)]
    )
    caption = f"{table.title}. {table.note}".strip().translate(_LATEX)
    aligned = "l" * len(table.keys) + "r" * len(table.columns)
    start = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", head, r"\midrule"]
    end = [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}", ""]
    return "\n".join([*start, *body, *end])
