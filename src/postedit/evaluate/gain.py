"""The gain of an editor over unedited MT from a few hundred sentences, with an interval that small samples support.

The gain is the TER of the unedited MT less that of the editor's outputs: edits spared, in per cent of the words of pe.
Three things make a bootstrap of sentences too narrow here, and each widens the interval (ADR 41):

- Rare changes. An editor that changed nothing in 100 sentences may change the next one. Two sentences are added in
  thought, one that gains three edits and one that loses three (after Agresti and Coull 1998, who add two successes and
  two failures).
- One editor for many sentences. In cross-validation, the sentences of a fold have one editor, which may be a good or a
  bad one. The variance between folds shows it.
- Few folds, whose training sets are nearly the same. The variance between folds is multiplied (Nadeau and Bengio 2003,
  equation 9), and the quantile is that of Student's t with as many degrees of freedom as there are folds, less one.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.evaluate.metrics import Floats, Ints
from postedit.evaluate.significance import CONFIDENCE

_ADDED: Final = 2 * 3.0**2
"""Squares of the gains of the two sentences that are added in thought: with one edit each, or two, intervals of editors
whose changes are rare covered too little on train sets."""


class Gain(NamedTuple):
    """A gain in points of TER with the ends of its interval."""

    points: float
    low: float
    high: float

    def at_most(self, points: float) -> "Gain":
        """Return it where no more can be gained than these points: the TER of the unedited MT."""
        return Gain(*(min(value, points) for value in self))


@dataclass(frozen=True, eq=False, slots=True)
class SentenceGains:
    """What an editor gains in each sentence.

    Args:
        spared: Int[sentences], TER edits that need no longer be done; below 0, those that it adds.
        words: Int[sentences], words of pe.
        changed: Bool[sentences], whether the editor changed mt.
        folds: Int[sentences], the fold of each in cross-validation; None for an editor that was not trained on any.
    """

    spared: Ints
    words: Ints
    changed: NDArray[np.bool_]
    folds: Ints | None = None

    @property
    def points(self) -> float:
        """The gain in points of TER."""
        return 100.0 * float(self.spared.sum()) / max(1, int(self.words.sum()))

    def gain(self, confidence: float = CONFIDENCE) -> Gain:
        """Return the gain, and the interval in which that on all such text is with this confidence."""
        rest = self.spared - self.points / 100.0 * self.words
        count, words = len(rest), max(1, int(self.words.sum()))
        error = sqrt((float(rest @ rest) + _ADDED) * count / max(1, count - 1)) / words
        half = student_quantile(confidence, count - 1) * error
        if self.folds is not None:
            half = max(half, self._half_by_folds(self.folds, rest, confidence) / words)
        return Gain(self.points, self.points - 100.0 * half, self.points + 100.0 * half)

    def _half_by_folds(self, folds: Ints, rest: Floats, confidence: float) -> float:
        """Return half of the interval of the number of edits spared, from the differences between folds."""
        sums = np.bincount(folds, rest)
        count = len(sums)
        variance = (float(sums @ sums) + _ADDED) * count / (count - 1)
        overlap = 1.0 + count / (count - 1)  # times as large as if the training sets had no sentence in common
        return student_quantile(confidence, count - 1) * sqrt(variance * overlap)


def student_quantile(confidence: float, freedom: int) -> float:
    """Return how many standard errors the interval of a mean reaches to either side, with Student's t distribution.

    Fisher's expansion of the quantile in powers of 1/freedom; right to 0.5 % from 5 degrees of freedom on.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    n = max(1, freedom)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / n + second / n**2 + third / n**3
