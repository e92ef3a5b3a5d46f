"""Features of a change of mt, on which a gate decides: the same for one edit and for a whole correction."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final

import numpy as np

from postedit.core.editor import Edit, Editor, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.evaluate.tokenisation import Tokenize, characters_of
from postedit.text.edits import apply_edits, changes, check_edits

_LEAST: Final = -50.0  # lower bound of the logarithm of a probability, which may be 0


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one change of mt; logarithms are natural."""

    gain: float  # log-probability of mt with this change alone, minus that of mt, damped (asinh)
    sure: float  # log-probability of the tokens of the change
    least: float  # log-probability of the least probable of these tokens
    whole: float  # mean log-probability of all tokens of the output
    share: float  # words changed, as a share of those of mt (at most 1)
    words: float  # logarithm of 1 + words changed
    growth: float  # characters added, as a share of all that change; from -1, a deletion, to 1, an insertion
    source: float  # largest attention to one position of src, mean over the tokens; 0 without attention to src
    length: float  # logarithm of 1 + words of mt

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the features, in order."""
        return tuple(field.name for field in fields(cls))

    def values(self) -> tuple[float, ...]:
        """Return the values, in the order of `names`."""
        return _VALUES(self)


_VALUES: Final[Callable[[Features], tuple[float, ...]]] = attrgetter(*Features.names())
"""Many times faster than `dataclasses.astuple`."""


@dataclass(frozen=True, slots=True)
class CorrectionFeatures:
    """A correction and its features; a correction that changes nothing has no features."""

    result: PostEdit  # the output of the editor
    whole: Features | None = None  # features of the whole correction
    parts: tuple[Features, ...] = ()  # features of each edit


def judge(
    editor: Editor, segments: Sequence[Segment], results: Sequence[PostEdit], tokenize: Tokenize = "none"
) -> list[CorrectionFeatures]:
    """Return the corrections of an editor with their features.

    An editor that can score given texts scores mt, the correction, and mt with each edit alone. `results` must have
    evidence if the editor has any. `tokenize`: what counts as a word.

    Raises:
        DataError: if the edits of a correction do not turn mt into it, so that they could not be reverted.
    """
    mt = [segment.mt or "" for segment in segments]
    asked: list[list[str]] = []
    for text, result in zip(mt, results, strict=True):
        check_edits(text, result.text, result.edits)
        alone = [apply_edits(text, result.text, [edit]) for edit in result.edits]
        asked.append([text, result.text, *(alone if len(alone) > 1 else [])] if result.edits else [])
    rows = [row for row, texts in enumerate(asked) for _ in texts]
    if editor.abilities.forced_scores:
        scored = editor.score_segments([segments[row] for row in rows], [text for texts in asked for text in texts])
        # A text that is too long has no score: its gain is not known.
        scores = iter([one.score if one.skipped is None else math.nan for one in scored])
    else:
        scores = iter([math.nan] * len(rows))
    return [
        _judged(text, result, [next(scores) for _ in texts], tokenize)
        for text, result, texts in zip(mt, results, asked, strict=True)
    ]


def words_changed(mt: str, text: str, tokenize: Tokenize = "none") -> int:
    """Return the number of changed words between two texts; a change counts the words of its longer side.

    Words are those of TER. A change costs at most this number of TER edits, except in texts where the shifts that TER
    tries first become worse by it.
    """
    return _words_changed(_words(mt, tokenize), _words(text, tokenize))


def _words_changed(mt: Sequence[str], text: Sequence[str]) -> int:
    return sum(max(one.mt[1] - one.mt[0], one.pe[1] - one.pe[0]) for one in changes(mt, text))


def _words(text: str, tokenize: Tokenize) -> list[str]:
    if tokenize != "13a":
        return characters_of(text) if tokenize == "characters" else text.split()
    from postedit.evaluate.ter import words_of  # takes a second to load

    return words_of([text], tokenize)[0]


def _judged(mt: str, result: PostEdit, scores: Sequence[float], tokenize: Tokenize) -> CorrectionFeatures:
    if not scores:
        return CorrectionFeatures(result)
    unchanged, corrected, *alone = scores
    spans = result.token_spans or ((0, 0),) * len(result.edits)
    positions = sorted({index for start, end in spans for index in range(start, end)})  # a token may spell two edits
    positions = positions or list(range(len(result.token_scores)))
    mt_words = _words(mt, tokenize)

    def features(text: str, difference: float, positions: Sequence[int], edits: Sequence[Edit]) -> Features:
        return _features(mt_words, result, _words(text, tokenize), difference, positions, edits)

    whole = features(result.text, corrected - unchanged, positions, result.edits)
    parts = []
    for number, (edit, (start, end)) in enumerate(zip(result.edits, spans, strict=True)):
        text, gain = apply_edits(mt, result.text, [edit]), (alone[number] if alone else corrected) - unchanged
        parts.append(features(text, gain, range(start, end), [edit]))
    return CorrectionFeatures(result, whole, tuple(parts))


def _features(
    mt: Sequence[str],
    result: PostEdit,
    text: Sequence[str],
    difference: float,
    positions: Sequence[int],
    edits: Sequence[Edit],
) -> Features:
    scores = [max(result.token_scores[index], _LEAST) for index in positions]
    count, changed = len(mt), _words_changed(mt, text)
    old = sum(edit.mt_span[1] - edit.mt_span[0] for edit in edits)
    new = sum(edit.pe_span[1] - edit.pe_span[0] for edit in edits)
    return Features(
        gain=_damped(difference),
        sure=sum(scores),
        least=min(scores, default=0.0),
        whole=max(result.score, _LEAST * len(result.token_scores)) / max(1, len(result.token_scores)),
        share=min(1.0, changed / max(1, count)),
        words=math.log1p(changed),
        growth=(new - old) / max(1, new + old),
        source=_source(result.evidence, positions),
        length=math.log1p(count),
    )


def _damped(difference: float) -> float:
    if math.isnan(difference):  # between two texts of probability 0, or without scores
        return 0.0
    return math.asinh(difference if math.isfinite(difference) else math.copysign(-_LEAST, difference))


def _source(evidence: Evidence | None, positions: Sequence[int]) -> float:
    if evidence is None or not positions:
        return 0.0
    peaks = []
    for key in evidence.attention:
        weights = evidence.by_stream(key).get("src") if "src" in key.streams else None
        if weights is not None and weights.shape[1]:
            peaks.append(float(weights[list(positions)].max(1).mean()))
    return float(np.mean(peaks)) if peaks else 0.0
