"""Counts of edits by the kind of their reasons, and by whether the post-editor changed mt there too."""

from collections.abc import Iterator, Sequence
from typing import Final

from postedit.core.edit_reasons import CorrectionReason, EditReason, ErrorReason, SourceReason, TrainingReason
from postedit.core.editor import Edit
from postedit.core.scripts import has_unspaced_run
from postedit.evaluate.table import Column, Table, TableRow, percentage
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.text.edits import changes, divided_edits, edits_between

_KINDS: Final[dict[str, type[EditReason]]] = {
    "corrections": CorrectionReason,
    "training": TrainingReason,
    "words of src": SourceReason,
    "errors that the model named": ErrorReason,
}


def edit_table(sentences: Sequence[ExplainedSentence]) -> Table:
    """Return the edits of all sentences by the kind of their reasons; an edit with several kinds counts for each.

    If there are post-edits, a column gives the share of edits in places where the post-editor changed mt too, in
    whatever way, among the edits for which this is known.
    """
    found = [(edit, needed) for one in sentences for edit, needed in zip(one.edits, _needed(one), strict=True)]
    groups = {"all": found}
    for name, kind in _KINDS.items():
        groups[name] = [pair for pair in found if any(isinstance(reason, kind) for reason in pair[0].reasons)]
    groups["no reason given"] = [pair for pair in found if not pair[0].reasons]
    is_judged = any(one.pe is not None for one in sentences)
    rows = []
    for name, group in groups.items():
        if group or name == "all":
            judged = [needed for _, needed in group if needed is not None]
            right = [percentage(sum(judged), len(judged))] if is_judged else []
            rows.append(TableRow((name,), (len(group), percentage(len(group), len(found)), *right)))
    columns = [Column("edits"), Column("% of all", 1), *([Column("mt wrong %", 1)] if is_judged else [])]
    changed = sum(bool(one.edits) for one in sentences)
    note = (
        f"{changed:,} of {len(sentences):,} sentences are edited. An edit with several reasons may be in several rows."
    )
    if is_judged:
        note += " Percentages of mt wrong: edits where a human changed mt too, in whatever way."
    return Table("edits by reason", ("reason",), tuple(columns), tuple(rows), note)


def _needed(sentence: ExplainedSentence) -> Iterator[bool | None]:
    """Yield, for each edit, whether the post-editor changed mt there; None if that is not known."""
    human = _human_changes(sentence)
    for edit in sentence.edits:
        yield None if human is None else any(_meet(edit, *place) for place in human)


def _human_changes(sentence: ExplainedSentence) -> list[tuple[int, int, bool]] | None:
    """Return where the post-editor changed mt, as `_meet` takes it; None if that is not known."""
    if sentence.pe is None or sentence.pe_words is None or "mt" not in sentence.spans:
        return None
    if has_unspaced_run(sentence.mt, sentence.pe):
        made = divided_edits(sentence.mt, sentence.pe, edits_between(sentence.mt, sentence.pe))
        return [(*edit.mt_span, edit.op == "insert") for edit in made]
    spans = [sentence.spans["mt"][place] for place in sentence.text_words("mt")]
    if None in spans:
        return None
    words = [(span.start, span.end) for span in spans if span is not None]
    edges = [(0, 0), *words, (len(sentence.mt),) * 2]
    human = []
    for start, end in (change.mt for change in changes(sentence.mt_words(), sentence.pe_words)):
        if start == end:
            human.append((edges[start][1], edges[end + 1][0], True))
        else:
            human.append((words[start][0], words[end - 1][1], False))
    return human


def _meet(edit: Edit, start: int, end: int, is_gap: bool) -> bool:
    """Return whether an edit and a change of characters `start` to `end` of mt are at the same place.

    To be neighbours is not enough: two insertions must be in the same gap between words, and other changes must
    overlap. `is_gap` says that the change inserts words into the gap from `start` to `end`.
    """
    first, last = edit.mt_span
    if first == last:
        return start <= first <= end if is_gap else start < first < end
    return first < start < last if start == end else first < end and start < last
