"""What an epoch reads of a corpus of several parts: each as often as its weight says, in the epochs it takes part in.

A part is read like an endless tape: pass after pass over it, each with its blocks in another order. An epoch takes the
next `weight` x rows of that tape. So a part of weight 3 is read three times an epoch, and of one of weight 0.1 every
triplet comes once in ten epochs. Where the tape stands depends on seed, part and epoch alone.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from postedit.core.errors import DataError
from postedit.data.corpus import Corpus, Part
from postedit.data.sampling_weights import Share

_TAPE: Final = 1 << 20
"""Tells the random generators of tapes from those of windows, which are numbered from 1 on."""


class Span(NamedTuple):
    """Some rows of a block, `start` to `stop`."""

    block: int
    start: int
    stop: int


class Mixture:
    """A corpus and the shares of its parts.

    Args:
        corpus: what is read.
        shares: one a part; none stands for all of each.
        seed: 0 or more.

    Raises:
        ValueError: if there are not as many shares as parts.
    """

    def __init__(self, corpus: Corpus, shares: Sequence[Share], seed: int) -> None:
        self.shares = tuple(shares) or (Share(),) * len(corpus.parts)
        if len(self.shares) != len(corpus.parts):
            raise ValueError(f"{corpus.path} has {len(corpus.parts)} parts, not {len(self.shares)}")
        self._corpus = corpus
        self._seed = seed

    def rows(self, epoch: int) -> tuple[int, ...]:
        """Return how many triplets of each part an epoch reads."""
        stretches = [share.stretch(part.rows, epoch) for share, part in zip(self.shares, self._corpus.parts)]
        return tuple(stop - start for start, stop in stretches)

    def spans(self, epoch: int) -> list[Span]:
        """Return what an epoch reads, shuffled by blocks."""
        spans = sorted(
            span
            for number, (share, part) in enumerate(zip(self.shares, self._corpus.parts))
            for span in self._of_tape(number, part, *share.stretch(part.rows, epoch))
        )
        order = np.random.default_rng([self._seed, epoch]).permutation(len(spans))
        return [spans[i] for i in order]

    def next_epoch(self, epoch: int) -> int:
        """Return the first epoch from `epoch` on that has triplets.

        Raises:
            DataError: if there is none.
        """
        turns = [share.from_epoch for share in self.shares] + [share.until_epoch or 0 for share in self.shares]
        # A part of r rows and weight w has a triplet at least every 1 / (r w) epochs.
        rare = [1.0 / (part.rows * share.weight) for share, part in zip(self.shares, self._corpus.parts) if part.rows]
        last = max(epoch, *turns) + int(max(rare, default=0.0)) + 2
        found = next((number for number in range(epoch, last) if any(self.rows(number))), None)
        if found is None:
            raise DataError(
                f"{self._corpus.path}: no source has a triplet left after {epoch} epochs; change data.train"
            )
        return found

    def _of_tape(self, number: int, part: Part, start: int, stop: int) -> Iterator[Span]:
        """Yield the rows `start` to `stop` of the tape of a part."""
        while start < stop:
            passes, place = divmod(start, part.rows)
            end = min(stop - passes * part.rows, part.rows)
            order = np.random.default_rng([self._seed, number, passes, _TAPE]).permutation(part.blocks)
            sizes = [self._corpus.block_size(part.first + int(block)) for block in order]
            for block, size, after in zip(order, sizes, np.cumsum(sizes).tolist()):
                first, last = max(place - (after - size), 0), min(end - (after - size), size)
                if first < last:
                    yield Span(part.first + int(block), first, last)
            start = passes * part.rows + end
