"""Guidance: the tokens that the user of a search forbids, requires or penalises.

Constraints and biases are immutable values with one row per hypothesis. Every search consults them before it chooses a
token, advances them by that token, and selects their rows as it reorders hypotheses. They see only tokens of text:
`advance` leaves a row unchanged at the tokens in `NOT_TEXT`, such as the STEPs of hard attention.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import torch
from torch import Tensor

from postedit.core.model import Constraint
from postedit.core.special_tokens import BOS, EOS, PAD, STEP

NOT_TEXT: Final = (PAD, BOS, EOS, STEP)  # tokens that are not text; advancing a row by PAD leaves it as it is


def not_text(tokens: Tensor) -> Tensor:
    """Return Bool, of the shape of `tokens` Long, True where a token is not text."""
    return torch.isin(tokens, torch.tensor(NOT_TEXT, device=tokens.device))


class Goal(Constraint, Protocol):
    """A constraint that also requires tokens in the output; `to_end` is the number of tokens still missing."""

    def proposals(self) -> Tensor:
        """Return Long[N,P], tokens that bring the goal nearer; rows with fewer than P are padded with EOS."""
        ...


class Bias(Protocol):
    """Penalties that are added to the log-probabilities of the next token for ranking, for N rows."""

    def added(self) -> Tensor:
        """Return the penalties Float[N,V] in nats, at most 0: the total of a hypothesis only falls as it grows."""
        ...

    def advance(self, tokens: Tensor) -> Self:
        """Return the bias after `tokens` Long[N], one per row, have been written."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Guidance:
    """The constraints and biases of a batch, in addition to the model grammar.

    A row that has room only for its end writes the tokens that the first constraint still requires, then the next's.
    """

    guards: tuple[Constraint, ...] = ()  # forbid tokens
    goals: tuple[Goal, ...] = ()  # require tokens sooner or later, and can forbid tokens like guards
    biases: tuple[Bias, ...] = ()  # penalise tokens

    def __bool__(self) -> bool:
        return bool(self.guards or self.goals or self.biases)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Guards and goals."""
        return (*self.guards, *self.goals)

    def advance(self, tokens: Tensor) -> Self:
        """Return the guidance after `tokens` Long[N], one per row, have been written; PAD leaves a row as it is."""
        return self._each(lambda part: part.advance(tokens))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return self._each(lambda part: part.select(rows))

    def _each(self, change: Callable[[Any], Any]) -> Self:
        return type(self)(*(tuple(map(change, parts)) for parts in (self.guards, self.goals, self.biases)))


NO_GUIDANCE: Final = Guidance()  # only the model decides
