"""A training run that is killed in mid-step: `python killed_run.py RECIPE FOLDER PASSES`.

SIGKILL comes at the start of forward pass number PASSES of training, between two checkpoints.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from postedit.core.model import Seq2Seq
from postedit.jobs.training import train
from postedit.recipe import load_recipe


def train_until_killed(recipe: Path, folder: Path, passes: int) -> None:
    """Run this program in a process of its own."""
    command = [sys.executable, __file__, str(recipe), str(folder), str(passes)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


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


def main(recipe: str, folder: str, passes: str) -> None:
    """Train until the end comes."""
    left = int(passes)

    def count(module: nn.Module, _: object) -> None:
        nonlocal left
        if isinstance(module, Seq2Seq) and module.training:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    register_module_forward_pre_hook(count)
    train(load_recipe(Path(recipe)), Path(folder), console=Console(quiet=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
