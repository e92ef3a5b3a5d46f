"""Systems that were trained several times, with different seeds: mean scores, deviations and differences.

The score of one training depends on its seed. Therefore the difference of two systems is that of their mean scores, and
its variance is the sum of two parts: that of the sentences, from bootstrap resamples of the mean scores, and that of
the seeds, the variance between trainings divided by their number. Part of the differences between trainings is due to
the sentences, too, so the sum is rather too large.

By how many standard errors an interval extends is a mean of two quantiles of Student's t, one for each part, weighted
by their variances (Cochran and Cox 1950). That for the seeds has the degrees of freedom of Welch. If his formula joined
all parts, the interval would be too narrow where two trainings are alike by chance: too many systems of the quality of
the unedited MT would differ from it significantly.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Final

import numpy as np

from postedit.core.errors import DataError
from postedit.evaluate.gain import student_quantile, student_tails
from postedit.evaluate.metrics import Floats
from postedit.evaluate.scores import UNEDITED_MT
from postedit.evaluate.significance import CONFIDENCE
from postedit.evaluate.table import Table, TableRow, columns, p_values

_SEED: Final = re.compile(r"seed-\d+")

METRICS: Final = ("TER", "BLEU", "chrF")

_LEAST: Final = 1e-12  # p-values that are not told from 0


def trainings_of(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the outputs of each system, by its name, in which `seed-*` stands for `seed-1` and so on.

    Names that differ only in these numbers are those of trainings of one system. A name without a number is a system.

    Raises:
        DataError: if no system has several trainings.
    """
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(_SEED.sub("seed-*", name), []).append(place)
    if all(len(places) == 1 for places in found.values()):
        raise DataError(
            "--seeds: no two outputs have names that differ only in the number after seed-, such as seed-1/dev.out and "
            "seed-2/dev.out; give the outputs of several trainings such names, or leave it out"
        )
    return found


def means(trainings: Mapping[str, Sequence[int]], scores: Floats) -> Table:
    """Return the number of trainings of each system, and the mean and standard deviation of each score.

    Args:
        trainings: the result of `trainings_of`.
        scores: Float[outputs,3], in the order of `METRICS`.
    """
    rows = []
    for name, places in trainings.items():
        own = scores[places]
        spread = own.std(0, ddof=1) if len(places) > 1 else (None,) * len(METRICS)
        values = (value for pair in zip(own.mean(0), spread, strict=True) for value in pair)
        rows.append(TableRow((name,), (len(places), *values)))
    names = [column for metric in METRICS for column in (metric, f"sd of {metric}")]
    note = "Mean and standard deviation over trainings with different seeds."
    return Table("scores over seeds", ("system",), (*columns(["trainings"]), *columns(names, 2)), tuple(rows), note)


@dataclass(frozen=True, slots=True)
class _Trained:
    """The scores of the trainings of a system under one metric, and those of its resamples on average."""

    scores: Floats  # Float[trainings]
    resampled: Floats  # Float[resamples]

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    @property
    def freedom(self) -> int:
        return len(self.scores) - 1

    @property
    def variance(self) -> float:
        """The variance of the mean that is due to seeds."""
        return float(self.scores.var(ddof=1)) / len(self.scores) if self.freedom else 0.0


def differences(
    trainings: Mapping[str, Sequence[int]],
    scores: Mapping[str, Floats],
    resampled: Mapping[str, Floats],
    sentences: int,
) -> Table:
    """Return the differences of the mean scores of all pairs of systems, with intervals and p-values.

    Args:
        trainings: the result of `trainings_of`. Systems that were trained once are left out, but not the unedited MT,
            which does not depend on seeds.
        scores: Float[outputs] by metric.
        resampled: Float[resamples,outputs] by metric, scores of resampled sentences, the same for all outputs.
        sentences: number of sentences that were resampled.
    """
    compared = {name: list(places) for name, places in trainings.items() if len(places) > 1 or name == UNEDITED_MT}
    rows = []
    for metric, found in scores.items():
        all_of = {one: _Trained(found[at], resampled[metric][:, at].mean(1)) for one, at in compared.items()}
        for (other, first), (system, second) in combinations(all_of.items(), 2):
            rows.append(TableRow((system, other, metric), _difference(second, first, sentences)))
    note = (
        f"Mean score of system less that of other, with its {CONFIDENCE:.0%} interval and two-sided p-value, for other "
        "sentences and other seeds (Student's t; not corrected for the number of comparisons). Systems that were "
        "trained once are left out."
    )
    measures = (*columns(["difference", "from", "to"], 2), *p_values("p"))
    return Table("significance over seeds", ("system", "other", "metric"), measures, tuple(rows), note)


def _difference(first: _Trained, second: _Trained, sentences: int) -> tuple[float, float, float, float]:
    """Return the difference of the means of two systems, the ends of its interval, and its p-value."""
    points = first.mean - second.mean
    of_sentences = float(np.var(first.resampled - second.resampled, ddof=1))
    parts = [(one.variance, one.freedom) for one in (first, second) if one.freedom]
    of_seeds = sum(part for part, _ in parts)
    variance = of_sentences + of_seeds
    if not variance:  # no sentence and no training differs from another
        return points, points, points, float(points == 0.0)
    freedom = of_seeds**2 / sum(part**2 / degrees for part, degrees in parts) if of_seeds else 1.0
    share = of_seeds / variance

    def half(confidence: float) -> float:
        quantiles = student_quantile(confidence, sentences - 1), student_quantile(confidence, freedom)
        return sqrt(variance) * ((1.0 - share) * quantiles[0] + share * quantiles[1])

    # The p-value is 1 less the confidence of the interval that just reaches to 0. That of either part alone bounds it.
    tails = [max(_LEAST, student_tails(points / sqrt(variance), one)) for one in (sentences - 1, freedom)]
    low, high = (min(tails), max(tails)) if 0.0 < share < 1.0 else (tails[round(share)],) * 2
    while high > low * (1.0 + 1e-4):
        middle = sqrt(low * high)
        low, high = (low, middle) if half(1.0 - middle) < abs(points) else (middle, high)
    return points, points - half(CONFIDENCE), points + half(CONFIDENCE), sqrt(low * high)
