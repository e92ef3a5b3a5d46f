"""Test whether evidence is faithful: does an edit disappear when the source words it cites are cut out?

For comparison, the same number of consecutive words is removed at a random position that does not overlap the cited
ones; edits without such a position are not tested. An edit is gone if the new output does not put the same text in
place of the same characters of mt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.core.editor import Editor, PostEdit
from postedit.evaluate.significance import MIN_SENTENCES, compare
from postedit.evaluate.table import Column, Table, TableRow, columns, p_values, percentage
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.reasons import Reason

_WINDOW: Final = 200
"""Edits tested between two reports of progress."""


@dataclass(frozen=True, slots=True)
class TestedEdit:
    """An edit, and whether it is gone without the words it cites and without random words."""

    __test__ = False  # not a test case of pytest

    reason: Reason
    gone_without_cited: bool
    gone_without_random: bool


def mask(
    editor: Editor,
    sentences: Sequence[ExplainedSentence | None],
    found: Sequence[Reason],
    seed: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> list[TestedEdit]:
    """Test the edits `found` that `editor` made in `sentences`, as far as they can be tested.

    The random position for an edit depends on `seed`, but not on the other edits. `report` is called with the number of
    edits tested.
    """
    trials = []
    for reason in found:
        sentence = sentences[reason.line - 1]
        if sentence is not None and (sources := _masked(reason, sentence, seed)) is not None:
            trials.append((reason, sentence.mt, sources))
    tested: list[TestedEdit] = []
    for start in range(0, len(trials), _WINDOW):
        part = trials[start : start + _WINDOW]
        edits = editor.edit(
            [src for *_, sources in part for src in sources], [mt for _, mt, _ in part for _ in range(2)]
        )
        for (reason, *_), cited, random in zip(part, edits[::2], edits[1::2], strict=True):
            tested.append(TestedEdit(reason, _has_disappeared(reason, cited), _has_disappeared(reason, random)))
        report(len(tested))
    return tested


def masking_table(tested: Sequence[TestedEdit], edits: int, cite: str, seed: int, resamples: int) -> Table:
    """Return a table of how often edits are gone, by kind; `edits` is the number made, `cite` how they cite src."""
    rows = []
    for name in ("all", "insert", "delete", "replace"):
        group = [one for one in tested if name in ("all", one.reason.edit.op)]
        cited, random = sum(one.gone_without_cited for one in group), sum(one.gone_without_random for one in group)
        compared = _compared(group, resamples) if group else (None,) * 4
        shares = percentage(cited, len(group)), percentage(random, len(group))
        rows.append(TableRow((name,), (len(group), *shares, *compared)))
    note = (
        f"Percentages of the tested edits ({len(tested):,} of {edits:,}) that are gone when the words they cite are "
        "cut out of src, and when as many others are, drawn at random; the difference in points, its 95 % interval "
        f"(bootstrap over sentences) and two-sided p-value (approximate randomisation), {resamples:,} resamples; seed "
        f"{seed}. Cited by {cite}: the shortest span of words with half of the weight. An edit is gone unless the same "
        "text takes the place of the same characters of mt; edits that cite nothing, or too much, are not tested."
    )
    rates = ["gone without cited %", "without random %", "difference", "low", "high"]
    measures = (Column("edits"), *columns(rates, 1), *p_values("p"))
    return Table("edits that go with their evidence", ("kind",), measures, tuple(rows), note)


def _compared(group: Sequence[TestedEdit], resamples: int) -> tuple[float | None, ...]:
    lines = sorted({one.reason.line for one in group})
    place = {line: row for row, line in enumerate(lines)}
    sums = np.zeros((2, len(lines), 2))
    for one in group:
        sums[:, place[one.reason.line]] += [[one.gone_without_cited, 1], [one.gone_without_random, 1]]
    found = compare(list(sums), lambda totals: 100.0 * totals[..., 0] / np.maximum(1.0, totals[..., 1]), resamples)
    best = found.comparisons[0]
    if len(lines) < MIN_SENTENCES:
        return best.difference, None, None, None
    return best.difference, best.interval.low, best.interval.high, best.randomisation


def _masked(reason: Reason, sentence: ExplainedSentence, seed: int) -> tuple[str, str] | None:
    """Return the source without the cited words, and without random words; None if the edit cannot be tested."""
    if reason.src is None:
        return None
    first, last = reason.src.first, reason.src.last
    count, length = len(sentence.text_words("src")), last - first
    starts = [start for start in range(count - length + 1) if start + length <= first or start >= last]
    if not starts:
        return None
    generator = np.random.default_rng([seed, reason.line, *reason.edit.mt_span, *reason.edit.pe_span])
    start = starts[int(generator.integers(len(starts)))]
    return _without(sentence, first, last), _without(sentence, start, start + length)


def _without(sentence: ExplainedSentence, first: int, last: int) -> str:
    """Return the source without its words `first` to `last` (exclusive)."""
    spans = [place for place in sentence.spans["src"] if place is not None]
    before, after = sentence.src[: spans[first].start], sentence.src[spans[last - 1].end :]
    return before.rstrip(" ") + after if before.endswith(" ") else before + after.lstrip(" ")


def _has_disappeared(reason: Reason, other: PostEdit) -> bool:
    return not any(
        edit.mt_span == reason.edit.mt_span and other.text[slice(*edit.pe_span)] == reason.new for edit in other.edits
    )
