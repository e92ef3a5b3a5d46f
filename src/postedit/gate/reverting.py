"""Corrections of which some edits are taken back."""

from collections.abc import Sequence
from dataclasses import replace

from postedit.editing.correction import PostEdit
from postedit.text.edits import Edit, apply_edits


def keep_edits(mt: str, result: PostEdit, kept: Sequence[bool]) -> PostEdit:
    """Return a correction with the edits that are `kept` alone; what the others changed is as in `mt` again.

    Scores, evidence and alternatives stay those of what the model wrote.

    Args:
        mt: what was corrected.
        result: its correction.
        kept: for each of its edits, whether it stays.
    """
    if all(kept):
        return result
    edits, pieces, confidences = _chosen(result, kept)
    text = apply_edits(mt, result.text, edits)
    text = mt if text == mt else text
    return replace(
        result,
        text=text,
        changed=text != mt,
        edits=_moved(edits),
        pieces=pieces,
        confidences=confidences,
        reverted=result.reverted + len(result.edits) - len(edits),
    )


def keep_confident(mt: str, result: PostEdit, least: float) -> PostEdit:
    """Return a correction without the edits whose confidence is below `least`."""
    return keep_edits(mt, result, [confidence >= least for confidence in result.confidences])


def text_with(mt: str, result: PostEdit, place: int) -> str:
    """Return `mt` with one edit of its correction, and no other."""
    return apply_edits(mt, result.text, [result.edits[place]])


def _chosen(
    result: PostEdit, kept: Sequence[bool]
) -> tuple[list[Edit], tuple[tuple[int, int], ...], tuple[float, ...]]:
    places = [place for place, stays in enumerate(kept) if stays]
    return (
        [result.edits[place] for place in places],
        tuple(result.pieces[place] for place in places),
        tuple(result.confidences[place] for place in places),
    )


def _moved(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits with the spans they have in the text when there are no others."""
    moved, growth = [], 0
    for edit in edits:
        start = edit.mt_span[0] + growth
        length = edit.pe_span[1] - edit.pe_span[0]
        moved.append(replace(edit, pe_span=(start, start + length)))
        growth += length - (edit.mt_span[1] - edit.mt_span[0])
    return tuple(moved)
