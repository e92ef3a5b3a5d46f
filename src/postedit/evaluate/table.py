"""Tables of results, and their export to CSV, Markdown and LaTeX."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
        "[": "{[}",  # at the start of a row, this and the next would belong to the line break before it
        "*": "{*}",
        "–": "--",
        "−": "$-$",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_MARKDOWN: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>|#~$"} | {"\n": " "})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of values: its name, and the number of decimals shown (0 for counts)."""

    name: str
    decimals: int = 0
    are_p_values: bool = False  # which are never shown as 0: no p-value is

    def text(self, value: float | None) -> str:
        """Return `value` as text; a dash if it is None."""
        if value is None:
            return "–"
        least = 10.0**-self.decimals
        if self.are_p_values and value < least / 2:
            return f"<{least:.{self.decimals}f}"
        return f"{value:z.{self.decimals}f}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """The labels of a row, such as a system and a bucket, and its values in the order of the columns."""

    labels: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the results of one analysis."""

    name: str  # short and lower-case
    keys: tuple[str, ...]  # names of the row labels
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    note: str = ""  # how to read the table, in a sentence or two

    @property
    def title(self) -> str:
        """The name with a capital letter, as a heading."""
        return self.name[:1].upper() + self.name[1:]

    def header(self) -> list[str]:
        """Return the names of all columns, those of the labels first."""
        return [*self.keys, *(column.name for column in self.columns)]

    def cells(self, row: TableRow) -> list[str]:
        """Return the labels and the formatted values of a row."""
        return [*row.labels, *(column.text(value) for column, value in zip(self.columns, row.values, strict=True))]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, in full precision."""
        names = self.header()
        rows = [dict(zip(names, [*row.labels, *row.values], strict=True)) for row in self.rows]
        return {"name": self.name, "note": self.note, "rows": rows}


def percentage(part: float, whole: float) -> float | None:
    """Return `part` in per cent of `whole`; None if `whole` is 0."""
    return 100.0 * part / whole if whole else None


def columns(names: Sequence[str], decimals: int = 0) -> tuple[Column, ...]:
    """Return columns with these names and `decimals` decimals each."""
    return tuple(Column(name, decimals) for name in names)


def p_values(*names: str) -> tuple[Column, ...]:
    """Return columns of p-values with these names."""
    return tuple(Column(name, 4, are_p_values=True) for name in names)


def to_csv(tables: Sequence[Table]) -> str:
    """Return CSV with a header and one line per value: table, system, part (bucket or other system), measure, value."""
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
    """Return the tables in Markdown, each with a heading and its note."""
    return "\n".join(_markdown(table) for table in tables)


def to_latex(tables: Sequence[Table]) -> str:
    """Return the tables in LaTeX, each as a `table` environment; the document needs the package booktabs."""
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
