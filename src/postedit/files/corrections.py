"""Corrections of units: turn the output of an editor into content for the file."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Literal, NamedTuple

from postedit.core.editor import Edit, PostEdit
from postedit.editing.results import keep_edits
from postedit.files.code_places import missing_spaces
from postedit.files.marked_text import Escape, MarkedText
from postedit.files.output_codes import Fault, PlacedCodes, place_codes
from postedit.files.text_alignment import TextChange, TextSpan
from postedit.files.units import Unit


class Corrected(NamedTuple):
    """The new target of a unit in the syntax of the file (None if unchanged), and why edits were given up."""

    content: str | None
    result: PostEdit
    given_up: tuple[Fault, ...] = ()


class Placed(NamedTuple):
    """A correction with its inline codes in place (None if no edit is left), and why edits were given up.

    It may have more spaces than the editor wrote, around codes that stand for words.
    """

    codes: PlacedCodes | None
    result: PostEdit
    given_up: tuple[Fault, ...] = ()


def correct(unit: Unit, result: PostEdit, escape: Escape) -> Corrected:
    """Return the new target, with its inline codes, of a unit that has a target; see `place_correction`."""
    assert unit.target is not None
    placed = place_correction(unit.target, result, escape, unit.source)
    content = None if placed.codes is None else placed.codes.written(escape)
    return Corrected(content, placed.result, placed.given_up)


def place_correction(marked: MarkedText, result: PostEdit, escape: Escape, source: MarkedText) -> Placed:
    """Return a correction of a target with the places of its inline codes.

    Edits are given up if they leave a code without a sound place, or write what the file cannot contain; all of them
    are given up if no text would be left.

    Args:
        marked: the target.
        result: the correction of the target, whose text the editor was given without white space at its ends.
        escape: function that writes a new character in the syntax of the file.
        source: the source of the target.
    """
    mt = marked.text.strip()
    lead, tail = margins(marked.text)
    given_up: tuple[Fault, ...] = ()

    def place(result: PostEdit) -> PlacedCodes | dict[int, Fault]:
        edits = [_moved(edit, len(lead)) for edit in result.edits]
        return place_codes(marked, lead + result.text + tail, edits, escape, source)

    while result.changed and result.text.strip():
        found = place(result)
        if isinstance(found, PlacedCodes):
            spaced = _spaced(mt, found, result, len(lead), place)
            return Placed(spaced[0] if spaced[1].changed else None, spaced[1], given_up)
        given_up += tuple(found.values())
        result = keep_edits(mt, result, [row not in found for row in range(len(result.edits))])
    if result.changed:
        given_up += tuple("no text" for _ in result.edits)
        result = keep_edits(mt, result, [False] * len(result.edits))
    return Placed(None, result, given_up)


def _spaced(
    mt: str, codes: PlacedCodes, result: PostEdit, offset: int, place: Callable[[PostEdit], object]
) -> tuple[PlacedCodes, PostEdit]:
    """Return a correction with the spaces that codes lack, and its codes, as they were where new spaces do not help.

    Args:
        mt: the text that was corrected.
        codes: places of the codes in the output.
        result: the correction.
        offset: position of its text in the output.
        place: function that places the codes in another correction.
    """
    spaces = missing_spaces(codes.marked, codes.output, codes.places)
    if not spaces:
        return codes, result
    spaced = _with_spaces(mt, result, [position - offset for position in spaces])
    found = place(spaced)
    if isinstance(found, PlacedCodes) and len(missing_spaces(found.marked, found.output, found.places)) < len(spaces):
        return found, spaced
    return codes, result


def _with_spaces(mt: str, result: PostEdit, places: Sequence[int]) -> PostEdit:
    """Return a correction with spaces at those of some places in its text that its edits, if it has any, reach."""
    text, edits = result.text, list(result.edits)
    for place in reversed(places):
        row = _edit_at(edits, text, place)
        if row is None and edits:
            continue
        start, end = (place, place) if row is None else edits[row].pe_span
        at = min(max(place, start), end)
        text = f"{text[:at]} {text[at:]}"
        if row is None:
            continue
        op: Literal["insert", "replace"] = "insert" if edits[row].op == "insert" else "replace"
        later = (replace(edit, pe_span=(edit.pe_span[0] + 1, edit.pe_span[1] + 1)) for edit in edits[row + 1 :])
        edits[row:] = [replace(edits[row], op=op, pe_span=(start, end + 1)), *later]
    changes = [mt[slice(*edit.mt_span)] != text[slice(*edit.pe_span)] for edit in edits]
    return replace(
        result,
        text=mt if text == mt else text,
        changed=any(changes) if changes else result.changed,
        edits=tuple(compress(edits, changes)),
        token_spans=tuple(compress(result.token_spans, changes)),
        confidences=tuple(compress(result.confidences, changes)),
    )


def _edit_at(edits: Sequence[Edit], text: str, place: int) -> int | None:
    """Return the number of the first edit that reaches a place in a text, or white space at it; None if none does."""
    start, end = len(text[:place].rstrip()), len(text) - len(text[place:].lstrip())
    return next((row for row, one in enumerate(edits) if one.pe_span[0] <= end and start <= one.pe_span[1]), None)


def margins(text: str) -> tuple[str, str]:
    """Return the white space at the start and at the end of a text."""
    bare = text.strip()
    start = text.index(bare)
    return text[:start], text[start + len(bare) :]


def _moved(edit: Edit, offset: int) -> TextChange:
    (a, b), (c, d) = edit.mt_span, edit.pe_span
    return TextChange(TextSpan(a + offset, b + offset), TextSpan(c + offset, d + offset))


def translated(unit: Unit, text: str, escape: Escape) -> str | None:
    """Return a translation, with the codes of the source, in the syntax of the file, for a unit without a target.

    The places of codes follow from the words that source and translation share; between these, words correspond by
    their relative position. Return None if a code has no sound place, the file cannot contain the text, or there is a
    target without text that has other codes.
    """
    if unit.target is not None and unit.target.codes and _raws(unit.target) != _raws(unit.source):
        return None
    placed = place_translation(unit.source, PostEdit(text, changed=True), escape)
    return None if placed.codes is None else placed.codes.written(escape)


def place_translation(source: MarkedText, result: PostEdit, escape: Escape) -> Placed:
    """Return a translation with the places of the codes of its source, if each has one; see `translated`."""
    (lead, tail), (start, end) = margins(source.text), margins(result.text)

    def place(result: PostEdit) -> PlacedCodes | None:
        output = lead + result.text[len(start) : len(result.text) - len(end)] + tail
        whole = TextChange(TextSpan(0, len(source.text)), TextSpan(0, len(output)))
        found = place_codes(source, output, [whole], escape)
        return found if isinstance(found, PlacedCodes) else None

    found = place(result)
    if found is None:
        return Placed(None, result)
    return Placed(*_spaced(result.draft or "", found, result, len(lead) - len(start), place))


def _raws(marked: MarkedText) -> Counter[str]:
    return Counter(code.raw for _, code in marked.codes)


def note_of(mt: str, result: PostEdit) -> str:
    """Return the edits of a correction and their confidence, as a note for translators."""
    return "; ".join(
        f'"{mt[slice(*edit.mt_span)]}" -> "{result.text[slice(*edit.pe_span)]}"{_percent(result.confidences, row)}'
        for row, edit in enumerate(result.edits)
    )


def _percent(confidences: Sequence[float], row: int) -> str:
    """Return a confidence in brackets; only certainty is 100 %, and only impossibility 0 %."""
    if row >= len(confidences):
        return ""
    confidence = confidences[row]
    shown = min(max(confidence, 0.01), 0.99) if 0 < confidence < 1 else confidence
    return f" ({shown:.0%})"
