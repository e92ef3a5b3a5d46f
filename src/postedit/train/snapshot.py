"""Snapshots: all tensors that training changes, taken for a checkpoint and brought back from one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object
from torch.optim import Optimizer

from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_model_tensors, model_tensors
from postedit.train.checkpoints import Checkpoint
from postedit.train.ema import MovingAverage
from postedit.train.optimisers import load_optimizer_tensors, optimizer_tensors
from postedit.train.runtime import random_state, set_random_state


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What training changes besides its `TrainState`.

    Args:
        model: its weights.
        optimizer: its state.
        ema: the moving average of the weights, if there is one.
        accelerator: the device and the other processes, each with random states of its own.
    """

    model: Seq2Seq
    optimizer: Optimizer
    ema: MovingAverage | None
    accelerator: Accelerator

    def take(self, state: Mapping[str, Any]) -> Checkpoint:
        """Return a checkpoint with `state` in it; all processes must take part."""
        own = random_state(self.accelerator.device)
        states = {f"{self.accelerator.process_index}/{name}": tensor for name, tensor in own.items()}
        rng = {name: tensor for part in gather_object([states]) for name, tensor in part.items()}
        ema = {} if self.ema is None else model_tensors(self.ema.model)
        return Checkpoint(state, model_tensors(self.model), optimizer_tensors(self.model, self.optimizer), rng, ema)

    def bring_back(self, checkpoint: Checkpoint, step: int) -> None:
        """Let all be as it was when the checkpoint was taken, after `step` updates.

        A process that was not there then keeps the random states it has.
        """
        load_model_tensors(self.model, checkpoint.model)
        load_optimizer_tensors(self.model, self.optimizer, checkpoint.optimizer)
        if self.ema is not None:
            load_model_tensors(self.ema.model, checkpoint.ema)
            self.ema.resume(step)
        own = f"{self.accelerator.process_index}/"
        states = {name.removeprefix(own): state for name, state in checkpoint.rng.items() if name.startswith(own)}
        if states:
            set_random_state(states, self.accelerator.device)


def processes_of(checkpoint: Checkpoint) -> int:
    """Return how many processes took a checkpoint together."""
    return len({name.partition("/")[0] for name in checkpoint.rng})
