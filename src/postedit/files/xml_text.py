"""Inline content of XML formats as marked text, how long it may be, and tags with other attributes."""

import re
from collections.abc import Mapping
from html import escape as html_escape
from html import unescape
from typing import Final

from postedit.files.marked_text import MARKUP, PHRASE_MARKUP, Code, MarkedText, Part
from postedit.files.units import Unit
from postedit.files.xml_reader import Collected, Element, Markup, Text

_LINES: Final = re.compile(r"\r\n?|[^\r]+")
_WRITTEN: Final = re.compile(r"&[^;]*;|\r\n?|[^&\r]+")
_ATTRIBUTE: Final = re.compile(r"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_TAGS: Final = re.compile(  # of characters in a CDATA section, the tags are its brackets
    r"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|<(?:[^"'>]|"[^"]*"|'[^']*')*>""", re.DOTALL
)
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AS_WRITTEN: Final[Mapping[str, str]] = {}
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}

# Elements around text, whose tags become the codes of a pair; and elements of which two make a pair, by the attribute
# that both have with the same value. All other elements are codes that stand alone, with their content.
_AROUND: Final = frozenset(["g", "mrk", "pc", "hi"])
_STARTS: Final = {"bpt": ("rid", "id", "i"), "bx": ("rid", "id"), "sc": ("id",), "sm": ("id",)}
_ENDS: Final = {"ept": ("rid", "id", "i"), "ex": ("rid", "id"), "ec": ("startRef",), "em": ("startRef",)}
_ADDED, _DELETED = "x-sdl-added", "x-sdl-deleted"  # types of marks
_PHRASE: Final = "http://www.memsource.com/mxlf/2.0"  # the namespace of files whose text has the codes of Phrase
_PAIRED: Final = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}


def marked_text(collected: Collected, element: Element, *, before_changes: bool = False) -> MarkedText:
    """Return the content of an element with its inline codes.

    What tracked changes of SDL Trados delete is one code; `before_changes`, what they add is one, and what they delete
    is text. These may stand in words. In a file of Phrase, its own codes are codes as well.
    """
    is_of_phrase = any(_PHRASE in one.attributes.values() for one in collected.ancestors)
    if all(isinstance(child, Text) for child in element.children):
        plain = collected.text(element.content, element.close)
        if _is_plain(plain) and not is_of_phrase:
            return MarkedText(plain)
    parts = _parts(collected, element, _ADDED if before_changes else _DELETED)
    return MarkedText.of(parts, PHRASE_MARKUP if is_of_phrase else MARKUP)


def text_length(content: str) -> int:
    """Return the number of characters of content that is written in XML: tags have none, escaped markup has them."""
    return len(unescape(_TAGS.sub(lambda tag: html_escape(tag[1] or ""), content)))


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


def has_tracked_changes(element: Element) -> bool:
    """Return whether an element has tracked changes of SDL Trados."""
    return any(
        child.attributes.get("mtype") in (_ADDED, _DELETED) or has_tracked_changes(child)
        for child in element.elements()
    )


def escape(character: str) -> str:
    """Return a character as it is written in XML.

    Raises:
        ValueError: if XML cannot have it.
    """
    if _NOT_XML.match(character):
        raise ValueError(f"XML has no character U+{ord(character):04X}")
    return _ESCAPES.get(character, character)


def with_attributes(tag: str, values: Mapping[str, str], names: Mapping[str, str] = _AS_WRITTEN) -> str:
    """Return a start tag with other values of some attributes; those it has keep their place, quotes and prefix.

    Args:
        tag: the tag.
        values: the values, by names as those of `Element.attributes`.
        names: see `Element`; two attributes of one name both get its value.
    """
    missing = dict(values)

    def changed(match: re.Match[str]) -> str:
        name = names.get(match[1], match[1])
        if name not in values:
            return match[0]
        missing.pop(name, None)
        quote = match[2][0]
        return f"{match[0][: match.start(2) - match.start(0)]}{quote}{html_escape(values[name])}{quote}"

    tag = _ATTRIBUTE.sub(changed, tag)
    end = re.search(r"\s*/?>$", tag)
    assert end is not None
    added = "".join(f' {name}="{html_escape(value)}"' for name, value in missing.items())
    return tag[: end.start()] + added + tag[end.start() :]


def tag_name(tag: str) -> str:
    """Return the name of a start tag as it is written, with its prefix."""
    match = re.match(r"<([^\s/>]+)", tag)
    assert match is not None
    return match[1]


def indent_before(collected: Collected, parent: Element, child: Element) -> str:
    """Return the white space before a child element, if nothing else is between it and the one before."""
    number = parent.children.index(child)
    before = parent.children[number - 1] if number else None
    text = collected.text(before.start, before.end) if isinstance(before, Text) else ""
    return "" if text.strip() else text


def _parts(collected: Collected, element: Element, dropped: str) -> list[Part]:
    """Return the characters and codes of an element; marks of the type `dropped` are codes with their content."""
    parts: list[Part] = []
    cdata = ""
    for child in element.children:
        raw = collected.text(child.start, child.end)
        if isinstance(child, Text):
            parts += [raw] if _is_plain(raw) else _lines(raw) if cdata else _characters(raw)
        elif isinstance(child, Markup):
            opens = child.kind == "cdata start"
            cdata = f"cdata {child.start}" if opens else cdata
            if child.kind in ("cdata start", "cdata end"):
                parts.append(Code(raw, "open" if opens else "close", cdata, literal=collected.codec))
                cdata = cdata if opens else ""
            else:
                parts.append(Code(raw))
        elif child.name in _AROUND and not child.is_empty_tag and not _is_fixed(child, dropped):
            pair, key = f"{child.name} at {child.start}", f"{child.name} {child.attributes.get('id', '')}"
            parts.append(Code(collected.text(child.start, child.content), "open", pair, key))
            parts += _parts(collected, child, dropped)
            parts.append(Code(collected.text(child.close, child.end), "close", pair, key))
        else:
            parts.append(_code(raw, child))
    return parts


def _is_fixed(element: Element, dropped: str) -> bool:
    """Return whether an element is a code with its content: not to be translated, or of the type `dropped`."""
    return element.attributes.get("translate") == "no" or element.attributes.get("mtype") in ("protected", dropped)


def _code(raw: str, element: Element) -> Code:
    name, values = element.name, element.attributes
    key = f"{name} {values.get('id') or values.get('x') or values.get('startRef', '')}"
    for kind, names in (("open", _STARTS), ("close", _ENDS)):
        number = next((values[one] for one in names.get(name, ()) if one in values), None)
        if number is not None and values.get("isolated") != "yes":
            return Code(raw, "open" if kind == "open" else "close", f"{_PAIRED.get(name, name)} {number}", key)
    return Code(raw, key=key, parts_words=values.get("mtype") not in (_ADDED, _DELETED))


def _is_plain(raw: str) -> bool:
    return "&" not in raw and "\r" not in raw


def _lines(raw: str) -> list[Part]:
    """Return the text of raw characters in a CDATA section, where line ends alone are not written as they are read."""
    return [("\n", one) if one[0] == "\r" else one for one in _LINES.findall(raw)]


def _characters(raw: str) -> list[Part]:
    """Return the text of raw characters."""
    return [one if _is_plain(one) else (_character(one), one) for one in _WRITTEN.findall(raw)]


def _character(raw: str) -> str:
    """Return the character of a reference, or of a line end."""
    if raw[0] != "&":
        return "\n"
    if raw[1] != "#":
        return unescape(raw)
    # Python refuses numbers of very many digits, and zeros may lead a reference.
    return chr(int(raw[3:-1], 16) if raw[2] == "x" else int(raw[2:-1].lstrip("0")))
