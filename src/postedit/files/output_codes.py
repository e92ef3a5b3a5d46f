"""Insertion of inline codes into the output of an editor, in the syntax of a file."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import chain
from typing import Final, Literal

from postedit.files.code_places import code_places
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.text_alignment import TextAlignment, TextChange, TextSpan, words_in

Fault = Literal["character", "markup", "divided word", "lost pair", "too many codes", "no text"]
"""Reason to give an edit up: it writes a character that the file cannot contain, or text that would be markup; it
changes a word that contains a code; it takes away the words of a pair; there are too many codes and words to place; or
no text would be left. Edits joined by a moved word have the same reason."""

_CDATA_END: Final = re.compile("]]>")
_ESCAPED: Final = frozenset("&<>")  # characters that are escaped outside of CDATA sections
_ENTITY: Final = re.compile(r"&#?\w+;")
_MOST: Final = 1_000_000  # most codes times words of the output; 700 pairs around one word each take 1 to 2 s


@dataclass(frozen=True, slots=True)
class PlacedCodes:
    """The output of an editor with the places of the codes of its input.

    Args:
        marked: the input text with its codes.
        output: the output for this text.
        places: position in the output of each code, by the number of the code, in the order in which codes are written.
        origins: position in the input of each kept character, by its position in the output.
    """

    marked: MarkedText
    output: str
    places: Mapping[int, int]
    origins: Mapping[int, int]

    def written(self, escape: Escape) -> str:
        """Return the output in the syntax of the file: kept characters as they were written, and new ones escaped.

        Raises:
            ValueError: if the file cannot contain a character.
        """
        marked = self.marked
        contents = _contents(marked, self.output, self.origins, escape)
        was_literal, is_literal = _old_literal(marked), self._new_literal()
        raw = {}
        for position, content in enumerate(contents):
            origin = self.origins.get(position)
            former = None if origin is None else marked.raw.get(origin) or self.output[position]
            if former is not None and (
                (origin in was_literal) == (position in is_literal) or _ESCAPED.isdisjoint(former)
            ):
                raw[position] = escape(">") if self._ends_section(position, former) else former
            else:
                raw[position] = content if position in is_literal else "".join(map(escape, content))
        raw |= dict.fromkeys(_spaces_for_codes(marked, self.output, self.places), "")
        codes = tuple((place, marked.codes[index][1]) for index, place in self.places.items())
        return MarkedText(self.output, raw, codes).written()

    def not_literal(self, escape: Escape) -> str:
        """Return the text in CDATA sections that they cannot contain: characters, or the end of a section."""
        return "".join(self.output[slice(*span)] for span in self.spans_not_literal(escape))

    def spans_not_literal(self, escape: Escape) -> Iterator[TextSpan]:
        """Yield the spans of the output that are in CDATA sections, where text has no escapes, but cannot be."""
        contents = _contents(self.marked, self.output, self.origins, escape)
        for (opened, closed), codec in _literal(self.marked).items():
            start, end = self.places[opened], self.places[closed]
            yield from _matches(_CDATA_END, contents[start:end], start)
            for position in range(start, end):
                if not _has(codec, contents[position]):
                    yield TextSpan(position, position + 1)

    def _ends_section(self, position: int, raw: str) -> bool:
        """Return whether an unescaped `>` now follows `]]`, which XML allows only at the end of a CDATA section."""
        start = position - len("]]")
        is_divided = any(start < place <= position for place in self.places.values())
        return raw == ">" and self.output[max(0, start) : position] == "]]" and not is_divided

    def _new_literal(self) -> set[int]:
        """Return the positions of the output that are in CDATA sections."""
        pairs = _literal(self.marked)
        return {at for opened, closed in pairs for at in range(self.places[opened], self.places[closed])}


def place_codes(
    marked: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape, source: MarkedText | None = None
) -> PlacedCodes | dict[int, Fault]:
    """Place the codes of a text in the output of an editor; or return the faults of edits, by their numbers.

    Codes stay with their words, even if these move. They keep their order, or take that of the source, and pairs remain
    nested. If a code has no sound place, the edits at fault are returned, together with those joined to them by a word
    that moved, because half a move would lose or double the word.

    Args:
        marked: the input text with its codes.
        output: the output of an editor for this text.
        edits: spans of the text and of the output that differ, in order.
        escape: function that writes new characters in the syntax of the file.
        source: the source, whose codes may have another order; None if there is none.
    """
    aligned = TextAlignment(marked.text, output, edits)
    origins = {new: old for kept in aligned.kept for old, new in zip(range(*kept.old), range(*kept.new), strict=True)}
    contents = _contents(marked, output, origins, escape)
    faults = _unwritable(marked, output, edits, escape) | _made_markup(marked, output, edits, contents)
    if len(marked.codes) * len(aligned.new_words) > _MOST:
        return dict.fromkeys(range(len(edits)), "too many codes")
    pairs = dict(marked.pairs())
    places = code_places(marked, pairs, aligned, source) if marked.codes else {}
    faults |= _divided(marked, aligned, edits) | _lost(marked, pairs, aligned, places, edits)
    placed = PlacedCodes(marked, output, places, origins)
    for span in placed.spans_not_literal(escape):
        for row in _writing(edits, *span) or range(len(edits)):
            faults.setdefault(row, "character")
    return _with_joined(faults, aligned, edits) if faults else placed


def _literal(marked: MarkedText) -> dict[tuple[int, int], str]:
    """Return the encoding of the text between each pair of codes that encloses text without escapes."""
    return {pair: codec for pair in marked.pairs() if (codec := marked.codes[pair[0]][1].literal)}


def _old_literal(marked: MarkedText) -> set[int]:
    """Return the positions of the input text that are in CDATA sections."""
    return {at for one, two in _literal(marked) for at in range(marked.codes[one][0], marked.codes[two][0])}


def _contents(marked: MarkedText, output: str, origins: Mapping[int, int], escape: Escape) -> list[str]:
    """Return the content of each character of an output, which is what a parser of the file would return for it.

    The content is an entity, such as `&lt;`, if a kept character is escaped twice in an XML file, or once in a CDATA
    section or a PO file. A new character has that of the same character in the text if this has it everywhere.
    """
    entities = _entities(marked, escape)
    of_text: defaultdict[str, set[str]] = defaultdict(set)
    for position, character in enumerate(marked.text) if entities else ():
        of_text[character].add(entities.get(position, character))
    contents = [next(iter(of_text[one])) if len(of_text.get(one, ())) == 1 else one for one in output]
    for position, origin in origins.items():
        contents[position] = entities.get(origin, output[position])
    return contents


def _entities(marked: MarkedText, escape: Escape) -> dict[int, str]:
    """Return the contents of characters that are entities for a parser of the file, by position."""
    has_own_escapes = escape("&") != "&"  # if not, as in PO files, all entities are content
    literal = _old_literal(marked) if has_own_escapes else range(len(marked.text))
    contents = {at: raw if at in literal else unescape(raw) for at, raw in marked.raw.items() if "&" in raw}
    return {at: found[0] for at, content in contents.items() if (found := _ENTITY.search(content))}


def _matches(pattern: re.Pattern[str], contents: Sequence[str], start: int) -> Iterator[TextSpan]:
    """Yield the spans of characters whose joined contents match; `start` is the position of the first content."""
    owners = [position for position, content in enumerate(contents, start) for _ in content]
    for match in pattern.finditer("".join(contents)):
        yield TextSpan(owners[match.start()], owners[match.end() - 1] + 1)


def _with_joined(faults: Mapping[int, Fault], aligned: TextAlignment, edits: Sequence[TextChange]) -> dict[int, Fault]:
    """Return the edits at fault and all that moved words join to one of them, with the fault of the latter."""
    found = dict(faults)
    joined: defaultdict[int, set[int]] = defaultdict(set)
    for old, new in aligned.moved if faults else ():
        left = bisect_right(edits, aligned.old_words[old].span.start, key=lambda edit: edit.old.start) - 1
        entered = bisect_right(edits, aligned.new_words[new].span.start, key=lambda edit: edit.new.start) - 1
        joined[left].add(entered)
        joined[entered].add(left)
    waiting = list(found)
    while waiting:
        row = waiting.pop()
        for other in joined[row] - found.keys():
            found[other] = found[row]
            waiting.append(other)
    return found


def _unwritable(marked: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape) -> dict[int, Fault]:
    """Return the edits that write new markup, or characters that the file cannot contain."""
    faults: dict[int, Fault] = {}
    for match in chain(marked.markup.finditer(output), _CDATA_END.finditer(output)):
        faults |= dict.fromkeys(_writing(edits, *match.span()), "markup")
    for row, edit in enumerate(edits):
        if not _can_be_written(output[slice(*edit.new)], escape):
            faults[row] = "character"
    return faults


def _made_markup(
    marked: MarkedText, output: str, edits: Sequence[TextChange], contents: Sequence[str]
) -> dict[int, Fault]:
    """Return the edits that make kept entities part of markup, as in `<b &lt;>`; an entity alone is a character."""
    spans = _matches(marked.markup, contents, 0)
    rows = {row for span in spans if span.end - span.start > 1 for row in _writing(edits, *span)}
    return dict.fromkeys(rows, "markup")


def _can_be_written(text: str, escape: Escape) -> bool:
    try:
        return all(map(escape, text))
    except ValueError:
        return False


def _writing(edits: Sequence[TextChange], start: int, end: int) -> list[int]:
    """Return the numbers of the edits that insert or delete text within a span of the output."""
    return [row for row, edit in enumerate(edits) if edit.new.start < end and edit.new.end > start]


def _divided(marked: MarkedText, aligned: TextAlignment, edits: Sequence[TextChange]) -> dict[int, Fault]:
    """Return the edits that change a word that contains a code."""
    return {
        row: "divided word"
        for position, _ in marked.codes
        if aligned.is_in_word(position) and aligned.kept_at(position) is None
        for row, edit in enumerate(edits)
        if edit.old.start < position < edit.old.end
    }


def _lost(
    marked: MarkedText,
    pairs: Mapping[int, int],
    aligned: TextAlignment,
    places: Mapping[int, int],
    edits: Sequence[TextChange],
) -> dict[int, Fault]:
    """Return the edits that leave a pair without words, or only with other words while its own are elsewhere."""
    faults: dict[int, Fault] = {}
    for opened, closed in pairs.items():
        start, end = marked.codes[opened][0], marked.codes[closed][0]
        own = words_in(aligned.old_words, start, end)
        theirs = {new for new, link in aligned.links.items() if link.old in own}
        held = words_in(aligned.new_words, places[opened], places[closed])
        is_empty = not aligned.output[places[opened] : places[closed]].strip()
        if (own and not (theirs.intersection(held) if theirs else held)) or (
            is_empty and marked.text[start:end].strip()
        ):
            rows = [row for row, edit in enumerate(edits) if edit.old.start < end and edit.old.end > start]
            faults |= dict.fromkeys(rows or range(len(edits)), "lost pair")
    return faults


def _has(codec: str, content: str) -> bool:
    """Return whether an encoding can represent a content, and XML parsers return it unchanged."""
    try:
        content.encode(codec)
    except UnicodeEncodeError:
        return False
    return content != "\r"


def _spaces_for_codes(marked: MarkedText, output: str, places: Mapping[int, int]) -> Iterator[int]:
    """Yield the positions of spaces that only separate words at a code for the editor, and are not to be written."""
    last = {position: index for index, (position, _) in enumerate(marked.codes)}
    for position, index in last.items():
        place = places.get(index, 0)
        if marked.raw.get(position) == "" and re.match(r"\S \S", output[place - 1 : place + 2]):
            yield place
