"""N-best lists as arrays, on which weights are tuned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from postedit.evaluate.metrics import AdditiveMetric, Floats, Ints
from postedit.tuning import nbest_kernels


class NBestEntry(NamedTuple):
    """An output of an n-best list, and its features by name."""

    text: str
    features: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class NBestLists:
    """The H outputs of S sentences, those of a sentence in a row.

    Args:
        features: Float[H,F].
        statistics: Float[H,D], of the metric.
        first: Int[S+1], the offset of the outputs of each sentence, and H.
        metric: to tune for.
    """

    features: Floats
    statistics: Floats
    first: Ints
    metric: AdditiveMetric

    def sums(self, weights: Floats) -> Floats:
        """Return the weighted sum of the features of each output, Float[H]; equal features give equal sums."""
        found: Floats = nbest_kernels.weighted_sums(self.features, weights)
        return found

    def best(self, weights: Floats) -> Ints:
        """Return the output of each sentence with the highest weighted sum, Int[S]; the first of equal ones."""
        chosen: Ints = nbest_kernels.best_indices(self.sums(weights), self.first)
        return chosen

    def loss(self, weights: Floats) -> float:
        """Return the corpus loss of the outputs that weights Float[F] select."""
        return float(self.metric.loss(self.statistics[self.best(weights)].sum(0)))

    @cached_property
    def scales(self) -> Floats:
        """The root mean square deviation of each feature within a sentence, Float[F]; 1 where it is 0."""
        counts = np.diff(self.first)
        means = np.add.reduceat(self.features, self.first[:-1]) / counts[:, None]
        spread = np.sqrt(np.square(self.features - np.repeat(means, counts, axis=0)).mean(0))
        return np.where(spread > 0.0, spread, 1.0)

    def scaled(self) -> "NBestLists":
        """Return the lists with features divided by `scales`; weights on them are multiplied by `scales`."""
        return replace(self, features=np.ascontiguousarray(self.features / self.scales))


class NBestPool:
    """N-best lists that grow: each search adds the outputs that are not in them yet.

    Outputs with the same text are the same; the features found first are kept.

    Args:
        names: of the features.
        references: the post-edit of each sentence.
        metric: to tune for.
    """

    def __init__(self, names: Sequence[str], references: Sequence[str], metric: AdditiveMetric) -> None:
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
        order = np.array([place for found in self._found for place in found.values()], np.int64)
        first = np.cumsum([0, *map(len, self._found)])
        features = np.array(self._features, np.float64).reshape(len(order), len(self._names))
        return NBestLists(features[order], self._statistics[order], first, self._metric)
