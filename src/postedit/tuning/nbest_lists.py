"""N-best lists as arrays, on which weights are tuned, and compiled loops over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.evaluate.metrics import AdditiveMetric, Floats, Ints


class NBestEntry(NamedTuple):
    """An output of an n-best list, and its features by name."""

    text: str
    features: Mapping[str, float]


_ROUNDING: Final = 1e-9  # share of a feature's largest value; smaller deviations are rounding errors


@dataclass(frozen=True, eq=False)
class NBestLists:
    """The H outputs of S sentences; those of a sentence are adjacent."""

    features: Floats  # Float[H,F]
    statistics: Floats  # Float[H,D], statistics of the metric
    first: Ints  # Int[S+1], the offset of the outputs of each sentence, and H
    metric: AdditiveMetric  # the metric to tune for

    def sums(self, weights: Floats) -> Floats:
        """Return the weighted sum of the features of each output, Float[H]; equal features give equal sums."""
        found: Floats = _weighted_sums(self.features, weights)
        return found

    def best(self, weights: Floats) -> Ints:
        """Return the output of each sentence with the highest weighted sum, Int[S]; the first of equal ones."""
        chosen: Ints = _best_indices(self.sums(weights), self.first)
        return chosen

    def loss(self, weights: Floats) -> float:
        """Return the corpus loss of the outputs that weights Float[F] select."""
        return float(self.metric.loss(self.statistics[self.best(weights)].sum(0)))

    @cached_property
    def scales(self) -> Floats:
        """Root mean square deviation of each feature within a sentence, Float[F]; 1 where it is 0 up to rounding."""
        counts = np.diff(self.first)
        means = np.add.reduceat(self.features, self.first[:-1]) / counts[:, None]
        spread = np.sqrt(np.square(self.features - np.repeat(means, counts, axis=0)).mean(0))
        return np.where(spread > _ROUNDING * np.abs(self.features).max(0), spread, 1.0)

    def scaled(self) -> "NBestLists":
        """Return the lists with features divided by `scales`; weights on them are multiplied by `scales`."""
        return replace(self, features=np.ascontiguousarray(self.features / self.scales))


class NBestPool:
    """N-best lists that grow: each search adds its new outputs, distinguished by their texts."""

    def __init__(self, names: Sequence[str], references: Sequence[str], metric: AdditiveMetric) -> None:
        """Start without outputs, for features of these names and the post-edit of each sentence."""
        self._names, self._references, self._metric = names, references, metric
        self._found: list[dict[str, int]] = [{} for _ in references]
        self._features: list[list[float]] = []
        self._statistics: Floats = metric.statistics([], [])

    def __len__(self) -> int:
        """Return the number of outputs."""
        return len(self._features)

    def add(self, lists: Sequence[Sequence[NBestEntry]]) -> int:
        """Add outputs of every sentence, and return how many were new.

        Raises:
            ValueError: if the numbers of lists and sentences differ.
        """
        texts, references = [], []
        for found, outputs, reference in zip(self._found, lists, self._references, strict=True):
            for text, features in outputs:
                if text not in found:
                    found[text] = len(self._features)
                    self._features.append([features.get(name, 0.0) for name in self._names])
                    texts.append(text)
                    references.append(reference)
        self._statistics = np.concatenate([self._statistics, self._metric.statistics(texts, references)])
        return len(texts)

    def lists(self) -> NBestLists:
        """Return all outputs as arrays.

        Raises:
            ValueError: if a sentence has no output.
        """
        if not all(self._found):
            raise ValueError("every sentence needs an output")
        order = np.array([index for found in self._found for index in found.values()], np.int64)
        first = np.cumsum([0, *map(len, self._found)])
        features = np.array(self._features, np.float64).reshape(len(order), len(self._names))
        return NBestLists(features[order], self._statistics[order], first, self._metric)


@compiled
def _weighted_sums(features: Any, weights: Any) -> Any:
    """Return features Float[H,F] times weights Float[F], summed in order: Float[H].

    Library matrix products may round equal rows differently, so that ties would not go to the first output.
    """
    total = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        for column in range(features.shape[1]):
            total[row] += weights[column] * features[row, column]
    return total


@compiled
def _best_indices(scores: Any, first: Any) -> Any:
    """Return the index of the highest of the scores Float[H] of each sentence, Int[S]; the first of equal ones."""
    chosen = np.empty(first.size - 1, np.int64)
    for sentence in range(first.size - 1):
        top = first[sentence]
        for index in range(first[sentence] + 1, first[sentence + 1]):
            if scores[index] > scores[top]:
                top = index
        chosen[sentence] = top
    return chosen


@compiled
def envelopes(heights: Any, slopes: Any, first: Any, low: float, high: float) -> Any:
    """Return the upper envelope, between `low` and `high`, of the lines height + slope * x of each sentence.

    Given heights and slopes Float[H], and the offsets `first` Int[S+1] of the lines of each sentence, return Int[S],
    the line on top at `low` (the first of equal ones); and for each corner, unordered, its x, Float[C], and the lines
    on top before and after it, Int[C] each.
    """
    start = np.empty(first.size - 1, np.int64)
    at = np.empty(heights.size, np.float64)
    before = np.empty(heights.size, np.int64)
    after = np.empty(heights.size, np.int64)
    steeper = np.empty(heights.size, np.int64)  # lines that may still come on top
    changes = 0
    for sentence in range(first.size - 1):
        top = first[sentence]
        for line in range(first[sentence] + 1, first[sentence + 1]):
            if _beats(heights, slopes, line, top, low):
                top = line
        start[sentence] = top
        count = 0
        for line in range(first[sentence], first[sentence + 1]):
            if slopes[line] > slopes[top]:
                steeper[count] = line
                count += 1
        index = low
        while count:
            crossing, following = np.inf, -1
            for k in range(count):
                line = steeper[k]
                meets = (heights[top] - heights[line]) / (slopes[line] - slopes[top])
                if meets < crossing or (meets == crossing and slopes[line] > slopes[following]):
                    crossing, following = meets, line
            if crossing >= high:
                break
            index = max(index, crossing)  # rounding errors must not lead back
            at[changes], before[changes], after[changes] = index, top, following
            changes += 1
            top, left = following, 0
            for k in range(count):
                if slopes[steeper[k]] > slopes[top]:
                    steeper[left] = steeper[k]
                    left += 1
            count = left
    return start, at[:changes], before[:changes], after[:changes]


@compiled
def _beats(heights: Any, slopes: Any, line: int, top: int, low: float) -> bool:
    """Return whether a line is above another just to the right of `low`."""
    if low > -np.inf:
        here, there = heights[line] + slopes[line] * low, heights[top] + slopes[top] * low
        return bool(here > there or (here == there and slopes[line] > slopes[top]))
    return bool(slopes[line] < slopes[top] or (slopes[line] == slopes[top] and heights[line] > heights[top]))
