"""When runs pause."""

from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from postedit.data.batching import Position
from postedit.train.config import TrainConfig
from postedit.train.stopping import StoppingRules, is_due
from postedit.train.train_state import TrainState


@pytest.mark.parametrize(
    ("device", "processes", "pauses"),
    [("cpu", 1, [*range(1, 61)]), ("cpu", 4, [*range(1, 61)]), ("cuda", 4, [20, 40, 60])],
)
def test_a_cpu_pauses_after_each_update_so_that_signals_are_seen(
    device: str, processes: int, pauses: list[int]
) -> None:
    accelerator: Any = SimpleNamespace(device=torch.device(device), num_processes=processes)
    config = TrainConfig(max_steps=1000, log_every=40, validate_every=200, save_every=500)
    rules = StoppingRules(config, accelerator)
    assert [step for step in range(1, 61) if rules.is_pause(TrainState(step=step), 0)] == pauses


def test_a_gpu_pauses_where_a_run_starts_and_ends() -> None:
    accelerator: Any = SimpleNamespace(device=torch.device("cuda"), num_processes=1)
    config = TrainConfig(max_steps=47, max_epochs=3, log_every=100, validate_every=100, save_every=100)
    rules = StoppingRules(config, accelerator)
    assert [step for step in range(1, 60) if rules.is_pause(TrainState(step=step), 33)] == [20, 33, 40, 47]
    epochs = [TrainState(step=7, position=Position(epoch=epoch)) for epoch in range(5)]
    assert [rules.is_pause(state, 0) for state in epochs] == [False, False, False, True, True]
    assert [rules.end(state) for state in epochs] == [None] * 3 + ["max_epochs (3) is reached"] * 2


def test_minutes_are_counted_from_the_first_update_of_a_run() -> None:
    accelerator: Any = SimpleNamespace(device=torch.device("cpu"), num_processes=1)
    rules = StoppingRules(TrainConfig(max_minutes=2.0, save_minutes=2.0), accelerator)
    ends = [rules.end(TrainState(step=step, seconds=seconds)) for step, seconds in ((0, 500.0), (1, 119.0), (1, 120.0))]
    assert ends == [None, None, "2 minutes are over"]
    assert [rules.is_save_time(perf_counter() - age) for age in (60.0, 120.0)] == [False, True]


@pytest.mark.parametrize(("step", "every", "due"), [(0, 5, False), (5, 5, True), (6, 5, False)])
def test_nothing_is_due_before_the_first_step(step: int, every: int, due: bool) -> None:
    assert is_due(step, every) == due
