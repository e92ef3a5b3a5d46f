"""Hard monotonic attention (Junczys-Dowmunt and Grundkiewicz 2017, 4.1): one position of mt at a time, left to right.

The position starts at 0 and moves on by one with each STEP token. It is a function of the tokens written so far: it is
the same for all models of an ensemble, and known in advance under teacher forcing.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, STEP


def hard_positions(start_N: Tensor, last_N: Tensor, tokens_NK: Tensor) -> Tensor:
    """Return Long[N,K]: the attended position after each token, which never exceeds `last_N`."""
    steps = (tokens_NK == STEP).long().cumsum(1)
    return torch.minimum(start_N.unsqueeze(1) + steps, last_N.unsqueeze(1))


@dataclass(frozen=True, eq=False, slots=True)
class StepGrammar:
    """The tokens allowed at each position of mt, so that the output steps through all of mt and no further (4.1).

    EOS is allowed only at the last position, which is that of mt's EOS, and STEP only before it.
    """

    position: Tensor  # Long[N], 0-based
    last: Tensor  # Long[N], the last position
    vocabulary: int  # the number of tokens

    @classmethod
    def of(cls, lengths: Tensor, vocabulary: int) -> Self:
        """Return the grammar at the start of the output, for mt of these lengths Long[N]."""
        return cls(torch.zeros_like(lengths), lengths - 1, vocabulary)

    def allowed(self) -> Tensor:
        """Return Bool[N,V], True for the tokens that may come next."""
        at_end = self.position >= self.last
        allowed = torch.ones(len(at_end), self.vocabulary, dtype=torch.bool, device=at_end.device)
        allowed[:, STEP] = ~at_end
        allowed[:, EOS] = at_end
        return allowed

    def to_end(self) -> Tensor:
        """Return Long[N], the number of tokens that must come before EOS."""
        return self.last - self.position

    def closing(self) -> Tensor:
        """Return Long[N], the token that leads to the end soonest."""
        return torch.where(self.position >= self.last, EOS, STEP)

    def advance(self, tokens: Tensor) -> Self:
        """Return the grammar after `tokens` Long[N]."""
        position = hard_positions(self.position, self.last, tokens.unsqueeze(1)).squeeze(1)
        return type(self)(position, self.last, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.position[rows], self.last[rows], self.vocabulary)
