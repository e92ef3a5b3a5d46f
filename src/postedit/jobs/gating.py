"""Make a gate: judge the corrections of a dev set, learn a rule from them, and test it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console

from postedit.core.editor import Detail, Edit, Editor, PostEdit, edited, segments_of
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile
from postedit.evaluate.tokenisation import Tokenize
from postedit.gate.calibrate import Calibrated, GateOptions, Outcomes, calibrate, expected_calibration_error
from postedit.gate.edit_features import CorrectionFeatures, Features, judge
from postedit.gate.gate import Gate
from postedit.progress import fill

_CHUNK: Final = 100
"""Lines judged together; an interruption loses at most this many."""


def make_gate(
    editor: Editor,
    search: SearchConfig,
    dev: DevTexts,
    judged: Sequence[CorrectionFeatures],
    options: GateOptions,
    about: dict[str, Any],
    tokenize: Tokenize = "none",
) -> tuple[Gate, Calibrated]:
    """Return a gate for `editor` with these search options, and the result of its test.

    The gate is learnt from the `judged` corrections of the dev set; `about` holds further entries for its record;
    `tokenize`: what counts as a word, as when they were judged.
    """
    found = calibrate(Outcomes(dev.mt, dev.pe, judged, tokenize), options)
    record = {
        **about,
        **asdict(options),
        "lines": len(dev.mt),
        "tested on": found.lines,
        "e-value": found.evidence,
        "edits saved a line": found.gain,
        "edits saved a line without gate": found.ungated,
        "expected calibration error": expected_calibration_error(found.forecasts),
    }
    return Gate(found.rule, editor.identity(search), record), found


def judge_lines(
    editor: Editor,
    search: SearchConfig,
    dev: DevTexts,
    file: PartialFile,
    console: Console,
    *,
    tokenize: Tokenize = "none",
) -> list[CorrectionFeatures]:
    """Return the corrections of a dev set with their features; those that `file` does not have are written to it.

    `tokenize` is what counts as a word in the features; the job of the file must tell it.

    Raises:
        OutputError: if the file cannot be written.
        DataError: if its lines are damaged.
        KeyboardInterrupt: after Ctrl-C; finished chunks are kept.
    """
    evidence: Detail | None = "attention" if editor.abilities.evidence else None

    def judged_lines() -> Iterator[list[str]]:
        for start in range(file.done, len(dev.src), _CHUNK):
            segments = segments_of(dev.src[start : start + _CHUNK], dev.mt[start : start + _CHUNK])
            results = edited(editor, segments, search, evidence)
            judged = judge(editor, segments, results, tokenize)
            yield [json.dumps(_record(one), ensure_ascii=False) for one in judged]

    fill(file, judged_lines(), len(dev.src), console)
    return file.records(_judged)


def _record(judged: CorrectionFeatures) -> dict[str, Any]:
    result = judged.result
    return {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "token_scores": result.token_scores,
        "edits": [{"op": edit.op, "mt_span": edit.mt_span, "pe_span": edit.pe_span} for edit in result.edits],
        "token_spans": result.token_spans,
        "confidences": result.confidences,
        "whole": None if judged.whole is None else judged.whole.values(),
        "parts": [part.values() for part in judged.parts],
    }


def _judged(record: dict[str, Any]) -> CorrectionFeatures:
    result = PostEdit(
        record["text"],
        record["changed"],
        record["score"],
        tuple(record["token_scores"]),
        tuple(Edit(edit["op"], _pair(edit["mt_span"]), _pair(edit["pe_span"])) for edit in record["edits"]),
        token_spans=tuple(map(_pair, record["token_spans"])),
        confidences=tuple(record["confidences"]),
    )
    whole = None if record["whole"] is None else Features(*record["whole"])
    return CorrectionFeatures(result, whole, tuple(Features(*values) for values in record["parts"]))


def _pair(values: Sequence[int]) -> tuple[int, int]:
    start, end = values
    return start, end
