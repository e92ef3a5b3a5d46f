"""Test whether evidence is faithful: does an edit disappear when the source words it cites are cut out?

The cited words are removed from the source and the sentence is edited again with the settings of the model. For
comparison, as many consecutive words are removed at a random position that does not overlap the cited ones. An edit is
gone if the new output does not put the same text in place of the same characters of mt. Edits that cite so much of the
source that no such position is left are not tested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.core.editor import Editor, PostEdit
from postedit.evaluate.significance import compare
from postedit.evaluate.table import Column, Row, Table, percentage
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.reasons import Reason

_WINDOW: Final = 200
"""Edits tested between two reports of progress."""


@dataclass(frozen=True, slots=True)
class TestedEdit:
    """An edit, and whether it is gone without the words it cites, and without random ones."""

    __test__ = False  # not a test case of pytest

    reason: Reason
    gone_without_cited: bool
    gone_without_random: bool


@dataclass(frozen=True, slots=True)
class _Trial:
    reason: Reason
    mt: str
    without_cited: str
    without_random: str


def mask(
    editor: Editor,
    sentences: Sequence[ExplainedSentence | None],
    found: Sequence[Reason],
    seed: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> list[TestedEdit]:
    """Test the edits of `sentences`.

    Args:
        editor: the model that made them.
        sentences: all sentences; the line numbers of the edits count them from 1.
        found: the edits.
        seed: of the random positions; that of an edit does not depend on which other edits are tested.
        report: called with the number of edits done.
    """
    of = {line: sentence for line, sentence in enumerate(sentences, start=1) if sentence is not None}
    trials = [trial for reason in found if (trial := _trial(reason, of[reason.line], seed)) is not None]
    tested: list[TestedEdit] = []
    for start in range(0, len(trials), _WINDOW):
        part = trials[start : start + _WINDOW]
        src = [text for trial in part for text in (trial.without_cited, trial.without_random)]
        edits = editor.edit(src, [trial.mt for trial in part for _ in range(2)])
        for trial, cited, random in zip(part, edits[::2], edits[1::2], strict=True):
            tested.append(TestedEdit(trial.reason, _gone(trial.reason, cited), _gone(trial.reason, random)))
        report(len(tested))
    return tested


def masking_table(tested: Sequence[TestedEdit], edits: int, cite: str, seed: int, resamples: int) -> Table:
    """Return how often edits are gone, by kind; `edits` is the number of edits made, `cite` how they cite src."""
    rows = []
    for name, group in _groups(tested):
        cited, random = sum(one.gone_without_cited for one in group), sum(one.gone_without_random for one in group)
        compared = _compared(group, resamples) if group else (None,) * 4
        rows.append(
            Row((name,), (len(group), percentage(cited, len(group)), percentage(random, len(group)), *compared))
        )
    note = (
        f"Percentages of the tested edits ({len(tested):,} of {edits:,}) that are gone when the words they cite are "
        "cut out of src, and when as many others are, drawn at random; the difference in points, its 95 % interval "
        f"(bootstrap over sentences) and two-sided p-value (approximate randomisation), {resamples:,} resamples; seed "
        f"{seed}. Cited by {cite}: the shortest span of words with half of the weight. An edit is gone unless the same "
        "text takes the place of the same characters of mt; edits that cite nothing, or too much, are not tested."
    )
    columns = (
        Column("edits"), Column("gone without cited %", 1), Column("without random %", 1),
        Column("difference", 1), Column("low", 1), Column("high", 1), Column("p", 4),
    )  # fmt: skip
    return Table("edits that go with their evidence", ("kind",), columns, tuple(rows), note)


def _groups(tested: Sequence[TestedEdit]) -> list[tuple[str, list[TestedEdit]]]:
    kinds = ("insert", "delete", "replace")
    return [("all", list(tested)), *((kind, [one for one in tested if one.reason.edit.op == kind]) for kind in kinds)]


def _compared(group: Sequence[TestedEdit], resamples: int) -> tuple[float, ...]:
    lines = sorted({one.reason.line for one in group})
    place = {line: row for row, line in enumerate(lines)}
    sums = np.zeros((2, len(lines), 2))
    for one in group:
        sums[:, place[one.reason.line]] += [[one.gone_without_cited, 1], [one.gone_without_random, 1]]
    found = compare(list(sums), lambda totals: 100.0 * totals[..., 0] / np.maximum(1.0, totals[..., 1]), resamples)
    best = found.comparisons[0]
    return best.difference, best.interval.low, best.interval.high, best.randomisation


def _trial(reason: Reason, sentence: ExplainedSentence, seed: int) -> _Trial | None:
    if reason.src is None:
        return None
    first, last = reason.src.first, reason.src.last
    count = len(sentence.text_words("src"))
    length = last - first
    starts = [start for start in range(count - length + 1) if start + length <= first or start >= last]
    if not starts:
        return None
    generator = np.random.default_rng([seed, reason.line, *reason.edit.mt_span, *reason.edit.pe_span])
    start = starts[int(generator.integers(len(starts)))]
    return _Trial(reason, sentence.mt, _without(sentence, first, last), _without(sentence, start, start + length))


def _without(sentence: ExplainedSentence, first: int, last: int) -> str:
    """Return the source without its words `first` to `last` (exclusive)."""
    spans = [place for place in sentence.spans["src"] if place is not None]
    before, after = sentence.src[: spans[first].start], sentence.src[spans[last - 1].end :]
    return before.rstrip(" ") + after if before.endswith(" ") else before + after.lstrip(" ")


def _gone(reason: Reason, other: PostEdit) -> bool:
    return not any(
        edit.mt_span == reason.edit.mt_span and other.text[slice(*edit.pe_span)] == reason.new for edit in other.edits
    )
