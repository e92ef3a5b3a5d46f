"""All that a training run remembers besides tensors."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from postedit.data.batching import Position
from postedit.train.divergence import Trend
from postedit.train.schedules import Plateau


@dataclass(frozen=True, slots=True)
class Scored:
    """A model that was validated.

    Args:
        step: when.
        score: its dev score by the metric of the run.
        metrics: all dev scores by name: `nll` in nats per label, `perplexity`, and those of the decoded text.
    """

    step: int
    score: float
    metrics: Mapping[str, float]

    @property
    def file_name(self) -> str:
        """The name of its weights in the folder of the best."""
        return f"step-{self.step:08d}.safetensors"


@dataclass(slots=True)
class TrainState:
    """Where a run is.

    Args:
        step: updates done.
        position: place in the data, after the batches of those updates.
        target_tokens: labels learnt from, all processes together.
        seconds: wall-clock time of training up to this state, all resumed parts together.
        validated: step of the last validation, 0 if there was none.
        stale: validations since the last improvement.
        plateau: memory of the plateau schedule.
        best: the best models so far, best first.
        update_batches: batches of an update, all processes together, where they are counted; 0 before the start.
        lowest: the lowest loss so far, in nats per label.
        trend: where the loss goes.
        last: the last models that were validated, oldest first, if they are to be averaged.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    target_tokens: int = 0
    seconds: float = 0.0
    validated: int = 0
    stale: int = 0
    plateau: Plateau = field(default_factory=Plateau)
    best: tuple[Scored, ...] = ()
    last: tuple[Scored, ...] = ()
    lowest: float | None = None
    trend: Trend = field(default_factory=Trend)
    update_batches: int = 0

    @property
    def kept(self) -> tuple[Scored, ...]:
        """The models whose weights are kept."""
        return (*self.best, *(scored for scored in self.last if scored not in self.best))

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainState":
        """Return the state that `to_dict` wrote."""
        return cls(
            **{
                **values,
                "position": Position(**values["position"]),
                "plateau": Plateau(**values["plateau"]),
                "best": tuple(Scored(**entry) for entry in values["best"]),
                "trend": Trend(**values.get("trend", {"start": values["step"]})),
                "last": tuple(Scored(**entry) for entry in values.get("last", ())),
            }
        )
