"""Guidance: the tokens that the user of a search forbids, requires and penalises.

Constraints and biases are values with one row per hypothesis. Every search asks them before it chooses a token,
advances them by that token, and selects rows as it reorders hypotheses. They see tokens of text only: `advance` leaves
a row unchanged at the tokens `NOT_TEXT`, such as the STEPs of hard attention.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import torch
from torch import Tensor

from postedit.core.model import Constraint
from postedit.core.special_tokens import BOS, EOS, PAD, STEP

NOT_TEXT: Final = (PAD, BOS, EOS, STEP)  # tokens that are no text; advancing by PAD lets a row wait for others


def not_text(tokens: Tensor) -> Tensor:
    """Return Bool, where `tokens` Long are no text."""
    return torch.isin(tokens, torch.tensor(NOT_TEXT, device=tokens.device))


class Goal(Constraint, Protocol):
    """A constraint that requires tokens in the output; `to_end` is the number of tokens still missing."""

    def proposals(self) -> Tensor:
        """Long[N,P]: tokens that bring the goal nearer; EOS where there are fewer than P."""
        ...


class Bias(Protocol):
    """Values that ranking adds to the log-probabilities of the next token, for N rows."""

    def added(self) -> Tensor:
        """Float[N,V], in nats, at most 0, so that the rank of a hypothesis only falls."""
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the bias after `tokens` Long[N] were written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Guidance:
    """Constraints and biases of a batch, besides the model grammar.

    A row that can only end first writes the missing tokens of the first constraint, then those of the next.
    """

    guards: tuple[Constraint, ...] = ()  # forbid tokens
    goals: tuple[Goal, ...] = ()  # require tokens sooner or later; guards as well
    biases: tuple[Bias, ...] = ()  # penalise tokens

    def __bool__(self) -> bool:
        return bool(self.guards or self.goals or self.biases)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Guards and goals."""
        return (*self.guards, *self.goals)

    def advance(self, tokens: Tensor) -> Self:
        """Return the guidance after `tokens` Long[N] were written; PAD: nothing was."""
        return self._each(lambda part: part.advance(tokens))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return self._each(lambda part: part.select(rows))

    def _each(self, change: Callable[[Any], Any]) -> Self:
        return type(self)(*(tuple(map(change, parts)) for parts in (self.guards, self.goals, self.biases)))


NO_GUIDANCE: Final = Guidance()  # no guidance: the model alone decides
