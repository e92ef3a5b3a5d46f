"""A constraint against repeated n-grams."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, PAD
from postedit.search.guidance import NOT_TEXT, not_text


@dataclass(frozen=True, eq=False, slots=True)
class NoRepeat:
    """A constraint on how often an n-gram may occur: once, or as often as in one of the `known` texts (mt, src).

    EOS is always allowed.
    """

    n: int  # number of tokens in an n-gram, at least 1; STEPs are not counted
    known: tuple[Tensor, ...]  # texts that may be copied, Long[N,L] each, padded
    written: Tensor  # Long[N,T], tokens written so far, padded
    lengths: Tensor  # Long[N], number of tokens written so far
    vocabulary: int  # V, size of the target vocabulary

    @classmethod
    def of(cls, n: int, known: tuple[Tensor, ...], vocabulary: int) -> Self:
        """Return the constraint at the start; `known` must not be empty."""
        empty = known[0].new_zeros(len(known[0]), 0)
        return cls(n, known, empty, empty.sum(1), vocabulary)

    def allowed(self) -> Tensor:
        """Return Bool[N,V], True for the tokens that do not make an n-gram too frequent."""
        places = torch.arange(self.n - 1, device=self.written.device)
        at = (self.lengths.unsqueeze(1) - (self.n - 1) + places).clamp(min=0)
        context = self.written.gather(1, at) if self.written.size(1) else at  # its values are not used
        counts = self._counts(self.written, context)
        most = torch.ones_like(counts)
        for text in self.known:
            most = torch.maximum(most, self._counts(text, context))
        allowed = counts < most
        allowed[:, list(NOT_TEXT)] = True
        return allowed

    def to_end(self) -> Tensor:
        """Return zeros Long[N], as EOS is always allowed."""
        return torch.zeros_like(self.lengths)

    def closing(self) -> Tensor:
        """Return EOS for each row, Long[N]."""
        return torch.full_like(self.lengths, EOS)

    def advance(self, tokens: Tensor) -> Self:
        """Return the constraint after `tokens` Long[N], one per row, have been written."""
        waits = not_text(tokens)
        written = torch.cat([self.written, torch.full_like(tokens, PAD).unsqueeze(1)], 1)
        written.scatter_(1, self.lengths.unsqueeze(1), tokens.masked_fill(waits, PAD).unsqueeze(1))
        return type(self)(self.n, self.known, written, self.lengths + (~waits).long(), self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        known = tuple(text[rows] for text in self.known)
        return type(self)(self.n, known, self.written[rows], self.lengths[rows], self.vocabulary)

    def _counts(self, text: Tensor, context: Tensor) -> Tensor:
        """Return Long[N,V], how often each token follows `context` Long[N,n-1] in `text` Long[N,L]."""
        counts = torch.zeros(len(text), self.vocabulary, dtype=torch.long, device=text.device)
        if text.size(1) < self.n:
            return counts
        windows = text.unfold(1, self.n, 1)
        found = (windows[..., :-1] == context.unsqueeze(1)).all(2)
        return counts.scatter_add_(1, windows[..., -1], found.long())  # the counts of PAD are not used
