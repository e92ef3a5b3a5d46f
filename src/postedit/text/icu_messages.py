"""ICU messages: the arguments and branches of plural and select messages, which may be nested."""

import re
from typing import Final, NamedTuple

_HEADER: Final = re.compile(r"\{\s*(?P<name>[\w.-]{1,100})\s*,\s*(?P<type>plural|selectordinal|select)\s*,")
_BRANCH: Final = re.compile(r"\s*(?:offset:\d+\s+)?(?P<selector>=?\w+)\s*\{")
_BRACE: Final = re.compile(r"'[{}][^']*'|[{}]|\#(?!\w)")  # quoted braces are text, from an apostrophe to the next one
_DEEPEST: Final = 20  # deepest nesting of messages that is read


class MessagePart(NamedTuple):
    """The argument, a selector or a # of a message: characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int
    value: str


def message_parts(text: str) -> list[MessagePart]:
    """Return the arguments, branch selectors and # signs of the ICU messages in a text, in order."""
    parts: list[MessagePart] = []
    done = 0
    for header in _HEADER.finditer(text):
        if header.start() >= done:
            message: list[MessagePart] = []
            end = _read_message(text, header, message, _DEEPEST)
            if end is not None:
                parts += message
                done = end
    return parts


def _read_message(text: str, header: re.Match[str], parts: list[MessagePart], depth: int) -> int | None:
    """Add the parts of the message that begins with `header`; return its end, or None if its braces do not match."""
    argument, position = header["name"], header.end()
    parts.append(MessagePart(header.start(), position, f"{{{argument}, {header['type']}}}"))
    while branch := _BRANCH.match(text, position):
        value = f"{{{argument}: {branch['selector']}}}"
        parts.append(MessagePart(branch.start("selector"), branch.end(), value))
        end = _read_branch(text, branch.end(), parts, depth)
        if end is None:
            return None
        position = end
    while position < len(text) and text[position].isspace():
        position += 1
    return position + 1 if text[position : position + 1] == "}" else None


def _read_branch(text: str, position: int, parts: list[MessagePart], depth: int) -> int | None:
    """Add the parts within a branch; return the position after its closing brace, or None if braces do not match."""
    opened = 0
    while brace := _BRACE.search(text, position):
        position = brace.end()
        if brace.group()[0] == "'":
            continue
        if brace.group() == "#":
            parts.append(MessagePart(brace.start(), position, "#"))
        elif brace.group() == "}":
            if not opened:
                return position
            opened -= 1
        elif header := _HEADER.match(text, brace.start()):
            end = _read_message(text, header, parts, depth - 1) if depth else None
            if end is None:
                return None
            position = end
        else:
            opened += 1
    return None
