"""What tests of guards share: walking through all that a guard lets pass."""

import itertools
from collections.abc import Iterator, Sequence

import torch

from postedit.core.model import Constraint
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS
from postedit.search.guidance import Bias

FIRST = len(SPECIAL_TOKENS)
"""The first symbol that is text."""


def outputs(letters: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Yield all texts of so many different symbols, up to a length."""
    symbols = range(FIRST, FIRST + letters)
    for length in range(longest + 1):
        yield from itertools.product(symbols, repeat=length)


def after(guard: Constraint, tokens: Sequence[int]) -> Constraint | None:
    """Return the guard (of one row) after the tokens, or None if it does not let one of them pass."""
    for token in tokens:
        if not guard.allowed()[0, token]:
            return None
        guard = guard.advance(torch.tensor([token]))
    return guard


def passing(guard: Constraint, letters: int, longest: int) -> set[tuple[int, ...]]:
    """Return the outputs of so many different symbols, up to a length, that the guard (of one row) lets pass.

    The texts of one length are rows of one guard, as in a search: each beginning is walked once.
    """
    found, texts = set[tuple[int, ...]](), [()]
    for length in range(longest + 1):
        allowed = guard.allowed()
        found.update(text for text, may_end in zip(texts, allowed[:, EOS].tolist(), strict=True) if may_end)
        rows, symbols = allowed[:, FIRST : FIRST + letters].nonzero(as_tuple=True)
        if length < longest and len(rows):
            texts = [(*texts[row], FIRST + symbol) for row, symbol in zip(rows.tolist(), symbols.tolist(), strict=True)]
            guard = guard.select(rows).advance(symbols + FIRST)
        else:
            break
    return found


def assert_the_way_to_the_end(guard: Constraint) -> None:
    """Assert that `to_end` symbols of `closing` lead to an end, each of them allowed and bringing it nearer."""
    left = int(guard.to_end()) + 1
    while True:
        assert int(guard.to_end()) < left
        left, closing = int(guard.to_end()), guard.closing()
        assert (int(closing) == EOS) == (left == 0) == bool(guard.allowed()[0, EOS])
        if left == 0:
            return
        assert guard.allowed()[0, int(closing)]
        guard = guard.advance(closing)


def total(bias: Bias, tokens: Sequence[int]) -> float:
    """Return what a bias (of one row) adds to the score of an output."""
    added = 0.0
    for token in (*tokens, EOS):
        added += float(bias.added()[0, token])
        bias = bias.advance(torch.tensor([token]))
    return added
