"""Compose the edits of two successive steps, such as those of two editors in a chain, into edits of the first text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from postedit.core.editor import Edit, PostEdit
from postedit.text.edits import edits_between


class SureEdit(NamedTuple):
    """An edit with its confidence."""

    edit: Edit
    confidence: float


def sure_edits(result: PostEdit) -> list[SureEdit]:
    """Return the edits of a correction with their confidences, which are 1 if it has none."""
    return [*map(SureEdit, result.edits, result.confidences or repeat(1.0))]


def composed_edits(mt: str, text: str, first: Sequence[SureEdit], second: Sequence[SureEdit]) -> list[SureEdit]:
    """Return the edits that turn `mt` into `text`, given those of two steps with an intermediate text.

    An edit of one step that no edit of the other step overlaps or touches in the intermediate text stays as it is. All
    others are replaced, group by group, by edits of the words that still differ in the end, if any; these have the
    lowest confidence in the group, and all its reasons.

    Args:
        mt: the text before both steps.
        text: the text after both steps.
        first: the edits from `mt` to the intermediate text, in order.
        second: the edits from the intermediate text to `text`, in order.
    """
    if mt == text:
        return []
    result: list[SureEdit] = []
    to_mt = to_text = 0  # offsets from the intermediate text, for positions before a group of edits
    for group in _groups(first, second):
        start, end = group.span
        old, new = start + to_mt, start + to_text
        to_mt -= sum(map(_growth, group.first))
        to_text += sum(map(_growth, group.second))
        result += _joined((mt, text), ((old, end + to_mt), (new, end + to_text)), [*group.first, *group.second])
    return result


@dataclass(slots=True)
class _Group:
    """Edits of both steps that overlap or touch in the intermediate text, where they cover `span`."""

    span: tuple[int, int]
    first: list[SureEdit]
    second: list[SureEdit]


def _groups(first: Sequence[SureEdit], second: Sequence[SureEdit]) -> list[_Group]:
    """Return the edits of both steps in groups, in the order of the intermediate text."""
    alone = [_Group(one.edit.pe_span, [one], []) for one in first]
    alone += [_Group(one.edit.mt_span, [], [one]) for one in second]
    groups: list[_Group] = []
    for one in sorted(alone, key=lambda one: one.span):
        last = groups[-1] if groups else None
        if last is None or one.span[0] > last.span[1]:
            groups.append(one)
            continue
        last.span = last.span[0], max(last.span[1], one.span[1])
        last.first += one.first
        last.second += one.second
    return groups


def _growth(one: SureEdit) -> int:
    """Return the number of characters by which an edit lengthens a text."""
    (start, end), (new_start, new_end) = one.edit.mt_span, one.edit.pe_span
    return new_end - new_start - (end - start)


def _joined(
    texts: tuple[str, str], spans: tuple[tuple[int, int], tuple[int, int]], edits: Sequence[SureEdit]
) -> list[SureEdit]:
    """Return the edits of a group as edits from mt to the final text; `spans` are what the group covers in these."""
    if len(edits) == 1:
        ((edit, confidence),) = edits
        return [SureEdit(replace(edit, mt_span=spans[0], pe_span=spans[1]), confidence)]
    (mt_start, _), (start, _) = spans
    least = min(one.confidence for one in edits)
    reasons = tuple(dict.fromkeys(reason for one in edits for reason in one.edit.reasons))
    old, new = (text[slice(*span)] for text, span in zip(texts, spans, strict=True))
    return [
        SureEdit(Edit(one.op, _moved(one.mt_span, mt_start), _moved(one.pe_span, start), reasons), least)
        for one in edits_between(old, new)
    ]


def _moved(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
