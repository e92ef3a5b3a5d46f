"""Counts of a system, for single sentences or summed over many, and the buckets that sentences are put into.

All scores and analyses are functions of such sums, so memory does not grow with the number of sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.evaluate.metrics import Floats, Ints
from postedit.evaluate.ter import EditCount
from postedit.evaluate.word_edits import WordEdits

KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")
"""The kinds of TER edits, in the order of the columns of `EditCounts.kinds`."""

_WIDTHS: Final = {"left": 5, "bleu": 10, "chrf": 19, "made": 5, "words": 9, "changes": 3, "sentences": 1}
_ENDS: Final = dict(zip(_WIDTHS, pairwise(accumulate(_WIDTHS.values(), initial=0))))

WIDTH: Final = sum(_WIDTHS.values())
"""Number of counts of a sentence: the columns of `Counts`."""

SCORED: Final = _ENDS["chrf"][1]
"""Number of leading columns of `Counts` that TER, BLEU and chrF depend on."""

_LENGTHS: Final = (0, 10, 20, 30, 40, 60)
_RATES: Final = (0, 10, 20, 30, 50, 75)
"""Upper limits of buckets, inclusive, in words and in per cent of TER; the last bucket has none."""


@dataclass(frozen=True, eq=False, slots=True)
class EditCounts:
    """Counts of the TER edits that turn one text into another, by sentence or summed."""

    kinds: Ints  # Int[...,4], in the order of `KINDS`
    length: Ints  # Int[...], words of the other text, the reference

    @classmethod
    def of(cls, counts: Sequence[EditCount]) -> "EditCounts":
        """Return the edits of some sentences as arrays."""
        kinds = [(count.shifts, count.substitutions, count.insertions, count.deletions) for count in counts]
        return cls(np.array(kinds, np.int64).reshape(-1, 4), np.array([count.length for count in counts], np.int64))

    @property
    def columns(self) -> Ints:
        """All counts, Int[...,5]: edits by kind, and the length."""
        return np.concatenate([self.kinds, self.length[..., None]], -1)

    @property
    def total(self) -> Ints:
        """The number of edits of all kinds, Int[...]."""
        return np.asarray(self.kinds.sum(-1), np.int64)

    @property
    def sums(self) -> Floats:
        """The edits and the words, Float[...,2]: the statistics of `AdditiveTER`."""
        return np.stack([self.total, self.length], -1).astype(np.float64)

    @property
    def rates(self) -> Floats:
        """TER in per cent, Float[...]; an empty reference counts as one word."""
        return np.asarray(100.0 * self.total / np.maximum(self.length, 1))


class Counts:
    """Named columns of counts, Int[...,WIDTH]. Of Int[...,SCORED], only `left`, `bleu` and `chrf` can be read.

    The columns that compare outputs with mt are 0 if mt is not known.
    """

    def __init__(self, values: Ints) -> None:
        self.values = values

    def _named(self, name: str) -> Ints:
        first, end = _ENDS[name]
        return self.values[..., first:end]

    @cached_property
    def left(self) -> EditCounts:
        """The TER edits from the outputs to the post-edits."""
        columns = self._named("left")
        return EditCounts(columns[..., :4], columns[..., 4])

    @cached_property
    def made(self) -> EditCounts:
        """The TER edits from the outputs to mt."""
        columns = self._named("made")
        return EditCounts(columns[..., :4], columns[..., 4])

    @cached_property
    def words(self) -> WordEdits:
        """The word edits that were made, needed, and right."""
        columns = self._named("words")
        return WordEdits(columns[..., :3], columns[..., 3:6], columns[..., 6:])

    @property
    def bleu(self) -> Floats:
        """The statistics of `AdditiveBLEU`, Float[...,10]."""
        return self._named("bleu").astype(np.float64)

    @property
    def chrf(self) -> Floats:
        """The statistics of `AdditiveCHRF`, Float[...,19]."""
        return self._named("chrf").astype(np.float64)

    @property
    def changes(self) -> Ints:
        """Sentences that differ from mt, that have fewer edits left than the first system, and more, Int[...,3]."""
        return self._named("changes")

    @property
    def sentences(self) -> Ints:
        """The number of sentences, Int[...]."""
        return self._named("sentences")[..., 0]


def buckets(
    left: EditCounts, labels: Sequence[str], groups: Sequence[str] | None, *, has_mt: bool
) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """Return which sentences are in each bucket, Bool[sentences], by the name of a division and the bucket's label.

    Args:
        left: edits that the first system leaves in each sentence.
        labels: labels of all groups.
        groups: label of each sentence; None: there are no groups.
        has_mt: whether the first system is the unedited MT.
    """
    found = {("by length", label): members for label, members in _ranges(left.length, _LENGTHS).items()}
    if has_mt:
        found |= {("by TER of mt", label): members for label, members in _ranges(left.rates, _RATES).items()}
        found["by kind of edit", "needs none"] = left.total == 0
        found |= {("by kind of edit", f"needs {kind}"): left.kinds[:, column] > 0 for column, kind in enumerate(KINDS)}
    if groups is not None:
        here = np.array(groups, dtype=object)
        found |= {("by group", label or "(none)"): here == label for label in labels}
    return found


def _ranges(values: Ints | Floats, ends: Sequence[int]) -> dict[str, NDArray[np.bool_]]:
    """Return by label the members of a bucket for each range that ends at one of `ends`, inclusive, and of the rest."""
    indices = np.searchsorted(ends, values, side="left")
    starts = [ends[0], *(end + 1 for end in ends)]
    labels = [str(end) if start == end else f"{start}–{end}" for start, end in zip(starts, ends)]
    return {label: indices == index for index, label in enumerate([*labels, f"over {ends[-1]}"])}
