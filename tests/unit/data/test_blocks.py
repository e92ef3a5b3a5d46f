from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from postedit.core.processes import usable_cores
from postedit.data.blocks import blocks_of, sample_evenly, workers_for


@given(st.lists(st.integers()), st.integers(1, 9))
def test_blocks_are_all_items_in_order(items: list[int], size: int) -> None:
    blocks = list(blocks_of(items, size))
    assert [item for block in blocks for item in block] == items
    assert all(len(block) == size for block in blocks[:-1])


def test_few_triplets_are_not_worth_a_process() -> None:
    assert workers_for(1000, None) == 1
    assert workers_for(1000, 3) == 3
    assert workers_for(10**9, None) == usable_cores()


@given(st.integers(0, 300), st.integers(1, 100))
def test_as_many_as_wanted_evenly_spread_and_in_order(total: int, wanted: int) -> None:
    chosen = list(sample_evenly(range(total), total, wanted))
    assert len(chosen) == min(total, wanted)
    assert chosen == sorted(set(chosen))
    if total > wanted:
        gaps = [after - before for before, after in zip([-1, *chosen], [*chosen, total])]
        assert max(gaps) <= total // wanted + 1


def test_nothing_is_read_ahead() -> None:
    items = iter(range(10**9))
    assert list(islice(sample_evenly(items, 10**9, 10**8), 2)) == [9, 19]
    assert next(items) == 20
