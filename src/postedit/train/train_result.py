"""How a training run ended."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from postedit.train.train_state import Scored


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended.

    Args:
        reason: why it ended, as a clause.
        steps: updates made.
        epochs: complete passes over the corpus.
        target_tokens: labels learnt from.
        seconds: wall-clock time of all parts of the run.
        single: the best single model on dev.
        average: the average of the best or last models, with its dev scores; None if there was nothing to average.
        exported: which of the two is in the model folder: the better one on dev.
        model_folder: where it is.
    """

    reason: str
    steps: int
    epochs: int
    target_tokens: int
    seconds: float
    single: Scored
    average: Scored | None
    exported: Literal["single", "average"]
    model_folder: Path
