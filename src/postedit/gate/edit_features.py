"""What a gate knows of a change before it decides: a few numbers, the same for one edit and for a whole correction."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final, Self

import numpy as np

from postedit.core.editor import Editor, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.text.edits import apply_edits, changes

_LEAST: Final = -50.0
"""The logarithm of a probability counts for at least so much: there may be 0 among them."""


@dataclass(frozen=True, slots=True)
class Features:
    """A change of mt, in numbers.

    Args:
        gain: by how many nats the model prefers the text with this change alone to mt, its growth damped (asinh).
        sure: logarithm of the probability of the pieces that stand for the change.
        least: of the most doubtful one among them.
        whole: mean over all pieces of the model's output.
        share: words changed, as a share of those of mt (at most 1).
        words: words changed, logarithm of one more.
        growth: characters it adds, as a share of all it touches; from -1, a deletion, to 1, an insertion.
        source: the largest attention to one place of src, mean over the pieces; 0 if src is not attended to.
        length: words of mt, logarithm of one more.
    """

    gain: float
    sure: float
    least: float
    whole: float
    share: float
    words: float
    growth: float
    source: float
    length: float

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return what they are called, in order."""
        return tuple(field.name for field in fields(cls))

    def values(self) -> tuple[float, ...]:
        """Return them in that order."""
        return _VALUES(self)

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return them from values in that order."""
        return cls(*values)


_VALUES: Final[Callable[[Features], tuple[float, ...]]] = attrgetter(*Features.names())
"""Many times faster than `dataclasses.astuple`."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A correction, and what is known of it and of each of its edits; of one that changes nothing, nothing is.

    Args:
        result: as the model wrote it.
        whole: all of the correction.
        parts: each of its edits.
    """

    result: PostEdit
    whole: Features | None = None
    parts: tuple[Features, ...] = ()


def judge(editor: Editor, segments: Sequence[Segment], results: Sequence[PostEdit]) -> list[Judged]:
    """Return the corrections of an editor with the features of each.

    Where the editor has forced scores, it is asked for those of mt, of the correction, and of mt with each edit alone.

    Args:
        editor: made the corrections.
        segments: with mt.
        results: the corrections, with evidence if the editor has any.
    """
    mt = [segment.mt or "" for segment in segments]
    asked = [_texts(text, result) if result.changed else [] for text, result in zip(mt, results, strict=True)]
    rows = [row for row, texts in enumerate(asked) for _ in texts]
    if editor.abilities.forced_scores:
        scored = editor.score_segments([segments[row] for row in rows], [text for texts in asked for text in texts])
        # A text that is too long has no score: then the gain is not known.
        scores = iter([one.score if one.skipped is None else math.nan for one in scored])
    else:
        scores = iter([math.nan] * len(rows))
    return [
        _judged(text, result, [next(scores) for _ in texts])
        for text, result, texts in zip(mt, results, asked, strict=True)
    ]


def text_with(mt: str, result: PostEdit, place: int) -> str:
    """Return `mt` with one edit of its correction, and no other."""
    return apply_edits(mt, result.text, [result.edits[place]])


def words_changed(mt: str, text: str) -> int:
    """Return the word edits between two texts, neighbouring ones as many as the longer side of them.

    Words are those of TER, which are divided at spaces of every kind: so TER edits lost are no more than these.
    """
    return sum(max(one.mt[1] - one.mt[0], one.pe[1] - one.pe[0]) for one in changes(mt.split(), text.split()))


def _texts(mt: str, result: PostEdit) -> list[str]:
    """Return the texts whose scores are needed: mt, the correction, and mt with each edit, if there are several."""
    alone = [text_with(mt, result, place) for place in range(len(result.edits))]
    return [mt, result.text, *(alone if len(alone) > 1 else [])]


def _judged(mt: str, result: PostEdit, scores: Sequence[float]) -> Judged:
    if not scores:
        return Judged(result)
    unchanged, corrected, *alone = scores
    everything = (0, len(result.token_scores))
    growth = _growth(result, range(len(result.edits)))
    positions = [place for start, end in result.token_spans for place in range(start, end)]
    whole = _features(mt, result, result.text, corrected - unchanged, positions or list(range(*everything)), growth)
    parts = tuple(
        _features(
            mt,
            result,
            text_with(mt, result, place),
            (alone[place] if alone else corrected) - unchanged,
            list(range(*result.token_spans[place])) if result.token_spans else [],
            _growth(result, [place]),
        )
        for place in range(len(result.edits))
    )
    return Judged(result, whole, parts)


def _features(
    mt: str, result: PostEdit, text: str, difference: float, positions: Sequence[int], growth: float
) -> Features:
    scores = [max(result.token_scores[place], _LEAST) for place in positions]
    count, changed = len(mt.split()), words_changed(mt, text)
    return Features(
        gain=_damped(difference),
        sure=sum(scores),
        least=min(scores, default=0.0),
        whole=max(result.score, _LEAST * len(result.token_scores)) / max(1, len(result.token_scores)),
        share=min(1.0, changed / max(1, count)),
        words=math.log1p(changed),
        growth=growth,
        source=_source(result.evidence, positions),
        length=math.log1p(count),
    )


def _damped(difference: float) -> float:
    if math.isnan(difference):  # between two impossible texts, or where the model was not asked
        return 0.0
    return math.asinh(difference if math.isfinite(difference) else math.copysign(-_LEAST, difference))


def _growth(result: PostEdit, places: Sequence[int]) -> float:
    edits = [result.edits[place] for place in places]
    old = sum(edit.mt_span[1] - edit.mt_span[0] for edit in edits)
    new = sum(edit.pe_span[1] - edit.pe_span[0] for edit in edits)
    return (new - old) / max(1, new + old)


def _source(evidence: Evidence | None, positions: Sequence[int]) -> float:
    peaks = list(_peaks(evidence, positions)) if evidence is not None and positions else []
    return float(np.mean(peaks)) if peaks else 0.0


def _peaks(evidence: Evidence, positions: Sequence[int]) -> Iterator[float]:
    for key in evidence.attention:
        weights = evidence.by_stream(key).get("src") if "src" in key.streams else None
        if weights is not None and weights.shape[1]:
            yield float(weights[list(positions)].max(1).mean())
