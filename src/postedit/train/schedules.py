"""The learning rate, as a function of the step and of what validations have shown."""

from dataclasses import dataclass
from math import sqrt

from postedit.train.config import TrainConfig


@dataclass(frozen=True, slots=True)
class Plateau:
    """What the plateau schedule remembers.

    Args:
        reductions: how often the rate was reduced so far.
        stale: validations without improvement since the last improvement or reduction.
    """

    reductions: int = 0
    stale: int = 0

    def after(self, improved: bool, patience: int) -> "Plateau":
        """Return the memory after one more validation."""
        if improved:
            return Plateau(self.reductions, 0)
        if self.stale + 1 < patience:
            return Plateau(self.reductions, self.stale + 1)
        return Plateau(self.reductions + 1, 0)


def learning_rate(config: TrainConfig, step: int, plateau: Plateau) -> float:
    """Return the learning rate of update number `step`, counted from 1; before the first one, that of the first.

    All schedules rise linearly to `config.lr` over the warm-up. The inverse square root then falls as in Vaswani et
    al. 2017, 5.3, but with its peak given by `lr` and not by the width of the model.
    """
    step = max(step, 1)
    if step < config.warmup_steps:
        return config.lr * step / config.warmup_steps
    match config.schedule:
        case "constant":
            return config.lr
        case "inverse-sqrt":
            return config.lr * sqrt(max(config.warmup_steps, 1) / step)
        case "plateau":
            return config.lr * config.plateau_factor**plateau.reductions
