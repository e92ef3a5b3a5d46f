"""No n-gram more often than there is a reason for."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.special_tokens import EOS, PAD
from postedit.search.guidance import SILENT, silent


@dataclass(frozen=True, eq=False, slots=True)
class NoRepeat:
    """An n-gram of symbols comes at most as often as in mt, or as in src, whichever is more; and it may come once.

    It never keeps an output from ending. N-grams overlap; STEPs are passed over.

    Args:
        n: its length, at least 1.
        known: Long[N,L] each, padded: texts that may be repeated as they are.
        written: Long[N,T], the symbols so far, padded.
        lengths: Long[N], how many those are.
        vocabulary: the number of symbols.
    """

    n: int
    known: tuple[Tensor, ...]
    written: Tensor
    lengths: Tensor
    vocabulary: int

    @classmethod
    def of(cls, n: int, known: tuple[Tensor, ...], vocabulary: int) -> Self:
        """Return the guard at the start; `known` is not empty."""
        empty = known[0].new_zeros(len(known[0]), 0)
        return cls(n, known, empty, empty.sum(1), vocabulary)

    def allowed(self) -> Tensor:
        """Bool[N,V]: the symbols that make no n-gram too frequent."""
        places = torch.arange(self.n - 1, device=self.written.device)
        at = (self.lengths.unsqueeze(1) - (self.n - 1) + places).clamp(min=0)
        context = self.written.gather(1, at) if self.written.size(1) else at  # not looked at if nothing is written
        counts = self._counts(self.written, context)
        most = torch.ones_like(counts)
        for text in self.known:
            most = torch.maximum(most, self._counts(text, context))
        allowed = counts < most
        allowed |= (self.lengths < self.n - 1).unsqueeze(1)
        allowed[:, list(SILENT)] = True
        return allowed

    def to_end(self) -> Tensor:
        """Long[N]: 0; EOS may always come."""
        return torch.zeros_like(self.lengths)

    def closing(self) -> Tensor:
        """Long[N]: EOS."""
        return torch.full_like(self.lengths, EOS)

    def advance(self, tokens: Tensor) -> Self:
        """Return the guard after `tokens` Long[N]."""
        waits = silent(tokens)
        written = torch.cat([self.written, torch.full_like(tokens, PAD).unsqueeze(1)], 1)
        written.scatter_(1, self.lengths.unsqueeze(1), tokens.masked_fill(waits, PAD).unsqueeze(1))
        return type(self)(self.n, self.known, written, self.lengths + (~waits).long(), self.vocabulary)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        known = tuple(text[rows] for text in self.known)
        return type(self)(self.n, known, self.written[rows], self.lengths[rows], self.vocabulary)

    def _counts(self, text: Tensor, context: Tensor) -> Tensor:
        """Long[N,V]: how often each symbol follows `context` Long[N,n-1] in `text` Long[N,L]."""
        counts = torch.zeros(len(text), self.vocabulary, dtype=torch.long, device=text.device)
        if text.size(1) < self.n:
            return counts
        windows = text.unfold(1, self.n, 1)
        found = (windows[..., :-1] == context.unsqueeze(1)).all(2)
        return counts.scatter_add_(1, windows[..., -1], found.long())  # those of PAD do not matter
