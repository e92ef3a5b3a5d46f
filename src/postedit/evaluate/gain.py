"""The gain of an editor over unedited MT, measured on a few hundred sentences, with an interval for small samples.

The gain is the TER of the unedited MT minus that of the editor's outputs: edits saved, in per cent of the words of pe.
For three reasons, the interval of a sentence bootstrap would be too narrow here; it is widened for each (ADR 41):

- Changes are rare. An editor that changed nothing in 100 sentences may change the next one. So two imaginary sentences
  are added, one that gains three edits and one that loses three (after Agresti and Coull 1998, who add two successes
  and two failures).
- Many sentences share an editor. In cross-validation, all sentences of a fold are edited by one editor, which may
  happen to be good or bad. The variance between folds accounts for this.
- Folds are few, and their training sets are nearly the same. The variance between folds is multiplied by a factor
  (Nadeau and Bengio 2003, equation 9), and the quantile is that of Student's t with one degree of freedom less than
  there are folds.
"""

from dataclasses import dataclass
from math import atan, cos, pi, sqrt, tan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.evaluate.metrics import Floats, Ints
from postedit.evaluate.significance import CONFIDENCE

_ADDED: Final = 2 * 3.0**2
"""Sum of the squared gains, in edits, of the two imaginary sentences. With one or two edits each, the intervals of
editors that make few changes covered the true gain too seldom on training sets."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)
_MANY: Final = 100.0  # degrees of freedom, with which t is never `_FAR` from 0
_FAR: Final = 40.0


class Gain(NamedTuple):
    """A gain in TER points, and the ends of its interval."""

    points: float
    low: float
    high: float

    def at_most(self, points: float) -> "Gain":
        """Return the gain limited to `points`, the most that can be gained: the TER of the unedited MT."""
        return Gain(*(min(value, points) for value in self))


@dataclass(frozen=True, eq=False, slots=True)
class SentenceGains:
    """The gains of an editor in each sentence.

    Args:
        saved: Int[sentences], TER edits that the editor saves; negative: edits that it adds.
        words: Int[sentences], number of words of pe.
        changed: Bool[sentences], whether the editor changed mt.
        folds: Int[sentences], cross-validation fold of each sentence; None for an editor that was not cross-validated.
    """

    saved: Ints
    words: Ints
    changed: NDArray[np.bool_]
    folds: Ints | None = None

    @property
    def points(self) -> float:
        """The gain over all sentences in TER points."""
        return 100.0 * float(self.saved.sum()) / max(1, int(self.words.sum()))

    def gain(self, confidence: float = CONFIDENCE) -> Gain:
        """Return the gain, and the interval that contains the gain on all text of this kind with this confidence."""
        rest = self.saved - self.points / 100.0 * self.words
        count, words = len(rest), max(1, int(self.words.sum()))
        error = sqrt((float(rest @ rest) + _ADDED) * count / max(1, count - 1)) / words
        half = student_quantile(confidence, count - 1) * error
        if self.folds is not None:
            half = max(half, self._half_by_folds(self.folds, rest, confidence) / words)
        return Gain(self.points, self.points - 100.0 * half, self.points + 100.0 * half)

    def _half_by_folds(self, folds: Ints, rest: Floats, confidence: float) -> float:
        """Return half the width of the interval of the number of edits saved, from the differences between folds."""
        sums = np.bincount(folds, rest)
        count = len(sums)
        variance = (float(sums @ sums) + _ADDED) * count / (count - 1)
        overlap = 1.0 + count / (count - 1)  # times the variance for training sets that have no sentence in common
        return student_quantile(confidence, count - 1) * sqrt(variance * overlap)


def student_quantile(confidence: float, freedom: float) -> float:
    """Return by how many standard errors the interval of a mean extends to either side, by Student's t distribution."""
    freedom = max(1.0, freedom)
    angle, step, tails = 0.0, 1.0, (1.0 - confidence) * _area(0.0, freedom)
    while step > 1e-14:  # Newton's method from below: the area is a convex function of the angle
        step = (_area(angle, freedom) - tails) / cos(angle) ** (freedom - 1.0)
        angle += step
    return sqrt(freedom) * tan(angle)


def student_tails(value: float, freedom: float) -> float:
    """Return the probability that Student's t with at least one degree of freedom is farther from 0 than `value`."""
    freedom = max(1.0, freedom)
    return _area(atan(abs(value) / sqrt(freedom)), freedom) / _area(0.0, freedom)


def _area(start: float, freedom: float) -> float:
    """Return the area under the density from an angle on, apart from a factor.

    With t = sqrt(freedom) tan(angle), the density is proportional to cos(angle) ** (freedom - 1).
    """
    end = pi / 2.0 if freedom < _MANY else atan(_FAR / sqrt(freedom))
    start = min(end, start)
    angles = start + (end - start) * (_NODES + 1.0) / 2.0
    return (end - start) / 2.0 * float(_WEIGHTS @ np.cos(angles) ** (freedom - 1.0))
