"""What the user of a search forbids, demands and favours, symbol by symbol.

All of it is values with one row a hypothesis, and takes part in every search the same way: it is asked before a
symbol is chosen, advanced by the chosen one, and reordered with the hypotheses. It sees the symbols of the text only:
`advance` leaves a row unchanged at the symbols `SILENT`, such as the STEPs of hard attention.
"""

from dataclasses import dataclass
from typing import Final, Protocol, Self

import torch
from torch import Tensor

from postedit.core.model import Constraint
from postedit.core.special_tokens import BOS, EOS, PAD, STEP

SILENT: Final = (PAD, BOS, EOS, STEP)
"""Symbols that are no text. Advancing by PAD is how some rows can wait for others."""


def silent(tokens: Tensor) -> Tensor:
    """Return Bool, where `tokens` Long are no text."""
    return torch.isin(tokens, torch.tensor(SILENT, device=tokens.device))


class Goal(Constraint, Protocol):
    """A constraint that an output has to work towards, `to_end` being how many symbols are missing yet."""

    def proposals(self) -> Tensor:
        """Long[N,P]: symbols that bring the goal nearer; EOS where there are fewer than P."""
        ...


class Bias(Protocol):
    """What ranking adds to the log-probability of each next symbol, for N rows."""

    def added(self) -> Tensor:
        """Float[N,V], in nats, at most 0: so that a hypothesis only loses by going on."""
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the bias after `tokens` Long[N] were written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Guidance:
    """What holds for a batch, besides the grammar of the model.

    An end is sought in the order given: what a guard demands before EOS comes before what the next one demands.

    Args:
        guards: what may not be written next.
        goals: what has to be written at some time; guards as well.
        biases: what is favoured.
    """

    guards: tuple[Constraint, ...] = ()
    goals: tuple[Goal, ...] = ()
    biases: tuple[Bias, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.guards or self.goals or self.biases)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Guards and goals."""
        return (*self.guards, *self.goals)

    def advance(self, tokens: Tensor) -> Self:
        """Return the guidance after `tokens` Long[N] were written; PAD: nothing was."""
        return type(self)(
            tuple(guard.advance(tokens) for guard in self.guards),
            tuple(goal.advance(tokens) for goal in self.goals),
            tuple(bias.advance(tokens) for bias in self.biases),
        )

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(
            tuple(guard.select(rows) for guard in self.guards),
            tuple(goal.select(rows) for goal in self.goals),
            tuple(bias.select(rows) for bias in self.biases),
        )


NONE: Final = Guidance()
"""Nothing but the model."""
