"""What may be written next: the model's grammar, the user's guidance, and the longest output, as one value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch
from torch import Tensor

from postedit.core.model import Constraint, Seq2Seq
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.search.guidance import NONE, Guidance

_NEVER_WRITTEN: Final = len((PAD, BOS))  # the first symbols of all


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """The best symbols to write next, best first, for N rows.

    Args:
        symbols: Long[N,C].
        ranked: Float[N,C], by what they are ranked: log-probability and biases; -inf for what may not be written.
        gained: Float[N,C], their log-probability.
        ending: Bool[N], rows that only have room for what leads to their end.
    """

    symbols: Tensor
    ranked: Tensor
    gained: Tensor
    ending: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Rules:
    """The rules for N rows, given what each has written.

    The symbols that grammar counts (STEPs) and those that guidance counts are not the same ones, so that what both
    demand before EOS adds up.

    Args:
        limits: Long[N], how many symbols an output may have, EOS not counted.
        grammar: of the model.
        guidance: of the user.
    """

    limits: Tensor
    grammar: tuple[Constraint, ...]
    guidance: Guidance

    @classmethod
    def of(cls, model: Seq2Seq, batch: Batch, limits: Tensor, guidance: Guidance = NONE) -> Self:
        """Return the rules at the start, `limits` Long[B] raised to what must come before an EOS."""
        rules = cls(limits, tuple(model.constraints(batch)), guidance)
        return cls(torch.maximum(limits, rules.to_end()), rules.grammar, guidance)

    def to_end(self) -> Tensor:
        """Long[N]: how many symbols must come before EOS may."""
        needed = torch.zeros_like(self.limits)
        for constraint in self.grammar:
            needed = torch.maximum(needed, constraint.to_end())
        for constraint in self.guidance.constraints:
            needed = needed + constraint.to_end()
        return needed

    def best(self, log_probs: Tensor, written: Tensor | int, count: int) -> Choice:
        """Return the `count` best next symbols (fewer if V is smaller), and after them those that goals propose.

        A row as long as it may be can only end, or write what a constraint demands before that, at the probability
        that the model gives it: so the score of every hypothesis is that of the model. Symbols that put off the end
        beyond the limit are not among the best.

        Args:
            log_probs: Float[N,V], of the model.
            written: how many symbols each row has: Long[N], or one number for all of them.
            count: at least 1.
        """
        ranked = self._ranked(log_probs)
        values, symbols = _highest(ranked, count)
        for goal in self.guidance.goals:
            proposals = goal.proposals()
            known = (proposals.unsqueeze(2) == symbols.unsqueeze(1)).any(2)
            values = torch.cat([values, ranked.gather(1, proposals).masked_fill(known, -math.inf)], 1)
            symbols = torch.cat([symbols, proposals], 1)
        ending = self.limits <= written + self.to_end()
        if self.guidance.constraints:
            values = values.masked_fill(self._too_far(symbols, written), -math.inf)
            ending = ending | (values.amax(1) == -math.inf)
        if bool(ending.any()):
            last = self._closing()
            at_last = torch.full_like(values, -math.inf)
            at_last[:, 0] = ranked.gather(1, last.unsqueeze(1)).squeeze(1)
            values = torch.where(ending.unsqueeze(1), at_last, values)
            symbols = torch.where(ending.unsqueeze(1), last.unsqueeze(1), symbols)
        return Choice(symbols, values, log_probs.gather(1, symbols), ending)

    def draw(self, log_probs: Tensor, written: int, temperature: float, top_k: int) -> Choice:
        """Return one next symbol for each row, drawn from the distribution over those that may come next.

        Args:
            log_probs: Float[N,V], of the model.
            written: how many symbols each row has.
            temperature: above 0; log-probabilities are divided by it.
            top_k: how many of the best symbols may be drawn; 0: all of them.
        """
        ranked = self._ranked(log_probs)
        best = ranked[:, _NEVER_WRITTEN:].amax(1, keepdim=True)
        possible = best > -math.inf  # and a number
        shares = ((ranked - best) / temperature).exp_()
        shares[:, :_NEVER_WRITTEN] = 0.0
        if 0 < top_k < shares.size(1):
            shares = shares.masked_fill(shares < shares.topk(top_k, 1).values[:, -1:], 0.0)
        drawn = _drawn(shares.masked_fill_(~possible, 1.0))
        ending = self.limits <= written + self.to_end()
        symbols = torch.where(ending.unsqueeze(1) | ~possible, self._closing().unsqueeze(1), drawn)
        return Choice(symbols, ranked.gather(1, symbols), log_probs.gather(1, symbols), ending)

    def advance(self, tokens: Tensor) -> Self:
        """Return the rules after `tokens` Long[N] were written; PAD: nothing was."""
        grammar = tuple(constraint.advance(tokens) for constraint in self.grammar)
        return type(self)(self.limits, grammar, self.guidance.advance(tokens))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        grammar = tuple(constraint.select(rows) for constraint in self.grammar)
        return type(self)(self.limits[rows], grammar, self.guidance.select(rows))

    def _too_far(self, symbols: Tensor, written: Tensor | int) -> Tensor:
        """Bool[N,C]: symbols after which too little room is left: they may put off the end, as "Haus" + "boot" does."""
        rows = torch.arange(len(symbols), device=symbols.device).repeat_interleave(symbols.size(1))
        to_end = self.select(rows).advance(symbols.reshape(-1)).to_end().view_as(symbols)
        room = (self.limits - written - 1).unsqueeze(1)
        return (to_end > room) & (symbols != EOS)

    def _ranked(self, log_probs: Tensor) -> Tensor:
        """Return Float[N,V] with biases, and -inf for what is not allowed; `log_probs` itself if nothing is said."""
        constraints: Sequence[Constraint] = (*self.guidance.constraints, *self.grammar)
        for bias in self.guidance.biases:
            log_probs = log_probs + bias.added()
        if not constraints:
            return log_probs
        allowed = constraints[0].allowed()
        for constraint in constraints[1:]:
            allowed = allowed & constraint.allowed()
        return log_probs.masked_fill(~allowed, -math.inf)

    def _closing(self) -> Tensor:
        """Long[N]: the symbol that leads to the end soonest."""
        last = torch.full_like(self.limits, EOS)
        for constraint in (*self.guidance.constraints, *self.grammar):
            last = torch.where(last == EOS, constraint.closing(), last)
        return last


def _highest(ranked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` highest values of each row, or all if there are fewer, and their symbols; of those written."""
    if count == 1 and ranked.device.type == "cpu" and ranked.size(1) > _NEVER_WRITTEN:
        # NumPy takes a twentieth of the time that topk does; of equal ones it gives the first.
        symbols = torch.from_numpy(ranked[:, _NEVER_WRITTEN:].numpy().argmax(1)).unsqueeze(1) + _NEVER_WRITTEN
        return ranked.gather(1, symbols), symbols
    size = ranked.size(1)
    # The symbols that are never written may be among the best, and are left out after the sorting.
    values, symbols = ranked.topk(min(count + _NEVER_WRITTEN, size), 1)
    values = values.masked_fill(symbols <= BOS, -math.inf)
    values, order = values.topk(min(count, size), 1)
    return values, symbols.gather(1, order)


def _drawn(shares: Tensor) -> Tensor:
    """Return a column Long[N,1] of each row of `shares` Float[N,V], drawn with its share of the row as probability.

    By the inverse of the cumulative distribution, as `multinomial` draws a random number for each of the V columns,
    which on a CPU takes as long as a small model.
    """
    cumulative = shares.cumsum(1, dtype=torch.float64)
    total = cumulative[:, -1:].clone()
    place = (torch.rand_like(total) * total).minimum(total.nextafter(torch.zeros_like(total)))
    return torch.searchsorted(cumulative, place, right=True)  # the first column whose end lies beyond: no empty one
