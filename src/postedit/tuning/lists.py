"""N-best lists as arrays: what a search for weights looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.evaluate.sufficient_statistics import AdditiveMetric, Floats
from postedit.tuning import kernels

Ints = NDArray[np.int64]


class Entry(NamedTuple):
    """An output of an n-best list."""

    text: str
    features: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class NBestLists:
    """The outputs of S sentences, those of a sentence side by side; H in all.

    Args:
        features: Float[H,F].
        statistics: Float[H,D], what the metric adds up.
        first: Int[S+1], where the outputs of each sentence begin, and H.
        metric: by which choices are judged.
    """

    features: Floats
    statistics: Floats
    first: Ints
    metric: AdditiveMetric

    def sums(self, weights: Floats) -> Floats:
        """Float[H]: the weighted sum of each output's features; outputs of equal features have equal ones."""
        found: Floats = kernels.sums(self.features, weights)
        return found

    def best(self, weights: Floats) -> Ints:
        """Int[S]: the output of each sentence with the highest weighted sum; of equal ones, the first."""
        chosen: Ints = kernels.best(self.sums(weights), self.first)
        return chosen

    def loss(self, weights: Floats) -> float:
        """Return the loss of the corpus where weights Float[F] choose."""
        return float(self.metric.loss(self.statistics[self.best(weights)].sum(0)))

    @cached_property
    def scales(self) -> Floats:
        """Float[F]: how much each feature varies among the outputs of a sentence (root mean square); 1 if not."""
        counts = np.diff(self.first)
        means = np.add.reduceat(self.features, self.first[:-1]) / counts[:, None]
        spread = np.sqrt(np.square(self.features - np.repeat(means, counts, axis=0)).mean(0))
        return np.where(spread > 0.0, spread, 1.0)

    def scaled(self) -> "NBestLists":
        """Return the same with features that vary alike; weights there are these times `scales`."""
        return replace(self, features=np.ascontiguousarray(self.features / self.scales))


class NBestPool:
    """N-best lists that grow: each new search adds outputs that are not there yet.

    An output is its text. Of several ways to write one, that which is found first stays.

    Args:
        names: of the features.
        references: the post-edit of each sentence.
        metric: by which choices are judged.
    """

    def __init__(self, names: Sequence[str], references: Sequence[str], metric: AdditiveMetric) -> None:
        self._names, self._references, self._metric = names, references, metric
        self._found: list[dict[str, int]] = [{} for _ in references]
        self._features: list[list[float]] = []
        self._statistics: Floats = metric.statistics([], [])

    def __len__(self) -> int:
        """Return the number of outputs."""
        return len(self._features)

    def add(self, lists: Sequence[Sequence[Entry]]) -> int:
        """Add outputs of every sentence; return how many were new.

        Raises:
            ValueError: if there are not as many lists as sentences.
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
        """Return all of them.

        Raises:
            ValueError: if a sentence has none.
        """
        if not all(self._found):
            raise ValueError("every sentence needs an output")
        order = np.array([place for found in self._found for place in found.values()], np.int64)
        first = np.cumsum([0, *map(len, self._found)])
        features = np.array(self._features, np.float64).reshape(len(order), len(self._names))
        return NBestLists(features[order], self._statistics[order], first, self._metric)
