"""Rows of token ids, their division into batches of similar length, and padded batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from postedit.core.special_tokens import PAD
from postedit.core.types import Batch, Stream, Target

Ints = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Rows of integers of different lengths in two flat arrays, so that no Python loop runs over tokens."""

    values: Ints  # the values of all rows, in order
    offsets: Ints  # rows + 1 positions in `values`; row i is `values[offsets[i]:offsets[i + 1]]`

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Return `rows` as a `Ragged`."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        values = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(offsets[-1]))
        return cls(values, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """Return a copy of the rows of all parts, in order."""
        starts = np.cumsum([0, *(len(part.values) for part in parts)])
        offsets = [part.offsets[1:].astype(np.int64) + start for part, start in zip(parts, starts)]
        return cls(np.concatenate([part.values for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ints:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Ints:
        """The number of values in each row."""
        return np.diff(self.offsets)

    def take(self, rows: Ints) -> "Ragged":
        """Return a copy of the given rows, in that order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        shifts = np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + shifts], offsets)

    def padded(self, padding: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Return the rows as Long[rows, longest], and Bool of the same shape, True where a value is not padding."""
        lengths = self.lengths
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        table = np.full(mask.shape, padding, dtype=np.int64)
        table[mask] = self.values
        return table, mask


def length_batches(lengths: Ints, batch_tokens: int) -> list[Ints]:
    """Return batches of row numbers, of similar length and within a budget of `batch_tokens`, longest rows first."""
    return divide(lengths, np.argsort(-lengths, kind="stable"), batch_tokens)


def collate(rows: Mapping[str, Ragged | Sequence[Sequence[int]]], inputs: Sequence[str]) -> Batch:
    """Return a padded batch on the CPU, given the token ids of all rows by side or hint.

    Those named in `inputs` become streams; "pe", if given, becomes the target.
    """
    padded = {}
    for side, texts in rows.items():
        ids, mask = (texts if isinstance(texts, Ragged) else Ragged.of(texts)).padded(PAD)
        padded[side] = (torch.from_numpy(ids), torch.from_numpy(mask))
    target = Target(*padded["pe"]) if "pe" in padded else None
    return Batch({name: Stream(*padded[name]) for name in inputs}, target)


def divide(lengths: Ints, order: Ints, budget: int) -> list[Ints]:
    """Cut `order` into batches whose rows x longest length is within the budget; a longer row is a batch by itself."""
    batches = []
    start = 0
    while start < len(order):
        coming = order[start : start + max(1, budget // max(1, int(lengths[order[start]])))]
        cost = np.maximum.accumulate(lengths[coming]) * np.arange(1, len(coming) + 1)
        size = max(1, int(np.searchsorted(cost, budget, side="right")))
        batches.append(coming[:size])
        start += size
    return batches


def first_tokens(ids: Sequence[int], count: int) -> list[int]:
    """Return a text cut to at most `count` tokens, including its final EOS, which is kept."""
    return [*ids] if len(ids) <= count else [*ids[: count - 1], ids[-1]]
