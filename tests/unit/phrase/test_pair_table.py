import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postedit.phrase.pair_table import EMPTY, doubled, extended, find, lookup, pair, table_of

KEYS = st.lists(st.integers(0, 2**62), unique=True, max_size=200)


@given(KEYS, st.integers(0, 2**62))
def test_a_table_is_a_dictionary(keys: list[int], other: int) -> None:
    known = dict(zip(keys, range(len(keys))))
    slots, values = table_of(np.array(keys, np.int64), np.arange(len(keys), dtype=np.float32))
    for key in [*keys, other]:
        assert lookup(slots, values, key, np.float32(-1)) == known.get(key, -1)
    assert (slots != EMPTY).sum() == len(keys) <= slots.size / 2


@given(KEYS)
def test_a_doubled_table_has_the_same_keys(keys: list[int]) -> None:
    slots, _ = table_of(np.array(keys, np.int64), np.zeros(len(keys), np.float32))
    larger = doubled(slots)
    assert larger.size == 2 * slots.size
    assert all(larger[find(larger, key)] == key for key in keys)
    assert (larger != EMPTY).sum() == len(keys)


def test_keys_differ_by_order_and_length() -> None:
    assert pair(1, 2) != pair(2, 1)
    first = extended(0, 5)
    assert len({0, first, extended(first, 6), extended(extended(0, 6), 5)}) == 4
    assert first > 0
