"""A training run that is killed in mid-step: `python killed_run.py RECIPE FOLDER PASSES`.

SIGKILL comes at the start of forward pass number PASSES of training, between two checkpoints.
"""

import os
import signal
import sys
from pathlib import Path

from rich.console import Console
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from postedit.core.model import Seq2Seq
from postedit.jobs.training import train
from postedit.recipe import load_recipe


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
