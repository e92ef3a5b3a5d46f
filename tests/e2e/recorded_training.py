"""`postedit train`, of which each process records the triplets it learns from, and one of them may be killed.

    python recorded_training.py RECORD STEPS KILLED ARGUMENTS...

Process n adds lines to RECORD.n: the number of the update, counted from STEPS, and the tokens of a triplet. Process 1
kills itself, as by `kill -9`, at the first triplet of the update KILLED; 0 kills none.
"""

import os
import signal
import sys
from pathlib import Path

from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from postedit.cli.main import main
from postedit.core.model import Seq2Seq
from postedit.core.types import Batch


def triplets(batch: Batch) -> list[str]:
    """Return the tokens of each triplet of a batch as text."""
    assert batch.target is not None
    sides = [*batch.streams.values(), batch.target]
    columns = [[ids[real].tolist() for ids, real in zip(side.ids, side.mask)] for side in sides]
    return [str(row) for row in zip(*columns)]


def record(path: Path, steps: int, killed: int) -> None:
    """Record the triplets of all updates from now on."""
    rank, update = os.environ.get("RANK", "0"), steps + 1
    file = Path(f"{path}.{rank}").open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 (open until the process ends)

    def before_forward(module: nn.Module, inputs: tuple[object, ...]) -> None:
        if isinstance(module, Seq2Seq) and module.training and isinstance(inputs[0], Batch):
            if rank == "1" and update == killed:
                os.kill(os.getpid(), signal.SIGKILL)
            file.writelines(f"{update}\t{row}\n" for row in triplets(inputs[0]))

    def after_step(*_: object) -> None:
        nonlocal update
        update += 1

    register_module_forward_pre_hook(before_forward)
    register_optimizer_step_post_hook(after_step)


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    sys.argv = ["postedit", *sys.argv[4:]]
    main()
