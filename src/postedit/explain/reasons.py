"""The reason for each edit: how sure the model was, and the words of src and mt that the edit rests on.

Words of mt are cited by attention. Words of src are cited by the log-probability that the edit loses without each of
them, if that is known (evidence with `losses`). Otherwise they are cited by attention, which need not be what made the
model edit. If an edit loses next to nothing without any word of src, its reason lies elsewhere.
Every edit gets the citations that follow from its numbers; those that would tell a translator something stand out.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from postedit.core.edit_reasons import CitedWord, EditReason, SourceReason, reasons_as_json
from postedit.core.editor import Edit
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span
from postedit.explain.reason_texts import reason_text
from postedit.text.words import PAUSES, STOPS

COVERED: Final = 0.5  # least share of the weight of a text that the cited words hold
MIN_LOSS: Final = 0.3
"""Nats that an edit must lose without words of src, summed over the words, for any of them to be cited. An edit that
loses less is nearly always made again if the words are cut out of src."""

MAX_LOSS: Final = 50.0
"""Upper limit of the nats that an edit loses without a word of src: the edit may be impossible without the word."""

_OUTSTANDING_LOSS: Final = math.log(2.0)
"""Fewest nats that an edit loses without words that stand out: its probability falls by half or more."""

_OUTSTANDING_RATIO: Final = 2.0
"""Least weight of words that stand out, relative to their weight if all words of the text had the same weight."""

_MIN_CORRECTIONS: Final = 5  # fewest equal corrections in the training data that count as a style


_STOPS: Final = frozenset(f" .,;:!?…。，、；：！？．{STOPS}{PAUSES}")
"""Marks that divide sentences. No word explains them, whereas a word may explain quotation marks."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Words `first` to `last` (exclusive) of an input, their characters, and their share of the weight.

    A citation stands out if it tells a translator something: its words weigh much more than others; the edit loses half
    its probability without them (if losses are known); they are not just the edited words themselves; and, if the edit
    changes only marks such as a full stop or comma, they include such a mark.
    """

    first: int
    last: int
    span: Span
    weight: float
    stands_out: bool
    nats: float | None = None  # nats that the edit loses without each of these words, summed; None: not known


@dataclass(frozen=True, slots=True)
class Reason:
    """An edit and the words it rests on."""

    line: int  # number of the sentence, from 1
    edit: Edit
    old: str  # text of mt that the edit removes
    new: str  # text of the output that the edit writes
    confidence: float | None  # None: the editor gives none
    src: Citation | None  # words of the source that the edit rests on; None if none matter, or if that is not known
    mt: Citation | None  # words of mt, likewise
    is_elsewhere: bool = False  # whether losses are known and the edit loses less than `MIN_LOSS` without words of src

    def to_dict(self, sentence: ExplainedSentence) -> dict[str, Any]:
        """Return plain values for JSON; spans are in characters, end exclusive."""
        cited: dict[str, dict[str, Any] | None] = {}
        for side, text, found in (("src", sentence.src, self.src), ("mt", sentence.mt, self.mt)):
            start, end = (found.span.start, found.span.end) if found else (0, 0)
            cited[side] = None
            if found is not None:
                nats = {} if found.nats is None else {"nats": round(found.nats, 4)}
                weight = round(found.weight, 4)
                cited[side] = {"span": [start, end], "text": text[start:end], "weight": weight, **nats}
        return {
            "line": self.line,
            "kind": self.edit.op,
            "mt_span": list(self.edit.mt_span),
            "pe_span": list(self.edit.pe_span),
            "old": self.old,
            "new": self.new,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "evidence": cited,
            "in_source": False if self.is_elsewhere else None if self.src is None else True,
            **({"reasons": reasons_as_json(self.edit.reasons), "why": self.texts} if self.edit.reasons else {}),
        }

    @property
    def texts(self) -> list[str]:
        """The reasons that came with the edit, and if so that its reason is not in the source, as sentences."""
        elsewhere = [SourceReason(())] if self.is_elsewhere else []
        return [reason_text(one) for one in (*self.edit.reasons, *elsewhere)]


def edit_reasons(line: int, sentence: ExplainedSentence) -> Iterator[Reason]:
    """Yield the edits of a sentence in order, with their reasons."""
    confidences = sentence.confidences or (None,) * len(sentence.edits)
    for edit, confidence in zip(sentence.edits, confidences, strict=True):
        old, new = sentence.mt[slice(*edit.mt_span)], sentence.output[slice(*edit.pe_span)]
        src, mt = (_citation(sentence, side, edit) for side in ("src", "mt"))
        yield Reason(line, edit, old, new, confidence, src, mt, _is_elsewhere(sentence, edit))


def source_reason(sentence: ExplainedSentence, edit: Edit) -> tuple[EditReason, ...]:
    """Return the words of the source that an edit rests on, as a reason, with the nats that it loses without each.

    The reason has no words if the edit loses less than `MIN_LOSS` nats without words of the source. Its words have no
    nats if losses are not known. There is no reason if no words can be cited, as when they are not found in the text.
    """
    if _is_elsewhere(sentence, edit):
        return (SourceReason(()),)
    cited = _citation(sentence, "src", edit)
    if cited is None:
        return ()
    columns, rows = sentence.text_words("src")[cited.first : cited.last], _edited_words(sentence, edit)
    nats = _losses(sentence, rows, sentence.text_words("src"))
    words = []
    for number, column in enumerate(columns, start=cited.first):
        place = sentence.spans["src"][column]
        assert place is not None  # there is no citation if words cannot be found in the text
        text = sentence.src[place.start : place.end]
        words.append(CitedWord(text, (place.start, place.end), None if nats is None else float(nats[number])))
    return (SourceReason(tuple(words)),)


def count_corrections(mt: Iterable[str], pe: Iterable[str]) -> Counter[tuple[str, str]]:
    """Return how often each (old, new) pair of word sequences was corrected; words are separated by spaces."""
    counts: Counter[tuple[str, str]] = Counter()
    for before, after in zip(mt, pe, strict=True):
        if before != after:
            old, new = before.split(), after.split()
            for code in Levenshtein.opcodes(old, new):
                if code.tag != "equal":
                    pair = old[code.src_start : code.src_end], new[code.dest_start : code.dest_end]
                    counts[" ".join(pair[0]), " ".join(pair[1])] += 1
    return counts


def style_corrections(reason: Reason, corrections: Mapping[tuple[str, str], int]) -> int:
    """Return how many training corrections make an edit a style; 0 if a citation stands out, or there are too few."""
    if any(found is not None and found.stands_out for found in (reason.src, reason.mt)):
        return 0
    count = corrections.get((reason.old.strip(), reason.new.strip()), 0)
    return count if count >= _MIN_CORRECTIONS else 0


def _edited_words(sentence: ExplainedSentence, edit: Edit) -> list[int]:
    """Return the positions of the output words that an edit wrote; for a deletion, of the word after it or EOS.

    If words cannot be found in the output, all positions are returned.
    """
    span, spans = Span(*edit.pe_span), sentence.spans[OUTPUT]
    if all(word is None for word in spans):
        return list(range(len(spans)))
    written = [row for row, word in enumerate(spans) if word is not None and word.overlaps(span)]
    after = (row for row, word in enumerate(spans) if word is not None and word.start >= span.end)
    return written or [next(after, len(spans) - 1)]


def _citation(sentence: ExplainedSentence, stream: str, edit: Edit) -> Citation | None:
    if stream not in sentence.words.streams:
        return None
    columns, rows = sentence.text_words(stream), _edited_words(sentence, edit)
    spans = [sentence.spans[stream][column] for column in columns]
    weights = _weights(sentence, stream, rows, columns)
    if weights is None or None in spans or not weights.sum():
        return None
    shares = weights / weights.sum()
    first, last = shortest_span(shares, COVERED)
    found = [span for span in spans[first:last] if span is not None]
    span, weight = Span(found[0].start, found[-1].end), float(shares[first:last].sum())
    is_strong = weight * len(columns) >= _OUTSTANDING_RATIO * (last - first)
    losses = _losses(sentence, rows, columns) if stream == "src" else None
    nats = None if losses is None else float(losses[first:last].sum())
    is_strong &= nats is None or nats >= _OUTSTANDING_LOSS
    return Citation(first, last, span, weight, bool(is_strong) and _is_telling(sentence, stream, edit, span), nats)


def _is_telling(sentence: ExplainedSentence, stream: str, edit: Edit, cited: Span) -> bool:
    """Return whether the cited words are not just edited words and, if the edit changes only `_STOPS`, include one."""
    if stream == "mt" and edit.mt_span[0] <= cited.start and cited.end <= edit.mt_span[1]:
        return False
    changed = sentence.mt[slice(*edit.mt_span)] + sentence.output[slice(*edit.pe_span)]
    text = {"src": sentence.src, "mt": sentence.mt}[stream][cited.start : cited.end]
    return not _STOPS.issuperset(changed) or not _STOPS.isdisjoint(text.replace(" ", ""))


def _weights(
    sentence: ExplainedSentence, stream: str, rows: Sequence[int], columns: Sequence[int]
) -> NDArray[np.floating] | None:
    """Return the weights of a stream's words (`columns`) for output words (`rows`), Float[columns]; None if unknown."""
    lost = _losses(sentence, rows, columns) if stream == "src" else None
    if lost is not None:
        return lost if lost.sum() >= MIN_LOSS else np.zeros(len(columns))
    weights = sentence.words.over(stream)
    return None if weights is None else weights[list(rows)].mean(0)[list(columns)]


def _losses(sentence: ExplainedSentence, rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.floating] | None:
    """Return the nats that output words (`rows`) lose without each word of src, Float[columns]; None if unknown."""
    losses = sentence.words.losses
    if losses is None or losses.shape[1] != len(columns):
        return None
    summed: NDArray[np.floating] = np.nan_to_num(losses[list(rows)].sum(0))
    return summed.clip(0.0, MAX_LOSS)


def _is_elsewhere(sentence: ExplainedSentence, edit: Edit) -> bool:
    """Return whether losses show that the reason of an edit is not in the source."""
    if "src" not in sentence.words.streams:
        return False
    lost = _losses(sentence, _edited_words(sentence, edit), sentence.text_words("src"))
    return lost is not None and float(lost.sum()) < MIN_LOSS


def shortest_span(weights: NDArray[np.floating], least: float) -> tuple[int, int]:
    """Return the start and end (exclusive) of the shortest span with at least this weight.

    Of several spans of that length, the one with the most weight is returned; of equal ones, the first. If no span has
    the weight, it is the whole.
    """
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    for length in range(1, len(weights) + 1):
        spans = sums[length:] - sums[:-length]
        best = int(spans.argmax())
        if spans[best] >= least:
            return best, best + length
    return 0, len(weights)
