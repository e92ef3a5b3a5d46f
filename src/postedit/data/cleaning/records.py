"""Records of single triplets: lines of the work in progress and of the file of removed triplets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postedit.text.config import Side

_LINE_BITS: Final = 40
"""Low bits of a place that hold the line; the others hold the number of the source."""


@dataclass(frozen=True, slots=True)
class CleanedTriplet:
    """A triplet after filtering and normalisation.

    Args:
        source: number of its source.
        line: line in that source.
        original: the texts before cleaning, one for each side.
        texts: the texts after normalisation; empty if it was removed.
        filter: name of the filter that removed it; empty if it was kept.
        detail: the reason.
    """

    source: int
    line: int
    original: tuple[str, ...]
    texts: tuple[str, ...]
    filter: str = ""
    detail: str = ""

    @property
    def place(self) -> int:
        """Source and line as one number, which increases along the input."""
        return (self.source << _LINE_BITS) + self.line

    def to_json(self) -> str:
        """Return the record as a line; unchanged texts are written once."""
        texts = None if self.texts == self.original else self.texts
        return json.dumps([self.source, self.line, self.original, texts, self.filter, self.detail], ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "CleanedTriplet":
        """Return the record that `to_json` wrote."""
        source, number, original, texts, name, detail = json.loads(line)
        before = tuple(original)
        return cls(source, number, before, before if texts is None else tuple(texts), name, detail)


@dataclass(frozen=True, slots=True)
class RemovedTriplet:
    """A triplet that a filter removed.

    Args:
        source: the name of its files.
        line: line in them.
        filter: name of the filter.
        detail: the reason.
        texts: the original texts by side.
    """

    source: str
    line: int
    filter: str
    detail: str
    texts: dict[Side, str]

    def to_json(self) -> str:
        """Return the record as a line of the file of removed triplets."""
        where = {"source": self.source, "line": self.line, "filter": self.filter, "detail": self.detail}
        return json.dumps({**where, **self.texts}, ensure_ascii=False)


def line_of_place(place: int) -> int:
    """Return the line of a place."""
    return place & ((1 << _LINE_BITS) - 1)


def source_of_place(place: int) -> int:
    """Return the number of the source of a place."""
    return place >> _LINE_BITS


def one_line(text: str) -> str:
    """Return a text with line feeds, which JSON files may contain, replaced by spaces."""
    return " ".join(text.split("\n")) if "\n" in text else text


def side_texts(sides: Sequence[Side], texts: Sequence[str]) -> dict[Side, str]:
    """Return texts by side."""
    return dict(zip(sides, texts))
