"""Text with inline codes: codes are taken out before an editor reads the text, and set back into its output.

Each character remembers how it is written in the file, so unchanged characters keep their entities and line breaks.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from postedit.text.words import UNSPACED

Escape = Callable[[str], str]
"""Writes new text in the syntax of a file; raises ValueError for characters that the file cannot have."""

_MARKUP: Final = re.compile(
    r"<!--(?:(?!<!--).)*?-->|<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*)?(?P<empty>/?)>|&(?:#\d+|#[xX][\da-fA-F]+|[A-Za-z]\w*);",
    re.DOTALL,
)
_VOID: Final = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)  # of HTML
_NOT_WRITTEN: Final = re.compile(rf"{_MARKUP.pattern}|]]>", re.DOTALL)  # the latter ends a CDATA section
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_TOKENS: Final = re.compile(r"\w+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Code:
    """An inline code: a tag, a placeholder, or another piece of a file that stands in text and is no text.

    Args:
        raw: as it is written in the file.
        kind: the start or the end of a pair, or a code that stands alone.
        pair: the same for both codes of a pair; empty for a code that stands alone.
        key: the same for the code of the source and that of the target that belong together, as far as known.
        literal: the encoding of text up to the other code of the pair that is written without escapes, as in a CDATA
            section; empty for a code whose text has escapes.
    """

    raw: str
    kind: Literal["open", "close", "alone"] = "alone"
    pair: str = ""
    key: str = ""
    literal: str = ""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Text, how each character is written in the file, and the codes by the position before which they stand."""

    text: str
    raw: Sequence[str]
    codes: tuple[tuple[int, Code], ...] = ()

    @classmethod
    def of(cls, parts: Sequence[tuple[str, str] | Code]) -> "MarkedText":
        """Return the text of characters, each with its raw form, and codes; markup among the characters becomes codes.

        A code that would join two words becomes a space for the editor, which has no raw form.
        """
        parts = _markup_as_codes(parts)
        text: list[str] = []
        raw: list[str] = []
        codes: list[tuple[int, Code]] = []
        done = 0
        for number, part in enumerate(parts):
            if not isinstance(part, Code):
                continue
            text += [one[0] for one in parts[done:number] if not isinstance(one, Code)]
            raw += [one[1] for one in parts[done:number] if not isinstance(one, Code)]
            done = number + 1
            codes.append((len(text), part))
            following = parts[done] if done < len(parts) else part
            joins = text and not isinstance(following, Code) and _is_one_word(text[-1], following[0])
            if part.kind == "alone" and joins:
                text.append(" ")
                raw.append("")
        text += [one[0] for one in parts[done:] if not isinstance(one, Code)]
        raw += [one[1] for one in parts[done:] if not isinstance(one, Code)]
        return cls("".join(text), tuple(raw), tuple(codes))

    def written(self) -> str:
        """Return the text as it is written in the file."""
        return _woven(self.raw, self.codes)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the index in `codes` of both codes of each pair."""
        opened: dict[str, int] = {}
        for index, (_, code) in enumerate(self.codes):
            if code.kind == "open":
                opened[code.pair] = index
            elif code.kind == "close" and code.pair in opened:
                yield opened.pop(code.pair), index


def _is_one_word(before: str, after: str) -> bool:
    """Return whether characters belong to one word; those of scripts without spaces have no words to tell apart."""
    return before.isalnum() and after.isalnum() and not _UNSPACED.search(before + after)


class TextChange(NamedTuple):
    """A span of a text that stays (`same`) or is replaced by a span of another text."""

    same: bool
    old: tuple[int, int]
    new: tuple[int, int]


def set_back(marked: MarkedText, output: str, edits: Sequence[TextChange], escape: Escape) -> "str | list[int]":
    """Return an output with the codes of the text it was made from, as it is to be written in the file.

    Codes keep their order, so pairs stay pairs and nest as before. Where no sound place for a code exists, the numbers
    of the edits at fault are returned: an edit is at fault if it divides a word around a code, or leaves nothing
    between the codes of a pair that had text, writes a character that the file cannot have, or makes escaped markup or
    the end of a CDATA section.

    Args:
        marked: the text with its codes.
        output: what an editor wrote in its place.
        edits: spans of the text and of the output that differ, in order; `same` is False.
        escape: writes new characters in the syntax of the file.
    """
    faults = {row for row, edit in enumerate(edits) if not _can_be_written(output[slice(*edit.new)], escape)}
    for match in _NOT_WRITTEN.finditer(output):  # markup that the text would have, and had not
        faults |= _touching(edits, *match.span())
    changes = list(_refined(marked.text, output, edits))
    places: list[int] = []
    for position, code in marked.codes:
        found = _place(position, code, changes, marked.text, output)
        if found is None:
            faults |= {row for row, edit in enumerate(edits) if edit.old[0] < position < edit.old[1]}
            found = 0
        places.append(found)
    if faults:
        return sorted(faults)
    places = _with_spaces(marked, output, places)
    for opened, closed in marked.pairs():
        start, end = marked.codes[opened][0], marked.codes[closed][0]
        if marked.text[start:end].strip() and not output[places[opened] : places[closed]].strip():
            faults |= {row for row, edit in enumerate(edits) if edit.old[0] < end and edit.old[1] > start}
    for start, end, codec in _literal_spans(marked, places):
        for position in range(start, end):
            if not _has(codec, output[position]):
                faults |= _touching(edits, position, position + 1)
    if faults:
        return sorted(faults)
    raw = _raw(marked, output, changes, places, escape)
    return _woven(raw, [(place, code) for place, (_, code) in zip(places, marked.codes, strict=True)])


def _can_be_written(text: str, escape: Escape) -> bool:
    try:
        return all(map(escape, text))
    except ValueError:
        return False


def _has(codec: str, character: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def _touching(edits: Sequence[TextChange], start: int, end: int) -> set[int]:
    """Return the numbers of the edits that write, or delete, within a span of the output."""
    return {row for row, edit in enumerate(edits) if edit.new[0] < end and edit.new[1] > start}


def _literal_spans(marked: MarkedText, places: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of the output that are written without escapes, with their encoding."""
    for opened, closed in marked.pairs():
        if codec := marked.codes[opened][1].literal:
            yield places[opened], places[closed], codec


def _refined(text: str, output: str, edits: Sequence[TextChange]) -> Iterator[TextChange]:
    """Yield the changes between both texts; edits are aligned word by word."""
    old = new = 0
    for edit in edits:
        if edit.old[0] > old:
            yield TextChange(True, (old, edit.old[0]), (new, edit.new[0]))
        yield from _aligned(text, output, edit)
        (_, old), (_, new) = edit.old, edit.new
    if old < len(text):
        yield TextChange(True, (old, len(text)), (new, len(output)))


def _aligned(text: str, output: str, edit: TextChange) -> Iterator[TextChange]:
    before, after = _TOKENS.findall(text[slice(*edit.old)]), _TOKENS.findall(output[slice(*edit.new)])
    olds, news = _starts(before, edit.old[0]), _starts(after, edit.new[0])
    for operation in Levenshtein.opcodes(before, after):
        yield TextChange(
            operation.tag == "equal",
            (olds[operation.src_start], olds[operation.src_end]),
            (news[operation.dest_start], news[operation.dest_end]),
        )


def _starts(tokens: Sequence[str], start: int) -> list[int]:
    """Return the position of each token, and the end of the last one."""
    starts = [start]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return starts


def _place(position: int, code: Code, changes: Sequence[TextChange], text: str, output: str) -> int | None:
    """Return the position in the output of a code at a position of the text; None if it is inside a changed word."""
    before = after = None
    for change in changes:
        (start, end), (new_start, new_end) = change.old, change.new
        if start < position < end:
            if change.same:
                return new_start + position - start
            return _within(text[start:end], position - start, output[new_start:new_end], new_start)
        if end <= position and not (start == end == position):
            before = new_end
        if start >= position and not (start == end == position) and after is None:
            after = new_start
    before = 0 if before is None else before
    after = len(output) if after is None else after
    if before == after:
        return before
    # Text was inserted at the code. What continues a word stays with that word; the rest is outside of pairs.
    inserted = output[before:after]
    joins_left = position > 0 and not text[position - 1].isspace() and not inserted[0].isspace()
    joins_right = position < len(text) and not text[position].isspace() and not inserted[-1].isspace()
    if code.kind == "open":
        return before if joins_right and not joins_left else after
    if code.kind == "close":
        return after if joins_left and not joins_right and inserted[0].isalnum() else before
    glued_right = position < len(text) and not text[position].isspace() and not text[position - 1 : position].strip()
    return after if joins_left or (glued_right and not joins_right) else before


def _within(old: str, position: int, new: str, start: int) -> int | None:
    """Return the boundary of words in replaced text that corresponds to one in the old text, by their numbers."""
    olds, news = _starts(_TOKENS.findall(old), 0), _starts(_TOKENS.findall(new), 0)
    if position not in olds:
        return None
    share = olds.index(position) / (len(olds) - 1)
    return start + news[round(share * (len(news) - 1))]


def _with_spaces(marked: MarkedText, output: str, places: Sequence[int]) -> list[int]:
    """Return the places, moved across white space where that keeps the white space around a code as it was."""
    moved: list[int] = []
    for row, (position, _) in enumerate(marked.codes):
        low, high = moved[-1] if moved else 0, places[row + 1] if row + 1 < len(places) else len(output)
        spaces = _sides(marked.text, position)
        best = max(low, places[row])
        for place in range(best, low - 1, -1):
            if _sides(output, place) == spaces:
                best = place
                break
            if not output[place - 1 : place].isspace():
                break
        if _sides(output, best) != spaces:
            for place in range(best, high + 1):
                if _sides(output, place) == spaces:
                    best = place
                    break
                if not output[place : place + 1].isspace():
                    break
        moved.append(best)
    return moved


def _sides(text: str, position: int) -> tuple[bool, bool]:
    """Return whether there is white space, or an end of the text, before and after a position."""
    return not text[position - 1 : position].strip(), not text[position : position + 1].strip()


def _raw(
    marked: MarkedText, output: str, changes: Sequence[TextChange], places: Sequence[int], escape: Escape
) -> list[str]:
    """Return how each character of the output is to be written."""
    literal = [False] * len(output)
    for start, end, _ in _literal_spans(marked, places):
        literal[start:end] = [True] * (end - start)
    raw: list[str] = []
    for change in changes:
        if change.same:
            raw += marked.raw[slice(*change.old)]
        else:
            raw += [output[i] if literal[i] else escape(output[i]) for i in range(*change.new)]
    return raw


def _woven(raw: Sequence[str], codes: Sequence[tuple[int, Code]]) -> str:
    parts: list[str] = []
    done = 0
    for position, code in codes:
        parts += raw[done:position]
        parts.append(code.raw)
        done = position
    return "".join([*parts, *raw[done:]])


def _markup_as_codes(parts: Sequence[tuple[str, str] | Code]) -> list[tuple[str, str] | Code]:
    """Return characters and codes with escaped markup as codes, and escaped entities as their characters."""
    text = "".join(["\0" if isinstance(part, Code) else part[0] for part in parts])
    if "<" not in text and "&" not in text:
        return list(parts)
    found: list[tuple[str, str] | Code] = []
    open_tags: list[tuple[str, int]] = []
    count_open: Counter[str] = Counter()  # of open_tags, by name
    done = 0
    for match in _MARKUP.finditer(text):
        start, end = match.span()
        if "\0" in match[0]:
            continue
        found += parts[done:start]
        done = end
        raw = "".join(part[1] for part in parts[start:end] if not isinstance(part, Code))
        name = match["name"]
        if match[0][0] == "&":
            character = unescape(match[0])
            if len(character) == 1:
                found.append((character, raw))
            else:
                found.append(Code(raw, key=match[0]))
        elif name is None or match["empty"] or name.lower() in _VOID:
            found.append(Code(raw, key=match[0]))
        elif not match["close"]:
            open_tags.append((name, len(found)))
            count_open[name] += 1
            found.append(Code(raw, key=match[0]))  # alone, unless its end follows
        elif not count_open[name]:
            found.append(Code(raw, key=match[0]))
        else:
            opened = ""
            while opened != name:
                opened, position = open_tags.pop()
                count_open[opened] -= 1
            first = found[position]
            assert isinstance(first, Code)
            pair = f"markup {position}"
            found[position] = Code(first.raw, "open", pair, first.key)
            found.append(Code(raw, "close", pair, match[0]))
    return [*found, *parts[done:]]
