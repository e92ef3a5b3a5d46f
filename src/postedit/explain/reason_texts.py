"""Reasons for edits as sentences."""

import re
from typing import Final
from unicodedata import category

from rapidfuzz.distance import Postfix, Prefix

from postedit.core.edit_reasons import (
    CorrectionReason,
    EditReason,
    ErrorReason,
    NamedCorrection,
    SourceReason,
    TrainingReason,
)

_AROUND: Final = 20
"""Characters that are shown on each side of the difference between two texts, rounded up to whole words."""

_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # Hebrew, Arabic and others

_NUMERALS: Final = {1: "once", 2: "twice"}


def reason_text(reason: EditReason) -> str:
    """Return a reason as a sentence, without a full stop."""
    match reason:
        case CorrectionReason():
            return ", ".join([_corrections(reason), *_other_counts(reason)])
        case TrainingReason():
            total = reason.made + reason.kept + reason.otherwise
            examples = [f"e.g. {_change(one.before, one.after)}" for one in reason.examples[:1]]
            return ", ".join([f"in training: changed {reason.made:,} of {total:,} times", *examples])
        case ErrorReason():
            return f"the model names an error, {reason.severity}, {reason.category}: {_quoted(reason.text)}"
        case SourceReason(words=()):
            return "not in the source: the edit loses next to nothing without any word of it"
        case SourceReason():
            nats = ["" if word.nats is None else f" ({word.nats:.1f} nats)" for word in reason.words]
            words = [f"{_quoted(word.text)}{lost}" for word, lost in zip(reason.words, nats, strict=True)]
            return f"in the source: {', '.join(words)}"


def _corrections(reason: CorrectionReason) -> str:
    last = reason.corrections[0]
    named = f"{'last ' if reason.count > 1 else ''}{_named(last)}"
    if reason.same_segment:
        return f"the same segment was corrected in this way {_times_in_words(reason.count)} ({named})"
    quoted = f": {_change(*excerpts(last.mt, last.pe))}" if last.mt else ""
    return f"changed {_times_in_words(reason.count)} in corrections ({named}{quoted})"


def _named(one: NamedCorrection) -> str:
    by = [f"by {one.author}"] if one.author else []
    made = [one.made.date().isoformat()] if one.made else []
    return ", ".join([*by, *made, f"correction {one.number}"])


def _other_counts(reason: CorrectionReason) -> list[str]:
    counts = {"left": reason.left, "changed otherwise": reason.otherwise}
    return [f"{name} {_times_in_words(count)}" for name, count in counts.items() if count]


def _times_in_words(count: int) -> str:
    return _NUMERALS.get(count, f"{count:,} times")


def _change(before: str, after: str) -> str:
    return f"{_quoted(before)} → {_quoted(after)}"


def _quoted(text: str) -> str:
    """Return a text in quotation marks; one from right to left is isolated, so that arrows point from old to new."""
    return f'\u2068"{text}"\u2069' if _RIGHT_TO_LEFT.search(text) else f'"{text}"'


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Return the parts of two texts that differ, with a few words around them; an ellipsis stands for the rest."""
    front = Prefix.similarity(before, after)
    back = Postfix.similarity(before[front:], after[front:])
    cut_front = _letter_boundary(before, _cut(before[:front]), -1)
    cut_back = len(before) - _letter_boundary(before, len(before) - _cut(before[::-1][:back]), 1)
    opening, closing = "… " if cut_front else "", " …" if cut_back else ""
    old, new = (f"{opening}{text[cut_front : len(text) - cut_back]}{closing}" for text in (before, after))
    return old, new


def _cut(same: str) -> int:
    """Return how many characters to leave out of the text before a difference: whole words, unless one is too long."""
    most = len(same) - _AROUND
    return max(0, same.rfind(" ", max(0, most - _AROUND), max(0, most)) + 1 or most)


def _letter_boundary(text: str, place: int, step: int) -> int:
    """Return the place, moved in steps of 1 or -1, at which no letter is parted from its combining marks."""
    while 0 < place < len(text) and category(text[place])[0] == "M":
        place += step
    return place
