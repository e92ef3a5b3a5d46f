"""Errors for a loss that is not a number or far too high, and files with the batch that caused it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from postedit.core.editor import Side
from postedit.core.errors import TrainingError
from postedit.core.files import save_json
from postedit.core.tensor_files import save_tensors
from postedit.core.types import Stream, Target
from postedit.train.config import TrainConfig
from postedit.train.runtime import set_random_state
from postedit.train.train_state import WINDOW
from postedit.train.update import UpdateRecord, has_finite_gradient

_REMEDIES: Final = (
    "Usual remedies: a lower train.lr, more train.warmup_steps, train.clip. If the data explains the rise, continue "
    "with train.diverges = 0 and --resume"
)

Spell = Callable[[Side, Sequence[int]], str]
"""Returns the text of token ids of one side (src, mt or pe)."""


def explain_rise(mean: float, lowest: float, step: int) -> str:
    """Return the message for a mean loss far above the lowest one before, both in nats per label."""
    return (
        f"step {step}: training diverges: the mean loss of the last updates, {WINDOW} or more, is {mean:.3g} nats per "
        f"label; the lowest was {lowest:.3g}. {_REMEDIES}"
    )


def is_lost_process(error: RuntimeError) -> bool:
    """Return whether an error says that another process cannot be reached; Gloo and NCCL raise no type of their own."""
    signs = ("Connection closed by peer", "Connection reset", "Broken pipe", "remote process exited")
    return any(sign in str(error) for sign in signs)


@contextmanager
def lost_processes_told(processes: int) -> Iterator[None]:
    """Turn an error in the block that is due to the end of another process into a `TrainingError` that says so.

    Raises:
        TrainingError: if there are several `processes` and another one cannot be reached.
    """
    try:
        yield
    except RuntimeError as error:
        if processes == 1 or not is_lost_process(error):
            raise
        raise TrainingError(
            "another process of this run has ended; see its message, and start all processes again once the "
            "cause is fixed"
        ) from error


def save_failure(
    attempt: UpdateRecord,
    loss: nn.Module,
    config: TrainConfig,
    accelerator: Accelerator,
    folder: Path,
    spell: Spell | None,
) -> TrainingError:
    """Write the batch that made an update fail to `nan-batch.safetensors` and `.json`, and return the error to raise.

    The weights are still those from before the update. So its batches are tried again one by one, with the same
    dropout, to find those whose loss or gradient is not finite. If none is found (a sum overflows), all are written.
    Processes after the first add their number to the file names. With `spell`, the `.json` file has the texts.

    Raises:
        OutputError: if the files cannot be written.
    """
    set_random_state(attempt.rng, accelerator.device)
    finite = [has_finite_gradient(loss, batch, config, accelerator.device) for batch in attempt.batches]
    culprits = [number for number, is_finite in enumerate(finite) if not is_finite]
    found = accelerator.reduce(torch.tensor(len(culprits), device=accelerator.device), "sum")
    kept = culprits if int(found) else list(range(len(attempt.batches)))
    path = _path(folder, "nan-batch", accelerator.process_index)
    if kept:
        _save_batches(path, attempt, kept, spell, certain=bool(int(found)))
    # A process that writes nothing does not know which process does.
    where = str(path) if kept else f"{folder}/nan-batch*.safetensors"
    what = "loss" if not torch.isfinite(attempt.total[0]) else "gradient"
    return TrainingError(
        f"step {attempt.step}: the {what} is not a finite number; the weights were not changed by it. The batch that "
        f"caused it is in {where}. Usual remedies: a lower train.lr, more train.warmup_steps, train.clip, or "
        'train.precision = "fp32"'
    )


def save_divergence(
    attempt: UpdateRecord, lowest: float, folder: Path, process: int, spell: Spell | None
) -> TrainingError:
    """Write the worst batch of an update whose loss was far too high, and return the error to raise.

    The files are `diverged-batch.safetensors` and `.json`; processes after the first add their number.

    Raises:
        OutputError: if the files cannot be written.
    """
    labels = [batch.target.mask.sum() if batch.target is not None else 1 for batch in attempt.batches]
    means = [float(loss.cpu() / count) for loss, count in zip(attempt.losses, labels)]
    worst = means.index(max(means))
    mean = float(attempt.total[0] / attempt.total[2])
    path = _path(folder, "diverged-batch", process)
    _save_batches(path, attempt, [worst], spell, certain=len(attempt.batches) == 1)
    return TrainingError(
        f"step {attempt.step}: training diverges: the loss is {mean:.3g} nats per label; the lowest was "
        f"{lowest:.3g}. The batch is in {path}. {_REMEDIES}"
    )


def _path(folder: Path, name: str, process: int) -> Path:
    return folder / (f"{name}.safetensors" if process == 0 else f"{name}-{process}.safetensors")


def _save_batches(path: Path, attempt: UpdateRecord, kept: Sequence[int], spell: Spell | None, certain: bool) -> None:
    """Write the tensors of the batches `kept` to `path`, and their description to the `.json` file beside it."""
    tensors: dict[str, Tensor] = {}
    batches: list[dict[str, Any]] = []
    for number in kept:
        batch = attempt.batches[number]
        sides: dict[str, Stream | Target] = {**batch.streams, **({} if batch.target is None else {"pe": batch.target})}
        ids = {}
        for name, side in sides.items():
            tensors[f"{number}/{name}/ids"] = side.ids.contiguous()
            tensors[f"{number}/{name}/mask"] = side.mask.contiguous()
            ids[name] = [row[mask].tolist() for row, mask in zip(side.ids, side.mask)]
        batches.append({"number": number, "loss": str(float(attempt.losses[number]))})
        if spell is not None:
            batches[-1]["text"] = {name: [spell(cast(Side, name), row) for row in rows] for name, rows in ids.items()}
        batches[-1]["ids"] = ids
    save_tensors(path, tensors)
    loss, norm = str(float(attempt.total[0])), str(float(attempt.norm))
    description = {"step": attempt.step, "loss": loss, "gradient_norm": norm, "certain": certain, "batches": batches}
    save_json(path.with_suffix(".json"), description)
