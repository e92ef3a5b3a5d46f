"""What became of single triplets, as lines of the work in progress and of the side file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postedit.text.config import Side

_LINE_BITS: Final = 40
"""Of a place; the rest is the number of the source."""


@dataclass(frozen=True, slots=True)
class Row:
    """A triplet and what became of it.

    Args:
        source: number of its source.
        line: in that source.
        original: its texts as they were, by the sides there are.
        texts: as they have become; empty if it was removed.
        filter: what removed it; empty if it stays.
        detail: why.
    """

    source: int
    line: int
    original: tuple[str, ...]
    texts: tuple[str, ...]
    filter: str = ""
    detail: str = ""

    @property
    def place(self) -> int:
        """A number that is larger for what comes later."""
        return (self.source << _LINE_BITS) + self.line

    def to_json(self) -> str:
        """Return the row as a line; texts that stayed as they were are written once."""
        texts = None if self.texts == self.original else self.texts
        return json.dumps([self.source, self.line, self.original, texts, self.filter, self.detail], ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "Row":
        """Return the row that a line was written from."""
        source, number, original, texts, name, detail = json.loads(line)
        before = tuple(original)
        return cls(source, number, before, before if texts is None else tuple(texts), name, detail)


@dataclass(frozen=True, slots=True)
class Removed:
    """A triplet that was removed: where it stood, which filter took it, and why.

    Args:
        source: the name of its files.
        line: there.
        filter: what took it.
        detail: why.
        texts: of the sides there are, as they stood there.
    """

    source: str
    line: int
    filter: str
    detail: str
    texts: dict[Side, str]

    def to_json(self) -> str:
        """Return it as a line of the side file."""
        where = {"source": self.source, "line": self.line, "filter": self.filter, "detail": self.detail}
        return json.dumps({**where, **self.texts}, ensure_ascii=False)


def line_of_place(place: int) -> int:
    """Return the line that a place stands for."""
    return place & ((1 << _LINE_BITS) - 1)


def source_of_place(place: int) -> int:
    """Return the number of the source that a place stands for."""
    return place >> _LINE_BITS


def one_line(text: str) -> str:
    r"""Return a text that fits on a line of a file: line feeds, as JSON may have them, become spaces."""
    return " ".join(text.split("\n")) if "\n" in text else text


def side_texts(sides: Sequence[Side], texts: Sequence[str]) -> dict[Side, str]:
    """Return texts by side."""
    return dict(zip(sides, texts))
