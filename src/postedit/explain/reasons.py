"""Each edit with its reason: how sure the model was, and which words of src and mt it looked at when it made it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.symbols import SYMBOLS
from postedit.explain.reading import OUTPUT, Reading, Span
from postedit.text.edits import Edit

COVERED: Final = 0.5
"""The share of the attention to the words of a text that evidence holds."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A run of words of an input: words `first` to `last` (exclusive), where they stand, and their share of attention."""

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
        confidence: the geometric mean of the probabilities of the words written; of a deletion, the probability of the
            word that was written next.
        src: what it looked at in the source; None if the model shows no attention to it, or words cannot be found.
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
    for edit in sentence.edits:
        rows = _words_of(sentence, edit)
        scores = [sentence.words.log_probs[row] for row in rows]
        yield Reason(
            line,
            edit,
            sentence.mt[slice(*edit.mt_span)],
            sentence.output[slice(*edit.pe_span)],
            math.exp(min(0.0, sum(scores) / len(scores))),
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
    weights = sentence.words.over(stream)
    if weights is None:
        return None
    places = sentence.places[stream]
    real = [column for column, word in enumerate(sentence.words.streams[stream]) if word not in SYMBOLS]
    spans = [places[column] for column in real]
    mean = weights[list(rows)].mean(0)[real]
    if not real or not mean.sum() or None in spans:
        return None
    mean = mean / mean.sum()
    first, last = shortest_run(mean, COVERED)
    found = [span for span in spans[first:last] if span is not None]
    return Cited(first, last, Span(found[0].start, found[-1].end), float(mean[first:last].sum()))


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
