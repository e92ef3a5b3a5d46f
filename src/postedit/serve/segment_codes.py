"""Inline codes of segments, converted between the database, the API and files."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import unescape

from rapidfuzz.distance import Levenshtein

from postedit.core.errors import DataError
from postedit.files.marked_text import MARKUP, PHRASE_MARKUP, Code, CodeKind, Escape, MarkedText
from postedit.files.output_codes import PlacedCodes
from postedit.serve.store_base import as_json

_LABEL: Final = 200  # characters of a code that the API shows, at most
_QUOTE: Final = {"&quot;": '"'}  # to be unescaped beside &amp;, &lt; and &gt;
_COMPARED: Final = 25_000_000  # product of two lengths that are compared character by character

_PAIR: Final = 3  # index of the pair in a code of `marks_of`


class ApiCode(NamedTuple):
    """A code as the API gives it, at a position in code points; both codes of a pair share one id."""

    at: int
    id: str
    kind: CodeKind
    label: str = ""


def marks_of(marked: MarkedText) -> str:
    """Return the codes of a text, and how the file writes its characters, as JSON for the database, or empty."""
    of_phrase = marked.markup is PHRASE_MARKUP
    if not marked.raw and not marked.codes and not of_phrase:
        return ""
    codes = [
        [at, c.raw, c.kind, c.pair, c.key, c.literal, c.parts_words, *([True] if c.ends_words else [])]
        for at, c in marked.codes
    ]
    return as_json({"raw": list(marked.raw.items()), "codes": codes} | ({"phrase": True} if of_phrase else {}))


def marked_text_of(text: str, marks: str) -> MarkedText:
    """Return a text with the marks that `marks_of` returned for it."""
    if not marks:
        return MarkedText(text)
    kept = json.loads(marks)
    markup = PHRASE_MARKUP if kept.get("phrase") else MARKUP
    return MarkedText(text, dict(kept["raw"]), tuple((at, Code(*rest)) for at, *rest in kept["codes"]), markup)


def without_places(marks: str) -> str:
    """Return marks with the names of pairs, which are places in the file, replaced by numbers."""
    if not marks:
        return ""
    kept = json.loads(marks)
    numbers: dict[str, int] = {}
    for code in kept["codes"]:
        code[_PAIR] = numbers.setdefault(code[_PAIR], len(numbers)) if code[_PAIR] else ""
    return as_json(kept)


def code_ids(marked: MarkedText, like: MarkedText | None = None) -> list[str]:
    """Return the id of each code: that of the same code in `like`, else the next free number."""
    partners = dict(marked.pairs())
    known = {} if like is None else dict(zip(like.code_names(), code_ids(like)))
    names = marked.code_names()
    taken = {known[name] for name in names if name in known}
    found: dict[int, str] = {}
    used: set[str] = set()
    number = 0
    for index, name in enumerate(names):
        if index in found:
            continue
        label = known.get(name)
        if label is None or label in used:
            number += 1
            while str(number) in taken:
                number += 1
            label = str(number)
            taken.add(label)
        used.add(label)
        found[index] = label
        if index in partners:
            found[partners[index]] = label
    return [found[index] for index in range(len(names))]


def api_codes(marked: MarkedText, like: MarkedText | None = None) -> list[dict[str, Any]]:
    """Return the codes of a text as the API gives them; codes that are also in `like` get the same ids."""
    if not marked.codes:
        return []
    ids = code_ids(marked, like)
    return [_api_code(at, name, code) for (at, code), name in zip(marked.codes, ids, strict=True)]


def placed_codes(placed: PlacedCodes, like: MarkedText | None) -> list[dict[str, Any]]:
    """Return the codes placed in an output as the API gives them; see `api_codes`."""
    ids = code_ids(placed.marked, like)
    return [_api_code(at, ids[index], placed.marked.codes[index][1]) for index, at in placed.places.items()]


def _api_code(at: int, name: str, code: Code) -> dict[str, Any]:
    label = " ".join(unescape(code.raw, _QUOTE).split())  # <b> is easier to read than &lt;b&gt;
    return {"at": at, "id": name, "kind": code.kind, "label": label[:_LABEL]}


def place_target(
    base: MarkedText, text: str, codes: Sequence[ApiCode], escape: Escape, like: MarkedText | None
) -> PlacedCodes:
    """Return a target that a person wrote, with the codes of mt or of the source.

    Args:
        base: the text whose codes the target must have: mt, or the source if there is no mt.
        text: the target.
        codes: the codes of the target, in order.
        escape: returns a character in the syntax of the file.
        like: text with which codes share ids; see `code_ids`.

    Raises:
        DataError: if codes are missing, unknown or do not nest, or if the file cannot have a character.
    """
    places = _places(base, text, codes, code_ids(base, like))
    placed = PlacedCodes(base, text, places, _origins(base, text))
    for character in text:
        try:
            escape(character)
        except ValueError as error:
            raise DataError(f"the target has a character that the file cannot have: {error}; remove it") from None
    if wrong := placed.not_literal(escape):
        raise DataError(f"the target has {wrong[:20]!r} in a CDATA section, which cannot have it; remove it")
    return placed


def _places(base: MarkedText, text: str, codes: Sequence[ApiCode], ids: Sequence[str]) -> dict[int, int]:
    numbers = {(name, code.kind): index for index, ((_, code), name) in enumerate(zip(base.codes, ids, strict=True))}
    given = Counter((code.id, code.kind) for code in codes)
    if given != Counter(numbers.keys()):
        missing = [_shown(base, numbers[key]) for key in numbers if not given[key]]
        others = [f"{key[0]} ({key[1]})" for key, count in given.items() if count > (key in numbers)]
        problems = [f"lacks {', '.join(missing[:5])}"] if missing else []
        problems += [f"has codes too often, or others: {', '.join(others[:5])}"] if others else []
        raise DataError(f"the target {' and '.join(problems)}; it must have each code of the machine translation once")
    places: dict[int, int] = {}
    last = 0
    for code in codes:
        if not last <= code.at <= len(text):
            raise DataError(f"the codes of the target must be in order, between 0 and {len(text)}; one is at {code.at}")
        last = code.at
        places[numbers[code.id, code.kind]] = code.at
    _check_nesting(base, list(places))
    _check_sections(base, list(places))
    return places


def _shown(base: MarkedText, index: int) -> str:
    return base.codes[index][1].raw[:80]


def _check_nesting(base: MarkedText, order: Sequence[int]) -> None:
    """Check that pairs open before they close and, if those of the base do, nest."""
    pairs = dict(base.pairs())
    rank = {index: row for row, index in enumerate(order)}
    for opened, closed in pairs.items():
        if rank[opened] > rank[closed]:
            raise DataError(f"the target ends {_shown(base, opened)} before it begins; swap the two codes")
    waiting: list[int] = []
    crossed = _first_crossed(pairs, order, waiting)
    if crossed is not None and _first_crossed(pairs, range(len(base.codes)), []) is None:
        raise DataError(
            f"the pair {_shown(base, crossed)} of the target overlaps another pair; one must stand within the other"
        )


def _check_sections(base: MarkedText, order: Sequence[int]) -> None:
    """Check that no code enters or leaves a CDATA section: inside, a tag would become text, and outside, text a tag."""
    before, after = _sections(base, range(len(base.codes))), _sections(base, order)
    moved = next((index for index, section in before.items() if after[index] != section), None)
    if moved is not None:
        where = "outside its CDATA section" if after[moved] is None else "in a CDATA section where it does not belong"
        raise DataError(f"the target has {_shown(base, moved)} {where}; move it back")


def _sections(base: MarkedText, order: Sequence[int]) -> dict[int, int | None]:
    """Return, for each code, the code that opens the CDATA section around it; None outside sections."""
    found: dict[int, int | None] = {}
    section = None
    for index in order:
        code = base.codes[index][1]
        if code.literal:
            section = index if code.kind == "open" else None
        else:
            found[index] = section
    return found


def _first_crossed(pairs: Mapping[int, int], order: Sequence[int], waiting: list[int]) -> int | None:
    """Return the first code that closes another pair than the one opened last; None if all pairs nest."""
    ends = set(pairs.values())
    for index in order:
        if index in pairs:
            waiting.append(pairs[index])
        elif index in ends and waiting.pop() != index:
            return index
    return None


def _origins(base: MarkedText, text: str) -> dict[int, int]:
    """Return the positions in the base of the characters that are kept, by their positions in the target."""
    if len(base.text) * len(text) > _COMPARED:
        return _same_ends(base.text, text)
    origins: dict[int, int] = {}
    for block in Levenshtein.opcodes(base.text, text):
        if block.tag == "equal":
            new = range(block.dest_start, block.dest_end)
            origins |= dict(zip(new, range(block.src_start, block.src_end), strict=True))
    return origins


def _same_ends(old: str, new: str) -> dict[int, int]:
    """Return the origins of the characters in the common prefix and the common suffix of two texts."""
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - start) if old[-1 - at] != new[-1 - at]), least - start)
    origins = {at: at for at in range(start)}
    return origins | {len(new) - at: len(old) - at for at in range(1, end + 1)}
