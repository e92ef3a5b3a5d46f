"""Checks of what a model wrote: edits that damage the text are taken back."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from postedit.core.editor import Edit, PostEdit, Segment
from postedit.editing.results import enforce_constraints, keep_edits, unchanged
from postedit.text.words import splitter

if TYPE_CHECKING:
    from postedit.text.processor import TextProcessor

_REPLACEMENT: Final = "\ufffd"  # the character that stands for invalid UTF-8


def checked(processor: "TextProcessor", segment: Segment, required: Sequence[str], result: PostEdit) -> PostEdit:
    """Return a correction with sound text that meets the constraints; see `revert_damage` and `enforce_constraints`."""
    words = splitter(processor.config.tokenizer, processor.config.tgt_lang)
    result = distinct(revert_damage(segment.src, segment.mt, result, processor.lacks))
    return enforce_constraints(segment.mt or "", result, segment.constraints.prefix, required, words)


def distinct(result: PostEdit) -> PostEdit:
    """Return a correction and its alternatives without repeated texts, which edits that were taken back leave.

    Of equal texts, the output that the model wrote so stays, with its own score.
    """
    if not result.alternatives:
        return result
    written: dict[str, PostEdit] = {}
    for one in (result, *result.alternatives):
        if not one.reverted:
            written.setdefault(one.text, one)
    best = result
    if result.evidence is None and result.text in written:  # evidence is of the whole output, and stays with its scores
        kept = {name: getattr(result, name) for name in ("skipped", "reverted", "input_cut")}
        best = replace(written[result.text], **kept)
    others: dict[str, PostEdit] = {}
    for one in result.alternatives:
        if one.text != best.text and written.get(one.text, one) is one:
            others.setdefault(one.text, one)
    return replace(best, alternatives=tuple(others.values()))


def revert_damage(src: str, mt: str | None, result: PostEdit, lacks: Callable[[str], bool]) -> PostEdit:
    """Return a correction without the edits that damage text; mt itself if that does not suffice.

    An edit is taken back if it adds a replacement character (U+FFFD). Characters that the vocabulary lacks are spelt
    byte by byte, so an edit is also taken back if it writes one that neither src nor mt has, or removes one so that
    the output has none of it, or fewer than src. All are taken back if they would leave nothing but white space of
    mt. A translation (mt is None) is "damaged" if it has a replacement character.
    """
    alternatives = tuple(revert_damage(src, mt, one, lacks) for one in result.alternatives)
    if mt is None:
        whole = Edit("insert", (0, 0), (0, len(result.text)))
        kept_whole = keeps_text_sound(src, "", result, whole, lambda character: False)
        return replace(result if kept_whole else unchanged("", "damaged"), alternatives=alternatives)
    kept = [not empties(mt, result.text) and keeps_text_sound(src, mt, result, edit, lacks) for edit in result.edits]
    if all(kept):
        return replace(result, alternatives=alternatives) if alternatives != result.alternatives else result
    mended = keep_edits(mt, result, kept)
    if _adds_replacement(mt, mended.text) or empties(mt, mended.text):
        mended = replace(unchanged(mt, "damaged"), reverted=len(result.edits))
    return replace(mended, alternatives=alternatives)


def without_damaged(mt: str, result: PostEdit) -> PostEdit:
    """Return an output and its alternatives, with mt in place of each that adds a replacement character or is blank."""
    alternatives = tuple(without_damaged(mt, one) for one in result.alternatives)
    is_damaged = _adds_replacement(mt, result.text) or empties(mt, result.text)
    kept = unchanged(mt, "damaged") if is_damaged else result
    return replace(kept, alternatives=alternatives)


def empties(mt: str, text: str) -> bool:
    """Return whether an output is blank where mt is not."""
    return not text.strip() and bool(mt.strip())


def keeps_text_sound(src: str, mt: str, result: PostEdit, edit: Edit, lacks: Callable[[str], bool]) -> bool:
    """Return whether an edit keeps the text sound; see `revert_damage`."""
    old, new = mt[slice(*edit.mt_span)], result.text[slice(*edit.pe_span)]
    if old.isascii() and new.isascii():
        return True
    text = result.text
    removed = {one for one in old if old.count(one) > new.count(one) and text.count(one) < max(1, src.count(one))}
    invented = {one for one in new if one not in mt and one not in src}
    return not any(map(lacks, removed | invented)) and not _adds_replacement(old, new)


def _adds_replacement(mt: str, text: str) -> bool:
    return text.count(_REPLACEMENT) > mt.count(_REPLACEMENT)
