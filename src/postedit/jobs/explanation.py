"""Explain sentences with a model, window by window: the outputs it writes, or its evidence for given outputs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from postedit.core.edit_reasons import EditReason
from postedit.core.editor import Detail, Editor, PostEdit, Segment, Side, edited, segments_of
from postedit.core.evidence import Evidence
from postedit.core.segment_events import events_of
from postedit.data.line_sinks import LineSink
from postedit.explain.explained_sentence import ExplainedSentence, explained_sentence
from postedit.explain.reasons import source_reason
from postedit.explain.sentence_records import sentence_from_record, sentence_to_record
from postedit.jobs.editing import Tally

WINDOW = 10
"""Sentences edited and written together. Losses without each word of src take a hundred forced scores for them."""


def explain(
    editor: Editor,
    src: Sequence[str],
    mt: Sequence[str] | None,
    pe: Sequence[str] | None = None,
    report: Callable[[int], None] = lambda done: None,
    warn: Callable[[str], None] = lambda message: None,
    *,
    detail: Detail = "reasons",
    kept: LineSink | None = None,
) -> list[ExplainedSentence | None]:
    """Edit sentences and return each with its evidence; None for a sentence that the model did not edit.

    Args:
        editor: the model.
        src: the sources.
        mt: their translations; None if the model needs none.
        pe: their post-edits by people, if known.
        report: called with the number of sentences done.
        warn: called at the end with a sentence about all lines that the model did not edit, by their numbers from 1.
        detail: the evidence to compute; with "losses", edits cite the words of src without which they lose most.
        kept: receives each sentence as a JSON record; sentences that it already holds are not explained again. The
            result is read back from the records, whose numbers are rounded.

    Raises:
        DataError: as `Editor.edit`, or if the lines of `kept` are damaged.
        OutputError: if `kept` cannot be written.
    """
    found = [] if kept is None else kept.records(_from_record)
    tally = Tally()
    for start in range(len(found), len(src), WINDOW):
        rows = slice(start, start + WINDOW)
        translations, human = None if mt is None else mt[rows], None if pe is None else pe[rows]
        # `Editor.edit` would warn of lines by their numbers within the window.
        edits = edited(editor, segments_of(src[rows], translations), editor.search, detail)
        edits = _with_evidence_of_texts(editor, src[rows], translations, edits, detail)
        for line, edit in enumerate(edits, start + 1):
            tally.add_events(line, events_of(edit))
        new = _explained(editor, src[rows], translations, edits, human)
        if kept is not None:
            records = (None if one is None else sentence_to_record(one) for one in new)
            lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records]
            kept.write(lines)
            new = map(_from_record, map(json.loads, lines))
        found += new
        report(len(found))
    for warning in tally.warnings():
        warn(warning)
    return found


def reasons_of_edits(
    editor: Editor, segments: Sequence[Segment], results: Sequence[PostEdit], detail: Detail = "losses"
) -> list[list[tuple[EditReason, ...]]]:
    """Return the reasons for each edit of each correction, for any editor that made them with evidence.

    Reasons that the editor gave with an edit are returned as they are. Otherwise the reasons are the words of src that
    the edit cites (`explain.reasons`), with the nats that it loses without each of them if the evidence has losses.

    Args:
        editor: the editor that made the corrections.
        segments: the segments that it corrected.
        results: the corrections, made with the evidence that `detail` names.
        detail: the level of evidence; "losses" is the most detailed.

    Raises:
        DataError: if the editor cannot score the text that is left of a correction after edits were reverted.
    """
    src = [one.src for one in segments]
    given = [(result.draft or "") if one.mt is None else one.mt for one, result in zip(segments, results, strict=True)]
    scored = _with_evidence_of_texts(editor, src, given, results, detail)
    found: list[list[tuple[EditReason, ...]]] = []
    for source, before, result in zip(src, given, scored, strict=True):
        reasons = [edit.reasons for edit in result.edits]
        if result.evidence is not None:
            texts: dict[Side, str] = {"src": source, "mt": before}
            one = explained_sentence(editor, texts, result.text, result.edits, result.confidences, result.evidence)
            reasons = [edit.reasons or source_reason(one, edit) for edit in result.edits]
        found.append(reasons)
    return found


def explain_mt(
    editor: Editor, src: Sequence[str], mt: Sequence[str], report: Callable[[int], None]
) -> list[ExplainedSentence | None]:
    """Return the evidence of the model when it is forced to write each translation unchanged; None where that fails."""
    found: list[ExplainedSentence | None] = []
    for start in range(0, len(src), WINDOW):
        rows = slice(start, start + WINDOW)
        edits = editor.score(src[rows], mt[rows], mt[rows], evidence="attention")
        found += _explained(editor, src[rows], mt[rows], edits, None)
        report(len(found))
    return found


def _from_record(record: Mapping[str, Any] | None) -> ExplainedSentence | None:
    return None if record is None else sentence_from_record(record)


def _with_evidence_of_texts(
    editor: Editor, src: Sequence[str], mt: Sequence[str] | None, edits: Sequence[PostEdit], detail: Detail
) -> list[PostEdit]:
    """Return the corrections; those of which edits were reverted get evidence for the text that is left."""
    rows = [row for row, edit in enumerate(edits) if edit.reverted and edit.evidence is not None]
    given = [(edit.draft or "") if mt is None else mt[row] for row, edit in enumerate(edits)]
    result = list(edits)
    if rows and editor.abilities.forced_scores:
        sources, texts = [src[row] for row in rows], [edits[row].text for row in rows]
        scored = editor.score(sources, [given[row] for row in rows], texts, evidence=detail)
        for row, one in zip(rows, scored, strict=True):
            result[row] = replace(edits[row], evidence=one.evidence)
    return result


def _explained(
    editor: Editor, src: Sequence[str], mt: Sequence[str] | None, edits: Sequence[PostEdit], pe: Sequence[str] | None
) -> Iterator[ExplainedSentence | None]:
    able = editor.abilities
    for row, edit in enumerate(edits):
        found = edit.evidence
        if found is None and edit.skipped is None and (able.reasons or not able.evidence):
            found = _without_evidence(editor, src[row], None if mt is None else mt[row], edit)
        if found is None:
            yield None
            continue
        texts: dict[Side, str] = {"src": src[row]}
        texts["mt"] = (edit.draft or "") if mt is None else mt[row]
        human = None if pe is None else pe[row]
        yield explained_sentence(editor, texts, edit.text, edit.edits, edit.confidences, found, human)


def _without_evidence(editor: Editor, src: str, mt: str | None, edit: PostEdit) -> Evidence:
    """Return evidence that holds only the words of a sentence, for an editor without attention and probabilities."""
    texts: dict[Side, str] = {"src": src, **({} if mt is None else {"mt": mt}), "pe": edit.text}
    words = {str(side): tuple(f"▁{word}" for word in editor.words(side, text)) for side, text in texts.items()}
    output = words.pop("pe")
    return Evidence(words, output, (), {})
