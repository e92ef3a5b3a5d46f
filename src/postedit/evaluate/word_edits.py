"""Word edits of a system compared with those of the post-editor: precision, recall and F1.

There may be several shortest edit scripts. The one to the post-edit is chosen as by Tercom; the one to the output is
chosen to have the most edits in common with it, so that no edit is wrong merely because of its place in the script.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.evaluate.edit_script import DELETE, INSERT, REPLACE, shortest_edits
from postedit.evaluate.metrics import Ints
from postedit.evaluate.table import percentage

OPERATIONS: Final = ("insertions", "deletions", "substitutions")
"""Kinds of word edits, in the order of the columns of `WordEdits`; a moved word is a deletion and an insertion."""

_COLUMNS: Final = {INSERT: 0, DELETE: 1, REPLACE: 2}


@dataclass(frozen=True, slots=True)
class EditQuality:
    """Word edits of a system compared with those of the post-editor."""

    made: int  # from mt to the output
    needed: int  # from mt to the post-edit
    right: int  # in both: the same operation at the same word with the same new word

    @property
    def values(self) -> tuple[float | None, ...]:
        """All counts and rates, in the order in which tables show them."""
        return self.made, self.needed, self.right, self.precision, self.recall, self.f1

    @property
    def precision(self) -> float | None:
        """The right edits in per cent of those made; None if none were made."""
        return percentage(self.right, self.made)

    @property
    def recall(self) -> float | None:
        """The right edits in per cent of those needed; None if none were needed."""
        return percentage(self.right, self.needed)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall in per cent; None if no edits were made or needed."""
        return percentage(2 * self.right, self.made + self.needed)


@dataclass(frozen=True, eq=False, slots=True)
class WordEdits:
    """The counts of `EditQuality` by sentence and operation, in the order of `OPERATIONS`.

    Shapes: Int[sentences,3], or Int[3] for sums over sentences.
    """

    made: Ints
    needed: Ints
    right: Ints

    def quality(self) -> EditQuality:
        """Return the counts summed over all operations and sentences."""
        return EditQuality(*(int(counts.sum()) for counts in (self.made, self.needed, self.right)))

    def by_operation(self) -> list[EditQuality]:
        """Return the counts summed over all sentences for each of `OPERATIONS`."""
        sums = (counts.reshape(-1, len(OPERATIONS)).sum(0) for counts in (self.made, self.needed, self.right))
        return [EditQuality(*map(int, counts)) for counts in zip(*sums)]


def word_edits(mt: Sequence[Sequence[str]], hyp: Sequence[Sequence[str]], pe: Sequence[Sequence[str]]) -> WordEdits:
    """Return the edits of each sentence made in `hyp` and needed in `pe`; sentences are lists of words."""
    counts = np.zeros((3, len(pe), len(OPERATIONS)), np.int64)
    for row, (before, output, after) in enumerate(zip(mt, hyp, pe, strict=True)):
        needed = Counter(shortest_edits(before, after))
        made = Counter(shortest_edits(before, output, needed))
        for index, edits in enumerate((made, needed, made & needed)):
            for edit, count in edits.items():
                counts[index, row, _COLUMNS[edit.operation]] += count
    return WordEdits(*counts)
