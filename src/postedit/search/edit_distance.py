"""Conservative search: what holds an output near to mt.

The measure is the Levenshtein distance of mt and output in symbols: inserted, deleted and substituted ones count 1
each. The last row of its table is kept for each hypothesis, so that the bound of `MaxEdits` and the costs of
`EditCost` are exact, whatever the alignment.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, STEP
from postedit.search.guidance import SILENT, silent

_BEYOND = 2**30
"""A distance that stands for positions beyond the end of mt; there is room to add to it."""


@dataclass(frozen=True, eq=False, slots=True)
class Distances:
    """How far what is written is from each beginning of mt, for N rows.

    Args:
        mt: Long[N,L], symbols without EOS, padded; L at least 1.
        lengths: Long[N], real ones.
        row: Long[N,L+1], the distance from the first j symbols of mt; huge beyond its length.
    """

    mt: Tensor
    lengths: Tensor
    row: Tensor

    @classmethod
    def of(cls, mt: Tensor, lengths: Tensor) -> Self:
        """Return the distances from an empty text."""
        places = torch.arange(mt.size(1) + 1, device=mt.device)
        row = places.expand(len(mt), -1).masked_fill(places > lengths.unsqueeze(1), _BEYOND)
        return cls(mt, lengths, row)

    @property
    def least(self) -> Tensor:
        """Long[N]: the least distance of any text that begins with what is written: that of one going on like mt."""
        return self.row.amin(1)

    @property
    def ended(self) -> Tensor:
        """Long[N]: the distance of what is written from all of mt."""
        return self.row.gather(1, self.lengths.unsqueeze(1)).squeeze(1)

    def copying(self, most: Tensor, vocabulary: int) -> Tensor:
        """Bool[N,V]: the symbols that stand in mt where the distance is `most` Long[N] or less."""
        near = self.row[:, :-1] <= most.unsqueeze(1)
        found = torch.zeros(len(self.mt), vocabulary, dtype=torch.uint8, device=self.mt.device)
        return found.scatter_reduce_(1, self.mt, near.to(torch.uint8), "amax").bool()

    def advance(self, tokens: Tensor) -> Self:
        """Return the distances after `tokens` Long[N]."""
        old = self.row
        # Each entry, if its last edit is not a deletion; then deletions, each 1 more than the entry before.
        differs = (self.mt != tokens.unsqueeze(1)).long()
        new = torch.cat([old[:, :1] + 1, torch.minimum(old[:, 1:] + 1, old[:, :-1] + differs)], 1)
        places = torch.arange(new.size(1), device=new.device)
        new = (new - places).cummin(1).values + places
        new = new.masked_fill(places > self.lengths.unsqueeze(1), _BEYOND)
        return type(self)(self.mt, self.lengths, torch.where(silent(tokens).unsqueeze(1), old, new))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.mt[rows], self.lengths[rows], self.row[rows])


@dataclass(frozen=True, eq=False, slots=True)
class MaxEdits:
    """A bound on the distance of mt and output: every output within it may be written, and none beyond.

    Args:
        distances: so far.
        most: the largest distance allowed.
        vocabulary: the number of symbols.
    """

    distances: Distances
    most: int
    vocabulary: int

    def allowed(self) -> Tensor:
        """Bool[N,V]: the symbols after which the rest of mt leads to an output within the bound."""
        distances = self.distances
        allowed = distances.copying(torch.full_like(distances.lengths, self.most), self.vocabulary)
        allowed |= (distances.least < self.most).unsqueeze(1)
        allowed[:, EOS] = distances.ended <= self.most
        allowed[:, STEP] = True
        return allowed

    def to_end(self) -> Tensor:
        """Long[N]: how many symbols of mt must be copied, the others being left out as far as the bound allows."""
        return self._needed().amin(1).clamp(0, self.distances.mt.size(1))

    def closing(self) -> Tensor:
        """Long[N]: the next symbol of mt where that leads to the end soonest."""
        at = self._needed().argmin(1, keepdim=True).clamp(max=self.distances.mt.size(1) - 1)
        return torch.where(self.distances.ended <= self.most, EOS, self.distances.mt.gather(1, at).squeeze(1))

    def advance(self, tokens: Tensor) -> Self:
        """Return the bound after `tokens` Long[N]."""
        return type(self)(self.distances.advance(tokens), self.most, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.most, self.vocabulary)

    def _needed(self) -> Tensor:
        """Long[N,L+1]: how many symbols are to be copied if the output goes on from there; huge if it cannot."""
        row = self.distances.row
        places = torch.arange(row.size(1), device=row.device)
        left = self.distances.lengths.unsqueeze(1) - places
        return (left - (self.most - row)).clamp(min=0).masked_fill(row > self.most, _BEYOND)


@dataclass(frozen=True, eq=False, slots=True)
class EditCost:
    """A price for each edit: over a whole output, minus `nats` times its distance from mt.

    A symbol pays if the least distance grows by it, EOS for what is left out before the end of mt. As those sums do
    not depend on the way, this is the log-probability (but for a constant) of a prior exp(-nats * distance) over
    outputs, by which the model is multiplied.

    Args:
        distances: so far.
        nats: what an edit costs, at least 0.
        vocabulary: the number of symbols.
    """

    distances: Distances
    nats: float
    vocabulary: int

    def added(self) -> Tensor:
        """Float[N,V], in nats."""
        least = self.distances.least
        added = (~self.distances.copying(least, self.vocabulary)).float() * -self.nats
        added[:, EOS] = (self.distances.ended - least) * -self.nats
        added[:, STEP] = 0.0
        return added

    def advance(self, tokens: Tensor) -> Self:
        """Return the price after `tokens` Long[N]."""
        return type(self)(self.distances.advance(tokens), self.nats, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.nats, self.vocabulary)


@dataclass(frozen=True, eq=False, slots=True)
class Keep:
    """The post-editing penalty (Junczys-Dowmunt and Grundkiewicz 2016), symbol by symbol: a price for what is new.

    There it is a feature that counts the words of an output that are not in mt; here it counts symbols, so that it
    can take part in the search, and its weight is given, not tuned.

    Args:
        prices: Float[B,V], at most 0: what each symbol adds, sentence by sentence.
        sentences: Long[N], the sentence of each row.
    """

    prices: Tensor
    sentences: Tensor

    @classmethod
    def of(cls, known: Tensor, nats: float, vocabulary: int) -> Self:
        """Return the penalty of `nats` for all symbols but `known` Long[B,L], padded, and those that are no text."""
        prices = torch.full((len(known), vocabulary), -nats, device=known.device)
        prices.scatter_(1, known, 0.0)
        prices[:, list(SILENT)] = 0.0
        return cls(prices, torch.arange(len(known), device=known.device))

    def added(self) -> Tensor:
        """Float[N,V], in nats."""
        return self.prices[self.sentences]

    def advance(self, tokens: Tensor) -> Self:
        """Return the same: it does not depend on what is written."""
        return self

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.prices, self.sentences[rows])
