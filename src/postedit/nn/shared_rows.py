"""Rows that hold several sequences, which do not attend to each other: less padding if their lengths differ."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class SharedRows:
    """The places of B sequences in R rows of L columns.

    Each sequence lies whole in one row, right after the previous sequence there; padding is at the end of rows.
    """

    row_B: Tensor  # Long[B], the row of each sequence
    start_B: Tensor  # Long[B], its first column
    owner_RL: Tensor  # Long[R,L], the sequence that each column belongs to; -1 at padding
    position_RL: Tensor  # Long[R,L], the position of each column in its sequence, from 0 on

    @classmethod
    def of(cls, lengths: Sequence[int], width: int, device: torch.device | str = "cpu") -> "SharedRows":
        """Return places in rows of at most `width` columns; a longer sequence has a longer row to itself.

        Sequences are placed from the longest to the shortest, each in the first row with room for it.
        """
        used: list[int] = []
        row, start = [0] * len(lengths), [0] * len(lengths)
        for one in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
            free = (number for number, taken in enumerate(used) if taken + lengths[one] <= width)
            row[one] = next(free, len(used))
            if row[one] == len(used):
                used.append(0)
            start[one] = used[row[one]]
            used[row[one]] += lengths[one]
        owner = torch.full((len(used), max(used, default=0)), -1)
        position = torch.zeros_like(owner)
        for one, length in enumerate(lengths):
            columns = slice(start[one], start[one] + length)
            owner[row[one], columns] = one
            position[row[one], columns] = torch.arange(length)
        found = (torch.tensor(row), torch.tensor(start), owner, position)
        return cls(*(tensor.to(device, non_blocking=True) for tensor in found))

    def take(self, x_BK: Tensor, padding: int) -> Tensor:
        """Return the sequences `x_BK`, which begin at column 0, in their places [R,L], with `padding` elsewhere."""
        real = self.owner_RL >= 0
        return x_BK[self.owner_RL.clamp(min=0), self.position_RL].masked_fill(~real, padding)

    @property
    def mask(self) -> Tensor:
        """Bool[R,L,L], True at the columns that each column attends to: itself and those before it in its sequence."""
        same = self.owner_RL.unsqueeze(2) == self.owner_RL.unsqueeze(1)
        return same.tril()
