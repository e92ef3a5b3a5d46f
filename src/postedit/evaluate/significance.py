"""Significance by paired bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005).

All p-values are two-sided. That of the bootstrap is the share of resamples whose difference is at least as far from the
observed one as this is from 0; Koehn instead counts the resamples in which the better system loses. Resamples with
exactly the observed difference are as extreme as it is; sacrebleu does not count them.

Scores are functions of sums over sentences, so a resample is a row of sentence weights, and the sums of all resamples
are one matrix product.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np

from postedit.core.wording import counted
from postedit.evaluate.metrics import Floats, Ints

RESAMPLES: Final = 10_000
CONFIDENCE: Final = 0.95
MIN_SENTENCES: Final = 10
"""Fewest sentences that are compared. Resamples of only a few sentences are so alike that the bootstrap takes any
difference for certain: if four sentences all differ by the same amount, p = 0.0001, although 2 of the 16 possible
exchanges are as extreme."""

RESAMPLED: Final = 100_000
"""Most sentences that are drawn one by one. More than that are divided into this number of groups of consecutive
sentences, and groups are drawn. This bounds memory and time, and intervals hardly change, because the sums of so many
small groups have the same variance."""

_BLOCK: Final = 2**20  # weights held in memory at a time
_TIE: Final = 1e-9  # score differences closer than this are equal: sums in another order differ by rounding errors


def too_few(sentences: int) -> str:
    """Return the clause "N sentences are too few to compare", for N below `MIN_SENTENCES`."""
    return f"{counted(sentences, 'sentence is', 'sentences are')} too few to compare"


def group_of(places: Ints, sentences: int) -> Ints:
    """Return the group numbers of the sentences at `places`, out of `sentences` in all; see `RESAMPLED`."""
    return places if sentences <= RESAMPLED else places * RESAMPLED // sentences


def grouped(statistics: Floats) -> Floats:
    """Return statistics Float[sentences,...] summed over each group of `group_of`, Float[groups,...]."""
    if len(statistics) <= RESAMPLED:
        return statistics
    groups = group_of(np.arange(len(statistics)), len(statistics))
    return np.add.reduceat(statistics, np.flatnonzero(np.diff(groups, prepend=-1)))


def what_is_drawn(sentences: int) -> str:
    """Return in words what resamples consist of: "the sentences", or groups of consecutive sentences."""
    if sentences <= RESAMPLED:
        return "the sentences"
    return f"{RESAMPLED:,} groups of {sentences / RESAMPLED:,.1f} consecutive sentences on average"


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of the middle 95 % of the resampled values of a score."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two systems, given by their indices, under one metric."""

    first: int
    second: int
    difference: float  # the score of `first` minus that of `second`
    interval: Interval  # of the difference
    bootstrap: float  # two-sided p-value of the paired bootstrap
    randomisation: float  # two-sided p-value of approximate randomisation


@dataclass(frozen=True, slots=True)
class Significance:
    """The interval of each system's score, and the comparisons of all pairs of systems."""

    intervals: tuple[Interval, ...]
    comparisons: tuple[Comparison, ...]
    resampled: Floats = field(compare=False, repr=False)  # Float[resamples,systems], scores for resampled sentences


def compare(
    statistics: Sequence[Floats], score: Callable[[Floats], Floats], resamples: int = RESAMPLES, seed: int = 1
) -> Significance:
    """Return the interval of each system's score, and intervals and p-values for all pairs of systems.

    Args:
        statistics: sentence statistics of each system, Float[sentences,statistics], or their sums over groups; whole
            numbers.
        score: function that maps sums Float[...,statistics] to scores Float[...].
        resamples: number of resamples.
        seed: seed of the random numbers.

    Raises:
        ValueError: if there are no systems or no sentences, or the systems have different numbers of sentences.
    """
    if not statistics or not len(statistics[0]):
        raise ValueError("nothing to resample: there must be at least one system and one sentence")
    stacked = np.stack(statistics, 1)
    totals = stacked.sum(0)
    observed = score(totals)
    bootstrapped = score(_bootstrap_sums(stacked, resamples, np.random.default_rng([seed, 0])))
    pairs = list(combinations(range(len(statistics)), 2))
    swapped = _swapped_sums(stacked, resamples, np.random.default_rng([seed, 1])) if pairs else stacked[:0]
    comparisons = []
    for first, second in pairs:
        difference = float(observed[first] - observed[second])
        drawn = bootstrapped[:, first] - bootstrapped[:, second]
        moved = swapped[:, second] - swapped[:, first]
        by_chance = score(totals[first] + moved) - score(totals[second] - moved)
        p_values = _p_value(drawn - difference, difference), _p_value(by_chance, difference)
        comparisons.append(Comparison(first, second, difference, _interval(drawn), *p_values))
    return Significance(tuple(map(_interval, bootstrapped.T)), tuple(comparisons), bootstrapped)


def _bootstrap_sums(stacked: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return sums over sentences drawn with replacement, Float[resamples,systems,statistics]."""
    sentences = len(stacked)
    flat = stacked.reshape(sentences, -1)
    parts = []
    for rows in _blocks(resamples, sentences):
        drawn = generator.integers(0, sentences, (rows, sentences), dtype=np.int32)
        indices = drawn + np.arange(0, rows * sentences, sentences)[:, None]
        weights = np.bincount(indices.ravel(), minlength=rows * sentences).reshape(rows, sentences)
        parts.append(weights.astype(np.float64) @ flat)
    return np.concatenate(parts).reshape(resamples, *stacked.shape[1:])


def _swapped_sums(stacked: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return sums over swapped sentences, Float[resamples,systems,statistics]; each is swapped with probability 1/2.

    The same sentences are swapped for all pairs of systems, so time and memory are linear in the number of systems.
    """
    sentences = len(stacked)
    flat = stacked.reshape(sentences, -1)
    parts = []
    for rows in _blocks(resamples, sentences):
        random = np.frombuffer(generator.bytes(rows * (-(-sentences // 8))), np.uint8).reshape(rows, -1)
        parts.append(np.unpackbits(random, axis=1, count=sentences).astype(np.float64) @ flat)
    return np.concatenate(parts).reshape(resamples, *stacked.shape[1:])


def _blocks(resamples: int, sentences: int) -> list[int]:
    size = max(1, _BLOCK // sentences)
    return [min(size, resamples - start) for start in range(0, resamples, size)]


def _interval(values: Floats) -> Interval:
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def _p_value(by_chance: Floats, observed: float) -> float:
    """Return the share of differences that are at least as large as the observed one, which is counted among them."""
    extreme = int((np.abs(by_chance) >= abs(observed) - _TIE).sum())
    return (extreme + 1) / (len(by_chance) + 1)
