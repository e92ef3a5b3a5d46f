"""Conservative search: constraints and biases that keep an output close to mt.

Closeness is measured by the Levenshtein distance between mt and output, in tokens. The last row of its dynamic
programming table is kept for each hypothesis, so `MaxEdits` and `EditCost` are exact and independent of alignments.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, STEP
from postedit.search.guidance import NOT_TEXT, not_text

_BEYOND = 2**30  # stands for an infinite distance, beyond the end of mt; adding to it does not overflow


@dataclass(frozen=True, eq=False, slots=True)
class Distances:
    """The distances between the tokens written so far and each prefix of mt, for N rows."""

    mt: Tensor  # Long[N,L], tokens of mt without EOS, padded; L is at least 1
    lengths: Tensor  # Long[N], number of tokens of mt
    row: Tensor  # Long[N,L+1], column j is the distance from the first j tokens of mt; `_BEYOND` past its length

    @classmethod
    def of(cls, mt: Tensor, lengths: Tensor) -> Self:
        """Return the distances of an empty output."""
        places = torch.arange(mt.size(1) + 1, device=mt.device)
        row = places.expand(len(mt), -1).masked_fill(places > lengths.unsqueeze(1), _BEYOND)
        return cls(mt, lengths, row)

    @property
    def least(self) -> Tensor:
        """Long[N]: the least distance that any continuation can reach, by copying the rest of mt."""
        return self.row.amin(1)

    @property
    def ended(self) -> Tensor:
        """Long[N]: the distance from the whole of mt if the output ends here."""
        return self.row.gather(1, self.lengths.unsqueeze(1)).squeeze(1)

    def copying(self, most: Tensor, vocabulary: int) -> Tensor:
        """Return Bool[N,V], True for the tokens that in mt follow a prefix at a distance of at most `most` Long[N]."""
        near = self.row[:, :-1] <= most.unsqueeze(1)
        found = torch.zeros(len(self.mt), vocabulary, dtype=torch.uint8, device=self.mt.device)
        return found.scatter_reduce_(1, self.mt, near.to(torch.uint8), "amax").bool()

    def advance(self, tokens: Tensor) -> Self:
        """Return the distances after `tokens` Long[N], one per row, have been written."""
        old = self.row
        # First the entries whose last edit is not a deletion; then deletions, each of which adds 1 to the entry before.
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
    """A bound on the distance between mt and output, which allows all outputs within it and no others."""

    distances: Distances  # distances of the tokens written so far
    most: int  # the largest distance allowed
    vocabulary: int  # V, size of the target vocabulary

    def allowed(self) -> Tensor:
        """Return Bool[N,V], True for tokens after which the output stays within the bound by copying the rest of mt."""
        distances = self.distances
        allowed = distances.copying(torch.full_like(distances.lengths, self.most), self.vocabulary)
        allowed |= (distances.least < self.most).unsqueeze(1)
        allowed[:, EOS] = distances.ended <= self.most
        allowed[:, STEP] = True
        return allowed

    def to_end(self) -> Tensor:
        """Return Long[N], the least number of tokens of mt that must still be copied; the others may be left out."""
        return self._needed().amin(1).clamp(0, self.distances.mt.size(1))

    def closing(self) -> Tensor:
        """Return Long[N], the token of mt that leads to the end soonest, or EOS where it is allowed."""
        at = self._needed().argmin(1, keepdim=True).clamp(max=self.distances.mt.size(1) - 1)
        return torch.where(self.distances.ended <= self.most, EOS, self.distances.mt.gather(1, at).squeeze(1))

    def advance(self, tokens: Tensor) -> Self:
        """Return the bound after `tokens` Long[N], one per row, have been written."""
        return type(self)(self.distances.advance(tokens), self.most, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.most, self.vocabulary)

    def _needed(self) -> Tensor:
        """Return Long[N,L+1], the number of tokens to copy if the output continues after the first j tokens of mt.

        It is `_BEYOND` where the output cannot continue there.
        """
        row = self.distances.row
        places = torch.arange(row.size(1), device=row.device)
        left = self.distances.lengths.unsqueeze(1) - places
        return (left - (self.most - row)).clamp(min=0).masked_fill(row > self.most, _BEYOND)


@dataclass(frozen=True, eq=False, slots=True)
class EditCost:
    """A cost for each edit, which sums to `nats` times the distance from mt over a whole output.

    A token costs what it adds to the least distance, and EOS what leaving out the rest of mt adds. The sum does not
    depend on an alignment: up to sign and a constant, it is the log-probability of the output under a prior
    exp(-nats * distance), by which the probability under the model is multiplied.
    """

    distances: Distances  # distances of the tokens written so far
    nats: float  # cost of an edit, at least 0
    vocabulary: int  # V, size of the target vocabulary

    def added(self) -> Tensor:
        """Return the negative cost of each next token, Float[N,V], in nats."""
        least = self.distances.least
        added = (~self.distances.copying(least, self.vocabulary)).float() * -self.nats
        added[:, EOS] = (self.distances.ended - least) * -self.nats
        added[:, STEP] = 0.0
        return added

    def advance(self, tokens: Tensor) -> Self:
        """Return the costs after `tokens` Long[N], one per row, have been written."""
        return type(self)(self.distances.advance(tokens), self.nats, self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.distances.select(rows), self.nats, self.vocabulary)


@dataclass(frozen=True, eq=False, slots=True)
class PostEditPenalty:
    """The post-editing penalty (Junczys-Dowmunt and Grundkiewicz 2016) as a bias in search.

    In the paper, it is a feature that counts the words of an output that are not in mt. Here it counts tokens, and its
    weight is given, not tuned.
    """

    prices: Tensor  # Float[B,V], at most 0, in nats: the bias of each token, by sentence
    sentences: Tensor  # Long[N], the sentence of each row

    @classmethod
    def of(cls, known: Tensor, nats: float, vocabulary: int) -> Self:
        """Return a penalty of `nats` for each text token that is not in the sentence's `known` Long[B,L] (padded)."""
        prices = torch.full((len(known), vocabulary), -nats, dtype=torch.float32, device=known.device)
        prices.scatter_(1, known, 0.0)
        prices[:, list(NOT_TEXT)] = 0.0
        return cls(prices, torch.arange(len(known), device=known.device))

    def added(self) -> Tensor:
        """Return the negative penalty of each next token, Float[N,V], in nats."""
        return self.prices[self.sentences]

    def advance(self, tokens: Tensor) -> Self:
        """Return the penalty itself, which does not depend on earlier tokens."""
        return self

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.prices, self.sentences[rows])
