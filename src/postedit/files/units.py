"""Translation files as sequences of units, and patches that change targets and leave all other bytes as they are."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple, Protocol

from postedit.files.length_limits import Room, xml_text
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.options import Origin, UnitState

_ASCII: Final = r'msgid "\n" +AOQ- .xn--4ca'  # encodings that do not contain ASCII decode this differently
_LONGEST_NAME: Final = 1000  # characters
_PERCENTAGE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%?")


def contains_ascii(codec: str) -> bool:
    """Return whether an encoding encodes the ASCII characters as ASCII does."""
    try:
        return _ASCII.encode("ascii").decode(codec) == _ASCII
    except (LookupError, UnicodeError):  # LookupError: unknown, or a codec from bytes to bytes, such as zlib
        return False


def percentage(*values: str | None) -> float | None:
    """Return the first of some values of attributes that is a percentage, such as "85" or "85.5 %"; None if none is."""
    matches = (_PERCENTAGE.fullmatch((value or "").strip()) for value in values)
    return next((float(match[1]) for match in matches if match), None)


def joined_id(*names: str) -> str:
    """Return an identifier made of those of file and unit, which are cut if they are too long to be in each segment."""
    return "#".join(name[:_LONGEST_NAME] for name in names)


class Patch(NamedTuple):
    """New bytes for those of a file from `start` to `end` (exclusive)."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """A translation that a file has beside the target, such as a match or a former target."""

    target: MarkedText
    origin: Origin | None = None
    score: float | None = None  # score of the match, in percent
    former: bool = False  # whether it was the target before an edit
    same_source: bool = True  # whether it translates the same source as the unit


@dataclass(frozen=True, slots=True)
class Unit:
    """A segment of a translation file.

    Args:
        id: identifier made of those of file, unit and segment; unique only if they are unique in the file.
        source: the source.
        target: the target; None if there is none.
        state: state of the target; None if the file does not say.
        origin: origin of the target; None if the file does not say.
        score: score of the match from which the target comes, in percent; None if the file does not say.
        locked: whether the target must not be changed, because it is not to be translated, locked or approved.
        notes: notes for translators.
        candidates: other translations; former targets are in order, the oldest first.
        former_origin: origin of the target before a person edited it; None if the file does not say.
        languages: source and target language; empty if not known.
        can_have_target: whether a target can be added; False if the file does not say in which language.
        max_length: maximum number of characters of the target; None if the file sets no limit, or one for several units
            together.
        rooms: room for the target, or for the targets of several units, by each limit of the file.
        text_of: function that returns the text of content in the syntax of the file, with escaped markup.
        slot: place where the format writes a target; for use by the format only.
    """

    id: str
    source: MarkedText
    target: MarkedText | None
    state: UnitState | None = None
    origin: Origin | None = None
    score: float | None = None
    locked: bool = False
    notes: tuple[str, ...] = ()
    candidates: tuple[OtherTarget, ...] = ()
    former_origin: Origin | None = None
    languages: tuple[str, str] = ("", "")
    can_have_target: bool = True
    max_length: int | None = None
    rooms: tuple[Room, ...] = field(default=(), compare=False)
    text_of: Callable[[str], str] = field(default=xml_text, repr=False, compare=False)
    slot: object = field(default=None, repr=False, compare=False)

    @property
    def mt(self) -> str:
        """Text of the target to correct; empty if there is none, or only a copy of the source.

        Many tools copy the source into targets that nobody has translated, and mark these by state alone, such as
        `needs-translation` or `new` of XLIFF 1.2.
        """
        text = "" if self.target is None else self.target.text.strip()
        is_new = self.state is UnitState.INITIAL and self.origin is None
        return "" if is_new and text == self.source.text.strip() else text


@dataclass(frozen=True, slots=True)
class NewTarget:
    """A new target to write into a unit.

    Args:
        content: the target in the syntax of the file.
        keep_former: whether to keep the former target as a candidate.
        note: note about the edits, for translators; empty for none.
        author: person who confirmed the target; empty if a machine wrote it and nobody has confirmed it.
    """

    content: str
    keep_former: bool = True
    note: str = ""
    author: str = ""


class Format(Protocol):
    """A format of translation files. To add one, write a module with this interface and list it in `files.formats`."""

    name: str

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether a file with these first bytes and this name is of the format."""
        ...

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield the units in the order of the file, with only a few of them in memory.

        Raises:
            DataError: if the file is malformed; the message gives the place.
        """
        ...

    def escape(self, unit: Unit) -> Escape:
        """Return the function that writes a new character of the unit's target in the syntax of the file."""
        ...

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterable[Patch]:
        """Return the patches that write new targets into units; the units come in the order of the file."""
        ...


def copy_patched(source: BinaryIO, patches: Iterable[Patch], out: IO[bytes]) -> None:
    """Copy a file and apply patches, which must be in the order of the file and must not overlap."""
    done = 0
    for patch in patches:
        assert done <= patch.start <= patch.end
        _copy(source, patch.start - done, out)
        out.write(patch.new)
        source.seek(patch.end)
        done = patch.end
    while block := source.read(2**20):
        out.write(block)


def _copy(source: BinaryIO, count: int, out: IO[bytes]) -> None:
    while count > 0:
        block = source.read(min(count, 2**20))
        out.write(block)
        count -= len(block)
