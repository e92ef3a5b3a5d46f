"""Corrections of units: turn the output of an editor into content for the file."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from postedit.core.editor import Edit, PostEdit
from postedit.editing.results import keep_edits
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
    """A correction with its inline codes in place (None if no edit is left), and why edits were given up."""

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
    while result.changed and result.text.strip():
        edits = [_moved(edit, len(lead)) for edit in result.edits]
        found = place_codes(marked, lead + result.text + tail, edits, escape, source)
        if isinstance(found, PlacedCodes):
            return Placed(found, result, given_up)
        given_up += tuple(found.values())
        result = keep_edits(mt, result, [row not in found for row in range(len(edits))])
    if result.changed:
        given_up += tuple("no text" for _ in result.edits)
        result = keep_edits(mt, result, [False] * len(result.edits))
    return Placed(None, result, given_up)


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
    placed = place_translation(unit.source, text, escape)
    return None if placed is None else placed.written(escape)


def place_translation(source: MarkedText, text: str, escape: Escape) -> PlacedCodes | None:
    """Return a translation with the places of the codes of its source, None if one has no place; see `translated`."""
    lead, tail = margins(source.text)
    output = lead + text.strip() + tail
    whole = TextChange(TextSpan(0, len(source.text)), TextSpan(0, len(output)))
    found = place_codes(source, output, [whole], escape)
    return found if isinstance(found, PlacedCodes) else None


def _raws(marked: MarkedText) -> Counter[str]:
    return Counter(code.raw for _, code in marked.codes)


def note_of(mt: str, result: PostEdit) -> str:
    """Return the edits of a correction and their confidence, as a note for translators."""
    return "; ".join(
        f'"{mt[slice(*edit.mt_span)]}" -> "{result.text[slice(*edit.pe_span)]}"{_percent(result.confidences, row)}'
        for row, edit in enumerate(result.edits)
    )


def _percent(confidences: Sequence[float], row: int) -> str:
    return f" ({confidences[row]:.0%})" if row < len(confidences) else ""
