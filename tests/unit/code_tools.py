"""Short notation for text with inline codes, and the edits between two texts, for the tests of inline codes."""

import re
from collections.abc import Sequence

from postedit.files.marked_text import Code, Escape, MarkedText, Part
from postedit.files.output_codes import Fault, PlacedCodes, place_codes
from postedit.files.text_alignment import TextChange, TextSpan

TAG = re.compile(r"(</?\w+/?>)")


def marked(text: str) -> MarkedText:
    """Return text with tags such as <g>, </g> and <x/> as codes, whose keys are their names."""
    parts: list[Part] = []
    opened: list[str] = []
    for number, piece in enumerate(TAG.split(text)):
        key = piece.strip("</>")
        if not TAG.fullmatch(piece):
            parts.append(piece)
        elif piece.endswith("/>"):
            parts.append(Code(piece, key=key))
        elif piece.startswith("</"):
            parts.append(Code(piece, "close", opened.pop(), key))
        else:
            opened.append(str(number))
            parts.append(Code(piece, "open", opened[-1], key))
    return MarkedText.of(parts)


def differences(text: str, output: str) -> list[TextChange]:
    """Return one edit from the first to the last differing word, or none; `place_codes` aligns the text within it."""
    before, after = re.findall(r"\s+|\S+", text), re.findall(r"\s+|\S+", output)
    shorter = min(len(before), len(after))
    first = next((row for row in range(shorter) if before[row] != after[row]), shorter)
    last = next((row for row in range(shorter - first) if before[-1 - row] != after[-1 - row]), shorter - first)
    start, end = len("".join(before[:first])), len("".join(before[len(before) - last :]))
    return [TextChange(TextSpan(start, len(text) - end), TextSpan(start, len(output) - end))] if text != output else []


def set_back(
    text: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape, source: MarkedText | None = None
) -> str | dict[int, Fault]:
    """Return an output with the codes of its input, in the syntax of the file; or the faults, if there are any."""
    found = place_codes(text, output, edits, escape, source)
    return found.written(escape) if isinstance(found, PlacedCodes) else found
