"""Rules for when a run pauses, saves and ends; all processes get the same answers."""

from dataclasses import dataclass
from time import perf_counter
from typing import Final

import torch
from accelerate import Accelerator

from postedit.core.wording import counted
from postedit.train.config import TrainConfig
from postedit.train.train_state import TrainState

STEPS_BETWEEN_WAITS: Final = 20
"""An accelerator works ahead of the host. Waiting for it this often costs no measurable time, and bounds the memory
that is kept to explain a failure. A CPU has nothing to wait for, and its updates take long: a signal should not have to
wait for twenty of them, as `torchrun` kills after 30 seconds."""


@dataclass(frozen=True, slots=True)
class StoppingRules:
    """Decides when a run pauses, saves and ends.

    Args:
        config: the `[train]` section.
        accelerator: the device and the other processes.
    """

    config: TrainConfig
    accelerator: Accelerator

    def is_pause(self, state: TrainState, saved_step: int) -> bool:
        """Return whether the host waits for the device at this step; the last checkpoint is of `saved_step`."""
        config, step = self.config, state.step
        if self.accelerator.device.type == "cpu":
            return True
        intervals = (STEPS_BETWEEN_WAITS, config.log_every, config.validate_every, config.save_every)
        due = any(step % every == 0 for every in intervals)
        return due or step in (saved_step, config.max_steps) or self._has_all_epochs(state)

    def is_save_time(self, saved_at: float) -> bool:
        """Return whether the last checkpoint, written when `perf_counter` was `saved_at`, is old enough for another."""
        minutes = self.config.save_minutes
        return minutes is not None and self.any_process(perf_counter() - saved_at >= 60.0 * minutes)

    def end(self, state: TrainState) -> str | None:
        """Return why training ends here, or None if it continues."""
        config = self.config
        if config.max_steps is not None and state.step >= config.max_steps:
            return f"max_steps ({config.max_steps:,}) is reached"
        if self._has_all_epochs(state):
            return f"max_epochs ({config.max_epochs:,}) is reached"
        if config.max_minutes is not None:
            is_over = state.step > 0 and state.seconds >= 60.0 * config.max_minutes
            if self.any_process(is_over):
                return f"{config.max_minutes:g} minutes are over"
        if config.patience is not None and state.stale >= config.patience:
            return f"{counted(state.stale, 'validation')} brought no improvement"
        return None

    def any_process(self, value: bool) -> bool:
        """Return whether `value` is true in any process: their clocks and signals differ, but all must do the same."""
        if self.accelerator.num_processes == 1:
            return value
        values = torch.tensor(int(value), device=self.accelerator.device)
        return bool(self.accelerator.reduce(values, "sum"))

    def _has_all_epochs(self, state: TrainState) -> bool:
        return self.config.max_epochs is not None and state.position.epoch >= self.config.max_epochs


def is_due(step: int, every: int) -> bool:
    """Return whether an action that is done every `every` steps is due at `step`; never at step 0."""
    return step > 0 and step % every == 0
