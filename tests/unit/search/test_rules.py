"""How grammar, guidance and limits go together, with constraints that are written down."""

import math
from dataclasses import dataclass, replace
from typing import Self

import pytest
import torch
from torch import Tensor
from written import SIZE, A, B, limits

from postedit.core.special_tokens import BOS, EOS, PAD, STEP
from postedit.search import Guidance
from postedit.search.guidance import NO_GUIDANCE
from postedit.search.rules import Rules, _drawn


@dataclass(frozen=True)
class Needs:
    """A constraint of one row that allows everything, and needs so many tokens before the end."""

    tokens: int
    closes: tuple[int, ...] = (EOS,)  # tokens that lead to the end
    far: tuple[int, ...] = ()  # tokens after which the end is nine tokens away

    def allowed(self) -> Tensor:
        return torch.ones(1, SIZE, dtype=torch.bool)

    def to_end(self) -> Tensor:
        return torch.tensor([self.tokens])

    def closing(self) -> Tensor:
        return torch.tensor([self.closes])

    def advance(self, tokens: Tensor) -> "Needs":
        return replace(self, tokens=9) if int(tokens) in self.far else self

    def select(self, rows: Tensor) -> "Needs | Several":
        return self if len(rows) == 1 else Several((self,) * len(rows))


@dataclass(frozen=True)
class Several:
    """Several rows of `Needs`."""

    rows: tuple[Needs, ...]

    def advance(self, tokens: Tensor) -> Self:
        return type(self)(tuple(row.advance(token) for row, token in zip(self.rows, tokens, strict=True)))

    def to_end(self) -> Tensor:
        return torch.cat([row.to_end() for row in self.rows])


def scores(**of: float) -> Tensor:
    found = torch.full((1, SIZE), -9.0)
    for name, score in of.items():
        found[0, {"pad": PAD, "start": BOS, "a": A, "b": B, "end": EOS, "step": STEP}[name]] = score
    return found


def test_grammars_need_the_same_tokens_and_guards_different_ones() -> None:
    rules = Rules(limits(20), (Needs(2), Needs(3)), Guidance(guards=(Needs(1), Needs(4))))
    assert rules.to_end().tolist() == [3 + 5]


def test_a_row_ends_if_its_best_tokens_lead_too_far_away() -> None:
    rules = Rules(limits(5), (), Guidance(guards=(Needs(0, far=(A, B)),)))
    found = rules.best_one(scores(a=-0.5, b=-1.0, end=-3.0), 0)
    assert (found.tokens.tolist(), found.ranked.tolist(), found.ending.tolist()) == ([[EOS]], [[-3.0]], [True])


@pytest.mark.parametrize(
    ("guidance", "expected"), [(NO_GUIDANCE, B), (Guidance(guards=(Needs(0, far=(B,)),)), STEP)], ids=["free", "guided"]
)
def test_at_the_limit_a_token_that_leads_too_far_is_left_out(guidance: Guidance, expected: int) -> None:
    rules = Rules(limits(5), (Needs(5, closes=(STEP, B)),), guidance)
    assert rules.best_one(scores(b=-0.5, step=-1.0), 0).tokens.tolist() == [[expected]]


def test_tokens_that_are_never_written_take_no_place_of_others() -> None:
    rules = Rules(limits(5), (), NO_GUIDANCE)
    probable = scores(pad=-0.1, start=-0.2, a=-800.0, b=-801.0)
    probable[probable == -9.0] = -math.inf
    assert rules.best(probable, 0, 2).tokens.tolist() == [[A, B]]
    drawn = [rules.draw(probable, 0, temperature=0.01, top_k=0).tokens.item() for _ in range(9)]
    assert drawn == [A] * 9


@pytest.mark.parametrize(("share", "column"), [(0.0, 2), (0.49, 2), (0.51, 4), (1.0, 4)])
def test_a_token_without_weight_is_never_drawn(monkeypatch: pytest.MonkeyPatch, share: float, column: int) -> None:
    monkeypatch.setattr(torch, "rand_like", lambda like: torch.full_like(like, share))
    assert _drawn(torch.tensor([[0.0, 0.0, 0.5, 0.0, 0.5, 0.0]])).tolist() == [[column]]
