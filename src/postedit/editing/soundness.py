"""Check what a model wrote, and revert edits that damage the text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Final

from postedit.core.editor import Edit, PostEdit, Segment
from postedit.core.scripts import UNSPACED
from postedit.editing.results import enforce_constraints, has_phrase, keep_edits, unchanged
from postedit.text.edits import apply_edits
from postedit.text.language_tags import base_language
from postedit.text.words import splitter

if TYPE_CHECKING:
    from postedit.text.processor import TextProcessor

_REPLACEMENT: Final = "\ufffd"  # the character that stands for invalid UTF-8
_BRACKETS: Final = ("()", "[]", "{}", "«»", "（）", "［］", "｛｝", "〈〉", "《》", "「」", "『』", "【】")
_DIRECTIONS: Final = ("\u2066\u2067\u2068\u2069", "\u202a\u202b\u202d\u202e\u202c")
_PAIRS: Final = (*_BRACKETS, *_DIRECTIONS)
"""Opening marks, each kind with its closing mark: brackets, and stretches of text in a direction of their own."""

_WIDE: Final = re.compile("[\u3001-\u3003\u3008-\u3011\uff01-\uff60\uffe0-\uffe6]")  # punctuation and full-width forms
_EAST_ASIAN: Final = re.compile(f"[{UNSPACED}\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")  # letters that allow them
_WIDENING: Final = frozenset(["zh", "ja", "ko", "zho", "jpn", "kor"])  # languages whose texts may be "１００％" alone


def checked(
    processor: "TextProcessor",
    segment: Segment,
    required: Sequence[str],
    result: PostEdit,
    banned: Sequence[str] = (),
    language: str = "",
    *,
    corrects_mt: bool = True,
) -> PostEdit:
    """Return a correction with sound text that meets the constraints; see `revert_damage` and `enforce_constraints`.

    Brackets and full-width forms are not checked if a prefix or phrase is required, because the reverted edits could
    be those that satisfy the constraint, or if reverting edits would restore a banned phrase. `language` is the code
    of the target language; empty if it is not known. Unless the output `corrects_mt`, only the constraints apply: an
    edit that is reverted would restore a part of the text that the output is made from. An output that has a banned
    phrase all the same is "impossible".
    """
    words = splitter(processor.config.tokenizer, processor.config.tgt_lang)
    given = (segment.constraints.prefix, *required)
    strict = corrects_mt and not any(given)
    revert = partial(revert_damage, segment.src, segment.mt, result, processor.lacks)
    found = revert(given=given, strict=strict, language=language) if corrects_mt else result
    unwanted = (*segment.constraints.banned, *banned)

    def has_unwanted(one: PostEdit) -> bool:
        # Edits that are reverted may restore banned words, and search does not know those that a model can only copy.
        return bool(one.changed or one.reverted) and any(has_phrase(one.text, phrase) for phrase in unwanted)

    if strict and has_unwanted(found):
        found = revert(strict=False)
    if has_unwanted(found):
        return unchanged(segment.mt or "", "impossible")
    kept = tuple(one for one in found.alternatives if not has_unwanted(one))
    result = distinct(replace(found, alternatives=kept))
    return enforce_constraints(segment.mt or "", result, segment.constraints.prefix, required, words)


def distinct(result: PostEdit) -> PostEdit:
    """Return a correction and its alternatives without duplicate texts, which reverting edits can produce.

    Of equal texts, an output that the model wrote in exactly that form is kept, with its own score.
    """
    if not result.alternatives:
        return result
    written: dict[str, PostEdit] = {}
    for one in (result, *result.alternatives):
        if not one.reverted:
            written.setdefault(one.text, one)
    best = result
    if result.evidence is None and result.text in written:  # evidence must stay with the scores of its output
        kept = {name: getattr(result, name) for name in ("skipped", "reverted", "input_cut")}
        best = replace(written[result.text], **kept)
    others: dict[str, PostEdit] = {}
    for one in result.alternatives:
        if one.text != best.text and written.get(one.text, one) is one:
            others.setdefault(one.text, one)
    return replace(best, alternatives=tuple(others.values()))


def revert_damage(
    src: str,
    mt: str | None,
    result: PostEdit,
    lacks: Callable[[str], bool],
    *,
    given: Sequence[str] = (),
    strict: bool = True,
    language: str = "",
) -> PostEdit:
    """Return a correction without the edits that damage the text; mt, skipped as "damaged", if that does not suffice.

    An edit is reverted if it adds a replacement character (U+FFFD). Characters that the vocabulary lacks are spelt
    byte by byte, so an edit is also reverted if it writes one that neither src nor mt has, or removes one so that the
    output has none left, or fewer than src. Full-width forms and East Asian punctuation may be written only if mt has
    some, if mt or the output has letters of East Asian scripts, or if the target language uses such forms. Edits that
    leave brackets unpaired are reverted as well; see `_keep_pairs`. If the output is blank and mt is not, all edits
    are reverted. A translation without mt is "damaged" if it has a replacement character.

    Args:
        src: the source.
        mt: the machine translation; None for a translation without mt.
        result: what the model wrote.
        lacks: whether the vocabulary lacks a character.
        given: texts that the user requires in the output; edits may write their characters.
        strict: whether to check brackets and full-width forms.
        language: the code of the target language; empty if it is not known.
    """
    again = partial(revert_damage, src, mt, lacks=lacks, given=given, strict=strict, language=language)
    alternatives = tuple(map(again, result.alternatives))
    if mt is None:
        whole = Edit("insert", (0, 0), (0, len(result.text)))
        kept_whole = keeps_text_sound(src, "", result, whole, lambda character: False, "", True)
        return replace(result if kept_whole else unchanged("", "damaged"), alternatives=alternatives)
    known = "".join((mt, *given))
    may_widen = not strict or base_language(language) in _WIDENING or _may_widen(mt, result.text)
    kept = [
        not empties(mt, result.text) and keeps_text_sound(src, mt, result, edit, lacks, known, may_widen)
        for edit in result.edits
    ]
    if strict:
        kept = _keep_pairs(src, mt, result, kept)
    if all(kept):
        return replace(result, alternatives=alternatives) if alternatives != result.alternatives else result
    mended = keep_edits(mt, result, kept)
    if _adds_replacement(mt, mended.text) or empties(mt, mended.text):
        mended = replace(unchanged(mt, "damaged"), reverted=len(result.edits))
    return replace(mended, alternatives=alternatives)


def without_damaged(mt: str, result: PostEdit) -> PostEdit:
    """Return an output and its alternatives, each replaced by mt if it adds a replacement character or is blank."""
    alternatives = tuple(without_damaged(mt, one) for one in result.alternatives)
    is_damaged = _adds_replacement(mt, result.text) or empties(mt, result.text)
    kept = unchanged(mt, "damaged") if is_damaged else result
    return replace(kept, alternatives=alternatives)


def empties(mt: str, text: str) -> bool:
    """Return whether an output is blank where mt is not."""
    return not text.strip() and bool(mt.strip())


def keeps_text_sound(
    src: str, mt: str, result: PostEdit, edit: Edit, lacks: Callable[[str], bool], known: str, may_widen: bool
) -> bool:
    """Return whether an edit keeps the text sound; see `revert_damage`.

    The edit may write the characters of src and `known` (mt and required texts), and full-width forms if `may_widen`.
    """
    old, new = mt[slice(*edit.mt_span)], result.text[slice(*edit.pe_span)]
    if old.isascii() and new.isascii():
        return True
    text = result.text
    if not may_widen and _WIDE.search(new):
        return False
    removed = {one for one in old if old.count(one) > new.count(one) and text.count(one) < max(1, src.count(one))}
    invented = {one for one in new if one not in known and one not in src}
    return not any(map(lacks, removed | invented)) and not _adds_replacement(old, new)


def _may_widen(mt: str, text: str) -> bool:
    """Return whether an output has no full-width forms, or may have them: mt has some, or a text is East Asian."""
    return not mt or not _WIDE.search(text) or bool(_WIDE.search(mt)) or bool(_EAST_ASIAN.search(mt + text))


def _keep_pairs(src: str, mt: str, result: PostEdit, kept: Sequence[bool]) -> list[bool]:
    """Return which edits to keep so that no kind of bracket is more unbalanced in the output than in mt.

    The surplus of a kind is the number of its opening brackets minus that of closing ones. If its absolute value is
    greater in the output than in mt, and it is not that of src ("1) Open", ":)"), all edits that change it are
    reverted; a bracket may move, or go with its partner. Kinds count separately: "(" may become "（" only if ")"
    becomes "）".
    """
    kept = list(kept)
    for _ in _PAIRS:  # reverting edits for one kind may unbalance another; each kind is at fault at most once
        text = apply_edits(mt, result.text, list(compress(result.edits, kept)))
        worse = [pair for pair in _PAIRS if _is_worse(src, mt, text, pair)]
        if not worse:
            break
        for number, edit in enumerate(result.edits):
            old, new = mt[slice(*edit.mt_span)], result.text[slice(*edit.pe_span)]
            kept[number] &= all(_surplus(old, pair) == _surplus(new, pair) for pair in worse)
    return kept


def _is_worse(src: str, mt: str, text: str, pair: str) -> bool:
    """Return whether a kind of bracket is more unbalanced in an output than in mt, and not as in src."""
    surplus = _unpaired(text, pair)
    return abs(surplus) > abs(_unpaired(mt, pair)) and surplus != _unpaired(src, pair)


def _unpaired(text: str, pair: str) -> int:
    """Return the surplus of a text; 0 if one of « » stands on both sides of quotations, as in Finnish and Swedish."""
    surplus = _surplus(text, pair)
    is_one_mark = pair == "«»" and surplus % 2 == 0 and not all(mark in text for mark in pair)
    return 0 if is_one_mark else surplus


def _surplus(text: str, pair: str) -> int:
    return sum(text.count(mark) for mark in pair[:-1]) - text.count(pair[-1])


def _adds_replacement(mt: str, text: str) -> bool:
    return text.count(_REPLACEMENT) > mt.count(_REPLACEMENT)
