"""Corrections of units: from the text of an editor to what is written into the file."""

from collections.abc import Sequence
from typing import NamedTuple

from postedit.core.editor import Edit, PostEdit
from postedit.editing.results import keep_edits
from postedit.files.marked_text import Escape, TextChange, set_back
from postedit.files.units import Unit


class Corrected(NamedTuple):
    """The new target of a unit as it is written in the file, None if it stays; and the edits given up for its codes."""

    content: str | None
    result: PostEdit
    given_up: int = 0


def correct(unit: Unit, result: PostEdit, escape: Escape) -> Corrected:
    """Return the new target of a unit that has one, with its inline codes.

    Edits for which a code has no sound place, or which write what the file cannot have, are given up; all of them if
    nothing would be left.

    Args:
        unit: the unit.
        result: the correction of its target, which was given to the editor without white space at its ends.
        escape: writes a new character in the syntax of the file.
    """
    assert unit.target is not None
    marked, mt = unit.target, unit.target.text.strip()
    lead = len(marked.text) - len(marked.text.lstrip())
    tail = marked.text[lead + len(mt) :]
    count = len(result.edits)
    if not result.text.strip():
        return Corrected(None, keep_edits(mt, result, [False] * count), count)
    while result.changed:
        edits = [_moved(edit, lead) for edit in result.edits]
        found = set_back(marked, marked.text[:lead] + result.text + tail, edits, escape)
        if isinstance(found, str):
            return Corrected(found, result, count - len(edits))
        result = keep_edits(mt, result, [row not in found for row in range(len(edits))])
    return Corrected(None, result, count - len(result.edits))


def _moved(edit: Edit, offset: int) -> TextChange:
    (a, b), (c, d) = edit.mt_span, edit.pe_span
    return TextChange(False, (a + offset, b + offset), (c + offset, d + offset))


def translated(text: str, escape: Escape) -> str:
    """Return a translation of a unit without a target as it is written in the file."""
    return "".join(map(escape, text))


def note_of(mt: str, result: PostEdit) -> str:
    """Return the edits of a correction and their confidence, as a note for translators."""
    return "; ".join(
        f'"{mt[slice(*edit.mt_span)]}" -> "{result.text[slice(*edit.pe_span)]}"{_percent(result.confidences, row)}'
        for row, edit in enumerate(result.edits)
    )


def _percent(confidences: Sequence[float], row: int) -> str:
    return f" ({confidences[row]:.0%})" if row < len(confidences) else ""
