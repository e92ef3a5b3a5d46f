import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.special_tokens import EOS
from postedit.search.proposals import Acceptance, DraftFollower

A, B, C, D, E, X = range(10, 16)
DRAFT = [A, B, C, D, E, EOS]


def test_a_draft_is_proposed_from_its_start_and_continued_where_right() -> None:
    follower = DraftFollower(DRAFT)
    assert follower.propose(3) == [A, B, C]
    follower.follow([A, B, C, D], 3)
    assert (follower.propose(9), follower.context) == ([E, EOS], "in step")


@pytest.mark.parametrize(
    ("written", "context", "rest"),
    [
        ([A, X], "guess", [C, D, E, EOS]),  # X in place of B
        ([A, X, B], "token", [C, D, E, EOS]),  # X before B
        ([A, C], "token", [D, E, EOS]),  # without B
    ],
    ids=["substitution", "insertion", "deletion"],
)
def test_after_an_edit_the_draft_meets_the_output_again(written: list[int], context: str, rest: list[int]) -> None:
    follower = DraftFollower(DRAFT)
    follower.follow(written[:2], 1)
    for length in range(3, len(written) + 1):
        follower.follow(written[:length], 0)
    assert (follower.propose(9), follower.context) == (rest, context)


def test_the_place_after_the_same_token_wins_then_the_nearest() -> None:
    follower = DraftFollower([A, B, C, A, B, D, X, B, EOS])
    follower.follow([X, B], 0)
    assert (follower.at, follower.context) == (8, "pair")
    follower = DraftFollower([A, B, C, A, C, B, D, EOS])
    follower.at = 3
    follower.follow([E, B], 0)
    assert (follower.at, follower.context) == (6, "token"), "as near as the first B, but ahead"


@given(
    draft=st.lists(st.integers(10, 14), max_size=12),
    written=st.lists(st.integers(10, 15), min_size=1, max_size=12),
    reach=st.integers(-1, 20),
)
def test_a_proposal_is_always_a_part_of_the_draft(draft: list[int], written: list[int], reach: int) -> None:
    follower = DraftFollower([*draft, EOS])
    for length in range(1, len(written) + 1):
        follower.follow(written[:length], 0)
        proposal = follower.propose(reach)
        assert proposal == [*draft, EOS][follower.at : follower.at + max(0, reach)]


def test_reach_is_what_makes_a_symbol_cheapest() -> None:
    acceptance = Acceptance()
    acceptance.learn("guess", 100_000, rejected=False)
    for _ in range(100_000):
        acceptance.learn("guess", 0, rejected=True)  # now one half
    for call_cost in (0.0, 0.5, 2.0, 10.0, 100.0):
        cost_of_a_symbol = {
            width: (call_cost + 1 + width) / sum(0.5**i for i in range(width + 1)) for width in range(40)
        }
        reach = acceptance.reach("guess", call_cost)
        assert cost_of_a_symbol[reach] == pytest.approx(min(cost_of_a_symbol.values()), rel=1e-3)


def test_proposals_lengthen_when_accepted_and_stop_when_rejected() -> None:
    acceptance = Acceptance()
    for _ in range(10_000):
        acceptance.learn("start", 30, rejected=False)
        acceptance.learn("token", 0, rejected=True)
    assert acceptance.reach("start", 16.0) > 40
    assert acceptance.reach("token", 16.0) == 0
    assert acceptance.reach("start", 0.0) == 0, "where a call costs nothing but its tokens a draft cannot gain"
