"""Sequences in shared rows: whole, apart, and each token once."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from postedit.nn.shared_rows import SharedRows


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_each_token_has_one_place_in_order(lengths: list[int], width: int) -> None:
    found = SharedRows.of(lengths, width)
    rows = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for one, length in enumerate(lengths):
        rows[one, :length] = 100 * (one + 1) + torch.arange(length)
    taken = found.take(rows, -7)
    assert sorted(taken[taken != -7].tolist()) == sorted(rows[rows != 0].tolist())
    for one, length in enumerate(lengths):
        row, start = int(found.row_B[one]), int(found.start_B[one])
        assert taken[row, start : start + length].tolist() == rows[one, :length].tolist()
        assert found.position_RL[row, start : start + length].tolist() == list(range(length))
    assert taken.size(1) <= max(width, *lengths)
    assert ((taken == -7) == (found.owner_RL == -1)).all()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_no_token_sees_another_sequence_or_what_is_later(lengths: list[int], width: int) -> None:
    found = SharedRows.of(lengths, width)
    for one, length in enumerate(lengths):
        row, start = int(found.row_B[one]), int(found.start_B[one])
        seen = found.mask[row, start : start + length]
        assert seen[:, start : start + length].equal(torch.ones(length, length, dtype=torch.bool).tril())
        assert int(seen.sum()) == length * (length + 1) // 2
    assert found.mask.any(2).all(), "a token that sees nothing has no softmax"


def test_rows_are_filled() -> None:
    found = SharedRows.of([3, 7, 5, 5, 10, 2], 10)
    assert found.owner_RL.shape == (4, 10)
    assert found.row_B.tolist() == [1, 1, 2, 2, 0, 3]
    assert int((found.owner_RL >= 0).sum()) == 32
