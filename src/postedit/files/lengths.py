"""How long targets may be, where a file says so (`maxwidth` of XLIFF 1.2)."""

from postedit.files.units import Unit
from postedit.files.xml_text import text_length


def has_room(unit: Unit, content: str) -> bool:
    """Return whether a new target is not longer than the file allows; one that is no longer than it was may be."""
    return unit.room is None or unit.room.take(_growth(unit, content))


def take_room(unit: Unit, content: str) -> None:
    """Give a target the room that it needs, also if there is not so much."""
    if unit.room is not None:
        unit.room.left -= _growth(unit, content)


def _growth(unit: Unit, content: str) -> int:
    former = "" if unit.target is None else unit.target.written()
    return text_length(content) - text_length(former)


def longest_text(unit: Unit) -> int | None:
    """Return how many characters a new target may have besides its codes; None if the file does not say.

    Escaped markup counts for the file, and is a code here. So do characters outside of the segment of a unit.
    """
    if unit.max_length is None or unit.room is None:
        return None
    if unit.target is not None and unit.target.text.strip():
        return max(0, unit.room.left + len(unit.target.text))
    former = 0 if unit.target is None else text_length(unit.target.written())
    return max(0, unit.room.left + former - text_length(unit.source.written()) + len(unit.source.text))
