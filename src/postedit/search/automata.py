"""Guards whose memory is no tensor: small automata over symbols, whose states are numbered as they come up.

Rows hold numbers of states. What an automaton says of a state, and where a symbol leads from it, is worked out once
and kept, so a step of search costs a look-up for each different pair of state and symbol, whatever the number of rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS
from postedit.search.guidance import SILENT

StateT = TypeVar("StateT", bound=Hashable)


class Permit(NamedTuple):
    """The symbols that are allowed, or if `forbidden` the ones that are not; `SILENT` ones but EOS always are."""

    symbols: frozenset[int]
    forbidden: bool


class Machine(ABC, Generic[StateT]):
    """An automaton over the symbols of the text."""

    def __init__(self) -> None:
        self._numbers: dict[StateT, int] = {}
        self._states: list[StateT] = []
        self._steps: dict[tuple[int, int], int] = {}
        self._permits: dict[int, Permit] = {}
        self._ways: dict[int, tuple[int, ...]] = {}

    @abstractmethod
    def step(self, state: StateT, symbol: int) -> StateT:
        """Return the state after a symbol of the text, also after one that is not permitted."""

    @abstractmethod
    def permit(self, state: StateT) -> Permit:
        """Return what may come next, EOS included."""

    def way(self, state: StateT) -> Sequence[int]:
        """Return symbols that lead to where EOS is allowed; each of them makes the way one shorter. None by default."""
        return ()

    def proposals(self, state: StateT) -> Sequence[int]:
        """Return symbols that bring the end nearer, one for each thing that is missing. None by default."""
        return ()

    def start(self, states: Iterable[StateT], size: int, device: torch.device) -> "Tracked[StateT]":
        """Return the guard of rows in these states, for a vocabulary of `size` symbols."""
        numbers = [self._number(state) for state in states]
        return Tracked(self, torch.tensor(numbers, dtype=torch.long, device=device), size)

    def _number(self, state: StateT) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _step(self, number: int, symbol: int) -> int:
        if symbol in SILENT:
            return number
        pair = number, symbol
        if pair not in self._steps:
            self._steps[pair] = self._number(self.step(self._states[number], symbol))
        return self._steps[pair]

    def _permit(self, number: int) -> Permit:
        if number not in self._permits:
            self._permits[number] = self.permit(self._states[number])
        return self._permits[number]

    def _way(self, number: int) -> tuple[int, ...]:
        if number not in self._ways:
            self._ways[number] = tuple(self.way(self._states[number]))
        return self._ways[number]

    def _proposals(self, number: int) -> Sequence[int]:
        return self.proposals(self._states[number])


@dataclass(frozen=True, eq=False, slots=True)
class Tracked(Generic[StateT]):
    """A guard, and a goal, of N rows, each in a state of a machine.

    Args:
        machine: the automaton.
        states: Long[N], the number of each row's state.
        size: the number of symbols.
    """

    machine: Machine[StateT]
    states: Tensor
    size: int

    def allowed(self) -> Tensor:
        """Bool[N,V]: what the machine permits, and STEP."""
        states, rows = _different(self.states)
        allowed = torch.empty(len(states), self.size, dtype=torch.bool)
        for row, number in enumerate(states):
            permit = self.machine._permit(number)
            allowed[row] = permit.forbidden
            allowed[row, list(permit.symbols)] = not permit.forbidden
        allowed[:, [symbol for symbol in SILENT if symbol != EOS]] = True
        return allowed.to(self.states.device)[rows]

    def to_end(self) -> Tensor:
        """Long[N]: how many symbols must come before EOS may."""
        states, rows = _different(self.states)
        lengths = [len(self.machine._way(number)) for number in states]
        return torch.tensor(lengths, device=self.states.device)[rows]

    def closing(self) -> Tensor:
        """Long[N]: the next symbol of the way to the end."""
        states, rows = _different(self.states)
        symbols = [next(iter(self.machine._way(number)), EOS) for number in states]
        return torch.tensor(symbols, device=self.states.device)[rows]

    def proposals(self) -> Tensor:
        """Long[N,P]: symbols that bring the end nearer, padded with EOS."""
        states, rows = _different(self.states)
        found = [list(self.machine._proposals(number)) for number in states]
        width = max(map(len, found))
        padded = [symbols + [EOS] * (width - len(symbols)) for symbols in found]
        return torch.tensor(padded, dtype=torch.long, device=self.states.device).view(len(found), width)[rows]

    def advance(self, tokens: Tensor) -> Self:
        """Return the guard after `tokens` Long[N]."""
        pairs, rows = _different(self.states * self.size + tokens)
        numbers = [self.machine._step(*divmod(pair, self.size)) for pair in pairs]
        return type(self)(self.machine, torch.tensor(numbers, device=self.states.device)[rows], self.size)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.machine, self.states[rows], self.size)


def _different(numbers: Tensor) -> tuple[list[int], Tensor]:
    """Return the different numbers, and for each of `numbers` Long[N] the place Long[N] of its own among them."""
    found, places = numbers.unique(return_inverse=True)  # type: ignore[no-untyped-call]  # PyTorch does not type it
    return found.tolist(), places
