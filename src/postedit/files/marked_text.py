"""Text with inline codes, which are taken out before an editor reads the text.

Characters that are not written as themselves are stored with their written form, to keep entities and line breaks.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from postedit.core.scripts import has_unspaced
from postedit.text.words import MARKS

CodeKind = Literal["open", "close", "alone"]
"""Whether a code opens or closes a pair, or stands alone."""

Escape = Callable[[str], str]
"""Function that writes a character in the syntax of a file; it raises ValueError if the file cannot contain it."""

MARKUP: Final = re.compile(
    r"%[-+ #'I\d.*$]*<PRI[bBdiouxX](?:(?:LEAST|FAST)?(?:8|16|32|64)|MAX|PTR)>|<!--(?:(?!<!--).)*?-->"
    r"|<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*)?(?P<empty>/?)>"
    r"|&(?:#\d{1,9}|#[xX][\da-fA-F]{1,9}|[A-Za-z]\w*);",
    re.DOTALL,
)
"""Escaped markup and entities within text, which are treated as codes and characters; and gettext's `%<PRIu64>`."""

PHRASE_MARKUP: Final = re.compile(rf"\{{\w+>|<\w+\}}|\{{\d+\}}|{MARKUP.pattern}", re.DOTALL)
"""`MARKUP`, and the codes of Phrase: {1>text<1}, {b>text<b}, and {1} alone."""

_VOID: Final = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)  # of HTML
_BLOCK: Final = re.compile(
    r"address|article|aside|blockquote|button|caption|dd|details|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|li"
    r"|main|nav|ol|option|p|pre|section|select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul",
    re.IGNORECASE,
)
"""Elements of HTML with lines or boxes of their own."""


@dataclass(frozen=True, slots=True)
class Code:
    """An inline code: a tag, a placeholder, or any other part of a file that is within text but is not text.

    Args:
        raw: the code as it is written in the file.
        kind: whether the code opens or closes a pair, or stands alone.
        pair: name that both codes of a pair share; empty for a code that stands alone.
        key: name that corresponding codes of source and target share, as far as known.
        literal: encoding of the text up to the other code of the pair if this text is written without escapes, as in a
            CDATA section; empty if it is written with escapes.
        parts_words: whether a code that stands alone separates words.
        ends_words: whether a code of a pair separates words, as the tags of a list item do.
    """

    raw: str
    kind: CodeKind = "alone"
    pair: str = ""
    key: str = ""
    literal: str = ""
    parts_words: bool = True
    ends_words: bool = False


Part: TypeAlias = str | tuple[str, str] | Code
"""Characters that are written as themselves; a single character and its written form; or a code."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Text and its inline codes.

    Args:
        text: the text without codes.
        raw: written form of each character that is not written as itself, by position, in order; empty for a space that
            only separates two words for the editor.
        codes: inline codes in order, each with the position in `text` before which it stands.
        markup: pattern of escaped markup and entities, which are codes and characters rather than text.
    """

    text: str
    raw: Mapping[int, str] = field(default_factory=dict)
    codes: tuple[tuple[int, Code], ...] = ()
    markup: re.Pattern[str] = MARKUP

    @classmethod
    def of(cls, parts: Iterable[Part], markup: re.Pattern[str] = MARKUP) -> "MarkedText":
        """Create marked text from parts; escaped markup among the characters becomes codes.

        A code that separates two words is followed by a space for the editor, which is written as nothing.
        """
        marked = _joined(parts, markup)
        if markup.search(marked.text):
            marked = _joined(_markup_as_codes(marked), markup)
        return _with_spaces(marked) if marked.codes else marked

    def parts(self) -> list[Part]:
        """Return the parts, with plain characters joined into strings as long as possible."""
        return _between(self.text, _events(self), (0, 0), (len(self.text), 1))

    def written(self) -> str:
        """Return the text as it is written in the file."""
        return _written(self.parts()) if self.raw or self.codes else self.text

    def code_names(self) -> list[tuple[str, str, int]]:
        """Return a unique name of each code: its kind, its key, and its number among the codes that share both."""
        seen: Counter[tuple[str, str]] = Counter()
        names: list[tuple[str, str, int]] = []
        for _, code in self.codes:
            names.append((code.kind, code.key, seen[code.kind, code.key]))
            seen[code.kind, code.key] += 1
        return names

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the indices in `codes` of the opening and the closing code of each pair; pairs of one name nest."""
        opened: defaultdict[str, list[int]] = defaultdict(list)
        for index, (_, code) in enumerate(self.codes):
            if code.kind == "open":
                opened[code.pair].append(index)
            elif code.kind == "close" and opened[code.pair]:
                yield opened[code.pair].pop(), index


def _joined(parts: Iterable[Part], markup: re.Pattern[str]) -> MarkedText:
    text: list[str] = []
    raw: dict[int, str] = {}
    codes: list[tuple[int, Code]] = []
    length = 0
    for part in parts:
        if isinstance(part, str):
            text.append(part)
            length += len(part)
        elif isinstance(part, Code):
            codes.append((length, part))
        else:
            text.append(part[0])
            if part[0] != part[1]:
                raw[length] = part[1]
            length += 1
    return MarkedText("".join(text), raw, tuple(codes), markup)


def _events(marked: MarkedText) -> list[tuple[int, int, Part]]:
    """Return the codes and the characters in `raw`, each with its position and width in the text, in order."""
    events: list[tuple[int, int, Part]] = [(position, 0, code) for position, code in marked.codes]
    events += [(position, 1, (marked.text[position], raw)) for position, raw in marked.raw.items()]
    return sorted(events, key=_place)


def _place(event: tuple[int, int, Part]) -> tuple[int, int]:
    return event[:2]


def _between(
    text: str, events: Sequence[tuple[int, int, Part]], low: tuple[int, int], high: tuple[int, int]
) -> list[Part]:
    """Return the parts of a text from one place to another; a place is a position and a width, as in events."""
    parts: list[Part] = []
    done = low[0]
    for position, width, part in events[bisect_left(events, low, key=_place) : bisect_left(events, high, key=_place)]:
        if position > done:
            parts.append(text[done:position])
        parts.append(part)
        done = position + width
    if done < high[0]:
        parts.append(text[done : high[0]])
    return parts


def _written(parts: Iterable[Part]) -> str:
    """Return parts as they are written in the file."""
    return "".join([one if isinstance(one, str) else one.raw if isinstance(one, Code) else one[1] for one in parts])


def _with_spaces(marked: MarkedText) -> MarkedText:
    """Return text with a space, written as nothing, after the codes at each position where one separates two words."""
    text = marked.text
    dividing = (at for at, code in marked.codes if code.ends_words or (code.kind == "alone" and code.parts_words))
    places = [at for at in dict.fromkeys(dividing) if _is_one_word(text[at - 1 : at], text[at : at + 1])]
    if not places:
        return marked
    raw = {position + bisect_right(places, position): one for position, one in marked.raw.items()}
    raw |= {position + number: "" for number, position in enumerate(places)}
    return replace(
        marked,
        text=" ".join(text[start:end] for start, end in pairwise([0, *places, len(text)])),
        raw=dict(sorted(raw.items())),
        codes=tuple((position + bisect_left(places, position), code) for position, code in marked.codes),
    )


def _is_one_word(before: str, after: str) -> bool:
    """Return whether two characters would form one word; False for scripts without spaces between words."""
    ends_word = before.isalnum() or (before != "" and before in MARKS)  # such as a vowel sign of Devanagari
    return ends_word and after.isalnum() and not has_unspaced(before + after)


def _markup_as_codes(marked: MarkedText) -> list[Part]:
    """Return the parts of a text, with escaped markup as codes and escaped entities as their characters."""
    text, events = marked.text, _events(marked)
    positions = [position for position, _ in marked.codes]
    found: list[Part] = []
    open_tags: list[tuple[str, int]] = []
    count_open: Counter[str] = Counter()  # number of tags in open_tags, by name
    done = 0
    for match in marked.markup.finditer(text):
        start, end = match.span()
        if bisect_right(positions, start) < bisect_left(positions, end):
            continue  # a code is within the match
        found += _between(text, events, (done, 0), (start, 1))
        raw = _written(_between(text, events, (start, 1), (end, 0)))
        done = end
        kind, name = _kind_and_name(match)
        if match[0][0] == "&":
            character = unescape(match[0])
            if len(character) == 1:
                found.append((character, raw))
            else:
                found.append(Code(raw, key=match[0]))
        elif kind == "open":
            open_tags.append((name, len(found)))
            count_open[name] += 1
            found.append(Code(raw, key=match[0]))  # stands alone unless a closing tag follows
        elif kind == "alone" or not count_open[name]:
            found.append(Code(raw, key=match[0]))
        else:
            opened = ""
            while opened != name:
                opened, position = open_tags.pop()
                count_open[opened] -= 1
            first = found[position]
            assert isinstance(first, Code)
            pair = f"markup {position}"
            ends_words = _BLOCK.fullmatch(name) is not None
            found[position] = Code(first.raw, "open", pair, first.key, ends_words=ends_words)
            found.append(Code(raw, "close", pair, match[0], ends_words=ends_words))
    return found + _between(text, events, (done, 0), (len(text), 1))


def _kind_and_name(match: re.Match[str]) -> tuple[CodeKind, str]:
    """Return the kind of a tag, as far as its form shows, and its name; empty for a tag that stands alone."""
    tag = match[0]
    if tag[0] == "{" or tag[-1] == "}":  # a code of Phrase
        return "open" if tag[-1] == ">" else "close" if tag[0] == "<" else "alone", "{" + tag[1:-1]
    name = match["name"]
    if name is None or match["empty"] or name.lower() in _VOID:
        return "alone", ""
    return "close" if match["close"] else "open", name
