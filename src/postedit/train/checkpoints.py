"""Checkpoints, from which a run resumes as if it had never stopped; written whole or not at all.

A checkpoint is a folder `step-00001000` of safetensors and JSON files with their SHA-256 digests. If a file was damaged
later, the checkpoint before it is used.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from torch.optim import Optimizer

from postedit.core.checksums import CHECKSUMS, record_folder, recorded_damage
from postedit.core.errors import TrainingError
from postedit.core.files import atomic_folder, load_json, save_json
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_model_tensors, load_tensors, model_tensors, save_tensors
from postedit.train.averaging import MovingAverage
from postedit.train.optimisers import load_optimizer_tensors, optimizer_tensors
from postedit.train.runtime import random_state, set_random_state

STATE = "state.json"
EMA = "ema.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of a checkpoint.

    Args:
        state: values for JSON: step, data position, schedule, best models, and the identity of the run.
        model: weights by name.
        optimizer: state by `parameter name/state name`.
        rng: states of the random number generators by `process/device`.
        ema: the moving average of the weights by name, if there is one.
    """

    state: Mapping[str, Any]
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    rng: Mapping[str, Tensor]
    ema: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        """The number of processes that wrote it together."""
        return len({name.partition("/")[0] for name in self.rng})


class Checkpoints:
    """The checkpoints of a run.

    Args:
        folder: folder that contains them; it need not exist yet.
        keep_last: how many of the newest to keep.
    """

    def __init__(self, folder: Path, keep_last: int) -> None:
        self.folder, self.keep_last = folder, keep_last

    def paths(self) -> list[Path]:
        """Return the folders of all checkpoints, the newest first."""
        found = self.folder.glob("step-*") if self.folder.is_dir() else ()
        return sorted((path for path in found if re.fullmatch(r"step-\d{8,}", path.name)), key=_step, reverse=True)

    def save(self, step: int, checkpoint: Checkpoint) -> Path:
        """Write the checkpoint of `step`, then call `tidy`.

        Raises:
            OutputError: if the checkpoint cannot be written; earlier ones stay as they were.
        """
        path = self.folder / f"step-{step:08d}"
        with atomic_folder(path) as folder:
            save_tensors(folder / "model.safetensors", checkpoint.model)
            save_tensors(folder / "optimizer.safetensors", checkpoint.optimizer)
            save_tensors(folder / "rng.safetensors", checkpoint.rng)
            if checkpoint.ema:
                save_tensors(folder / EMA, checkpoint.ema)
            save_json(folder / STATE, checkpoint.state)
            record_folder(folder)
        self.tidy(step)
        return path

    def tidy(self, step: int) -> None:
        """Remove checkpoints older than those to keep, all after `step` (damaged ones), and leftovers of a kill."""
        others = self.paths()
        later = [other for other in others if _step(other) > step]
        for other in [*later, *others[len(later) + self.keep_last :], *self.folder.glob(".step-*")]:
            shutil.rmtree(other, ignore_errors=True)

    def load_newest(self, warn: Callable[[str], None]) -> Checkpoint | None:
        """Return the newest undamaged checkpoint, or None if there are no checkpoints.

        Args:
            warn: called with a message for each damaged checkpoint.

        Raises:
            TrainingError: if all checkpoints are damaged.
        """
        paths = self.paths()
        for path in paths:
            damage = find_damage(path)
            if damage is None:
                return _read(path)
            warn(f"{path} is damaged ({damage}); looking for the checkpoint before it")
        if paths:
            raise TrainingError(
                f"{self.folder}: none of the {len(paths)} checkpoints can be read; "
                "remove this folder, and --resume trains from the start"
            )
        return None


def read_state(path: Path) -> dict[str, Any] | None:
    """Return the JSON state in the checkpoint folder `path`, or None if it cannot be read."""
    try:
        state: dict[str, Any] = load_json(path / STATE)
    except (OSError, ValueError):
        return None
    return state


def find_damage(path: Path) -> str | None:
    """Return a description of the damage to the checkpoint folder `path`, or None if it is undamaged."""
    return recorded_damage(path) if (path / CHECKSUMS).exists() else f"{CHECKSUMS}: missing"


def _read(path: Path) -> Checkpoint:
    return Checkpoint(
        state=load_json(path / STATE),
        model=load_tensors(path / "model.safetensors"),
        optimizer=load_tensors(path / "optimizer.safetensors"),
        rng=load_tensors(path / "rng.safetensors"),
        ema=load_tensors(path / EMA) if (path / EMA).exists() else {},
    )


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Takes and restores all tensors that training changes.

    Args:
        model: the model.
        optimizer: the optimiser.
        ema: the moving average of the weights, if there is one.
        accelerator: the device and the other processes, each with its own random states.
    """

    model: Seq2Seq
    optimizer: Optimizer
    ema: MovingAverage | None
    accelerator: Accelerator

    def take(self, state: Mapping[str, Any]) -> Checkpoint:
        """Return a checkpoint that contains `state`; all processes must take part."""
        own = random_state(self.accelerator.device)
        states = {f"{self.accelerator.process_index}/{name}": tensor for name, tensor in own.items()}
        rng = {name: tensor for part in gather_object([states]) for name, tensor in part.items()}
        ema = {} if self.ema is None else model_tensors(self.ema.model)
        return Checkpoint(state, model_tensors(self.model), optimizer_tensors(self.model, self.optimizer), rng, ema)

    def restore(self, checkpoint: Checkpoint, step: int) -> None:
        """Restore the tensors of a checkpoint that was taken after `step` updates.

        A process that did not take part in it keeps its random states.
        """
        load_model_tensors(self.model, checkpoint.model)
        load_optimizer_tensors(self.model, self.optimizer, checkpoint.optimizer)
        if self.ema is not None:
            load_model_tensors(self.ema.model, checkpoint.ema)
            self.ema.updates = step
        own = f"{self.accelerator.process_index}/"
        states = {name.removeprefix(own): state for name, state in checkpoint.rng.items() if name.startswith(own)}
        if states:
            set_random_state(states, self.accelerator.device)
