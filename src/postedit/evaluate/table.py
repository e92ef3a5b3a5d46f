"""Tables of results; every output format (terminal, CSV, LaTeX, HTML) is written from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A measure: its name, and the number of decimals shown; 0 for counts."""

    name: str
    decimals: int = 0

    def text(self, value: float | None) -> str:
        """Return `value` as text; a dash if it is None."""
        return "–" if value is None else f"{value:z.{self.decimals}f}"


@dataclass(frozen=True, slots=True)
class Row:
    """The labels of a row, such as a system and a bucket, and its values in the order of the columns."""

    labels: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One analysis."""

    name: str  # short and lower-case
    keys: tuple[str, ...]  # the names of the labels of a row
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""  # how to read the table, in a sentence or two

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name[:1].upper() + self.name[1:]

    def header(self) -> list[str]:
        """Return the names of all columns."""
        return [*self.keys, *(column.name for column in self.columns)]

    def cells(self, row: Row) -> list[str]:
        """Return a row as text."""
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
    """Return columns with these names and as many decimals each."""
    return tuple(Column(name, decimals) for name in names)
