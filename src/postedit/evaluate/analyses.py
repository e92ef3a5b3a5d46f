"""Analyses of systems on a test set; each function returns one or several tables."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from postedit.core.errors import DataError
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.metrics import (
    AdditiveBLEU,
    AdditiveMetric,
    AdditiveTER,
    Floats,
    Tokenize,
    metric_signature,
)
from postedit.evaluate.scores import UNEDITED_MT, SystemScores
from postedit.evaluate.significance import CONFIDENCE, MIN_SENTENCES, RESAMPLES, Significance, compare, too_few
from postedit.evaluate.summarisation import ORDERS, ROUGE, lead, rouge_signature, sentences, summary_scores
from postedit.evaluate.table import Column, Table, TableRow, columns, percentage
from postedit.evaluate.test_set import KINDS, EvaluatedSystem, TestSet
from postedit.evaluate.word_edits import OPERATIONS, WordEdits

_LENGTHS: Final = (0, 10, 20, 30, 40, 60)
_RATES: Final = (0, 10, 20, 30, 50, 75)
"""Upper limits of buckets, inclusive; the last bucket has none."""


def overview(scores: Sequence[SystemScores]) -> Table:
    """Return TER, BLEU and chrF, and if mt is known, how many sentences were changed, for better and for worse."""
    counts = ["changed", "better", "worse", "same"] if scores[0].changes else []
    rows = []
    for row in scores:
        changed = [getattr(row.changes, name) for name in counts]
        rows.append(TableRow((row.name,), (row.ter, row.bleu, row.chrf, *changed)))
    what = f"; {', '.join(counts)} count sentences against mt" if counts else ""
    measures = (*columns(["TER", "BLEU", "chrF"], 2), *columns(counts))
    return Table("scores", ("system",), measures, tuple(rows), f"{scores[0].lines:,} sentences{what}")


def signatures(scores: Sequence[SystemScores]) -> Table:
    """Return the signatures of the scores, in the form of sacrebleu."""
    rows = tuple(
        TableRow(item, ()) for item in dict.fromkeys(item for row in scores for item in row.signatures.items())
    )
    return Table("signatures of the scores", ("score", "signature"), (), rows)


def lowercase_bleu(systems: Sequence[EvaluatedSystem], test: TestSet) -> Table:
    """Return case-insensitive BLEU, which older papers of translation give (such as Li et al. 2017)."""
    metric = BLEU(tokenize=test.tokenize, force=True, lowercase=True)
    rows = [TableRow((one.name,), (metric.corpus_score(list(one.outputs), [list(test.pe)]).score,)) for one in systems]
    return Table("case-insensitive BLEU", ("system",), columns(["BLEU"], 2), tuple(rows), metric_signature(metric))


def faithfulness(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return TER to the post-edit and to the machine translation (Junczys-Dowmunt and Grundkiewicz 2017, 6.1)."""
    rows = []
    ter = AdditiveTER()
    for system in systems:
        changes, made = system.scores.changes, system.made
        if changes is None or made is None:
            raise ValueError("faithfulness needs the machine translations")
        to_mt = float(ter.loss(made.sums.sum(0)))
        rows.append(
            TableRow((system.name,), (system.scores.ter, to_mt, changes.changed, changes.better, changes.worse))
        )
    names = columns(["TER to pe", "TER to mt"], 2) + columns(["modified", "improved", "deteriorated"])
    note = "A lower TER to mt: fewer changes; the counts are sentences."
    return Table("faithfulness", ("system",), names, tuple(rows), note)


def edits_left(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return TER's edits from the outputs to the post-edits, by kind."""
    rows = tuple(TableRow((system.name,), tuple(_left(system))) for system in systems)
    note = "Edits, as TER counts them, from the output to the post-edit."
    return Table("edits left to do", ("system",), columns([*KINDS, "all"]), rows, note)


def edits_spared(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return by how many per cent each system reduces the edits left to do, by kind; the first is the unedited MT."""
    base = _left(systems[0])
    rows = tuple(
        TableRow(
            (system.name,), tuple(percentage(before - after, before) for before, after in zip(base, _left(system)))
        )
        for system in systems[1:]
    )
    note = "Edits that need no longer be done, in per cent of those of that kind that the machine translation needs."
    return Table("edits spared, %", ("system",), columns([*KINDS, "all"], 1), rows, note)


_EDITS_MADE: Final = (*columns(["made", "needed", "right"]), *columns(["precision", "recall", "F1"], 1))


def edits_made(systems: Sequence[EvaluatedSystem]) -> Table:
    """Return precision and recall of the edits made, and the gain per edit."""
    everything = np.ones(len(systems[0].outputs), np.bool_)
    rows = [
        TableRow((system.name,), (*_words(system).quality().values, _gain_per_edit(systems[0], system, everything)))
        for system in systems
    ]
    note = (
        "Word edits of shortest edit scripts from mt to the output (made) and to pe (needed); right: in both, at the "
        "same word, with the same new word. Of the scripts to the output, one that has most in common with that to pe "
        "counts. Gain per edit: TER edits that need no longer be done, divided by TER edits made; 1 is best."
    )
    return Table("edits made", ("system",), (*_EDITS_MADE, Column("gain per edit", 2)), tuple(rows), note)


def significance(systems: Sequence[EvaluatedSystem], tokenize: Tokenize, resamples: int = RESAMPLES) -> list[Table]:
    """Return confidence intervals of TER, BLEU and chrF, and p-values of the differences of all pairs of systems.

    There are no tables for fewer than `MIN_SENTENCES` sentences.
    """
    if len(systems[0].outputs) < MIN_SENTENCES:
        return []
    ter, bleu = AdditiveTER(tokenize), AdditiveBLEU(tokenize)
    found = {
        "TER": compare([system.left.sums for system in systems], _score(ter), resamples),
        "BLEU": compare([system.bleu for system in systems], _score(bleu), resamples),
        "chrF": compare([system.chrf for system in systems], _score(AdditiveCHRF()), resamples),
    }
    names = [system.name for system in systems]
    pairs = [_pairs(metric, result, names, resamples) for metric, result in found.items()]
    return [_intervals(found, names, resamples), *(table for table in pairs if table.rows)]


def ter_differences(systems: Sequence[EvaluatedSystem], resamples: int = RESAMPLES) -> Table:
    """Return the difference of TER of all pairs of systems with its interval and p-values."""
    found = compare([system.left.sums for system in systems], _score(AdditiveTER()), resamples)
    return _pairs("TER", found, [system.name for system in systems], resamples)


def verdicts(systems: Sequence[EvaluatedSystem], differences: Table) -> list[str]:
    """Return a sentence for each system but the first: better or worse than it, by how much, and how sure that is.

    Args:
        systems: the unedited MT first, if mt is known.
        differences: the result of `ter_differences`, or the table "significance of TER" of `significance`.
    """
    values = {row.labels: row.values for row in differences.rows}
    first, *others = systems
    result = []
    for system in others:
        found = values[system.name, first.name]
        gains = first.left.total - system.left.total
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        result.append(verdict(system.name, first.name, found, len(gains), better, worse))
    return result


def verdict(name: str, other: str, difference: Sequence[float | None], sentences: int, better: int, worse: int) -> str:
    """Return a sentence that compares the TER of the systems `name` and `other`.

    `difference` is the TER of `name` less that of `other`, the ends of its interval, and p-values, the last of which
    decides. Of the `sentences` compared, `name` leaves fewer edits to do in `better` and more in `worse`. Fewer than
    `MIN_SENTENCES` sentences have no interval and no p-value.
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


def by_bucket(systems: Sequence[EvaluatedSystem], test: TestSet) -> list[Table]:
    """Return scores and edit quality by length, by TER of mt, by kind of edit needed, and by group."""
    tables = [_buckets("by length", "words of pe", _ranges(systems[0].left.length, _LENGTHS), systems)]
    if test.mt is not None:
        left = systems[0].left
        kinds = [(f"needs {name}", left.kinds[:, index] > 0) for index, name in enumerate(KINDS)]
        tables += [
            _buckets("by TER of mt", "TER of mt", _ranges(np.ceil(left.rates), _RATES), systems),
            _buckets("by kind of edit", "mt", [("needs none", left.total == 0), *kinds], systems),
            _by_operation(systems),
        ]
    if test.groups is not None:
        labels = np.array(test.groups, dtype=object)
        groups = [(label or "(none)", labels == label) for label in dict.fromkeys(test.groups)]
        tables.append(_buckets("by group", "group", groups, systems))
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

    The first sentences of the source (LEAD-3) are another system where some source has more than three.

    Raises:
        DataError: if a system has the name of that one.
    """
    named: dict[str, Sequence[str]] = {system.name: system.outputs for system in systems}
    if any(len(sentences(text)) > _LEAD for text in source):
        if (name := f"LEAD-{_LEAD}") in named:
            raise DataError(
                f'a system is called "{name}", the name of the baseline of the first {_LEAD} sentences of the source: '
                "give it another name"
            )
        named[name] = [lead(text, _LEAD) for text in source]
    options = {"normalise": test.tokenize == "13a", "stem": stem}
    found = {name: summary_scores(outputs, source, test.pe, **options) for name, outputs in named.items()}
    rows = [
        TableRow((name,), (*one.rouge, *one.novel, one.novel_sentences, *one.repeated, one.repeated_sentences))
        for name, one in {**found, "reference": summary_scores(test.pe, source, test.pe, **options)}.items()
    ]
    counted = [*(f"{order}-grams" for order in ORDERS), "sentences"]
    names = columns(ROUGE, 2) + columns([f"{what} {one}, %" for what in ("novel", "repeated") for one in counted], 1)
    note = (
        "ROUGE: F1 against the reference. Novel: not in the source. Repeated: earlier in the same output. "
        f"ROUGE: {rouge_signature(stem=stem)}"
    )
    table = Table("single-source measures", ("system",), names, tuple(rows), note)
    if len(test.pe) < MIN_SENTENCES:
        return [table]
    significances = {
        kind: compare([_with_count(one.rouge_by_text[:, index]) for one in found.values()], _mean, resamples)
        for index, kind in enumerate(ROUGE)
    }
    pairs = [_pairs(kind, result, list(found), resamples) for kind, result in significances.items()]
    intervals = _intervals(significances, list(found), resamples)
    intervals = replace(intervals, name="confidence intervals of ROUGE")
    return [table, intervals, *(pair for pair in pairs if pair.rows)]


_LEAD: Final = 3  # sentences of the baseline


def _with_count(values: Floats) -> Floats:
    """Return Float[texts,2]: values, and the number 1 for each, so that a mean is a function of sums."""
    return np.stack([values, np.ones_like(values)], 1)


def _mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _words(system: EvaluatedSystem) -> WordEdits:
    if system.words is None:
        raise ValueError("word edits need the machine translations")
    return system.words


def _gain_per_edit(first: EvaluatedSystem, system: EvaluatedSystem, members: NDArray[np.bool_]) -> float | None:
    """Return the TER edits spared, compared with the unedited MT, per TER edit made; None if none are made."""
    made = 0 if system.made is None else int(system.made.total[members].sum())
    gain = int((first.left.total - system.left.total)[members].sum())
    return gain / made if made else None


def _left(system: EvaluatedSystem) -> list[int]:
    counts = system.left.kinds.sum(0)
    return [*map(int, counts), int(counts.sum())]


def _score(metric: AdditiveMetric) -> Callable[[Floats], Floats]:
    """Return the function from sums to scores."""
    best, worst = metric.score(0.0), metric.score(100.0)
    return lambda sums: best + (worst - best) / 100.0 * metric.loss(sums)


def _intervals(found: dict[str, Significance], names: Sequence[str], resamples: int) -> Table:
    rows = []
    for index, name in enumerate(names):
        intervals = [result.intervals[index] for result in found.values()]
        rows.append(TableRow((name,), tuple(end for one in intervals for end in (one.low, one.high))))
    measures = [f"{metric} {end}" for metric in found for end in ("from", "to")]
    note = f"The middle {CONFIDENCE:.0%} of {resamples:,} bootstrap resamples of the sentences."
    return Table("confidence intervals", ("system",), columns(measures, 2), tuple(rows), note)


def _pairs(metric: str, found: Significance, names: Sequence[str], resamples: int) -> Table:
    rows = [
        TableRow(
            (names[one.second], names[one.first]),
            (-one.difference, -one.interval.high, -one.interval.low, one.bootstrap, one.randomisation),
        )
        for one in found.comparisons
    ]
    measures = columns(["difference", "from", "to"], 2) + columns(["p, bootstrap", "p, randomisation"], 4)
    note = (
        f"{metric} of system less {metric} of other, with its {CONFIDENCE:.0%} interval; p-values are two-sided, of "
        f"{resamples:,} resamples, and not corrected for the number of comparisons."
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


_Buckets = Sequence[tuple[str, NDArray[np.bool_]]]
"""Labels, and the members of each bucket, Bool[sentences]; a sentence may be in several."""


def _ranges(values: NDArray[np.int64] | Floats, ends: Sequence[int]) -> _Buckets:
    """Return a bucket for each range of whole numbers up to each of `ends`, inclusive, and one beyond the last."""
    indices = np.searchsorted(ends, values, side="left")
    starts = [ends[0], *(end + 1 for end in ends)]
    labels = [str(end) if start == end else f"{start}–{end}" for start, end in zip(starts, ends)]
    return [(label, indices == index) for index, label in enumerate([*labels, f"over {ends[-1]}"])]


def _buckets(name: str, key: str, buckets: _Buckets, systems: Sequence[EvaluatedSystem]) -> Table:
    """Return the scores in each non-empty bucket."""
    ter, bleu = _score(AdditiveTER()), _score(AdditiveBLEU())
    rows = []
    for label, members in buckets:
        count = int(members.sum())
        for system in systems if count else ():
            first = float(ter(systems[0].left.sums[members].sum(0)))
            here = float(ter(system.left.sums[members].sum(0)))
            values: list[float | None] = [count, here, here - first, float(bleu(system.bleu[members].sum(0)))]
            if system.words is not None:
                quality = system.words.quality(members)
                values += [quality.precision, quality.recall, _gain_per_edit(systems[0], system, members)]
            rows.append(TableRow((system.name, label), tuple(values)))
    measures = (Column("sentences"), *columns(["TER", "TER less the first's", "BLEU"], 2))
    if systems[0].words is not None:
        measures += (*columns(["precision", "recall"], 1), Column("gain per edit", 2))
    return Table(name, ("system", key), measures, tuple(rows))
