"""One update of the weights, without waiting for the device."""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from postedit.core.types import Batch, LabelLoss, Stream, Target
from postedit.train.config import TrainConfig
from postedit.train.optimisers import update_weights
from postedit.train.runtime import random_state
from postedit.train.torch_compile import in_update


class Totals(NamedTuple):
    """Sums over some updates in all processes.

    `loss` and `nll` are sums over labels in nats, `tokens` is the number of labels, `risk` the sum of expected costs
    times labels. `norm` is the gradient norm of the last update, before clipping. `positions` is the number
    of positions in the batches of this process, and `padding` how many of them are padding.
    """

    loss: float = 0.0
    nll: float = 0.0
    tokens: float = 0.0
    risk: float = 0.0
    norm: float = 0.0
    positions: int = 0
    padding: int = 0

    def plus(self, later: "Totals") -> "Totals":
        """Return the sums over these updates and later ones."""
        return Totals._make(one + other for one, other in zip(self, later))._replace(norm=later.norm)


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """The inputs and results of an update, kept to find out why it failed.

    Args:
        step: number of the update.
        batches: the batches of this process, on the CPU.
        losses: the loss sum of each batch.
        total: Float[4], sums of loss, nll, tokens and risk over all batches and processes.
        norm: the gradient norm, before clipping.
        rng: states of the random generators before the first batch.
    """

    step: int
    batches: Sequence[Batch]
    losses: Sequence[Tensor]
    total: Tensor
    norm: Tensor
    rng: Mapping[str, Tensor]

    @property
    def failed(self) -> bool:
        """Whether the loss or the gradient was not finite. Waits for the device."""
        return not bool(torch.isfinite(self.total[0]) & torch.isfinite(self.norm))


class Updater:
    """Makes updates: forward, backward, normalisation, clipping and a step of the optimiser.

    The gradient is that of the mean loss over all labels in all batches and processes of the update. So it does not
    depend on how they are divided into batches and processes.

    Nothing here waits for the device, which also checks that loss and gradient are finite. If they are not, the
    optimiser changes neither the weights nor its state, in this update and in all later ones; from then on, `failure`
    returns the failed update.

    Args:
        model: the model, or a loss built on it; with several processes, wrapped to average gradients over them.
        optimizer: the optimiser, from `build_optimizer`.
        config: label smoothing, clipping and precision.
        accelerator: the device and the other processes.
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, config: TrainConfig, accelerator: Accelerator
    ) -> None:
        self.model, self.optimizer, self.config, self.accelerator = model, optimizer, config, accelerator
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._float = torch.float32 if accelerator.device.type == "mps" else torch.float64
        self._attempts: deque[UpdateRecord] = deque()
        self._failed = torch.zeros((), device=accelerator.device)
        self._norm = torch.zeros((), device=accelerator.device)
        self._totals = torch.zeros(4, dtype=self._float, device=accelerator.device)
        self._positions = self._real = 0

    def update(self, number: int, batches: Sequence[Batch], rate: float, counts: bool = True) -> None:
        """Make update `number` at learning rate `rate` from this process's `batches`, which are on the CPU.

        Processes may have different numbers of batches. One without any passes a batch that does not count (`counts`).
        """
        rng = random_state(self.accelerator.device)
        self.optimizer.zero_grad(set_to_none=True)
        count = len(batches)
        results = [self._backward(batch, counts, last=number == count) for number, batch in enumerate(batches, 1)]
        total = self.accelerator.reduce(torch.stack(results).sum(0), "sum")
        norm = self._apply(total, rate)
        self._totals += total
        self._norm = norm
        self._attempts.append(UpdateRecord(number, batches, [result[0] for result in results], total, norm, rng))
        masks = [stream.mask for batch in batches for stream in batch.streams.values()]
        masks += [batch.target.mask for batch in batches if batch.target is not None]
        self._positions += sum(mask.numel() for mask in masks)
        self._real += sum(int(mask.sum()) for mask in masks)

    def _backward(self, batch: Batch, counts: bool, last: bool) -> Tensor:
        """Return Float[4], the sums of loss, nll, tokens and risk."""
        device = self.accelerator.device
        with nullcontext() if last else self.accelerator.no_sync(self.model):
            bf16 = torch.autocast(device.type, torch.bfloat16, enabled=self.config.precision == "bf16")
            with bf16, in_update(batch, self.config.compile):
                result: LabelLoss = self.model(move(batch, device), self.config.label_smoothing)
            self.accelerator.backward(result.loss if counts else result.loss * 0.0)
        risk = torch.zeros_like(result.nll) if result.risk is None else result.risk
        values = (result.loss, result.nll, result.tokens, risk)
        sums = torch.stack([value.detach().to(self._float) for value in values])
        return sums if counts else sums * 0.0

    def _apply(self, total: Tensor, rate: float) -> Tensor:
        """Update the weights, and return the norm of the gradient of the mean loss per label."""
        # Processes average their gradients, so .grad is (gradient of the sum) / processes.
        to_mean = total[2].float() / self.accelerator.num_processes
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm: Tensor = torch.nn.utils.get_total_norm(gradients) / to_mean
        divisor = to_mean * (norm / self.config.clip).clamp(min=1.0) if self.config.clip > 0.0 else to_mean
        finite = torch.isfinite(norm) & torch.isfinite(total[0])
        self._failed = torch.maximum(self._failed, (~finite).float())
        update_weights(self.optimizer, gradients, divisor, self._failed, rate)
        return norm

    def totals(self) -> Totals:
        """Return the sums since the last call, and reset them. Waits for the device."""
        loss, nll, tokens, risk = self._totals.tolist()
        positions, padding = self._positions, self._positions - self._real
        self._totals.zero_()
        self._positions = self._real = 0
        return Totals(loss, nll, tokens, risk, float(self._norm), positions, padding)

    def failure(self, highest: float = inf) -> UpdateRecord | None:
        """Return the first update that failed, or None. Waits for the device.

        Args:
            highest: loss in nats per label above which an update since the last call counts as failed, too.
        """
        if self._failed:
            return next(attempt for attempt in self._attempts if attempt.failed)
        attempts, self._attempts = self._attempts, deque()
        if highest == inf or not attempts:
            return None
        loss, _, tokens, _ = torch.stack([attempt.total for attempt in attempts]).unbind(1)
        too_high = (loss > highest * tokens).tolist()
        return next((attempt for attempt, failed in zip(attempts, too_high) if failed), None)


def has_finite_gradient(loss: nn.Module, batch: Batch, config: TrainConfig, device: torch.device) -> bool:
    """Return whether loss and gradient of one batch alone are finite; keeps the weights, clears gradients."""
    loss.zero_grad(set_to_none=True)
    bf16 = torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16")
    with bf16, in_update(batch, config.compile):
        result = loss(batch.to(device), config.label_smoothing)
    result.loss.backward()
    gradients = [parameter.grad for parameter in loss.parameters() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    loss.zero_grad(set_to_none=True)
    return bool(torch.isfinite(result.loss) & torch.isfinite(norm))


def move(batch: Batch, device: torch.device) -> Batch:
    """Return `batch` on `device`; a GPU copies it from pinned memory, without making the host wait."""
    if device.type == "cuda":
        pinned = {name: Stream(side.ids.pin_memory(), side.mask.pin_memory()) for name, side in batch.streams.items()}
        target = batch.target and Target(batch.target.ids.pin_memory(), batch.target.mask.pin_memory())
        batch = Batch(pinned, target)
    return batch.to(device)
