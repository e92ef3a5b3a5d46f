"""Which input leads each step: the focus statistics of Jauregi Unanue et al. (2018, section 4.4), by kind of word.

The weight of src in a step is between 0 and 1: above a threshold t the step is led by src, below 1 - t by mt, otherwise
by both. In the paper, a step is a decoding step, which writes a token, a subword (section 4.3). Here a step writes a
word, because words are what people read and what has a kind. There are two measures of the weight:

- attention, as in the paper: the sum of the weights on src, for an attention over src and mt together;
- occlusion, for models with separate attention to src and mt: a / (a + b), where a = log p(word) - log p(word | src
  empty), b is the same for mt, and both are at least 0. A step is led by neither if neither text makes its word clearly
  more probable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.evidence import GENERATED, Evidence
from postedit.evaluate.significance import MIN_SENTENCES, compare
from postedit.evaluate.table import Column, Table, TableRow, p_values, percentage
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence
from postedit.text.edits import Change, changes

THRESHOLD: Final = 0.6  # the threshold of the paper
DECODING_STEPS: Final = "decoding steps"  # the label of their row in `focus_table`
_MIN_GAIN: Final = 0.05
"""Nats that both texts together must add to the log-probability of a word; otherwise the step is led by neither."""

_MAX_GAIN: Final = 50.0  # upper limit of the nats that a text adds: a word may be impossible without the text


FocusMeasure = StrEnum("FocusMeasure", ["attention", "occlusion"])
"""How the weight of src is measured."""

Lead = StrEnum("Lead", ["src", "mt", "both", "neither"])
"""The text that leads a step."""


class WordKind(StrEnum):
    """The kind of an output word: its relation to mt."""

    kept = "kept"
    changed = "changed"
    inserted = "inserted"
    ends = "ends and STEPs"


@dataclass(frozen=True, slots=True)
class Step:
    """A step that writes a word of the output."""

    lead: Lead
    kind: WordKind
    needed: bool | None  # whether the post-editor changed mt there; None if that is not known


def default_measure(words: Evidence) -> FocusMeasure | None:
    """Return the measure that the evidence allows, preferably attention; None if the model does not read both texts."""
    if any({"src", "mt"} <= set(key.streams) for key in words.attention):
        return FocusMeasure.attention
    return FocusMeasure.occlusion if {"src", "mt"} <= words.without.keys() else None


def src_weights(words: Evidence, measure: FocusMeasure) -> NDArray[np.float64]:
    """Return the weight of src for each output word, Float[K]; NaN for words that neither text leads."""
    if measure is FocusMeasure.attention:
        shared = words.shared_weights()
        if shared is None:
            raise ValueError("the model has no attention that src and mt share")
        return shared
    if not {"src", "mt"} <= words.without.keys():
        raise ValueError("the model does not read src and mt")
    full = np.array(words.log_probs)
    without = [np.maximum(np.array(words.without[side]), full - _MAX_GAIN) for side in ("src", "mt")]
    gains = [np.maximum(0.0, full - one) for one in without]
    total = gains[0] + gains[1]
    known = total >= _MIN_GAIN
    return np.where(known, gains[0] / np.where(known, total, 1.0), np.nan)


def steps(sentence: ExplainedSentence, measure: FocusMeasure, threshold: float = THRESHOLD) -> list[Step]:
    """Return the steps of a sentence; raise a ValueError if the threshold or the measure is not possible."""
    if not 0.5 <= threshold < 1.0:
        raise ValueError(f"the threshold must be at least 0.5 and below 1, not {threshold}")
    leads = [_lead(float(weight), threshold) for weight in src_weights(sentence.words, measure)]
    return [Step(lead, *kind) for lead, kind in zip(leads, _kinds(sentence), strict=True)]


def decoding_leads(sentences: Sequence[ExplainedSentence], threshold: float = THRESHOLD) -> list[Lead]:
    """Return what leads each decoding step, including that of EOS, as the paper counts them (section 4.4)."""
    return [_lead(weight, threshold) for sentence in sentences for weight in sentence.step_weights]


def _lead(weight: float, threshold: float) -> Lead:
    if np.isnan(weight):
        return Lead.neither
    if weight > threshold:
        return Lead.src
    return Lead.mt if weight < 1.0 - threshold else Lead.both


def _kinds(sentence: ExplainedSentence) -> list[tuple[WordKind, bool | None]]:
    """Return each output word's kind, and whether the post-editor changed mt there; special tokens are `ends`."""
    mt, written = sentence.mt_words(), sentence.output_words()
    truth = None if sentence.pe_words is None else changes(mt, sentence.pe_words)
    result: list[tuple[WordKind, bool | None]] = []
    place = 0  # in mt
    for change in [*changes(mt, written), Change((len(mt), len(mt)), (len(written), len(written)))]:
        for old in range(place, change.mt[0]):
            result.append((WordKind.kept, _touched(truth, old, old + 1)))
        kind = WordKind.inserted if change.op == "insert" else WordKind.changed
        result += [(kind, _touched(truth, *change.mt))] * (change.pe[1] - change.pe[0])
        place = change.mt[1]
    words, special = iter(result), sentence.special[OUTPUT]
    return [(WordKind.ends, None) if row in special else next(words) for row in range(len(sentence.words.output))]


def _touched(truth: Sequence[Change] | None, start: int, end: int) -> bool | None:
    """Return whether the post-editor changed any of the words `start` to `end` of mt; if none, a word beside them."""
    if truth is None:
        return None
    if start == end:
        return any(change.mt[0] <= start <= change.mt[1] for change in truth)
    return any(change.mt[0] < end and start < change.mt[1] for change in truth)


def focus_table(
    sentences: Sequence[Sequence[Step]], measure: FocusMeasure, threshold: float, decoded: Sequence[Lead] = ()
) -> Table:
    """Return the shares of steps by lead: of all steps, by kind of word, and by whether mt was right there.

    `decoded` is what leads each decoding step. If it is not empty, it gets a row, which is the one of table 3 of the
    paper.
    """
    found = [step for sentence in sentences for step in sentence]
    groups = [("all", found)] + [(str(kind), [step for step in found if step.kind is kind]) for kind in WordKind]
    if any(step.needed is not None for step in found):
        for needed, name in ((False, "mt right"), (True, "mt wrong")):
            chosen = [step for step in found if step.needed is needed]
            groups.append((name, chosen))
            for kind in (WordKind.kept, WordKind.changed, WordKind.inserted):
                groups.append((f"{kind}, {name}", [step for step in chosen if step.kind is kind]))
    rows = tuple(TableRow((name,), _shares([step.lead for step in group])) for name, group in groups)
    if decoded:
        rows = (*rows, TableRow((DECODING_STEPS,), _shares(decoded)))
    note = (
        f"A step writes a word; decoding steps write a token. Weight of src: {_MEASURES[measure]}. Led by src: above "
        f"{threshold:g}; by mt: below {1 - threshold:g}; by both: between (Jauregi Unanue et al. 2018, 4.4). "
        "Percentages of the steps of the row."
    )
    columns = (Column("steps"), *(Column(f"{lead} %", 1) for lead in Lead))
    return Table(f"focus by {measure}", ("steps of",), columns, rows, note)


_MEASURES: Final = {
    FocusMeasure.attention: "the attention on src, of an attention over src and mt together",
    FocusMeasure.occlusion: "a / (a + b), where a and b are the nats that src and mt add to the log-probability of a "
    f"word; neither: a + b is below {_MIN_GAIN}",
}


def _shares(group: Sequence[Lead]) -> tuple[float | None, ...]:
    counts = [sum(found is lead for found in group) for lead in Lead]
    return (len(group), *(percentage(count, len(group)) for count in counts))


def claim_table(sentences: Sequence[Sequence[Step]], resamples: int) -> Table | None:
    """Return how much more often src leads if words are edited or mt is wrong; None if nothing can be compared."""
    edited = (WordKind.changed, WordKind.inserted)
    pairs: list[tuple[str, _Choice, _Choice]] = [
        ("edited less kept", lambda step: step.kind in edited, lambda step: step.kind is WordKind.kept),
        ("mt wrong less mt right", lambda step: step.needed is True, lambda step: step.needed is False),
    ]
    rows = []
    for name, *choices in pairs:
        sides = [_led(sentences, choice) for choice in choices]
        fewest = min(np.count_nonzero(side[:, 1]) for side in sides)
        if fewest >= MIN_SENTENCES:  # then hardly any resample lacks the steps of one side
            found = compare(sides, _rate, resamples).comparisons[0]
            # No randomisation test: swapping sides would mix the many steps of one kind into the few of the other.
            rows.append(TableRow((name,), (found.difference, found.interval.low, found.interval.high, found.bootstrap)))
        elif fewest:
            first, second = (float(_rate(side.sum(0))) for side in sides)
            rows.append(TableRow((name,), (first - second, None, None, None)))
    note = (
        "Difference of the percentages of steps led by src, in points, with its 95 % interval and two-sided p-value "
        f"(bootstrap over sentences), {resamples:,} resamples. Without them if fewer than {MIN_SENTENCES} sentences "
        "have steps of either kind."
    )
    columns = (Column("difference", 1), Column("low", 1), Column("high", 1), *p_values("p"))
    return Table("where src leads", ("steps",), columns, tuple(rows), note) if rows else None


_Choice = Callable[[Step], bool]


def _led(sentences: Sequence[Sequence[Step]], chosen: _Choice) -> NDArray[np.float64]:
    """Return the number of chosen steps that src leads, and of all chosen steps, Float[sentences,2]."""
    counts = [[(step.lead is Lead.src) for step in sentence if chosen(step)] for sentence in sentences]
    return np.array([[sum(led), len(led)] for led in counts], dtype=np.float64)


def _rate(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first sum in per cent of the second."""
    return np.asarray(100.0 * sums[..., 0] / np.maximum(1.0, sums[..., 1]))


def source_table(sentences: Sequence[ExplainedSentence]) -> Table | None:
    """Return the mean shares of the model's copy gate by kind of word; None if the model does not copy."""
    names = list(dict.fromkeys(name for sentence in sentences for name in sentence.words.shares))
    if not names:
        return None
    found: dict[str, list[list[float]]] = {str(kind): [] for kind in WordKind}
    for sentence in sentences:
        for row, (kind, _) in enumerate(_kinds(sentence)):
            found[kind].append([100.0 * float(sentence.words.shares[name][row]) for name in names])
    everything = [shares for group in found.values() for shares in group]
    rows = []
    for group, shares in {"all": everything, **found}.items():
        means = np.mean(shares, 0).tolist() if shares else [None] * len(names)
        rows.append(TableRow((group,), (len(shares), *means)))
    columns = (
        Column("words"),
        *(Column(f"{name if name == GENERATED else f'copied from {name}'} %", 1) for name in names),
    )
    note = "Mean weights of the model's gate, averaged over the tokens of a word."
    return Table("where words come from", ("words",), columns, tuple(rows), note)
