"""The grammar of edit operations, and what is left to choose at the length limit."""

import pytest
import torch

from postedit.core.special_tokens import BOS, EOS, PAD, STEP
from postedit.core.types import Shortlist
from postedit.nn.heads import SoftmaxDistribution
from postedit.nn.operations import OperationDistribution, OperationGrammar, operations_of
from postedit.search.guidance import Guidance
from postedit.search.repetition import NoRepeat
from postedit.search.rules import Rules

A, B, C, SIZE = 6, 7, 8, 10
MT = torch.tensor([[A, B, A, EOS], [B, EOS, PAD, PAD]])
LENGTHS = torch.tensor([4, 2])


def test_keeping_and_deleting_move_on_and_inserting_does_not() -> None:
    tokens = torch.tensor([[BOS, A, A, STEP, A], [BOS, A, B, STEP, EOS]])
    kept, positions = operations_of(tokens, MT, torch.zeros(2, dtype=torch.long), LENGTHS - 1)
    assert kept.tolist() == [[False, True, False, False, True], [False, False, True, False, True]]
    assert positions.tolist() == [[0, 1, 1, 2, 3], [0, 0, 1, 1, 1]]


def test_the_end_comes_at_the_end_of_mt_alone() -> None:
    grammar = OperationGrammar.over(MT, LENGTHS, SIZE)
    assert grammar.to_end().tolist() == [3, 1]
    assert grammar.closing().tolist() == [[STEP, A], [STEP, B]]
    assert not grammar.allowed()[:, EOS].any()
    grammar = grammar.advance(torch.tensor([A, B])).select(torch.tensor([1, 0]))
    assert grammar.to_end().tolist() == [0, 2]
    assert grammar.closing().tolist() == [[EOS, EOS], [STEP, B]]
    assert grammar.allowed()[:, [EOS, STEP]].tolist() == [[True, False], [False, True]]


def rules(limits: torch.Tensor, guidance: Guidance) -> Rules:
    return Rules(limits, (OperationGrammar.over(MT, LENGTHS, SIZE),), guidance)


@pytest.mark.parametrize(("keep", "expected"), [(3.0, [A, B]), (-3.0, [STEP, STEP])])
@pytest.mark.parametrize("count", [1, 4])
def test_at_the_limit_the_rest_of_mt_is_kept_or_deleted(keep: float, expected: list[int], count: int) -> None:
    """Whatever else the model would rather insert."""
    log_probs = torch.zeros(2, SIZE)
    log_probs[:, C], log_probs[[0, 1], [A, B]] = 9.0, keep
    found = rules(LENGTHS - 1, Guidance()).best(log_probs, 0, count)
    assert found.ending.all()
    assert found.tokens[:, 0].tolist() == expected
    assert (found.ranked > -torch.inf).sum(1).tolist() == [min(count, 2)] * 2
    torch.manual_seed(0)
    assert rules(LENGTHS - 1, Guidance()).draw(log_probs, 0, 1.0, 0).tokens.squeeze(1).tolist() == expected


def test_at_the_limit_nothing_is_kept_that_guidance_forbids() -> None:
    log_probs = torch.zeros(2, SIZE)
    log_probs[:, A] = 5.0
    known = torch.full((2, 1), C)
    guard = NoRepeat.of(1, (known,), SIZE).advance(torch.tensor([A, B]))
    found = rules(LENGTHS - 1, Guidance((guard,))).best(log_probs, 0, 3)
    assert found.tokens[:, 0].tolist() == [STEP, STEP]


def test_a_shortlist_renormalises_what_it_has() -> None:
    generator = torch.Generator().manual_seed(1)
    h, w, b = (torch.randn(*size, generator=generator) for size in ((2, 3, 4), (SIZE + 1, 4), (SIZE + 1,)))
    found = OperationDistribution(SoftmaxDistribution(h, w, b), torch.tensor([[A, B, EOS], [B, B, A]]))
    shortlist = Shortlist(7, torch.tensor([8]))
    expected = found.log_probs()[..., shortlist.token_ids].log_softmax(-1)
    torch.testing.assert_close(found.among(shortlist), expected)
