"""Inline codes set back into the output of an editor, as it is to be written in a file."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from postedit.files.code_places import code_places
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.text_alignment import TextAlignment, TextChange, words_in

Fault = Literal["character", "markup", "divided word", "lost pair", "too many codes", "no text"]
"""Why an edit is given up: it writes what the file cannot have, or what would be markup; it changes a word in which a
code stands; it takes the words of a pair away; there are too many codes and words to place; or nothing would be left.
Joined edits have one reason."""

_CDATA_END: Final = re.compile("]]>")
_MOST: Final = 1_000_000  # codes, times words of the output: 700 pairs of a word each take 1 to 2 s


@dataclass(frozen=True, slots=True)
class PlacedCodes:
    """An output with the codes of the text it was made from.

    Args:
        marked: the text with its codes.
        output: what was written in its place.
        places: the position in the output of each code by its number, in the order in which codes are written.
        origins: by position in the output, that in the text of each character that stayed.
    """

    marked: MarkedText
    output: str
    places: Mapping[int, int]
    origins: Mapping[int, int]

    def written(self, escape: Escape) -> str:
        """Return the output as it is to be written in the file: characters that stay as they were, others escaped.

        Raises:
            ValueError: if the file cannot have a character.
        """
        marked, literal = self.marked, _literal(self.marked)
        old_literal = {at for one, two in literal for at in range(marked.codes[one][0], marked.codes[two][0])}
        new_literal = {at for one, two in literal for at in range(self.places[one], self.places[two])}
        raw = {}
        for position, character in enumerate(self.output):
            origin = self.origins.get(position)
            if position in new_literal:
                raw[position] = character
            elif origin is None or origin in old_literal:
                raw[position] = escape(character)
            else:
                raw[position] = marked.raw.get(origin) or character
        raw |= dict.fromkeys(_spaces_for_codes(marked, self.output, self.places), "")
        codes = tuple((place, marked.codes[index][1]) for index, place in self.places.items())
        return MarkedText(self.output, raw, codes).written()

    def not_literal(self) -> str:
        """Return what stands in sections without escapes (CDATA) and cannot: characters, or the end of a section."""
        found = []
        for (opened, closed), codec in _literal(self.marked).items():
            section = self.output[self.places[opened] : self.places[closed]]
            found += _CDATA_END.findall(section) + [one for one in section if not _has(codec, one)]
        return "".join(found)


def set_back(
    marked: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape, source: MarkedText | None = None
) -> str | dict[int, Fault]:
    """Return an output with the codes of the text it was made from, as it is to be written in the file.

    See `place_codes`, whose faults are returned if there are any.
    """
    found = place_codes(marked, output, edits, escape, source)
    return found.written(escape) if isinstance(found, PlacedCodes) else found


def place_codes(
    marked: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape, source: MarkedText | None = None
) -> PlacedCodes | dict[int, Fault]:
    """Return an output with the codes of the text it was made from.

    Codes stay at their words, also where these move. They keep their order, or take that of the source, and pairs nest.
    Where no sound place for a code exists, the edits at fault are returned by their numbers, with those joined to them
    by a word that moved: half a move would lose or double the word.

    Args:
        marked: the text with its codes.
        output: what an editor wrote in its place.
        edits: spans of the text and of the output that differ, in order.
        escape: writes new characters.
        source: the source, whose codes may have another order.
    """
    faults = _unwritable(marked, output, edits, escape)
    aligned = TextAlignment(marked.text, output, edits)
    if len(marked.codes) * len(aligned.new_words) > _MOST:
        return dict.fromkeys(range(len(edits)), "too many codes")
    pairs = dict(marked.pairs())
    places = code_places(marked, pairs, aligned, source) if marked.codes else {}
    faults |= _divided(marked, aligned, edits) | _lost(marked, pairs, aligned, places, edits)
    for (opened, closed), codec in _literal(marked).items():
        faults |= _not_literal(output, range(places[opened], places[closed]), codec, edits)
    if faults:
        return _with_joined(faults, aligned, edits)
    origins = {new: old for kept in aligned.kept for old, new in zip(range(*kept.old), range(*kept.new), strict=True)}
    return PlacedCodes(marked, output, places, origins)


def _literal(marked: MarkedText) -> dict[tuple[int, int], str]:
    """Return the encoding of each pair of codes between which text is written without escapes."""
    return {pair: codec for pair in marked.pairs() if (codec := marked.codes[pair[0]][1].literal)}


def _with_joined(faults: Mapping[int, Fault], aligned: TextAlignment, edits: Sequence[TextChange]) -> dict[int, Fault]:
    """Return the edits at fault and, for the same reason, all that are joined to one of them by words that moved."""
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
    """Return the edits that write characters which the file cannot have, or markup that the text had not."""
    faults: dict[int, Fault] = {}
    for match in chain(marked.markup.finditer(output), _CDATA_END.finditer(output)):
        faults |= dict.fromkeys(_writing(edits, *match.span()), "markup")
    for row, edit in enumerate(edits):
        if not _can_be_written(output[slice(*edit.new)], escape):
            faults[row] = "character"
    return faults


def _can_be_written(text: str, escape: Escape) -> bool:
    try:
        return all(map(escape, text))
    except ValueError:
        return False


def _writing(edits: Sequence[TextChange], start: int, end: int) -> list[int]:
    """Return the numbers of the edits that write, or delete, within a span of the output."""
    return [row for row, edit in enumerate(edits) if edit.new.start < end and edit.new.end > start]


def _divided(marked: MarkedText, aligned: TextAlignment, edits: Sequence[TextChange]) -> dict[int, Fault]:
    """Return the edits that change a word in which a code stands."""
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
    """Return the edits that leave a pair without words, or with other words while its own are elsewhere."""
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


def _not_literal(output: str, span: range, codec: str, edits: Sequence[TextChange]) -> dict[int, Fault]:
    """Return the edits that have to do with characters which cannot be written without escapes."""
    rows = {
        row
        for position in span
        if not _has(codec, output[position])
        for row in _writing(edits, position, position + 1) or range(len(edits))
    }
    return dict.fromkeys(rows, "character")


def _has(codec: str, character: str) -> bool:
    """Return whether an encoding has a character, and XML reads it as it stands."""
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return character != "\r"


def _spaces_for_codes(marked: MarkedText, output: str, places: Mapping[int, int]) -> Iterator[int]:
    """Yield the positions of spaces that stand only for the codes before them, for the editor."""
    last = {position: index for index, (position, _) in enumerate(marked.codes)}
    for position, index in last.items():
        place = places.get(index, 0)
        if marked.raw.get(position) == "" and re.match(r"\S \S", output[place - 1 : place + 2]):
            yield place
