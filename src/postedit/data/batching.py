"""Training batches by token budget: rows of similar length together, in an order determined by seed and epoch.

The cost of a batch is the size of its tensors: rows x longest text in it, padding included. It stays within the budget;
only a single row that is longer than the budget exceeds it.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from postedit.core.types import Batch
from postedit.data.collate import Ints, Ragged, collate, divide, length_batches
from postedit.data.corpus import Corpus
from postedit.data.triplets import SamplingWeight
from postedit.data.weighted_sampler import BlockSlice, WeightedSampler

_T = TypeVar("_T")

WINDOW_BLOCKS: Final = 32
"""Number of blocks shuffled and sorted together: about 65,000 triplets (20 MB), enough for batches of unrelated rows
with almost no padding."""

_JITTER: Final = 0.1
"""Lengths are multiplied by random factors of 1 to 1 + `_JITTER` before sorting, so that epochs have other batches."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position between two batches of the sequence that all processes share."""

    epoch: int = 0  # complete passes over the corpus
    window: int = 0  # complete windows of this epoch
    batch: int = 0  # batches taken from the current window
    seen: int = 0  # triplets read in this epoch


@dataclass(frozen=True, slots=True)
class UpdateSize:
    """The size of an update of the weights, summed over all processes."""

    batches: int = 1  # the number of batches
    labels: int | None = None  # the minimum number of target tokens; if given, `batches` is ignored

    def is_reached(self, batches: int, labels: int) -> bool:
        """Return whether this many batches and target tokens make a complete update."""
        return batches >= self.batches if self.labels is None else labels >= self.labels


@dataclass(frozen=True, slots=True)
class UpdateBatches:
    """The batches of one process for one update; there is at least one.

    If the update has fewer batches than there are processes and none is left for this one, `counts` is False, and
    `batches` holds a batch of another process, whose loss must be multiplied by 0.
    """

    batches: list[Batch]
    counts: bool
    position: Position  # after the batches of all processes for this update


class BatchStream:
    """The endless sequence of training batches.

    Each epoch shuffles the blocks that `WeightedSampler` selects. Consecutive blocks form a window, whose rows are
    sorted by length and divided into batches, which are then shuffled. A corpus that fits into one window is thus fully
    shuffled. Every step depends only on seed, epoch and window, so any position is reached without replaying.

    Neither the sequence nor its division into updates depends on `world`. Process `rank` takes every `world`-th batch
    of an update.

    Args:
        corpus: the training corpus.
        inputs: the streams that the model reads.
        batch_tokens: budget of a batch, in tokens, padding included.
        seed: seed of the random order, at least 0.
        rank: index of this process.
        world: number of processes.
        position: where to start.
        sampling_weights: one weight for each part of the corpus; by default each part is read once per epoch.

    Raises:
        ValueError: if a number is out of range, or, during iteration, if `position` does not exist in this sequence.
    """

    def __init__(
        self,
        corpus: Corpus,
        inputs: Sequence[str],
        batch_tokens: int,
        seed: int,
        *,
        rank: int = 0,
        world: int = 1,
        position: Position = Position(),
        sampling_weights: Sequence[SamplingWeight] = (),
    ) -> None:
        if batch_tokens < 1 or seed < 0 or not 0 <= rank < world:
            given = f"{batch_tokens}, {seed}, {rank}, {world}"
            raise ValueError(f"need batch_tokens >= 1, seed >= 0, rank < world: {given}")
        self._corpus, self._inputs = corpus, tuple(inputs)
        self._budget, self._seed = batch_tokens, seed
        self._rank, self._world = rank, world
        self._position = position
        self.sampler = WeightedSampler(corpus, sampling_weights, seed)

    def __iter__(self) -> Iterator[tuple[Batch, Position]]:
        """Yield the batches of this process, one per update, each with the position after the update."""
        for update in self.updates(UpdateSize(self._world)):
            yield update.batches[0], update.position

    def updates(self, size: UpdateSize) -> Iterator[UpdateBatches]:
        """Yield the batches of this process for each update."""
        sequence = self._sequence()
        while True:
            update: list[tuple[dict[str, Ragged], Ints]] = []
            labels = 0
            while not update or not size.is_reached(len(update), labels):
                window, rows, position = next(sequence)
                update.append((window, rows))
                labels += int(window["pe"].lengths[rows].sum())
            own = update[self._rank :: self._world]
            batches = [_take(window, rows, self._inputs) for window, rows in own or update[:1]]
            yield UpdateBatches(batches, bool(own), position)

    def _sequence(self) -> Iterator[tuple[dict[str, Ragged], Ints, Position]]:
        """Yield, for each batch, its window, its rows in the window, and the position after it."""
        place = self._position
        while True:
            slices = self.sampler.block_slices(place.epoch)
            windows = [slices[start : start + WINDOW_BLOCKS] for start in range(0, len(slices), WINDOW_BLOCKS)]
            if not windows and place.window == 0:
                place = Position(self.sampler.next_nonempty_epoch(place.epoch))
                continue
            if place.window >= len(windows):
                raise ValueError(f"{place} is not a position in {self._corpus.path}")
            rows = self._read(windows[place.window])
            batches = self._batches(rows, place)
            if place.batch >= len(batches):
                raise ValueError(f"{place} is not a position in {self._corpus.path} with {self._budget} tokens a batch")
            for batch in batches[place.batch :]:
                place = Position(place.epoch, place.window, place.batch + 1, place.seen + len(batch))
                if place.batch == len(batches):
                    place = Position(place.epoch, place.window + 1, 0, place.seen)
                if place.window == len(windows):
                    place = Position(place.epoch + 1)
                yield rows, batch, place

    def _read(self, slices: Sequence[BlockSlice]) -> dict[str, Ragged]:
        """Return the triplets of `slices`, in order."""
        rows = self._corpus.read([part.block for part in slices], [*self._inputs, "pe"])
        sizes = [self._corpus.block_size(part.block) for part in slices]
        if all((part.start, part.stop) == (0, size) for part, size in zip(slices, sizes)):
            return rows
        starts = np.cumsum([0, *sizes[:-1]])
        chosen = np.concatenate([np.arange(part.start, part.stop) + start for part, start in zip(slices, starts)])
        return {side: texts.take(chosen) for side, texts in rows.items()}

    def _batches(self, rows: Mapping[str, Ragged], place: Position) -> list[Ints]:
        """Return the row numbers of each batch of the window at `place`."""
        # Windows count from 1, because numpy takes [seed, epoch] and [seed, epoch, 0] for the same seed.
        random = np.random.default_rng([self._seed, place.epoch, place.window + 1])
        lengths = _longest(rows)
        order = np.argsort(lengths * (1 + _JITTER * random.random(len(lengths))), kind="stable")
        batches = divide(lengths, order, self._budget)
        return [batches[i] for i in random.permutation(len(batches))]


def prefetch(items: Iterator[_T], count: int = 2) -> Generator[_T, None, None]:
    """Yield `items` while a thread prepares the next `count`; an error is raised when its item would be yielded."""
    with ThreadPoolExecutor(1, "batches") as thread:
        pending = deque(thread.submit(next, items, None) for _ in range(count))
        while (item := pending.popleft().result()) is not None:
            pending.append(thread.submit(next, items, None))
            yield item


def ordered_batches(corpus: Corpus, inputs: Sequence[str], batch_tokens: int) -> Iterator[Batch]:
    """Yield batches of all triplets once, unshuffled: window by window, with the longest rows of each window first."""
    for start in range(0, corpus.blocks, WINDOW_BLOCKS):
        rows = corpus.read(range(start, min(start + WINDOW_BLOCKS, corpus.blocks)), [*inputs, "pe"])
        for chosen in length_batches(_longest(rows), batch_tokens):
            yield _take(rows, chosen, inputs)


def _take(window: Mapping[str, Ragged], rows: Ints, inputs: Sequence[str]) -> Batch:
    return collate({side: texts.take(rows) for side, texts in window.items()}, inputs)


def _longest(rows: Mapping[str, Ragged]) -> Ints:
    longest: Ints = np.maximum.reduce([texts.lengths for texts in rows.values()])
    return longest
