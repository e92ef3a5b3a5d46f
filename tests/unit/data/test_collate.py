import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postedit.data.collate import Ragged, divide

ROWS = st.lists(st.lists(st.integers(1, 99), max_size=6), max_size=8)


@given(rows=ROWS)
def test_rows_come_back(rows: list[list[int]]) -> None:
    ragged = Ragged.of(rows)
    assert [ragged[i].tolist() for i in range(len(ragged))] == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@given(rows=ROWS.filter(bool), data=st.data())
def test_taken_rows(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=10))
    taken = Ragged.of(rows).take(np.array(chosen, dtype=np.int64))
    assert [taken[i].tolist() for i in range(len(taken))] == [rows[i] for i in chosen]


@given(parts=st.lists(ROWS, min_size=1, max_size=4))
def test_concatenated_parts(parts: list[list[list[int]]]) -> None:
    whole = Ragged.concatenate([Ragged.of(part) for part in parts])
    assert [whole[i].tolist() for i in range(len(whole))] == [row for part in parts for row in part]


@given(rows=ROWS)
def test_padding(rows: list[list[int]]) -> None:
    table, mask = Ragged.of(rows).padded(0)
    longest = max(map(len, rows), default=0)
    assert table.tolist() == [row + [0] * (longest - len(row)) for row in rows]
    assert mask.tolist() == [[True] * len(row) + [False] * (longest - len(row)) for row in rows]


def test_rows_in_any_order_are_divided_within_the_budget() -> None:
    batches = divide(np.array([5, 7, 6, 2]), np.arange(4), budget=20)
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3]]
