"""Records of single triplets, as lines of the work in progress and of the file of removed triplets."""

import json
from dataclasses import dataclass
from typing import Any, Final

from postedit.data.cleaning.config import FilterName

_LINE_BITS: Final = 40
"""Number of low bits of a place that hold the line; the other bits hold the index of the source."""


@dataclass(frozen=True, slots=True)
class CleanedTriplet:
    """A triplet after filtering and normalisation."""

    source: int  # index of its source
    line: int  # line number in that source
    original: tuple[str, ...]  # the texts before cleaning, one for each side
    texts: tuple[str, ...]  # the texts after normalisation; empty if it was removed
    filter: FilterName | None = None  # the filter that removed it; None if it was kept
    detail: str = ""  # the reason for the removal

    @property
    def place(self) -> int:
        """Source and line as a single number, which increases along the input."""
        return (self.source << _LINE_BITS) + self.line

    def to_json(self) -> str:
        """Return the record as a line of JSON; texts that were not changed are written only once."""
        texts = None if self.texts == self.original else self.texts
        values = [self.source, self.line, self.original, texts, self.filter or "", self.detail]
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "CleanedTriplet":
        """Return the record in a line that `to_json` returned."""
        source, number, original, texts, name, detail = json.loads(line)
        before = tuple(original)
        return cls(source, number, before, before if texts is None else tuple(texts), name or None, detail)


@dataclass(frozen=True, slots=True)
class RemovedTriplet:
    """A triplet that a filter removed, as shown to the user."""

    source: str  # name of its files
    line: int  # line number in them
    filter: FilterName
    detail: str  # the reason
    texts: dict[str, str]  # the original texts, by side

    def to_dict(self) -> dict[str, Any]:
        """Return the record as an entry of the file of removed triplets."""
        where = {"source": self.source, "line": self.line, "filter": self.filter, "detail": self.detail}
        return {**where, **self.texts}


def unpack_place(place: int) -> tuple[int, int]:
    """Return the index of the source, and the line number, of a place."""
    return place >> _LINE_BITS, place & ((1 << _LINE_BITS) - 1)
