"""Limits of the length of targets, and the room that they leave for new ones."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape as html_escape
from html import unescape
from typing import TYPE_CHECKING, Final, Literal

import regex

if TYPE_CHECKING:
    from postedit.files.units import Unit

_TAGS: Final = re.compile(  # the tags of a CDATA section are its brackets
    r"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|<(?:[^"'>]|"[^"]*"|'[^']*')*>""", re.DOTALL
)
_GLYPH: Final = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Measure:
    """How a limit measures text: in characters (code points), glyphs (grapheme clusters), or bytes.

    Args:
        unit: "character", "glyph", or the encoding whose bytes are counted.
        form: Unicode normalisation of the text before; empty for none.
    """

    unit: str = "character"
    form: Literal["", "NFC", "NFD"] = ""

    def length(self, text: str) -> int:
        """Return the length of a text."""
        if self.form:
            text = unicodedata.normalize(self.form, text)
        if self.unit == "glyph":
            return len(_GLYPH.findall(text))
        return len(text) if self.unit == "character" else len(text.encode(self.unit, "replace"))


CHARACTERS: Final = Measure()


@dataclass(slots=True)
class Room:
    """Length by which the targets that share it may still grow; below 0 if they are already too long.

    Args:
        left: the length; of a least length, that by which the targets may still shrink.
        measure: how it is measured.
        is_least: whether a least length is the limit.
    """

    left: int
    measure: Measure = CHARACTERS
    is_least: bool = False

    def has(self, growth: int) -> bool:
        """Return whether the targets may grow by `growth`, or shrink by it if a least length is the limit."""
        return growth <= max(0, self.left)

    def growth(self, former: str, new: str) -> int:
        """Return the length that a new text takes, given the former one."""
        growth = self.measure.length(new) - self.measure.length(former)
        return -growth if self.is_least else growth


@dataclass(frozen=True, slots=True)
class Limit:
    """A least and a greatest length; None if there is none."""

    measure: Measure
    least: int | None = None
    most: int | None = None

    def rooms(self, length: int) -> "Iterable[Room]":
        """Yield the room that targets have by this limit, given their present length."""
        if self.most is not None:
            yield Room(self.most - length, self.measure)
        if self.least is not None:
            yield Room(length - self.least, self.measure, is_least=True)

    def no_room(self) -> "Iterable[Room]":
        """Yield the room of one target, where the limit is that of more targets than are known: it keeps its length."""
        if self.most is not None:
            yield Room(0, self.measure)
        if self.least is not None:
            yield Room(0, self.measure, is_least=True)


def xml_text(content: str) -> str:
    """Return the text of XML content, without tags, but with escaped markup."""
    return unescape(_TAGS.sub(lambda tag: html_escape(tag[1] or ""), content))


def has_room(unit: "Unit", content: str) -> bool:
    """Return whether the file has room for a new target, and take it; there always is for one that does not grow."""
    growths = _growths(unit, content)
    is_free = all(room.has(growth) for room, growth in zip(unit.rooms, growths, strict=True))
    if is_free:
        _take(unit, growths)
    return is_free


def take_room(unit: "Unit", content: str) -> None:
    """Take the room that a new target needs, even if there is not enough."""
    _take(unit, _growths(unit, content))


def _take(unit: "Unit", growths: Iterable[int]) -> None:
    for room, growth in zip(unit.rooms, growths, strict=True):
        room.left -= growth


def _growths(unit: "Unit", content: str) -> list[int]:
    if not unit.rooms:
        return []
    former = "" if unit.target is None else unit.text_of(unit.target.written())
    new = unit.text_of(content)
    return [room.growth(former, new) for room in unit.rooms]


def longest_text(unit: "Unit") -> int | None:
    """Return the maximum number of characters of a new target without its codes; None if the file sets no limit.

    The limit of the file includes escaped markup, which is a code here, and characters outside of segments.
    """
    left = min((one.left for one in unit.rooms if one.measure.unit == "character" and not one.is_least), default=None)
    if unit.max_length is None or left is None:
        return None
    if unit.target is not None and unit.target.text.strip():
        return max(0, left + len(unit.target.text))
    former = 0 if unit.target is None else len(unit.text_of(unit.target.written()))
    return max(0, left + former - len(unit.text_of(unit.source.written())) + len(unit.source.text))
