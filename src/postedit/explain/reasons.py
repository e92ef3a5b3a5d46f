"""The reason for each edit: how sure the model was, and the words of src and mt that the edit rests on.

Words of mt are cited by attention. Words of src are cited by the log-probability that the edit loses without each of
them, where that is known (evidence with `losses`), and otherwise by attention, which need not be what moved the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.editor import Edit
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span

COVERED: Final = 0.5
"""The share of the weight of a text that the cited words hold."""

MIN_LOSS: Final = 0.05
"""Nats that an edit must lose without words of src, all together, for any of them to be cited."""

MAX_LOSS: Final = 50.0
"""Upper limit of the nats that an edit loses without a word of src: without it the edit may be impossible."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Words `first` to `last` (exclusive) of an input, their characters, and their share of the weight."""

    first: int
    last: int
    span: Span
    weight: float


@dataclass(frozen=True, slots=True)
class Reason:
    """An edit and the words it rests on.

    Args:
        line: the number of the sentence, from 1.
        edit: the edit.
        old: the text that mt lost.
        new: the text that the output gained.
        confidence: of the edit; see `correction.confidence`.
        src: the words of the source that it rests on; None if none matter, or that is not known.
        mt: likewise in mt.
    """

    line: int
    edit: Edit
    old: str
    new: str
    confidence: float
    src: Citation | None
    mt: Citation | None

    def to_dict(self, sentence: ExplainedSentence) -> dict[str, Any]:
        """Return plain values for JSON; spans are in characters, end exclusive."""
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


def edit_reasons(line: int, sentence: ExplainedSentence) -> Iterator[Reason]:
    """Yield the edits of a sentence in order, with their reasons."""
    for edit, confidence in zip(sentence.edits, sentence.confidences, strict=True):
        rows = _edited_words(sentence, edit)
        yield Reason(
            line,
            edit,
            sentence.mt[slice(*edit.mt_span)],
            sentence.output[slice(*edit.pe_span)],
            confidence,
            _citation(sentence, "src", rows),
            _citation(sentence, "mt", rows),
        )


def _edited_words(sentence: ExplainedSentence, edit: Edit) -> list[int]:
    """Return the output words that an edit wrote; for a deletion the word after it, which may be EOS."""
    span, spans = Span(*edit.pe_span), sentence.spans[OUTPUT]
    if all(word is None for word in spans):
        return list(range(len(spans)))
    written = [row for row, word in enumerate(spans) if word is not None and word.overlaps(span)]
    if written:
        return written
    after = [row for row, word in enumerate(spans) if word is not None and word.start >= span.end]
    return [after[0] if after else len(spans) - 1]


def _citation(sentence: ExplainedSentence, stream: str, rows: Sequence[int]) -> Citation | None:
    if stream not in sentence.words.streams:
        return None
    columns = sentence.text_words(stream)
    spans = [sentence.spans[stream][column] for column in columns]
    weights = _weights(sentence, stream, rows, columns)
    if weights is None or None in spans or not weights.sum():
        return None
    weights = weights / weights.sum()
    first, last = shortest_span(weights, COVERED)
    found = [span for span in spans[first:last] if span is not None]
    return Citation(first, last, Span(found[0].start, found[-1].end), float(weights[first:last].sum()))


def _weights(
    sentence: ExplainedSentence, stream: str, rows: Sequence[int], columns: Sequence[int]
) -> NDArray[np.floating] | None:
    """Return how much each word of a stream matters to some output words, Float[columns]; None if not known."""
    words = sentence.words
    if stream == "src" and words.losses is not None and words.losses.shape[1] == len(columns):
        lost = np.clip(np.nan_to_num(words.losses[list(rows)].sum(0)), 0.0, MAX_LOSS)
        return lost if lost.sum() >= MIN_LOSS else np.zeros(len(columns))
    weights = words.over(stream)
    return None if weights is None else weights[list(rows)].mean(0)[list(columns)]


def shortest_span(weights: NDArray[np.floating], least: float) -> tuple[int, int]:
    """Return the first and last (exclusive) position of the shortest span with at least this weight.

    Of spans of one length, the one with the most weight is returned; of equal ones, the first.
    """
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    for length in range(1, len(weights) + 1):
        spans = sums[length:] - sums[:-length]
        best = int(spans.argmax())
        if spans[best] >= least:
            return best, best + length
    return 0, len(weights)
