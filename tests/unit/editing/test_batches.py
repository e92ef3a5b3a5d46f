"""Windows in batches: every row gets its result, in order, whatever memory says."""

import logging

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postedit.editing.batches import in_batches, is_out_of_memory

CPU = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to"
ERRORS = [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError(CPU), MemoryError()]

windows = st.lists(st.integers(1, 60), max_size=40)


class Device:
    """Doubles lengths; fails if a batch is larger than its memory."""

    def __init__(self, lengths: list[int], memory: int, error: BaseException = ERRORS[0]) -> None:
        self.lengths, self.memory, self.error = lengths, memory, error
        self.done: list[list[int]] = []
        self.failed: list[int] = []

    def work(self, rows: list[int]) -> list[int]:
        cost = len(rows) * max(self.lengths[row] for row in rows)
        if cost > self.memory:
            self.failed.append(cost)
            raise self.error
        self.done.append(rows)
        return [2 * self.lengths[row] for row in rows]


@given(lengths=windows, budget=st.integers(1, 300), memory=st.integers(1, 300), error=st.sampled_from(ERRORS))
def test_no_row_is_lost_and_none_moves(lengths: list[int], budget: int, memory: int, error: BaseException) -> None:
    device = Device(lengths, memory, error)
    results = in_batches(range(len(lengths)), lengths, budget, device.work)
    assert results == [2 * length if length <= memory else None for length in lengths]
    assert sorted(row for rows in device.done for row in rows) == [i for i, n in enumerate(lengths) if n <= memory]
    for rows in device.done:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= budget


def test_rows_of_like_length_are_together() -> None:
    device = Device([3, 30, 4, 31, 3, 30], memory=1000)
    in_batches(range(6), device.lengths, 93, device.work)
    assert [sorted(device.lengths[row] for row in rows) for rows in device.done] == [[30, 30, 31], [3, 3, 4]]


def test_later_batches_are_halved_before_they_fail(caplog: pytest.LogCaptureFixture) -> None:
    device = Device([10] * 64, memory=100)
    with caplog.at_level(logging.WARNING, "postedit.editing.batches"):
        in_batches(range(64), device.lengths, 160, device.work)
    assert device.failed == [160]
    assert "out of memory with 160 tokens in a batch; going on with 80" in caplog.text


def test_other_errors_are_not_taken_for_want_of_memory() -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        in_batches([0], [1], 9, Device([1], 0, RuntimeError("shapes do not match")).work)
    with pytest.raises(KeyboardInterrupt):
        in_batches([0], [1], 9, Device([1], 0, KeyboardInterrupt()).work)


def test_the_cpu_says_so_in_words_that_are_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)
