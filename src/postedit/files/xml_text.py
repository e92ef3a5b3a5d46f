"""Inline content of XML formats as marked text, and changes of tags."""

import re
from collections.abc import Mapping
from html import escape as html_escape
from html import unescape
from typing import Final

from postedit.files.marked_text import MARKUP, PHRASE_MARKUP, Code, MarkedText, Part
from postedit.files.xml_reader import Collected, Element, Markup, Text

_LINES: Final = re.compile(r"\r\n?|[^\r]+")
_NOT_SHOWN: Final = ("<!", "<?", "]]>")  # comments, processing instructions, and both ends of CDATA sections
_WRITTEN: Final = re.compile(r"&[^;]*;|\r\n?|[^&\r]+")
_ATTRIBUTE: Final = re.compile(r"""(?<=\s)([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AS_WRITTEN: Final[Mapping[str, str]] = {}
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}

# Elements around text, whose two tags become the codes of a pair; and elements of which two form a pair if an attribute
# of both has the same value. Every other element is a code that stands alone, together with its content.
_AROUND: Final = frozenset(["g", "mrk", "pc", "hi"])
_STARTS: Final = {"bpt": ("rid", "id", "i"), "bx": ("rid", "id"), "sc": ("id",), "sm": ("id",)}
_ENDS: Final = {"ept": ("rid", "id", "i"), "ex": ("rid", "id"), "ec": ("startRef",), "em": ("startRef",)}
FEEDBACK: Final = frozenset(["x-sdl-feedback-added", "x-sdl-feedback-deleted"])
"""Types of the changes of reviewers, who assess the quality of what a translator wrote."""

_ADDED: Final = frozenset(["x-sdl-added", "x-sdl-feedback-added"])  # values of `mtype`
_DELETED: Final = frozenset(["x-sdl-deleted", "x-sdl-feedback-deleted"])
_PHRASE: Final = "http://www.memsource.com/mxlf/2.0"  # the namespace of files whose text has the codes of Phrase
_ANGULAR: Final = re.compile(r"(?P<kind>START|CLOSE)_(?P<name>[A-Z][A-Z\d_]*?)(?:_\d+)?")  # ids and names of tags
_PAIRED: Final = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}


def marked_text(collected: Collected, element: Element, *, before_changes: bool = False) -> MarkedText:
    """Return the content of an element with its inline codes.

    With tracked changes of SDL Trados, each deleted part is a code; if `before_changes`, each added part is a code, and
    deleted parts are text. Such codes may be within words. In a file of Phrase, its own codes are codes as well.
    """
    is_of_phrase = any(_PHRASE in one.attributes.values() for one in collected.ancestors)
    if all(isinstance(child, Text) for child in element.children):
        plain = collected.text(element.content, element.close)
        if _is_plain(plain) and not is_of_phrase:
            return MarkedText(plain)
    parts = _parts(collected, element, _ADDED if before_changes else _DELETED)
    return MarkedText.of(parts, PHRASE_MARKUP if is_of_phrase else MARKUP)


def plain_text(collected: Collected, element: Element) -> str:
    """Return what an element says to people, such as a note: in it, markup is text, whether it is escaped or not."""
    parts = _parts(collected, element, frozenset())
    return "".join(
        _shown(part) if isinstance(part, Code) else part[0] if isinstance(part, tuple) else part for part in parts
    )


def _shown(code: Code) -> str:
    return "" if code.raw.startswith(_NOT_SHOWN) else code.raw


def tracked_changes(element: Element) -> frozenset[str]:
    """Return the types (`mtype`) of the tracked changes of SDL Trados that are in an element."""
    own = (child.attributes.get("mtype", "") for child in element.elements())
    return frozenset(own).intersection(_ADDED | _DELETED).union(*map(tracked_changes, element.elements()))


def escape(character: str) -> str:
    """Escape a character for XML.

    Raises:
        ValueError: if XML cannot contain it.
    """
    if _NOT_XML.match(character):
        raise ValueError(f"XML has no character U+{ord(character):04X}")
    return _ESCAPES.get(character, character)


def with_attributes(tag: str, values: Mapping[str, str], names: Mapping[str, str] = _AS_WRITTEN) -> str:
    """Return a start tag with new values of some attributes; existing ones keep their place, quotes and prefix.

    Args:
        tag: the tag.
        values: new values, by names in the form of `Element.attributes`.
        names: see `Element`; if two attributes have the same name, both get the value.
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
    end = len(tag.removesuffix(">").removesuffix("/").rstrip())
    added = "".join(f' {name}="{html_escape(value)}"' for name, value in missing.items())
    return tag[:end] + added + tag[end:]


def tag_name(tag: str) -> str:
    """Return the name in a start tag as it is written, with its prefix."""
    match = re.match(r"<([^\s/>]+)", tag)
    assert match is not None
    return match[1]


def indent_before(collected: Collected, parent: Element, child: Element) -> str:
    """Return the white space between a child element and the content before it; empty if there is other text."""
    number = parent.children.index(child)
    before = parent.children[number - 1] if number else None
    text = collected.text(before.start, before.end) if isinstance(before, Text) else ""
    return "" if text.strip() else text


def _parts(collected: Collected, element: Element, dropped: frozenset[str]) -> list[Part]:
    """Return the characters and codes of an element; `mrk` of the types `dropped`, with their content, are codes."""
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
            is_tag = _ANGULAR.fullmatch(child.attributes.get("equivStart", "")) is not None
            parts.append(Code(collected.text(child.start, child.content), "open", pair, key, ends_words=is_tag))
            parts += _parts(collected, child, dropped)
            parts.append(Code(collected.text(child.close, child.end), "close", pair, key, ends_words=is_tag))
        else:
            parts.append(_code(raw, child))
    return parts


def _is_fixed(element: Element, dropped: frozenset[str]) -> bool:
    """Return whether an element, with its content, is one code: not to be translated, or of a type in `dropped`."""
    return element.attributes.get("translate") == "no" or element.attributes.get("mtype") in {"protected", *dropped}


def _code(raw: str, element: Element) -> Code:
    name, values = element.name, element.attributes
    key = f"{name} {values.get('id') or values.get('x') or values.get('startRef', '')}"
    for kind, names in (("open", _STARTS), ("close", _ENDS)):
        number = next((values[one] for one in names.get(name, ()) if one in values), None)
        if number is not None and values.get("isolated") != "yes":
            return Code(raw, "open" if kind == "open" else "close", f"{_PAIRED.get(name, name)} {number}", key)
    if name == "x" and (tag := _ANGULAR.fullmatch(values.get("id", ""))):
        opens = tag["kind"] == "START"
        return Code(raw, "open" if opens else "close", f"x {tag['name']}", key, ends_words=True)  # possibly of a block
    return Code(raw, key=key, parts_words=values.get("mtype") not in _ADDED | _DELETED)


def _is_plain(raw: str) -> bool:
    return "&" not in raw and "\r" not in raw


def _lines(raw: str) -> list[Part]:
    """Return the parts of raw text in a CDATA section, where line ends are the only characters with a written form."""
    return [("\n", one) if one[0] == "\r" else one for one in _LINES.findall(raw)]


def _characters(raw: str) -> list[Part]:
    """Return the parts of raw text outside of CDATA sections."""
    return [one if _is_plain(one) else (_character(one), one) for one in _WRITTEN.findall(raw)]


def _character(raw: str) -> str:
    """Return the character that a reference or a line end stands for."""
    if raw[0] != "&":
        return "\n"
    if raw[1] != "#":
        return unescape(raw)
    # Python refuses numbers with very many digits, and references may have any number of leading zeros.
    return chr(int(raw[3:-1], 16) if raw[2] == "x" else int(raw[2:-1].lstrip("0")))
