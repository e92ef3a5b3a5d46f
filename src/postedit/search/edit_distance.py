"""Conservative search: constraints and biases that keep an output close to mt.

The measure is the Levenshtein distance of mt and output in tokens. The last row of its table is kept for each
hypothesis, so the bound of `MaxEdits` and the costs of `EditCost` are exact, whatever the alignment.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, STEP
from postedit.search.guidance import NOT_TEXT, not_text

_BEYOND = 2**30  # the distance at positions beyond the end of mt; adding to it does not overflow


@dataclass(frozen=True, eq=False, slots=True)
class Distances:
    """Distances of the tokens written so far from each prefix of mt, for N rows."""

    mt: Tensor  # Long[N,L], tokens without EOS, padded; L at least 1
    lengths: Tensor  # Long[N], without padding
    row: Tensor  # Long[N,L+1], the distance from the first j tokens of mt; huge beyond its length

    @classmethod
    def of(cls, mt: Tensor, lengths: Tensor) -> Self:
        """Return the distances from an empty text."""
        places = torch.arange(mt.size(1) + 1, device=mt.device)
        row = places.expand(len(mt), -1).masked_fill(places > lengths.unsqueeze(1), _BEYOND)
        return cls(mt, lengths, row)

    @property
    def least(self) -> Tensor:
        """Long[N]: the least distance of any continuation: that of one which copies the rest of mt."""
        return self.row.amin(1)

    @property
    def ended(self) -> Tensor:
        """Long[N]: the distance from all of mt, if the output ends here."""
        return self.row.gather(1, self.lengths.unsqueeze(1)).squeeze(1)

    def copying(self, most: Tensor, vocabulary: int) -> Tensor:
        """Bool[N,V]: the tokens that follow a prefix of mt whose distance is at most `most` Long[N]."""
        near = self.row[:, :-1] <= most.unsqueeze(1)
        found = torch.zeros(len(self.mt), vocabulary, dtype=torch.uint8, device=self.mt.device)
        return found.scatter_reduce_(1, self.mt, near.to(torch.uint8), "amax").bool()

    def advance(self, tokens: Tensor) -> Self:
        """Return the distances after `tokens` Long[N]."""
        old = self.row
        # Entries whose last edit is not a deletion; then deletions, each 1 more than the entry before.
        differs = (self.mt != tokens.unsqueeze(1)).long()
        new = torch.cat([old[:, :1] + 1, torch.minimum(old[:, 1:] + 1, old[:, :-1] + differs)], 1)
        places = torch.arange(new.size(1), device=new.device)
        new = (new - places).cummin(1).values + places
        new = new.masked_fill(places > self.lengths.unsqueeze(1), _BEYOND)
        return type(self)(self.mt, self.lengths, torch.where(not_text(tokens).unsqueeze(1), old, new))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.mt[rows], self.lengths[rows], self.row[rows])


@dataclass(frozen=True, eq=False, slots=True)
class MaxEdits:
    """A bound on the distance of mt and output: every output within it may be written, and none beyond."""

    distances: Distances  # of the tokens written so far
    most: int  # the largest distance allowed
    vocabulary: int  # its size

    def allowed(self) -> Tensor:
        """Bool[N,V]: the tokens after which a copy of the rest of mt is within the bound."""
        distances = self.distances
        allowed = distances.copying(torch.full_like(distances.lengths, self.most), self.vocabulary)
        allowed |= (distances.least < self.most).unsqueeze(1)
        allowed[:, EOS] = distances.ended <= self.most
        allowed[:, STEP] = True
        return allowed

    def to_end(self) -> Tensor:
        """Long[N]: the number of tokens of mt that must be copied; the bound allows the others to be left out."""
        return self._needed().amin(1).clamp(0, self.distances.mt.size(1))

    def closing(self) -> Tensor:
        """Long[N]: the token of mt that leads to the end soonest, or EOS."""
        at = self._needed().argmin(1, keepdim=True).clamp(max=self.distances.mt.size(1) - 1)
        return torch.where(self.distances.ended <= self.most, EOS, self.distances.mt.gather(1, at).squeeze(1))

    def advance(self, tokens: Tensor) -> Self:
        """Return the bound after `tokens` Long[N]."""
        return type(self)(self.distances.advance(tokens), self.most, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.most, self.vocabulary)

    def _needed(self) -> Tensor:
        """Long[N,L+1]: the number of tokens to copy if the output continues from there; huge if it cannot."""
        row = self.distances.row
        places = torch.arange(row.size(1), device=row.device)
        left = self.distances.lengths.unsqueeze(1) - places
        return (left - (self.most - row)).clamp(min=0).masked_fill(row > self.most, _BEYOND)


@dataclass(frozen=True, eq=False, slots=True)
class EditCost:
    """A cost for each edit; over a whole output, `nats` times its distance from mt.

    A token costs what it adds to the least distance, EOS what the omitted end of mt adds. The sum does not depend on
    the alignment: it is the log-probability (up to a constant) of a prior exp(-nats * distance), by which the model is
    multiplied.
    """

    distances: Distances  # of the tokens written so far
    nats: float  # cost of an edit, at least 0
    vocabulary: int  # its size

    def added(self) -> Tensor:
        """Float[N,V], in nats."""
        least = self.distances.least
        added = (~self.distances.copying(least, self.vocabulary)).float() * -self.nats
        added[:, EOS] = (self.distances.ended - least) * -self.nats
        added[:, STEP] = 0.0
        return added

    def advance(self, tokens: Tensor) -> Self:
        """Return the cost after `tokens` Long[N]."""
        return type(self)(self.distances.advance(tokens), self.nats, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.nats, self.vocabulary)


@dataclass(frozen=True, eq=False, slots=True)
class PostEditPenalty:
    """The post-editing penalty (Junczys-Dowmunt and Grundkiewicz 2016) as a bias of search.

    In the paper it is a feature that counts the words of an output that are not in mt; here it counts tokens, and its
    weight is given, not tuned.
    """

    prices: Tensor  # Float[B,V], at most 0: what each token adds, by sentence
    sentences: Tensor  # Long[N], the sentence of each row

    @classmethod
    def of(cls, known: Tensor, nats: float, vocabulary: int) -> Self:
        """Return the penalty of `nats` for all tokens except `known` Long[B,L], padded, and those that are no text."""
        prices = torch.full((len(known), vocabulary), -nats, device=known.device)
        prices.scatter_(1, known, 0.0)
        prices[:, list(NOT_TEXT)] = 0.0
        return cls(prices, torch.arange(len(known), device=known.device))

    def added(self) -> Tensor:
        """Float[N,V], in nats."""
        return self.prices[self.sentences]

    def advance(self, tokens: Tensor) -> Self:
        """Return the same: the penalty does not depend on earlier tokens."""
        return self

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.prices, self.sentences[rows])
