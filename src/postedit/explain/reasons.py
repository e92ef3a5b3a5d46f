"""Each edit with its reason: how sure the model was, and the words of src and mt that it rests on.

Words of mt are cited by attention. Words of src are cited by what the edit's probability loses without each of them,
where that was asked for (evidence with `losses`), and else by attention too, which need not be what moved the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.editor import Edit
from postedit.explain.explained_sentence import OUTPUT, Reading, Span

COVERED: Final = 0.5
"""The share of the weight of a text's words that evidence holds."""

LEAST: Final = 0.05
"""Nats that an edit must lose without words of src, all together, for any of them to be its reason."""

MOST: Final = 50.0
"""Nats that one word of src counts for at most: without it the edit may be impossible."""


@dataclass(frozen=True, slots=True)
class Cited:
    """Words `first` to `last` (exclusive) of an input, where they stand, and their share of the weight."""

    first: int
    last: int
    span: Span
    weight: float


@dataclass(frozen=True, slots=True)
class Reason:
    """An edit and what it rests on.

    Args:
        line: the number of the sentence, from 1.
        edit: what was done.
        old: the characters of mt that went.
        new: those of the output that came.
        confidence: as everywhere; see `correction.confidence`.
        src: what it rests on in the source; None if nothing there matters, or that is not known.
        mt: likewise in mt.
    """

    line: int
    edit: Edit
    old: str
    new: str
    confidence: float
    src: Cited | None
    mt: Cited | None

    def to_dict(self, sentence: Reading) -> dict[str, Any]:
        """Return plain values for JSON; spans are characters, end exclusive."""
        texts = {"src": sentence.src, "mt": sentence.mt}
        cited = {}
        for side, found in (("src", self.src), ("mt", self.mt)):
            cited[side] = (
                None
                if found is None
                else {
                    "span": list(asdict(found.span).values()),
                    "text": texts[side][found.span.start : found.span.end],
                    "weight": round(found.weight, 4),
                }
            )
        return {
            "line": self.line,
            "kind": self.edit.op,
            "mt_span": list(self.edit.mt_span),
            "pe_span": list(self.edit.pe_span),
            "old": self.old,
            "new": self.new,
            "confidence": round(self.confidence, 4),
            "evidence": cited,
        }


def reasons(line: int, sentence: Reading) -> Iterator[Reason]:
    """Yield the edits of a sentence in order."""
    for edit, confidence in zip(sentence.edits, sentence.confidences, strict=True):
        rows = _words_of(sentence, edit)
        yield Reason(
            line,
            edit,
            sentence.mt[slice(*edit.mt_span)],
            sentence.output[slice(*edit.pe_span)],
            confidence,
            _cited(sentence, "src", rows),
            _cited(sentence, "mt", rows),
        )


def _words_of(sentence: Reading, edit: Edit) -> list[int]:
    """Return the words of the output that an edit wrote; of a deletion, the one after it, which may be the end."""
    span, places = Span(*edit.pe_span), sentence.places[OUTPUT]
    if all(place is None for place in places):
        return list(range(len(places)))
    written = [row for row, place in enumerate(places) if place is not None and place.meets(span)]
    if written:
        return written
    after = [row for row, place in enumerate(places) if place is not None and place.start >= span.end]
    return [after[0] if after else len(places) - 1]


def _cited(sentence: Reading, stream: str, rows: Sequence[int]) -> Cited | None:
    if stream not in sentence.words.streams:
        return None
    real = sentence.real(stream)
    spans = [sentence.places[stream][column] for column in real]
    weights = _weights(sentence, stream, rows, real)
    if weights is None or None in spans or not weights.sum():
        return None
    weights = weights / weights.sum()
    first, last = shortest_run(weights, COVERED)
    found = [span for span in spans[first:last] if span is not None]
    return Cited(first, last, Span(found[0].start, found[-1].end), float(weights[first:last].sum()))


def _weights(
    sentence: Reading, stream: str, rows: Sequence[int], columns: Sequence[int]
) -> NDArray[np.floating] | None:
    """Return how much words of a stream matter to words of the output Float[columns]; None if that is not known."""
    words = sentence.words
    if stream == "src" and words.losses is not None and words.losses.shape[1] == len(columns):
        lost = np.clip(np.nan_to_num(words.losses[list(rows)].sum(0)), 0.0, MOST)
        return lost if lost.sum() >= LEAST else np.zeros(len(columns))
    weights = words.over(stream)
    return None if weights is None else weights[list(rows)].mean(0)[list(columns)]


def shortest_run(weights: NDArray[np.floating], least: float) -> tuple[int, int]:
    """Return the shortest run of places, first and last (exclusive), with at least this weight.

    Among runs of one length it is the heaviest, and then the first.
    """
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    for length in range(1, len(weights) + 1):
        runs = sums[length:] - sums[:-length]
        best = int(runs.argmax())
        if runs[best] >= least:
            return best, best + length
    return 0, len(weights)
