"""Constraints whose state is not a tensor: automata over tokens, whose states are numbered as they occur.

Each row holds the number of its state. The permitted tokens and the transitions of a state are computed once and
cached, so a step of search costs one look-up per distinct pair of state and token, whatever the number of rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS
from postedit.search.guidance import NOT_TEXT

StateT = TypeVar("StateT", bound=Hashable)


class TokenSet(NamedTuple):
    """The only tokens allowed or, if `forbidden`, the only ones forbidden; PAD, BOS and STEP are always allowed."""

    tokens: frozenset[int]
    forbidden: bool


class Automaton(ABC, Generic[StateT]):
    """Base class of automata that read the tokens of a text; states can be any hashable values."""

    def __init__(self) -> None:
        self._numbers: dict[StateT, int] = {}
        self._states: list[StateT] = []
        self._step = cache(lambda number, token: self._number(self.step(self._states[number], token)))
        self._permit = cache(lambda number: self.permit(self._states[number]))
        self._completion = cache(lambda number: tuple(self.completion(self._states[number])))

    @abstractmethod
    def step(self, state: StateT, token: int) -> StateT:
        """Return the state after a token of text, even one that is not permitted."""

    @abstractmethod
    def permit(self, state: StateT) -> TokenSet:
        """Return the tokens that may come next, EOS included."""

    def completion(self, state: StateT) -> Sequence[int]:
        """Return the tokens that lead to a state where EOS is allowed, each one step closer; by default none."""
        return ()

    def proposals(self, state: StateT) -> Sequence[int]:
        """Return tokens that bring the end nearer, one for each missing part; by default there are none."""
        return ()

    def start(self, states: Iterable[StateT], size: int, device: torch.device) -> "AutomatonRows[StateT]":
        """Return a constraint with one row for each of these states, for a vocabulary of `size` tokens."""
        numbers = [self._number(state) for state in states]
        return AutomatonRows(self, torch.tensor(numbers, dtype=torch.long, device=device), size)

    def _number(self, state: StateT) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number


@dataclass(frozen=True, eq=False, slots=True)
class AutomatonRows(Generic[StateT]):
    """A goal (and so also a constraint) for N rows, each in a state of the same automaton."""

    automaton: Automaton[StateT]  # shared by all rows
    states: Tensor  # Long[N], the number of each row's state
    size: int  # V, number of tokens in the vocabulary

    def allowed(self) -> Tensor:
        """Return Bool[N,V], True for the tokens that the automaton permits, and for STEP."""
        states, rows = _distinct(self.states)
        allowed = torch.empty(len(states), self.size, dtype=torch.bool)
        for row, number in enumerate(states):
            permit = self.automaton._permit(number)
            allowed[row] = permit.forbidden
            allowed[row, list(permit.tokens)] = not permit.forbidden
        allowed[:, [token for token in NOT_TEXT if token != EOS]] = True
        return allowed.to(self.states.device)[rows]

    def to_end(self) -> Tensor:
        """Return Long[N], the number of tokens on the way to a state where EOS is allowed."""
        states, rows = _distinct(self.states)
        lengths = [len(self.automaton._completion(number)) for number in states]
        return torch.tensor(lengths, device=self.states.device)[rows]

    def closing(self) -> Tensor:
        """Return Long[N], the next token on the way to the end, or EOS."""
        states, rows = _distinct(self.states)
        tokens = [next(iter(self.automaton._completion(number)), EOS) for number in states]
        return torch.tensor(tokens, device=self.states.device)[rows]

    def proposals(self) -> Tensor:
        """Return Long[N,P], tokens that bring the end nearer, padded with EOS."""
        states, rows = _distinct(self.states)
        found = [list(self.automaton.proposals(self.automaton._states[number])) for number in states]
        width = max(map(len, found))
        padded = [tokens + [EOS] * (width - len(tokens)) for tokens in found]
        return torch.tensor(padded, dtype=torch.long, device=self.states.device).view(len(found), width)[rows]

    def advance(self, tokens: Tensor) -> Self:
        """Return the constraint after `tokens` Long[N], one per row, have been written."""
        pairs, rows = _distinct(self.states * self.size + tokens)
        steps = (divmod(pair, self.size) for pair in pairs)
        numbers = [state if token in NOT_TEXT else self.automaton._step(state, token) for state, token in steps]
        return type(self)(self.automaton, torch.tensor(numbers, device=self.states.device)[rows], self.size)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.automaton, self.states[rows], self.size)


def _distinct(numbers: Tensor) -> tuple[list[int], Tensor]:
    """Return the distinct values of `numbers` Long[N], and the index Long[N] of each number among them."""
    found, places = numbers.unique(return_inverse=True)  # type: ignore[no-untyped-call]  # PyTorch does not type it
    return found.tolist(), places
