"""A training run that is killed in mid-step, in a process of its own.

SIGKILL comes at the start of a given forward pass of training, between two checkpoints.
"""

import json
import multiprocessing
import os
import signal
from pathlib import Path

from rich.console import Console
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from postedit.core.model import Seq2Seq
from postedit.jobs.training import train
from postedit.recipe import load_recipe

# Importing takes most of the time of such a process, so that one process imports all, and the others are forks of it.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["postedit.jobs.training", "torch._dynamo"])


def train_until_killed(recipe: Path, folder: Path, passes: int) -> None:
    """Train by recipe into folder, and kill the process when forward pass number passes begins."""
    process = _PROCESSES.Process(target=_train, args=(recipe, folder, passes))
    process.start()
    process.join(1800)  # a busy machine takes minutes to import all
    exit_code = process.exitcode
    process.kill()
    assert exit_code == -signal.SIGKILL


def remains(folder: Path) -> dict[str, object]:
    """Return all weights and states that a run leaves, and its logs, but for the clock."""
    files: dict[str, object] = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.safetensors")
    }
    for log in folder.rglob("log.jsonl"):
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        files[str(log.relative_to(folder))] = [
            {key: value for key, value in line.items() if "second" not in key} for line in lines
        ]
    return files


def _train(recipe: Path, folder: Path, passes: int) -> None:
    left = passes

    def count(module: nn.Module, _: object) -> None:
        nonlocal left
        if isinstance(module, Seq2Seq) and module.training:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    register_module_forward_pre_hook(count)
    train(load_recipe(recipe), folder, console=Console(quiet=True))
