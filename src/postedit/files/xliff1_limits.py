"""Limits of the length of targets in XLIFF 1.2 and its dialects."""

from collections.abc import Iterator, Sequence
from typing import Final

from postedit.files.length_limits import CHARACTERS, Limit, Measure, Room, xml_text
from postedit.files.marked_text import MarkedText
from postedit.files.xml_reader import Collected, Element
from postedit.files.xml_text import marked_text

_BYTES: Final = Measure("utf-8")
_MEASURES: Final = {"char": CHARACTERS, "glyph": Measure("glyph"), "byte": _BYTES}  # by `size-unit`
_LIMITING: Final = frozenset(["minwidth", "maxwidth", "minbytes", "maxbytes", "mq:maxlengthchars"])  # see `_limits`


def max_length(unit: Element) -> int | None:
    """Return the maximum number of characters of the target of a unit; None if there is none."""
    lengths = (one.most for one in _limits(unit) if one.measure == CHARACTERS and one.most is not None)
    return min(lengths, default=None)


def rooms_of(unit: Collected, target: Element | None, sources: Sequence[tuple[str, Element]]) -> tuple[Room, ...]:
    """Return the room of the target of a unit, which all of its segments share, given those of its source.

    In a group or file with a limit, the target may not change its length for the worse, because the lengths of the
    other units are not known.
    """
    of_groups = (room for one in unit.ancestors for limit in _limits(one) for room in limit.no_room())
    own = (
        room for one in _limits(unit.element) for room in one.rooms(_present_length(unit, target, sources, one.measure))
    )
    return (*of_groups, *own)


def is_filled(collected: Collected, target: Element | None) -> bool:
    """Return whether a target has text or codes."""
    content = MarkedText("") if target is None else marked_text(collected, target)
    return bool(content.text.strip() or content.codes)


def _present_length(
    collected: Collected, target: Element | None, sources: Sequence[tuple[str, Element]], measure: Measure
) -> int:
    """Return the length of a target; if it is empty, the length of the text that will be between its segments."""

    def length(element: Element) -> int:
        return measure.length(xml_text(collected.text(element.content, element.close)))

    if target is not None and (not sources or is_filled(collected, target)):
        return length(target)
    segmented = collected.element.first("seg-source")
    return length(segmented) - sum(length(one) for _, one in sources) if sources and segmented is not None else 0


def _limits(element: Element) -> Iterator[Limit]:
    """Yield the limits of the length of targets in a unit or a group; dialects write -1 or 0 where there is none.

    XLIFF 1.2 measures bytes in the encoding of the final file ("maxbytes"), which XLIFF does not know; it is taken to
    be UTF-8. Widths have a unit ("size-unit"), which is pixels by default; those on a screen cannot be measured here.
    """
    values, metadata = element.attributes, element.first("iws:segment-metadata")
    if metadata is None and _LIMITING.isdisjoint(values):
        return
    longest = None if metadata is None else metadata.attributes.get("max_segment_length")
    for measure, least, most in (
        (_MEASURES.get(values.get("size-unit", "")), _number(values.get("minwidth")), _number(values.get("maxwidth"))),
        (_BYTES, _number(values.get("minbytes")), _number(values.get("maxbytes"))),
        (CHARACTERS, None, _number(values.get("mq:maxlengthchars")) or None),
        (CHARACTERS, None, _number(longest) or None),
    ):
        if measure is not None and (least is not None or most is not None):  # each limit costs a pass over the target
            yield Limit(measure, least, most)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else None
