"""Batches by token budget: rows of like length together, in an order that a seed and an epoch decide.

A batch costs what its tensors cost: rows x longest text among all that it holds. That product is kept within the
budget, so a budget counts padding too. Only a single row that is longer than the budget alone exceeds it.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar, cast

import numpy as np

from postedit.core.types import Batch
from postedit.data.collate import collate, divide, length_batches
from postedit.data.corpus import Corpus
from postedit.data.ragged import Ints, Ragged
from postedit.data.sampling_weights import Share
from postedit.data.weighted_sampler import Mixture, Span
from postedit.text.config import Side

_T = TypeVar("_T")

WINDOW_BLOCKS: Final = 32
"""Blocks that are shuffled and sorted together, about 65 thousand triplets: enough that their batches have next to
no padding and neighbours are strangers, and about 20 MB."""

_JITTER: Final = 0.1
"""Lengths count as up to this share longer when rows are sorted, so that each epoch has other batches."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two batches of the sequence that all processes draw from.

    Args:
        epoch: complete passes over the corpus.
        window: complete windows of this epoch.
        batch: batches taken from the current window.
        seen: triplets seen in this epoch.
    """

    epoch: int = 0
    window: int = 0
    batch: int = 0
    seen: int = 0


@dataclass(frozen=True, slots=True)
class UpdateSize:
    """How many batches make an update of the weights, all processes together.

    Args:
        batches: so many.
        labels: if given, as many batches as have so many target pieces, in place of `batches`.
    """

    batches: int = 1
    labels: int | None = None

    def is_reached(self, batches: int, labels: int) -> bool:
        """Return whether an update of so many batches and target pieces is complete."""
        return batches >= self.batches if self.labels is None else labels >= self.labels


@dataclass(frozen=True, slots=True)
class Portion:
    """What one process learns from in one update.

    Args:
        batches: those of this process, at least one.
        counts: False if there are fewer batches than processes and none is left for this one, whose batch then is one
            of another process, to keep in step with it.
        position: the place after the update, the portions of all processes included.
    """

    batches: list[Batch]
    counts: bool
    position: Position


class BatchStream:
    """The endless sequence of training batches.

    Every epoch shuffles the blocks of what it reads of the corpus (see `Mixture`). Some blocks at a time make a window,
    whose rows are sorted by length, cut into batches, and these shuffled. A corpus that fits into one window is thereby
    shuffled fully. Each step depends only on seed, epoch and window, so any position is reached without replaying what
    came before.

    Neither the sequence nor what of it makes an update depends on `world`; of the batches of an update, process `rank`
    takes every `world`-th.

    Args:
        corpus: what to read.
        inputs: the streams that the model reads.
        batch_tokens: budget of a batch, in tokens of its longest text.
        seed: 0 or more.
        rank: number of this process.
        world: number of processes.
        position: where to go on.
        shares: how much of each part of the corpus an epoch reads; none stands for all of each.

    Raises:
        ValueError: if a number is out of its range; when iterating, if `position` is not one of this sequence.
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
        shares: Sequence[Share] = (),
    ) -> None:
        if batch_tokens < 1 or seed < 0 or not 0 <= rank < world:
            raise ValueError(
                f"need batch_tokens >= 1, seed >= 0, rank < world: {batch_tokens}, {seed}, {rank}, {world}"
            )
        self._corpus = corpus
        self._inputs = tuple(inputs)
        self._budget = batch_tokens
        self._seed = seed
        self._rank, self._world = rank, world
        self._position = position
        self.mixture = Mixture(corpus, shares, seed)

    def __iter__(self) -> Iterator[tuple[Batch, Position]]:
        """Yield this process's batches, each with the position after it and its siblings of the other processes."""
        for portion in self.updates(UpdateSize(self._world)):
            yield portion.batches[0], portion.position

    def updates(self, size: UpdateSize) -> Iterator[Portion]:
        """Yield this process's portion of each update."""
        sequence = self._sequence()
        while True:
            siblings: list[tuple[dict[Side, Ragged], Ints]] = []
            labels = 0
            while not siblings or not size.is_reached(len(siblings), labels):
                window, rows, position = next(sequence)
                siblings.append((window, rows))
                labels += int(window["pe"].lengths[rows].sum())
            own = siblings[self._rank :: self._world]
            batches = [_take(window, rows, self._inputs) for window, rows in own or siblings[:1]]
            yield Portion(batches, bool(own), position)

    def _sequence(self) -> Iterator[tuple[dict[Side, Ragged], Ints, Position]]:
        """Yield for each batch its window, its rows in the window, and the position after it."""
        place = self._position
        while True:
            spans = self.mixture.spans(place.epoch)
            windows = [spans[start : start + WINDOW_BLOCKS] for start in range(0, len(spans), WINDOW_BLOCKS)]
            if not windows and place.window == 0:
                place = Position(self.mixture.next_epoch(place.epoch))
                continue
            if place.window >= len(windows):
                raise ValueError(f"{place} is not a place in {self._corpus.path}")
            rows = self._read(windows[place.window])
            plan = self._plan(rows, place)
            if place.batch >= len(plan):
                raise ValueError(f"{place} is not a place in {self._corpus.path} with {self._budget} tokens a batch")
            for batch in plan[place.batch :]:
                place = Position(place.epoch, place.window, place.batch + 1, place.seen + len(batch))
                if place.batch == len(plan):
                    place = Position(place.epoch, place.window + 1, 0, place.seen)
                if place.window == len(windows):
                    place = Position(place.epoch + 1)
                yield rows, batch, place

    def _read(self, spans: Sequence[Span]) -> dict[Side, Ragged]:
        """Return the triplets of some spans, in that order."""
        rows = self._corpus.read([span.block for span in spans], _sides(self._inputs))
        sizes = [self._corpus.block_size(span.block) for span in spans]
        if all((span.start, span.stop) == (0, size) for span, size in zip(spans, sizes)):
            return rows
        starts = np.cumsum([0, *sizes[:-1]])
        chosen = np.concatenate([np.arange(span.start, span.stop) + start for span, start in zip(spans, starts)])
        return {side: texts.take(chosen) for side, texts in rows.items()}

    def _plan(self, rows: Mapping[Side, Ragged], place: Position) -> list[Ints]:
        """Return the rows of each batch of the window at `place`."""
        # Counted from 1, because numpy takes [seed, epoch] and [seed, epoch, 0] for the same seed.
        random = np.random.default_rng([self._seed, place.epoch, place.window + 1])
        lengths = _longest(rows)
        order = np.argsort(lengths * (1 + _JITTER * random.random(len(lengths))), kind="stable")
        batches = divide(lengths, order, self._budget)
        return [batches[i] for i in random.permutation(len(batches))]


def ahead(items: Iterator[_T], count: int = 2) -> Generator[_T, None, None]:
    """Yield the items, while a thread makes the next ones: so an accelerator need not wait for them.

    An error is raised where its item would have come.
    """
    with ThreadPoolExecutor(1, "batches") as thread:
        coming = deque(thread.submit(next, items, None) for _ in range(count))
        while (item := coming.popleft().result()) is not None:
            coming.append(thread.submit(next, items, None))
            yield item


def ordered_batches(corpus: Corpus, inputs: Sequence[str], batch_tokens: int) -> Iterator[Batch]:
    """Yield all triplets once, unshuffled: window by window, and in each the longest first."""
    for start in range(0, corpus.blocks, WINDOW_BLOCKS):
        rows = corpus.read(range(start, min(start + WINDOW_BLOCKS, corpus.blocks)), _sides(inputs))
        for chosen in length_batches(_longest(rows), batch_tokens):
            yield _take(rows, chosen, inputs)


def _take(window: Mapping[Side, Ragged], rows: Ints, inputs: Sequence[str]) -> Batch:
    return collate({side: texts.take(rows) for side, texts in window.items()}, inputs)


def _sides(inputs: Sequence[str]) -> list[Side]:
    """Return what a training batch holds: the inputs and the target."""
    return cast("list[Side]", [*inputs, "pe"])


def _longest(rows: Mapping[Side, Ragged]) -> Ints:
    longest: Ints = np.maximum.reduce([texts.lengths for texts in rows.values()])
    return longest
