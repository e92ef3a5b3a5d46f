"""Translation files as sequences of units, and the patches that change targets while all other bytes stay."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple, Protocol

from postedit.files.marked_text import Escape, MarkedText
from postedit.files.options import Origin, UnitState

_ASCII: Final = r'msgid "\n" +AOQ- .xn--4ca'  # which encodings that do not contain ASCII read otherwise


def contains_ascii(codec: str) -> bool:
    """Return whether an encoding writes the characters of ASCII as ASCII does."""
    try:
        return _ASCII.encode("ascii").decode(codec) == _ASCII
    except (LookupError, UnicodeError):  # LookupError: a codec of bytes, such as zlib
        return False


class Patch(NamedTuple):
    """Bytes that replace those from `start` to `end` of a file."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """A translation that a file keeps beside the target, such as a match or a former target."""

    target: MarkedText
    origin: Origin | None = None
    score: float | None = None  # of the match, in percent
    former: bool = False  # it was the target before
    same_source: bool = True  # it is a translation of the source of the unit


@dataclass(slots=True)
class Room:
    """How many characters the targets that share it may have more than they have now; below 0 if they have too many."""

    left: int

    def take(self, growth: int) -> bool:
        """Return whether targets may have so many characters more; if so, they have them from now on."""
        is_free = growth <= max(0, self.left)
        self.left -= growth if is_free else 0
        return is_free


@dataclass(frozen=True, slots=True)
class Unit:
    """A segment of a translation file.

    Args:
        id: what the file calls it: of its file, unit and segment; unique only if it is in the file.
        source: the source.
        target: the target; None if there is none.
        state: of the target; None if the file does not say.
        origin: of the target; None if the file does not say.
        score: of the match that the target comes from, in percent; None if the file does not say.
        locked: it must not be changed: not to be translated, locked or approved.
        notes: for translators.
        candidates: other translations; of former targets, the oldest comes first.
        former_origin: of the target before a person edited it; None if the file does not say.
        languages: of source and target, as far as known.
        can_have_target: a target can be added; False if the file does not say in which language.
        max_length: most characters of the target; None if the file does not say, or says it of several units together.
        room: of the target, or of the targets of several units; None if the file does not say how long they may be.
        slot: where the format writes a target; for the format alone.
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
    room: Room | None = field(default=None, compare=False)
    slot: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class NewTarget:
    """What is written into a unit.

    Args:
        content: the target, as it is written in the file.
        keep_former: keep the former target as a candidate.
        note: the reasons, for translators; none if empty.
        author: the person who confirmed it; empty: a machine wrote it, and nobody did.
    """

    content: str
    keep_former: bool = True
    note: str = ""
    author: str = ""


class Format(Protocol):
    """A format of translation files. A new one is a module with this interface, and a line in `files.formats`."""

    name: str

    def recognises(self, head: bytes, path: Path) -> bool:
        """Return whether a file with these first bytes and this name is of the format."""
        ...

    def units(self, stream: BinaryIO, path: Path) -> Iterator[Unit]:
        """Yield the units in the order of the file, in memory for a few of them.

        Raises:
            DataError: if the file is broken; with line and column.
        """
        ...

    def escape(self, unit: Unit) -> Escape:
        """Return what writes a new character of the unit's target in the syntax of the file."""
        ...

    def patches(self, changed: Iterable[tuple[Unit, NewTarget]]) -> Iterable[Patch]:
        """Return the patches that write new targets into units; the units come in the order of the file."""
        ...


def copy_patched(source: BinaryIO, patches: Iterable[Patch], out: IO[bytes]) -> None:
    """Copy a file with its patches, which come in the order of the file and do not overlap."""
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
