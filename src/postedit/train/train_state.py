"""The state of a training run besides its tensors, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from postedit.data.batching import Position

WINDOW: Final = 20
"""Updates over which `LossTrend` averages the loss."""

_RISE: Final = 3.0
"""Rise in nats per label that counts as divergence: harder data cost less, a model that falls back to guessing more."""


@dataclass(slots=True)
class LossTrend:
    """Mean loss over windows of updates, which distinguishes divergence from the noise of batches.

    Args:
        start: the last step before the current window.
        loss: sum of the losses in the current window, in nats.
        tokens: labels in the current window.
        lowest: the lowest mean of earlier windows, in nats per label.
    """

    start: int = 0
    loss: float = 0.0
    tokens: float = 0.0
    lowest: float | None = None

    def rise(self, loss: float, tokens: float, step: int) -> float | None:
        """Return the mean loss of the window that ends at `step` if it is far above the lowest one; else None.

        Args:
            loss: sum over the updates since the last call.
            tokens: their labels.
            step: number of the last of these updates.
        """
        self.loss += loss
        self.tokens += tokens
        if step - self.start < WINDOW:
            return None
        mean = self.loss / self.tokens
        self.start, self.loss, self.tokens = step, 0.0, 0.0
        if self.lowest is not None and mean > self.lowest + _RISE:
            return mean
        self.lowest = mean if self.lowest is None else min(mean, self.lowest)
        return None


@dataclass(frozen=True, slots=True)
class Plateau:
    """State of the plateau schedule.

    Args:
        reductions: how often the learning rate was reduced.
        stale: validations without improvement since the last improvement or reduction.
    """

    reductions: int = 0
    stale: int = 0

    def after(self, improved: bool, patience: int) -> "Plateau":
        """Return the state after one more validation."""
        if improved:
            return Plateau(self.reductions)
        stale = self.stale + 1
        return Plateau(self.reductions, stale) if stale < patience else Plateau(self.reductions + 1)


@dataclass(frozen=True, slots=True)
class ValidatedModel:
    """A validated model.

    Args:
        step: the step at which it was validated.
        score: its dev score by the metric of the run.
        metrics: all dev scores by name: `nll` in nats per label, `perplexity`, and the scores of the decoded text.
    """

    step: int
    score: float
    metrics: Mapping[str, float]

    @property
    def file_name(self) -> str:
        """The name of its weights file in the folder of the best models."""
        return f"step-{self.step:08d}.safetensors"


@dataclass(slots=True)
class TrainState:
    """The progress of a run.

    Args:
        step: updates done.
        position: place in the data, after the batches of those updates.
        target_tokens: labels learnt from, in all processes.
        seconds: wall-clock time of training up to this state, including the time before the run was resumed.
        validated: step of the last validation, 0 if there was none.
        stale: validations since the last improvement.
        plateau: state of the plateau schedule.
        best: the best models so far, best first.
        last: the most recently validated models, oldest first, if they are to be averaged.
        lowest: the lowest loss so far, in nats per label.
        trend: mean loss over windows of updates.
        update_batches: batches of an update in all processes, if an update is measured in batches; 0 before the start.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    target_tokens: int = 0
    seconds: float = 0.0
    validated: int = 0
    stale: int = 0
    plateau: Plateau = field(default_factory=Plateau)
    best: tuple[ValidatedModel, ...] = ()
    last: tuple[ValidatedModel, ...] = ()
    lowest: float | None = None
    trend: LossTrend = field(default_factory=LossTrend)
    update_batches: int = 0

    @property
    def kept(self) -> tuple[ValidatedModel, ...]:
        """The models whose weights are kept."""
        return (*self.best, *(scored for scored in self.last if scored not in self.best))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainState":
        """Return the state from the values of `dataclasses.asdict`, read from JSON."""
        parts = {
            "position": Position(**values["position"]),
            "plateau": Plateau(**values["plateau"]),
            "best": tuple(ValidatedModel(**entry) for entry in values["best"]),
            "trend": LossTrend(**values["trend"]),
            "last": tuple(ValidatedModel(**entry) for entry in values["last"]),
        }
        return cls(**{**values, **parts})


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The result of a run.

    Args:
        reason: why training ended, as a clause.
        steps: updates made.
        epochs: complete passes over the corpus.
        target_tokens: labels learnt from.
        seconds: wall-clock time, including the time before the run was resumed.
        single: the best single model on dev.
        average: the average of the best or last models, with its dev scores; None if there was nothing to average.
        exported: which of the two is in the model folder: the better one on dev.
        model_folder: path of the model folder.
    """

    reason: str
    steps: int
    epochs: int
    target_tokens: int
    seconds: float
    single: ValidatedModel
    average: ValidatedModel | None
    exported: Literal["single", "average"]
    model_folder: Path

    @property
    def chosen(self) -> ValidatedModel:
        """The exported model with its dev scores."""
        return self.average if self.exported == "average" and self.average else self.single
