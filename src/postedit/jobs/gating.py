"""Making a gate for a model: its corrections of a dev set are judged, and a rule is learnt from them and tested."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from postedit.core.editor import Detail, Edit, Editor, PostEdit, segments_of
from postedit.core.files import atomic_write
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile, check_job
from postedit.gate.calibrate import Calibrated, GateOptions, calibrate, expected_calibration_error
from postedit.gate.edit_features import Features, Judged, judge
from postedit.gate.gate import Gate
from postedit.gate.outcomes import Outcomes
from postedit.progress import fill

_CHUNK: Final = 100
"""Lines that are judged together; what an interruption costs at most."""


def make_gate(
    editor: Editor,
    search: SearchConfig,
    dev: DevTexts,
    judged: Sequence[Judged],
    options: GateOptions,
    about: dict[str, Any],
) -> tuple[Gate, Calibrated]:
    """Return a gate, and what its test says of it.

    Args:
        editor: the model.
        search: how it searches.
        dev: texts.
        judged: its corrections of them.
        options: how the gate is made.
        about: what else to put into its record of how it was made.
    """
    found = calibrate(Outcomes(dev.mt, dev.pe, judged), options)
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
    path: Path,
    job: dict[str, Any],
    console: Console,
    *,
    resume: bool,
) -> list[Judged]:
    """Return the corrections of a dev set, and what is known of them, which are then in the file `path`.

    Raises:
        OutputError: if it cannot be written, or holds those of another job, or of an unfinished one without `resume`.
        KeyboardInterrupt: after Ctrl-C; what was done is kept.
    """
    note = note_of(path)
    if path.exists():
        check_job(note, job, path)
        return _read(path)
    file = PartialFile(path, job, resume=resume)
    chunks = (
        _judged_lines(editor, search, dev.src[start : start + _CHUNK], dev.mt[start : start + _CHUNK])
        for start in range(file.done, len(dev.src), _CHUNK)
    )
    lines = ([json.dumps(_record(one), ensure_ascii=False) for one in chunk] for chunk in chunks)
    fill(file, lines, len(dev.src), console)
    with atomic_write(note) as written:
        json.dump(job, written, indent=2)
    file.finish()
    return _read(path)


def _judged_lines(editor: Editor, search: SearchConfig, src: Sequence[str], mt: Sequence[str]) -> list[Judged]:
    segments = segments_of(src, mt)
    evidence: Detail | None = "attention" if editor.abilities.evidence else None
    return judge(editor, segments, editor.edit_segments(segments, search, evidence=evidence))


def note_of(path: Path) -> Path:
    """Return the file beside complete corrections that says what they are of."""
    return path.with_name(f"{path.name}.json")


def _read(path: Path) -> list[Judged]:
    with path.open(encoding="utf-8") as lines:
        return [_judged(json.loads(line)) for line in lines]


def _record(judged: Judged) -> dict[str, Any]:
    result = judged.result
    return {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "token_scores": result.token_scores,
        "edits": [asdict(edit) for edit in result.edits],
        "token_spans": result.token_spans,
        "confidences": result.confidences,
        "whole": None if judged.whole is None else judged.whole.values(),
        "parts": [part.values() for part in judged.parts],
    }


def _judged(record: dict[str, Any]) -> Judged:
    result = PostEdit(
        record["text"],
        record["changed"],
        record["score"],
        tuple(record["token_scores"]),
        tuple(Edit(edit["op"], _pair(edit["mt_span"]), _pair(edit["pe_span"])) for edit in record["edits"]),
        token_spans=tuple(map(_pair, record["token_spans"])),
        confidences=tuple(record["confidences"]),
    )
    whole = None if record["whole"] is None else Features.of(record["whole"])
    return Judged(result, whole, tuple(map(Features.of, record["parts"])))


def _pair(values: Sequence[int]) -> tuple[int, int]:
    start, end = values
    return start, end
