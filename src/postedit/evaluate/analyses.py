"""Analyses of systems on a test set, most of which return one or several tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from postedit.core.errors import DataError
from postedit.core.wording import counted
from postedit.evaluate import seed_scores
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.counts import KINDS, Counts
from postedit.evaluate.metrics import AdditiveBLEU, AdditiveMetric, AdditiveTER, Floats
from postedit.evaluate.scores import UNEDITED_MT, SystemScores
from postedit.evaluate.significance import (
    CONFIDENCE,
    MIN_SENTENCES,
    RESAMPLED,
    RESAMPLES,
    Significance,
    compare,
    grouped,
    too_few,
    what_is_drawn,
)
from postedit.evaluate.summarisation import ORDERS, ROUGE, lead, rouge_signature, sentences, summary_scores
from postedit.evaluate.table import Column, Table, TableRow, columns, p_values, percentage
from postedit.evaluate.test_set import EvaluatedSystem, TestSet
from postedit.evaluate.tokenisation import Tokenize
from postedit.evaluate.word_edits import OPERATIONS, WordEdits

_BLOCK: Final = 2000  # sentences counted at a time

_KEYS: Final = {
    "by length": "words of pe",
    "by TER of mt": "TER of mt",
    "by kind of edit": "mt",
    "by group": "group",
}
"""Column heading for the buckets of each division."""


def overview(scores: Sequence[SystemScores]) -> Table:
    """Return a table of TER, BLEU and chrF and, if mt is known, of the sentences changed for better or for worse."""
    counts = ["changed", "better", "worse", "same"] if scores[0].changes else []
    rows = []
    for row in scores:
        changed = [getattr(row.changes, name) for name in counts]
        rows.append(TableRow((row.name,), (row.ter, row.bleu, row.chrf, *changed)))
    what = f"; {', '.join(counts)} count sentences against mt" if counts else ""
    measures = (*columns(["TER", "BLEU", "chrF"], 2), *columns(counts))
    return Table("scores", ("system",), measures, tuple(rows), f"{counted(scores[0].lines, 'sentence')}{what}")


def signatures(scores: Sequence[SystemScores]) -> Table:
    """Return the signatures of the scores, in sacrebleu's format."""
    rows = tuple(
        TableRow(item, ()) for item in dict.fromkeys(item for row in scores for item in row.signatures.items())
    )
    return Table("signatures of the scores", ("score", "signature"), (), rows)


def lowercase_bleu(systems: Sequence[EvaluatedSystem], test: TestSet) -> Table:
    """Return case-insensitive BLEU, which older translation papers report (such as Li et al. 2017)."""
    counted = AdditiveBLEU(test.tokenize, lowercase=True)
    rows = []
    for one in systems:
        sums = np.zeros(counted.width)
        for first in range(0, len(test.pe), _BLOCK):
            rows_of = slice(first, first + _BLOCK)
            sums += counted.statistics(one.outputs[rows_of], test.pe[rows_of]).sum(0)
        rows.append(TableRow((one.name,), (counted.score(float(counted.loss(sums))),)))
    return Table("case-insensitive BLEU", ("system",), columns(["BLEU"], 2), tuple(rows), counted.signature)


def faithfulness(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return TER against post-edits and against mt (Junczys-Dowmunt and Grundkiewicz 2017, section 6.1).

    Raises:
        ValueError: if mt is not known.
    """
    rows = []
    ter = AdditiveTER()
    for system in systems:
        changes = system.scores.changes
        if changes is None:
            raise ValueError("faithfulness needs the machine translations")
        to_mt = float(ter.loss(system.total.made.sums))
        rows.append(
            TableRow((system.name,), (system.scores.ter, to_mt, changes.changed, changes.better, changes.worse))
        )
    names = columns(["TER to pe", "TER to mt"], 2) + columns(["modified", "improved", "deteriorated"])
    note = "A lower TER to mt: fewer changes; the counts are sentences."
    return Table("faithfulness", ("system",), names, tuple(rows), note)


def edits_left(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return the number of TER edits from the outputs to the post-edits, by kind."""
    rows = tuple(TableRow((system.name,), tuple(_left(system))) for system in systems)
    note = "Edits, as TER counts them, from the output to the post-edit."
    return Table("edits left to do", ("system",), columns([*KINDS, "all"]), rows, note)


def edits_saved(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return the percentage of edits that each system saves, by kind; the first system must be the unedited MT."""
    base = _left(systems[0])
    rows = tuple(
        TableRow(
            (system.name,), tuple(percentage(before - after, before) for before, after in zip(base, _left(system)))
        )
        for system in systems[1:]
    )
    note = "Edits saved, as a percentage of the edits of the same kind that the unedited MT needs."
    return Table("edits saved, %", ("system",), columns([*KINDS, "all"], 1), rows, note)


_EDITS_MADE: Final = (*columns(["made", "needed", "right"]), *columns(["precision", "recall", "F1"], 1))


def edits_made(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return precision and recall of the edits made, and the gain per edit; mt must be known."""
    first = systems[0].total
    rows = [TableRow((one.name,), (*_words(one).quality().values, _gain_per_edit(first, one.total))) for one in systems]
    note = (
        "Word edits of shortest edit scripts from mt to the output (made) and to pe (needed); right: in both, at the "
        "same word, with the same new word. Of the scripts to the output, one that has most in common with that to pe "
        "counts. Gain per edit: TER edits that need no longer be done, divided by TER edits made; 1 is best."
    )
    return Table("edits made", ("system",), (*_EDITS_MADE, Column("gain per edit", 2)), tuple(rows), note)


def compared(
    systems: Sequence[EvaluatedSystem], tokenize: Tokenize, resamples: int = RESAMPLES
) -> dict[str, Significance]:
    """Return the comparisons of all systems by TER, BLEU and chrF; none for fewer than `MIN_SENTENCES` sentences."""
    if systems[0].scores.lines < MIN_SENTENCES:
        return {}
    ter, bleu = AdditiveTER(tokenize), AdditiveBLEU(tokenize)
    return {
        "TER": compare([system.resampled.left.sums for system in systems], _score(ter), resamples),
        "BLEU": compare([system.resampled.bleu for system in systems], _score(bleu), resamples),
        "chrF": compare([system.resampled.chrf for system in systems], _score(AdditiveCHRF()), resamples),
    }


def significance(systems: Sequence[EvaluatedSystem], found: Mapping[str, Significance]) -> list[Table]:
    """Return confidence intervals of scores, and p-values of the differences between all pairs of systems.

    Args:
        systems: the systems.
        found: the result of `compared`; if it is empty, there are no tables.
    """
    if not found:
        return []
    names, sentences = [system.name for system in systems], systems[0].scores.lines
    resamples = len(found["TER"].resampled)
    pairs = [_pairs(metric, result, names, resamples, sentences) for metric, result in found.items()]
    return [_intervals(found, names, resamples, sentences), *(table for table in pairs if table.rows)]


def over_seeds(systems: Sequence[EvaluatedSystem], found: Mapping[str, Significance]) -> list[Table]:
    """Return the mean scores of systems that were trained with several seeds, and their differences.

    Args:
        systems: the systems.
        found: the result of `compared`; if it is empty, there are no differences.

    Raises:
        DataError: if no system has several trainings; see `seed_scores.trainings_of`.
    """
    trainings = seed_scores.trainings_of([system.name for system in systems])
    scores = np.array([(one.scores.ter, one.scores.bleu, one.scores.chrf) for one in systems])
    tables = [seed_scores.means(trainings, scores)]
    if not found:
        return tables
    resampled = {metric: result.resampled for metric, result in found.items()}
    by_metric = dict(zip(seed_scores.METRICS, scores.T, strict=True))
    sentences = min(systems[0].scores.lines, RESAMPLED)
    table = seed_scores.differences(trainings, by_metric, resampled, sentences)
    return [*tables, *([table] if table.rows else [])]


def ter_differences(systems: Sequence[EvaluatedSystem], resamples: int = RESAMPLES) -> Table:
    """Return the TER difference between all pairs of systems, with its interval and p-values."""
    found = compare([system.resampled.left.sums for system in systems], _score(AdditiveTER()), resamples)
    return _pairs("TER", found, [system.name for system in systems], resamples, systems[0].scores.lines)


def verdicts(systems: Sequence[EvaluatedSystem], differences: Table) -> list[str]:
    """Return a sentence for each system but the first: whether it is better, by how much, and how sure that is.

    Args:
        systems: the systems; the first, the unedited MT if mt is known, is the one the others are compared with.
        differences: the result of `ter_differences`, or the table "significance of TER" of `significance`.
    """
    values = {row.labels: row.values for row in differences.rows}
    first, *others = systems
    result = []
    for system in others:
        found = values[system.name, first.name]
        _, better, worse = map(int, system.total.changes)
        result.append(verdict(system.name, first.name, found, system.scores.lines, better, worse))
    return result


def verdict(name: str, other: str, difference: Sequence[float | None], sentences: int, better: int, worse: int) -> str:
    """Return a sentence that compares the TER of the systems `name` and `other`.

    `difference` holds the TER of `name` minus that of `other`, the two ends of its interval, and p-values, the last of
    which decides. Of the `sentences` compared, `name` leaves fewer edits to do in `better` and more in `worse`. For
    fewer than `MIN_SENTENCES` sentences, no interval and no p-value is given.
    """
    points, low, high, *_, p = (value or 0.0 for value in difference)
    is_sure = p < 1.0 - CONFIDENCE and sentences >= MIN_SENTENCES
    judged = f"is {'better' if points < 0 else 'worse'} than" if is_sure else "cannot be told apart from"
    other = f"the {other}" if other == UNEDITED_MT else other
    amount = f"TER is {'lower' if points < 0 else 'higher'} by {abs(points):.2f}" if points else "TER is the same"
    if sentences < MIN_SENTENCES:
        return f"{name} {judged} {other}: {amount}, but {too_few(sentences)}."
    ends = sorted((-low, -high) if points < 0 else (low, high))
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return (
        f"{name} {judged} {other}: {amount} ({CONFIDENCE:.0%} interval {ends[0]:z.2f} to {ends[1]:z.2f}, {chance}); of "
        f"{sentences:,} sentences {better:,} are better and {worse:,} worse."
    )


def by_bucket(systems: Sequence[EvaluatedSystem]) -> list[Table]:
    """Return scores and edit quality by length and, if mt or groups are known, by TER of mt, kind of edit and group."""
    divisions = dict.fromkeys(division for division, _ in systems[0].buckets)
    tables = [_buckets(division, systems) for division in divisions]
    if systems[0].scores.changes is not None:
        tables.insert([*divisions].index("by kind of edit") + 1, _by_operation(systems))
    return tables


def summaries(
    systems: Sequence[EvaluatedSystem],
    test: TestSet,
    source: Sequence[str],
    *,
    stem: bool = False,
    resamples: int = RESAMPLES,
) -> list[Table]:
    """Return ROUGE, novel and repeated n-grams and sentences, and the significance of ROUGE (Ive et al. 2019, 5.1).

    If some source has more than three sentences, the first three of each (LEAD-3) are added as a baseline system.

    Raises:
        DataError: if a system has the name of that baseline, or of the reference row.
    """
    named: dict[str, Iterable[str]] = {system.name: system.outputs for system in systems}
    rows_beside = {_REFERENCE: "the row of the post-edits"}
    if any(len(sentences(text)) > _LEAD for text in source):
        rows_beside[_BASELINE] = f"the baseline of the first {_LEAD} sentences of the source"
    for name, of in rows_beside.items():
        if name in named:
            raise DataError(f'a system is called "{name}", the name of {of}: give it another name')
    if _BASELINE in rows_beside:
        named[_BASELINE] = (lead(text, _LEAD) for text in source)
    options = {"normalise": test.tokenize == "13a", "stem": stem}
    found = {name: summary_scores(outputs, source, test.pe, **options) for name, outputs in named.items()}
    rows = [
        TableRow((name,), (*one.rouge, *one.novel, one.novel_sentences, *one.repeated, one.repeated_sentences))
        for name, one in {**found, _REFERENCE: summary_scores(test.pe, source, test.pe, **options)}.items()
    ]
    counts = [*(f"{order}-grams" for order in ORDERS), "sentences"]
    names = columns(ROUGE, 2) + columns([f"{what} {one}, %" for what in ("novel", "repeated") for one in counts], 1)
    note = (
        "ROUGE: F1 against the reference. Novel: not in the source. Repeated: earlier in the same output. "
        f"ROUGE: {rouge_signature(stem=stem)}"
    )
    table = Table("single-source measures", ("system",), names, tuple(rows), note)
    if len(test.pe) < MIN_SENTENCES:
        return [table]
    significances = {
        kind: compare([grouped(_with_count(one.rouge_by_text[:, index])) for one in found.values()], _mean, resamples)
        for index, kind in enumerate(ROUGE)
    }
    pairs = [_pairs(kind, result, list(found), resamples, len(test.pe)) for kind, result in significances.items()]
    intervals = _intervals(significances, list(found), resamples, len(test.pe))
    intervals = replace(intervals, name="confidence intervals of ROUGE")
    return [table, intervals, *(pair for pair in pairs if pair.rows)]


_LEAD: Final = 3  # sentences of the baseline
_BASELINE: Final = f"LEAD-{_LEAD}"
_REFERENCE: Final = "reference"


def _with_count(values: Floats) -> Floats:
    """Return each value beside a count of 1, Float[texts,2], so that a mean is a function of sums."""
    return np.stack([values, np.ones_like(values)], 1)


def _mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _words(system: EvaluatedSystem) -> WordEdits:
    if system.scores.changes is None:
        raise ValueError("word edits need the machine translations")
    return system.total.words


def _gain_per_edit(first: Counts, system: Counts) -> float | None:
    """Return the TER edits saved per TER edit made, compared with the unedited MT; None if none are made."""
    made, gain = int(system.made.total), int(first.left.total - system.left.total)
    return gain / made if made else None


def _left(system: EvaluatedSystem) -> list[int]:
    counts = system.total.left.kinds
    return [*map(int, counts), int(counts.sum())]


def _score(metric: AdditiveMetric) -> Callable[[Floats], Floats]:
    """Return a function that maps sums of statistics to scores, for arrays of sums."""
    best, worst = metric.score(0.0), metric.score(100.0)
    return lambda sums: best + (worst - best) / 100.0 * metric.loss(sums)


def _intervals(found: Mapping[str, Significance], names: Sequence[str], resamples: int, drawn: int) -> Table:
    rows = []
    for index, name in enumerate(names):
        intervals = [result.intervals[index] for result in found.values()]
        rows.append(TableRow((name,), tuple(end for one in intervals for end in (one.low, one.high))))
    measures = [f"{metric} {end}" for metric in found for end in ("from", "to")]
    note = f"The middle {CONFIDENCE:.0%} of {resamples:,} bootstrap resamples of {what_is_drawn(drawn)}."
    return Table("confidence intervals", ("system",), columns(measures, 2), tuple(rows), note)


def _pairs(metric: str, found: Significance, names: Sequence[str], resamples: int, drawn: int) -> Table:
    rows = [
        TableRow(
            (names[one.second], names[one.first]),
            (-one.difference, -one.interval.high, -one.interval.low, one.bootstrap, one.randomisation),
        )
        for one in found.comparisons
    ]
    measures = columns(["difference", "from", "to"], 2) + p_values("p, bootstrap", "p, randomisation")
    of = f" of {what_is_drawn(drawn)}" if drawn > RESAMPLED else ""
    note = (
        f"{metric} of system less {metric} of other, with its {CONFIDENCE:.0%} interval; p-values are two-sided, of "
        f"{resamples:,} resamples{of}, and not corrected for the number of comparisons."
    )
    return Table(f"significance of {metric}", ("system", "other"), measures, tuple(rows), note)


def _by_operation(systems: Sequence[EvaluatedSystem]) -> Table:
    rows = [
        TableRow((system.name, operation), quality.values)
        for system in systems
        for operation, quality in zip(OPERATIONS, _words(system).by_operation(), strict=True)
    ]
    note = (
        "Word edits, as in the table of edits made; a word that moves is deleted in one place and inserted elsewhere."
    )
    return Table("edits made by kind", ("system", "edits"), _EDITS_MADE, tuple(rows), note)


def _buckets(division: str, systems: Sequence[EvaluatedSystem]) -> Table:
    """Return the scores in each non-empty bucket of a division."""
    ter, bleu = _score(AdditiveTER()), _score(AdditiveBLEU())
    has_mt = systems[0].scores.changes is not None
    rows = []
    for bucket, first in systems[0].buckets.items():
        for system in systems if bucket[0] == division and first.sentences else ():
            counts = system.buckets[bucket]
            base, here = float(ter(first.left.sums)), float(ter(counts.left.sums))
            values: list[float | None] = [int(counts.sentences), here, here - base, float(bleu(counts.bleu))]
            if has_mt:
                quality = counts.words.quality()
                values += [quality.precision, quality.recall, _gain_per_edit(first, counts)]
            rows.append(TableRow((system.name, bucket[1]), tuple(values)))
    measures = (Column("sentences"), *columns(["TER", "TER less the first's", "BLEU"], 2))
    if has_mt:
        measures += (*columns(["precision", "recall"], 1), Column("gain per edit", 2))
    return Table(division, ("system", _KEYS[division]), measures, tuple(rows))
