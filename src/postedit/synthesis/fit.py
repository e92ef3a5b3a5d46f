"""How like the real triplets the artificial ones are: distributions of TER, and the distance between two of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from postedit.synthesis.noise_stage import HIGHEST, KINDS
from postedit.synthesis.pools import by_length
from postedit.synthesis.profile import Profile


def distance(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Return the Kolmogorov-Smirnov distance of two histograms: the largest difference of their running sums."""
    totals, sums, largest = (sum(one.values()), sum(other.values())), [0.0, 0.0], 0.0
    for place in sorted({*one, *other}):
        sums = [total + histogram.get(place, 0) for total, histogram in zip(sums, (one, other))]
        largest = max(largest, abs(sums[0] / totals[0] - sums[1] / totals[1]))
    return largest


def real_histogram(profile: Profile) -> dict[int, float]:
    """Return how many real sentences have each per cent of TER."""
    histogram: Counter[int] = Counter()
    for sentence, count in profile.sentences.items():
        histogram[min(HIGHEST, 100 * sentence.edits // sentence.length)] += count
    return dict(histogram)


def expected_histogram(profile: Profile, lengths: Mapping[int, int]) -> dict[int, float]:
    """Return the histogram that real sentences would have if so many of them had each of the `lengths`."""
    real = by_length(profile)
    rates = np.minimum(HIGHEST, 100 * real.sentences[:, 1:].sum(1) // real.sentences[:, 0])
    weights = np.zeros(len(rates))
    for length, count in lengths.items():
        first, last = real.pools[min(length, len(real.pools) - 1)]
        weights[first:last] += count / (last - first)
    histogram = np.bincount(rates, weights)
    return {rate: float(weight) for rate, weight in enumerate(histogram) if weight}


def describe_edits(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return edits a hundred words, by kind and in all: TER in per cent."""
    words = max(1, counts.get("words", 0))
    rates = {kind: round(100 * counts.get(kind, 0) / words, 2) for kind in KINDS}
    return {"ter": round(100 * sum(counts.get(kind, 0) for kind in KINDS) / words, 2), **rates}


def profile_counts(profile: Profile) -> dict[str, int]:
    """Return words and edits of the real triplets together, as `describe_edits` reads them."""
    counts: Counter[str] = Counter()
    for sentence, count in profile.sentences.items():
        counts["words"] += sentence.length * count
        for kind in KINDS:
            counts[kind] += getattr(sentence, kind) * count
    return dict(counts)
