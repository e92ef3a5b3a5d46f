"""Checkpoints: everything needed to go on as if nothing had happened, written whole or not at all.

A checkpoint is a folder `step-00001000` of safetensors and JSON files with a manifest of their SHA-256 sums, so that
a file damaged after it was written is found when it is read, and the checkpoint before it is used instead.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from postedit.core.errors import TrainingError
from postedit.core.files import atomic_folder, sha256_of
from postedit.core.tensor_files import load_tensors, save_json, save_tensors

MANIFEST = "manifest.json"
STATE = "state.json"
EMA = "ema.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of a checkpoint.

    Args:
        state: what JSON can hold: step, data position, schedule, best models, and what the run was started with.
        model: weights by name.
        optimizer: its state by `parameter name/state name`.
        rng: states of the random number generators by `process/device`.
        ema: the moving average of the weights by name, if there is one.
    """

    state: Mapping[str, Any]
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    rng: Mapping[str, Tensor]
    ema: Mapping[str, Tensor] = field(default_factory=dict)


class Checkpoints:
    """The checkpoints of a run.

    Args:
        folder: where they are; it need not exist yet.
        keep_last: how many of the newest to keep.
    """

    def __init__(self, folder: Path, keep_last: int) -> None:
        self.folder = folder
        self.keep_last = keep_last

    def paths(self) -> list[Path]:
        """Return the folders of all checkpoints, the newest first."""
        found = self.folder.glob("step-*") if self.folder.is_dir() else ()
        return sorted((path for path in found if re.fullmatch(r"step-\d{8,}", path.name)), key=_step, reverse=True)

    def save(self, step: int, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then remove those too old, damaged ones of later steps, and leftovers of a kill.

        Raises:
            OutputError: if it cannot be written; those written before are as they were.
        """
        path = self.folder / f"step-{step:08d}"
        with atomic_folder(path) as folder:
            save_tensors(folder / "model.safetensors", checkpoint.model)
            save_tensors(folder / "optimizer.safetensors", checkpoint.optimizer)
            save_tensors(folder / "rng.safetensors", checkpoint.rng)
            if checkpoint.ema:
                save_tensors(folder / EMA, checkpoint.ema)
            save_json(folder / STATE, checkpoint.state)
            save_json(folder / MANIFEST, {"sha256": {file.name: sha256_of(file) for file in sorted(folder.iterdir())}})
        others = self.paths()
        later = [other for other in others if _step(other) > step]
        for other in [*later, *others[len(later) + self.keep_last :], *self.folder.glob(".step-*")]:
            shutil.rmtree(other, ignore_errors=True)
        return path

    def load_newest(self, warn: Callable[[str], None]) -> Checkpoint | None:
        """Return the newest checkpoint that is undamaged, or None if there is no checkpoint at all.

        Args:
            warn: is told of each damaged checkpoint that was passed over.

        Raises:
            TrainingError: if there are checkpoints, but every one is damaged.
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
                "remove the folder and train without --resume"
            )
        return None


def read_state(path: Path) -> dict[str, Any] | None:
    """Return the JSON state in the checkpoint folder `path`, or None if it cannot be read."""
    try:
        state: dict[str, Any] = json.loads((path / STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return state


def find_damage(path: Path) -> str | None:
    """Return what is wrong with the checkpoint folder `path`, or None."""
    try:
        sums: dict[str, str] = json.loads((path / MANIFEST).read_text("utf-8"))["sha256"]
        wrong = [name for name, digest in sums.items() if sha256_of(path / name) != digest]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return f"{', '.join(wrong)}: not the content that was written" if wrong else None


def _read(path: Path) -> Checkpoint:
    return Checkpoint(
        state=json.loads((path / STATE).read_text("utf-8")),
        model=load_tensors(path / "model.safetensors"),
        optimizer=load_tensors(path / "optimizer.safetensors"),
        rng=load_tensors(path / "rng.safetensors"),
        ema=load_tensors(path / EMA) if (path / EMA).exists() else {},
    )


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))
