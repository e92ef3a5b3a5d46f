"""When runs pause."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from postedit.train.config import TrainConfig
from postedit.train.stopping import StoppingRules
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
