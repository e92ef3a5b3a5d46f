"""What a system did to the machine translation: how much, of what kind, and whether it was called for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

OPERATIONS: Final = ("insertions", "deletions", "substitutions")
"""What word edits are, in the order of the columns of `WordEdits`; a word that moves is deleted and inserted."""

_TAGS: Final = {"insert": 0, "delete": 1, "replace": 2}

_Atom = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class EditQuality:
    """Word edits of a system beside those that the post-editor made.

    Args:
        made: edits from the machine translation to the output.
        needed: edits from the machine translation to the post-edit.
        right: edits that are in both: the same operation, at the same word, with the same new word.
    """

    made: int
    needed: int
    right: int

    @property
    def precision(self) -> float | None:
        """Right edits in per cent of those made."""
        return 100.0 * self.right / self.made if self.made else None

    @property
    def recall(self) -> float | None:
        """Right edits in per cent of those needed."""
        return 100.0 * self.right / self.needed if self.needed else None

    @property
    def f1(self) -> float | None:
        """Their harmonic mean."""
        return 200.0 * self.right / (self.made + self.needed) if self.made + self.needed else None


@dataclass(frozen=True, eq=False, slots=True)
class WordEdits:
    """The counts of `EditQuality`, sentence by sentence and by operation.

    Args:
        made: Int[sentences,3], in the order of `OPERATIONS`.
        needed: likewise.
        right: likewise.
    """

    made: NDArray[np.int64]
    needed: NDArray[np.int64]
    right: NDArray[np.int64]

    def quality(self, sentences: NDArray[np.bool_] | None = None) -> EditQuality:
        """Return the counts of all operations together, over the sentences Bool[sentences]; all if not given."""
        chosen = slice(None) if sentences is None else sentences
        return EditQuality(*(int(counts[chosen].sum()) for counts in (self.made, self.needed, self.right)))

    def by_operation(self) -> list[EditQuality]:
        """Return the counts over all sentences for each of `OPERATIONS`."""
        sums = [counts.sum(0) for counts in (self.made, self.needed, self.right)]
        return [EditQuality(*(int(counts[place]) for counts in sums)) for place in range(len(OPERATIONS))]


def word_edits(mt: Sequence[Sequence[str]], hyp: Sequence[Sequence[str]], pe: Sequence[Sequence[str]]) -> WordEdits:
    """Return the counts for sentences that are given as words."""
    counts = np.zeros((3, len(pe), len(OPERATIONS)), np.int64)
    for row, (before, output, after) in enumerate(zip(mt, hyp, pe, strict=True)):
        done, wanted = _atoms(before, output), _atoms(before, after)
        for place, atoms in enumerate((done, wanted, done & wanted)):
            for (operation, _, _), count in atoms.items():
                counts[place, row, operation] += count
    return WordEdits(*counts)


def _atoms(before: Sequence[str], after: Sequence[str]) -> Counter[_Atom]:
    """Return the fewest word edits, each with the word of `before` it is at and the word it writes."""
    if before == after:
        return Counter()
    return Counter(
        (_TAGS[op.tag], op.src_pos, "" if op.tag == "delete" else after[op.dest_pos])
        for op in Levenshtein.editops(before, after)
    )
