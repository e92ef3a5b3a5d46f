"""Results as tables of numbers, which every form of output (terminal, CSV, LaTeX, HTML) is written from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A measure: its name, and how many decimals of it are shown (0: it counts)."""

    name: str
    decimals: int = 0

    def text(self, value: float | None) -> str:
        """Return `value` as it is shown; what is not known is a dash."""
        return "–" if value is None else f"{value:z.{self.decimals}f}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a line is about, such as a system and a bucket, and its values in the order of the columns."""

    labels: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One analysis.

    Args:
        name: what it is about, short and lower-case.
        keys: the names of the labels of a row.
        columns: the measures.
        rows: the lines.
        note: how to read it, in a sentence or two.
    """

    name: str
    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name[:1].upper() + self.name[1:]

    def header(self) -> list[str]:
        """Return the names of all columns."""
        return [*self.keys, *(column.name for column in self.columns)]

    def cells(self, row: Row) -> list[str]:
        """Return a row as it is shown."""
        return [*row.labels, *(column.text(value) for column, value in zip(self.columns, row.values, strict=True))]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, in full precision."""
        names = self.header()
        rows = [dict(zip(names, [*row.labels, *row.values], strict=True)) for row in self.rows]
        return {"name": self.name, "note": self.note, "rows": rows}


def percentage(part: float, whole: float) -> float | None:
    """Return `part` in per cent of `whole`, or None if there is nothing to divide by."""
    return 100.0 * part / whole if whole else None


def columns(names: Sequence[str], decimals: int = 0) -> tuple[Column, ...]:
    """Return columns that are shown alike."""
    return tuple(Column(name, decimals) for name in names)
