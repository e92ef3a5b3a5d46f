"""What to do about a loss that is not a number, or far too high: find the batch, keep it, and stop."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from postedit.core.errors import TrainingError
from postedit.core.tensor_files import save_json, save_tensors
from postedit.core.types import Batch, Stream, Target
from postedit.text.config import Side
from postedit.train.config import TrainConfig
from postedit.train.divergence import STRETCH
from postedit.train.runtime import set_random_state
from postedit.train.update import Attempt, has_finite_gradient

_REMEDIES: Final = (
    "Usual remedies: a lower train.lr, more train.warmup_steps, train.clip. If the data is such, go on with "
    "train.diverges = 0 and --resume"
)


def explain_rise(mean: float, lowest: float, step: int) -> str:
    """Return what to say of a mean loss in nats per label that is far above the lowest one before."""
    return (
        f"step {step}: training diverges: the mean loss of the last updates, {STRETCH} or more, is {mean:.3g} nats per "
        f"label, after {lowest:.3g} at best. {_REMEDIES}"
    )


Spell = Callable[[Side, Sequence[int]], str]
"""Returns the text that ids of one side stand for."""


def save_failure(
    attempt: Attempt, loss: nn.Module, config: TrainConfig, accelerator: Accelerator, folder: Path, spell: Spell | None
) -> TrainingError:
    """Write the batch that made an update fail to `nan-batch.safetensors` and `.json`, and return the error to raise.

    The weights are those from before the update, so its batches are tried again one by one, with the same dropout,
    to see whose loss or gradient is not finite. Where it cannot be told (a sum that overflows), all are kept. With
    several processes, those after the first add their number to the names of the files. With `spell`, the texts are
    in the description.

    Raises:
        OutputError: if the files cannot be written.
    """
    set_random_state(attempt.rng, accelerator.device)
    culprits = [
        number
        for number, batch in enumerate(attempt.batches)
        if not has_finite_gradient(loss, batch, config, accelerator.device)
    ]
    found = accelerator.reduce(torch.tensor(len(culprits), device=accelerator.device), "sum")
    kept = culprits if int(found) else list(range(len(attempt.batches)))
    process = accelerator.process_index
    path = folder / ("nan-batch.safetensors" if process == 0 else f"nan-batch-{process}.safetensors")
    if kept:
        save_tensors(path, _tensors(attempt.batches, kept))
        save_json(path.with_suffix(".json"), _description(attempt, kept, spell, certain=bool(int(found))))
    # A process whose batches are innocent writes nothing, and may not know which process has.
    where = str(path) if kept else f"{folder}/nan-batch*.safetensors"
    what = "loss" if not torch.isfinite(attempt.total[0]) else "gradient"
    return TrainingError(
        f"step {attempt.step}: the {what} is not a finite number; the weights were not changed by it. The batch that "
        f"caused it is in {where}. Usual remedies: a lower train.lr, more train.warmup_steps, train.clip, or "
        'train.precision = "fp32"'
    )


def save_divergence(attempt: Attempt, lowest: float, folder: Path, process: int, spell: Spell | None) -> TrainingError:
    """Write the worst batch of an update whose loss was far too high, and return the error to raise.

    Its files are `diverged-batch.safetensors` and `.json`; processes after the first add their number.

    Raises:
        OutputError: if the files cannot be written.
    """
    labels = [batch.target.mask.sum() if batch.target is not None else 1 for batch in attempt.batches]
    means = [float(loss.cpu() / count) for loss, count in zip(attempt.losses, labels)]
    worst = means.index(max(means))
    path = folder / ("diverged-batch.safetensors" if process == 0 else f"diverged-batch-{process}.safetensors")
    save_tensors(path, _tensors(attempt.batches, [worst]))
    save_json(path.with_suffix(".json"), _description(attempt, [worst], spell, certain=len(attempt.batches) == 1))
    return TrainingError(
        f"step {attempt.step}: training diverges: the loss is {attempt.mean:.3g} nats per label, after {lowest:.3g} at "
        f"best. The batch is in {path}. {_REMEDIES}"
    )


def _tensors(batches: Sequence[Batch], kept: Sequence[int]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for number in kept:
        for name, side in _sides(batches[number]).items():
            tensors[f"{number}/{name}/ids"] = side.ids.contiguous()
            tensors[f"{number}/{name}/mask"] = side.mask.contiguous()
    return tensors


def _description(attempt: Attempt, kept: Sequence[int], spell: Spell | None, certain: bool) -> Mapping[str, Any]:
    return {
        "step": attempt.step,
        "loss": str(float(attempt.total[0])),
        "gradient_norm": str(float(attempt.norm)),
        "certain": certain,
        "batches": [
            {
                "number": number,
                "loss": str(float(attempt.losses[number])),
                **_texts(attempt.batches[number], spell),
            }
            for number in kept
        ],
    }


def _texts(batch: Batch, spell: Spell | None) -> Mapping[str, Any]:
    ids = {name: _real_ids(side) for name, side in _sides(batch).items()}
    if spell is None:
        return {"ids": ids}
    return {"text": {name: [spell(cast(Side, name), row) for row in rows] for name, rows in ids.items()}, "ids": ids}


def _sides(batch: Batch) -> dict[str, Stream | Target]:
    return {**batch.streams, **({} if batch.target is None else {"pe": batch.target})}


def _real_ids(side: Stream | Target) -> list[list[int]]:
    return [ids[mask].tolist() for ids, mask in zip(side.ids, side.mask)]
