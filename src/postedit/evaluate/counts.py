"""Counts of a system, of single sentences or summed over many, and the buckets that sentences are put into.

All scores and analyses are functions of such sums, so that memory does not grow with the number of sentences.
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
"""The edits of TER, in the order of the columns of `EditCounts.kinds`."""

_WIDTHS: Final = {"left": 5, "bleu": 10, "chrf": 19, "made": 5, "words": 9, "changes": 3, "sentences": 1}
_ENDS: Final = dict(zip(_WIDTHS, pairwise(accumulate(_WIDTHS.values(), initial=0))))

WIDTH: Final = sum(_WIDTHS.values())
"""Number of counts."""

SCORED: Final = _ENDS["chrf"][1]
"""Number of those, the first ones, that TER, BLEU and chrF depend on."""

_LENGTHS: Final = (0, 10, 20, 30, 40, 60)
_RATES: Final = (0, 10, 20, 30, 50, 75)
"""Upper limits of buckets, inclusive; the last bucket has none."""


@dataclass(frozen=True, eq=False, slots=True)
class EditCounts:
    """TER's edits from one text to another, by sentence or summed."""

    kinds: Ints  # Int[...,4], in the order of `KINDS`
    length: Ints  # Int[...], words of the other text

    @classmethod
    def of(cls, counts: Sequence[EditCount]) -> "EditCounts":
        """Return the edits of some sentences."""
        kinds = [(count.shifts, count.substitutions, count.insertions, count.deletions) for count in counts]
        return cls(np.array(kinds, np.int64).reshape(-1, 4), np.array([count.length for count in counts], np.int64))

    @property
    def columns(self) -> Ints:
        """All counts, Int[...,5]."""
        return np.concatenate([self.kinds, self.length[..., None]], -1)

    @property
    def total(self) -> Ints:
        """Edits of all kinds, Int[...]."""
        return np.asarray(self.kinds.sum(-1), np.int64)

    @property
    def sums(self) -> Floats:
        """Edits and words, Float[...,2]: the statistics of `AdditiveTER`."""
        return np.stack([self.total, self.length], -1).astype(np.float64)

    @property
    def rates(self) -> Floats:
        """TER in per cent, Float[...]."""
        return np.asarray(100.0 * self.total / np.maximum(self.length, 1))


class Counts:
    """A view of counts, Int[...,WIDTH]; of their first `SCORED` columns, `left`, `bleu` and `chrf` alone.

    Those that compare with mt are 0 if it is not known.
    """

    def __init__(self, values: Ints) -> None:
        self.values = values

    def _named(self, name: str) -> Ints:
        first, end = _ENDS[name]
        return self.values[..., first:end]

    @cached_property
    def left(self) -> EditCounts:
        """TER's edits from the outputs to the post-edits."""
        columns = self._named("left")
        return EditCounts(columns[..., :4], columns[..., 4])

    @cached_property
    def made(self) -> EditCounts:
        """TER's edits from mt to the outputs."""
        columns = self._named("made")
        return EditCounts(columns[..., :4], columns[..., 4])

    @cached_property
    def words(self) -> WordEdits:
        """Word edits made and needed."""
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
        """Sentences that differ from mt; those with fewer edits left than the first system; and with more."""
        return self._named("changes")

    @property
    def sentences(self) -> Ints:
        """Number of sentences, Int[...]."""
        return self._named("sentences")[..., 0]


def buckets(
    left: EditCounts, labels: Sequence[str], groups: Sequence[str] | None, *, has_mt: bool
) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """Return the members of each bucket, Bool[sentences], by the name of a division and the label of the bucket.

    Args:
        left: the edits left by the first system.
        labels: of all groups.
        groups: the label of each sentence.
        has_mt: whether the first system is the unedited MT.
    """
    found = {("by length", label): members for label, members in _ranges(left.length, _LENGTHS).items()}
    if has_mt:
        rates = np.ceil(left.rates)
        found |= {("by TER of mt", label): members for label, members in _ranges(rates, _RATES).items()}
        found["by kind of edit", "needs none"] = left.total == 0
        found |= {("by kind of edit", f"needs {kind}"): left.kinds[:, column] > 0 for column, kind in enumerate(KINDS)}
    if groups is not None:
        here = np.array(groups, dtype=object)
        found |= {("by group", label or "(none)"): here == label for label in labels}
    return found


def _ranges(values: Ints | Floats, ends: Sequence[int]) -> dict[str, NDArray[np.bool_]]:
    """Return a bucket for each range of whole numbers up to each of `ends`, inclusive, and one beyond the last."""
    indices = np.searchsorted(ends, values, side="left")
    starts = [ends[0], *(end + 1 for end in ends)]
    labels = [str(end) if start == end else f"{start}–{end}" for start, end in zip(starts, ends)]
    return {label: indices == index for index, label in enumerate([*labels, f"over {ends[-1]}"])}
