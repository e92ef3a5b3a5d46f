"""Which input leads each step: the focus statistics of Jauregi Unanue et al. (2018, 4.4), by kind of word.

A step writes a word (the paper's models write words; here the pieces of a word are taken together). Its weight of src
is a number from 0 to 1: above a threshold t the step is led by src, below 1 - t by mt, else by both. Two measures:

- attention, as in the paper: the sum of the weights on src, under an attention that src and mt share;
- occlusion, for models that look at src and mt apart, where each attention sums to 1 and says nothing of the other:
  a = log p(word) - log p(word | src empty), b likewise without mt, both at least 0, and the weight is a / (a + b). A
  word that neither text makes clearly more probable is led by neither.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.evidence import GENERATED, Evidence
from postedit.evaluate.significance import Comparison, compare
from postedit.evaluate.table import Column, Row, Table, percentage
from postedit.explain.explained_sentence import OUTPUT, Reading
from postedit.text.edits import Change, changes

THRESHOLD: Final = 0.6
"""That of the paper."""

_LEAST: Final = 0.05
"""Nats that a text must add to a word's log-probability, together with the other one, to lead the step."""

_MOST: Final = 50.0
"""Nats that a text counts for at most: without it a word may be impossible."""

_FEWEST: Final = 2
"""Sentences without which nothing can be resampled."""


class Measure(StrEnum):
    """How the weight of src is measured."""

    attention = "attention"
    occlusion = "occlusion"


class Lead(StrEnum):
    """What leads a step."""

    src = "src"
    mt = "mt"
    both = "both"
    neither = "neither"


LEADS: Final = tuple(Lead)


class Kind(StrEnum):
    """What the model did with a word of the output."""

    kept = "kept"
    changed = "changed"
    inserted = "inserted"
    ends = "ends and STEPs"


@dataclass(frozen=True, slots=True)
class Step:
    """A word of the output.

    Args:
        lead: what led it.
        kind: what the model did.
        needed: whether a human changed mt there; None if that is not known.
    """

    lead: Lead
    kind: Kind
    needed: bool | None


def default_measure(words: Evidence) -> Measure | None:
    """Return the measure that evidence allows, the paper's if it does; None if the model does not read both texts."""
    if any({"src", "mt"} <= set(key.streams) for key in words.attention):
        return Measure.attention
    return Measure.occlusion if {"src", "mt"} <= words.without.keys() else None


def src_weights(words: Evidence, measure: Measure) -> NDArray[np.float64]:
    """Return the weight of src Float[K] of each word; NaN where neither text matters.

    Raises:
        ValueError: if the evidence does not allow the measure.
    """
    if measure is Measure.attention:
        for key in words.attention:
            if {"src", "mt"} <= set(key.streams):
                weights: NDArray[np.float64] = words.by_stream(key)["src"].sum(1, dtype=np.float64)
                return weights
        raise ValueError("the model has no attention that src and mt share")
    if not {"src", "mt"} <= words.without.keys():
        raise ValueError("the model does not read src and mt")
    full = np.array(words.log_probs)
    without = [np.maximum(np.array(words.without[side]), full - _MOST) for side in ("src", "mt")]
    gains = [np.maximum(0.0, full - one) for one in without]
    total = gains[0] + gains[1]
    known = total >= _LEAST
    return np.where(known, gains[0] / np.where(known, total, 1.0), np.nan)


def steps(sentence: Reading, measure: Measure, threshold: float = THRESHOLD) -> list[Step]:
    """Return all steps of a sentence.

    Raises:
        ValueError: if the threshold is not at least one half and below 1, or the evidence does not allow the measure.
    """
    if not 0.5 <= threshold < 1.0:
        raise ValueError(f"the threshold must be at least 0.5 and below 1, not {threshold}")
    leads = [_lead(float(weight), threshold) for weight in src_weights(sentence.words, measure)]
    kinds = iter(_kinds(sentence))
    result = []
    for row, lead in enumerate(leads):
        result.append(Step(lead, Kind.ends, None) if row in sentence.ends[OUTPUT] else Step(lead, *next(kinds)))
    return result


def _lead(weight: float, threshold: float) -> Lead:
    if np.isnan(weight):
        return Lead.neither
    if weight > threshold:
        return Lead.src
    return Lead.mt if weight < 1.0 - threshold else Lead.both


def mt_words(sentence: Reading) -> list[str]:
    """Return the words of mt, without its end."""
    return [sentence.words.streams["mt"][place] for place in sentence.real("mt")] if "mt" in sentence.ends else []


def _kinds(sentence: Reading) -> list[tuple[Kind, bool | None]]:
    """Return for each word of the output what was done, and whether mt was wrong there."""
    mt, written = mt_words(sentence), sentence.written()
    truth = None if sentence.pe_words is None else changes(mt, sentence.pe_words)
    result: list[tuple[Kind, bool | None]] = []
    place = 0  # in mt
    for change in [*changes(mt, written), Change((len(mt), len(mt)), (len(written), len(written)))]:
        for old in range(place, change.mt[0]):
            result.append((Kind.kept, _touched(truth, old, old + 1)))
        kind = Kind.inserted if change.op == "insert" else Kind.changed
        result += [(kind, _touched(truth, *change.mt))] * (change.pe[1] - change.pe[0])
        place = change.mt[1]
    return result


def _touched(truth: Sequence[Change] | None, start: int, end: int) -> bool | None:
    """Return whether a human changed words `start` to `end` of mt; of a gap between words, or the words beside it."""
    if truth is None:
        return None
    if start == end:
        return any(change.mt[0] <= start <= change.mt[1] for change in truth)
    return any(change.mt[0] < end and start < change.mt[1] for change in truth)


def focus_table(sentences: Sequence[Sequence[Step]], measure: Measure, threshold: float) -> Table:
    """Return the shares of steps by what leads them: of all, by kind of word, and by whether mt was right there."""
    found = [step for sentence in sentences for step in sentence]
    groups = [("all", found)] + [(str(kind), [step for step in found if step.kind is kind]) for kind in Kind]
    if any(step.needed is not None for step in found):
        for needed, name in ((False, "mt right"), (True, "mt wrong")):
            chosen = [step for step in found if step.needed is needed]
            groups.append((name, chosen))
            for kind in (Kind.kept, Kind.changed, Kind.inserted):
                groups.append((f"{kind}, {name}", [step for step in chosen if step.kind is kind]))
    rows = tuple(Row((name,), _shares(group)) for name, group in groups)
    how = "the attention on src, of one that src and mt share" if measure is Measure.attention else _OCCLUSION
    note = (
        f"Steps write a word each. Weight of src: {how}. Led by src: above {threshold:g}; by mt: below "
        f"{1 - threshold:g}; by both: between (Jauregi Unanue et al. 2018, 4.4). Percentages of the steps of the row."
    )
    columns = (Column("steps"), *(Column(f"{lead} %", 1) for lead in LEADS))
    return Table(f"focus by {measure}", ("steps of",), columns, rows, note)


_OCCLUSION: Final = (
    "a / (a + b), a and b the nats by which src and mt raise a word's log-probability over that with the text empty; "
    f"neither: a + b is below {_LEAST}"
)


def _shares(group: Sequence[Step]) -> tuple[float | None, ...]:
    counts = [sum(step.lead is lead for step in group) for lead in LEADS]
    return (len(group), *(percentage(count, len(group)) for count in counts))


def claim_table(sentences: Sequence[Sequence[Step]], resamples: int) -> Table | None:
    """Return how much more often src leads where words are edited, or mt is wrong; None if nothing can be compared."""
    if len(sentences) < _FEWEST:
        return None
    edited = (Kind.changed, Kind.inserted)
    pairs = [
        ("edited less kept", _led(sentences, lambda step: step.kind in edited), _led(sentences, _kept)),
        (
            "mt wrong less mt right",
            _led(sentences, lambda s: s.needed is True),
            _led(sentences, lambda s: s.needed is False),
        ),
    ]
    rows = []
    for name, first, second in pairs:
        if first[:, 1].sum() and second[:, 1].sum():
            found = compare([first, second], _rate, resamples).comparisons[0]
            rows.append(Row((name,), _claim(found)))
    note = (
        "Points of percentage by which src leads more steps, with its 95 % interval and two-sided p-value (bootstrap "
        f"over sentences), {resamples:,} resamples."
    )
    columns = (Column("difference", 1), Column("low", 1), Column("high", 1), Column("p", 4))
    return Table("where src leads", ("steps",), columns, tuple(rows), note) if rows else None


def _led(sentences: Sequence[Sequence[Step]], chosen: Callable[[Step], bool]) -> NDArray[np.float64]:
    """Float[sentences,2]: chosen steps that src leads, and all chosen ones."""
    counts = [[(step.lead is Lead.src) for step in sentence if chosen(step)] for sentence in sentences]
    return np.array([[sum(led), len(led)] for led in counts], dtype=np.float64)


def _rate(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first sum in per cent of the second."""
    rates: NDArray[np.float64] = 100.0 * sums[..., 0] / np.maximum(1.0, sums[..., 1])
    return rates


def _kept(step: Step) -> bool:
    return step.kind is Kind.kept


def _claim(found: Comparison) -> tuple[float, ...]:
    # Not by randomisation: to change sides would mix the many steps of one kind into the few of the other.
    return found.difference, found.interval.low, found.interval.high, found.bootstrap


def source_table(sentences: Sequence[Reading]) -> Table | None:
    """Return where words come from by kind of word, for a model that copies: the mean shares of its gate; else None."""
    names = list(dict.fromkeys(name for sentence in sentences for name in sentence.words.shares))
    if not names:
        return None
    found: dict[str, list[list[float]]] = {str(kind): [] for kind in Kind}
    for sentence in sentences:
        kinds = iter(_kinds(sentence))
        for row in range(len(sentence.words.output)):
            kind = Kind.ends if row in sentence.ends[OUTPUT] else next(kinds)[0]
            found[kind].append([100.0 * float(sentence.words.shares[name][row]) for name in names])
    everything = [shares for group in found.values() for shares in group]
    rows = []
    for group, shares in {"all": everything, **found}.items():
        means = np.mean(shares, 0).tolist() if shares else [None] * len(names)
        rows.append(Row((group,), (len(shares), *means)))
    columns = (Column("words"), *(Column(f"{_SOURCES.get(name, f'from {name}')} %", 1) for name in names))
    note = "Mean weights of the model's gate, averaged over the pieces of a word."
    return Table("where words come from", ("words",), columns, tuple(rows), note)


_SOURCES: Final = {GENERATED: GENERATED, "mt": "copied from mt", "src": "copied from src"}
