"""Adapters: the few weights of a model that change with corrections and can be restored bit by bit."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor

from postedit.adapt.adaptation_config import AdapterKind
from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, LabelLoss

_DECAY: Final = (0.9, 0.98)
_EPSILON: Final = 1e-8
_CLIP: Final = 1.0  # largest norm of the gradient


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread; with more, the order of sums, and so the bits of results, depend on free cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Adapters:
    """Adapters of a model, which learn with Adam and are merged into the model's weights.

    The model stays in evaluation mode: without dropout, the same steps give the same bits.

    Args:
        model: model with its trained weights, on any device. Its weights change.
        kind: which weights are adapted.
        rank: rank of the low-rank matrices; only used by the kind "low-rank".
        seed: seed of their initial values.
    """

    def __init__(self, model: Seq2Seq, kind: AdapterKind, rank: int = 4, seed: int = 1) -> None:
        self.model = model.eval().requires_grad_(False)
        # The trained values of the weights that are adapted.
        self._base = {
            name: weight.detach().clone()
            for name, weight in model.named_parameters()
            if kind != "vectors" or weight.dim() < 2
        }
        generator = torch.Generator().manual_seed(seed)
        self._values: dict[str, Tensor] = {}
        for name, weight in self._base.items():
            if kind == "all" or weight.dim() < 2:
                self._values[name] = torch.zeros_like(weight)
            else:
                rows, columns = weight.flatten(1).shape
                first = torch.randn(rank, columns, generator=generator, dtype=torch.float32) / columns**0.5
                self._values[f"{name}:in"] = first.to(weight)
                self._values[f"{name}:out"] = torch.zeros(rows, rank).to(weight)
        self._first = {name: torch.zeros_like(value) for name, value in self._values.items()}
        self._second = {name: torch.zeros_like(value) for name, value in self._values.items()}
        self._steps = 0
        self._used = True
        self._start = self.state()

    def state(self) -> dict[str, Tensor]:
        """Return a copy of everything that learning changes."""
        parts = {"value": self._values, "first": self._first, "second": self._second}
        copied = {f"{part}/{name}": one.clone() for part, all in parts.items() for name, one in all.items()}
        return {**copied, "steps": torch.tensor(self._steps)}

    def restore(self, state: Mapping[str, Tensor] | None = None) -> None:
        """Restore a state bit by bit; None: the one before any step."""
        state = self._start if state is None else state
        for part, held in (("value", self._values), ("first", self._first), ("second", self._second)):
            for name in held:
                held[name] = state[f"{part}/{name}"].clone()
        self._steps = int(state["steps"])
        self._used = True
        self._merge()

    def use(self, used: bool) -> None:
        """Give the model its weights with the adapters, or without them its trained ones; steps need the adapters."""
        if used != self._used:
            self._used = used
            self._merge()

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Give the model its trained weights within the block."""
        used = self._used
        self.use(False)
        try:
            yield
        finally:
            self.use(used)

    @one_thread()
    def step(self, batch: Batch, rate: float) -> float:
        """Take one step on a batch with targets, and return its loss per token before the step, in nats.

        The adapters must be in use.

        Args:
            batch: batch on the model's device.
            rate: learning rate.
        """
        weights = {name: one for name, one in self.model.named_parameters() if name in self._base}
        for weight in weights.values():
            weight.requires_grad_(True)
        with torch.autocast(batch.device.type, enabled=False):
            try:
                with torch.enable_grad():
                    found: LabelLoss = self.model(batch)
                    loss = found.loss / found.tokens
                    gradients = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
            finally:
                self.model.requires_grad_(False)
            self._update(self._projected(dict(zip(weights, gradients, strict=True))), rate)
        self._merge()
        return float(loss.detach())

    def _projected(self, gradients: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """Return the gradients of the adapters, given those of the weights; those without a gradient are left out."""
        found = {}
        for name, gradient in gradients.items():
            if gradient is None:
                continue
            if name in self._values:
                found[name] = gradient
                continue
            inner, outer = self._values[f"{name}:in"], self._values[f"{name}:out"]
            found[f"{name}:in"] = outer.T @ gradient.flatten(1)
            found[f"{name}:out"] = gradient.flatten(1) @ inner.T
        return found

    def _update(self, gradients: Mapping[str, Tensor], rate: float) -> None:
        """Take a step of Adam with clipped gradients."""
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(one) for one in gradients.values()]))
        scale = torch.clamp(_CLIP / (norm + _EPSILON), max=1.0)
        self._steps += 1
        beta, gamma = _DECAY
        for name, gradient in gradients.items():
            change = gradient * scale
            self._first[name] = beta * self._first[name] + (1 - beta) * change
            self._second[name] = gamma * self._second[name] + (1 - gamma) * change**2
            mean = self._first[name] / (1 - beta**self._steps)
            spread = (self._second[name] / (1 - gamma**self._steps)).sqrt() + _EPSILON
            self._values[name] = self._values[name] - rate * mean / spread

    @one_thread()
    @torch.no_grad()
    def _merge(self) -> None:
        """Write the weights into the model, including the adapters if they are in use."""
        for name, weight in self.model.named_parameters():
            if not self._used and name in self._base:
                weight.copy_(self._base[name])
            elif name in self._values:
                weight.copy_(self._base[name] + self._values[name])
            elif name in self._base:
                with torch.autocast(weight.device.type, enabled=False):
                    added = self._values[f"{name}:out"] @ self._values[f"{name}:in"]
                weight.copy_(self._base[name] + added.view_as(weight))
