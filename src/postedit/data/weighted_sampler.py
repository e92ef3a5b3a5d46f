"""Weighted sampling of the parts of a corpus: which rows an epoch reads.

A part is read as an endless sequence of passes over its rows, each with the blocks in a different order. An epoch takes
the next `weight` x rows of that sequence. So a part with weight 3 is read three times per epoch, and each triplet of a
part with weight 0.1 once in ten epochs. The sequence and the position in it depend only on seed, part and epoch.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from postedit.core.errors import DataError
from postedit.data.corpus import Corpus, CorpusPart
from postedit.data.triplets import SamplingWeight

_PASSES: Final = 1 << 20
"""A seed component that keeps the random generators of passes apart from those of windows, which count from 1."""


class BlockSlice(NamedTuple):
    """Rows `start` to `stop` (exclusive) of a block."""

    block: int
    start: int
    stop: int


class WeightedSampler:
    """Selects the rows of each epoch by one weight per part; by default each part is read once per epoch.

    Raises:
        ValueError: if the numbers of weights and parts differ.
    """

    def __init__(self, corpus: Corpus, weights: Sequence[SamplingWeight], seed: int) -> None:
        self.weights = tuple(weights) or (SamplingWeight(),) * len(corpus.parts)
        if len(self.weights) != len(corpus.parts):
            raise ValueError(f"{corpus.path} has {len(corpus.parts)} parts, not {len(self.weights)}")
        self._corpus, self._seed = corpus, seed

    def rows_per_part(self, epoch: int) -> tuple[int, ...]:
        """Return the number of triplets of each part that an epoch reads."""
        ranges = [weight.row_range(part.rows, epoch) for weight, part in zip(self.weights, self._corpus.parts)]
        return tuple(stop - start for start, stop in ranges)

    def block_slices(self, epoch: int) -> list[BlockSlice]:
        """Return the rows of an epoch as block slices in shuffled order."""
        slices = sorted(
            part_slice
            for number, (weight, part) in enumerate(zip(self.weights, self._corpus.parts))
            for part_slice in self._part_slices(number, part, *weight.row_range(part.rows, epoch))
        )
        order = np.random.default_rng([self._seed, epoch]).permutation(len(slices))
        return [slices[i] for i in order]

    def next_nonempty_epoch(self, epoch: int) -> int:
        """Return the first epoch from `epoch` on that has triplets.

        Raises:
            DataError: if there is no such epoch.
        """
        changes = [weight.from_epoch for weight in self.weights] + [weight.until_epoch or 0 for weight in self.weights]
        # A part with r rows and weight w yields a triplet at least every 1 / (r w) epochs.
        intervals = [
            1.0 / (part.rows * weight.weight) for weight, part in zip(self.weights, self._corpus.parts) if part.rows
        ]
        last = max(epoch, *changes) + int(max(intervals, default=0.0)) + 2
        found = next((number for number in range(epoch, last) if any(self.rows_per_part(number))), None)
        if found is None:
            raise DataError(f"{self._corpus.path}: no source has triplets after {epoch} epochs; change data.train")
        return found

    def _part_slices(self, number: int, part: CorpusPart, start: int, stop: int) -> Iterator[BlockSlice]:
        """Yield the rows `start` to `stop` of the sequence of passes over a part."""
        while start < stop:
            passes, index = divmod(start, part.rows)
            end = min(stop - passes * part.rows, part.rows)
            order = np.random.default_rng([self._seed, number, passes, _PASSES]).permutation(part.blocks)
            sizes = [self._corpus.block_size(part.first + int(block)) for block in order]
            for block, size, after in zip(order, sizes, np.cumsum(sizes).tolist()):
                first, last = max(index - (after - size), 0), min(end - (after - size), size)
                if first < last:
                    yield BlockSlice(part.first + int(block), first, last)
            start = passes * part.rows + end
