"""Sampling: outputs drawn at random from the model's distribution, token by token."""

from dataclasses import dataclass

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.search.greedy import write
from postedit.search.hypothesis import Hypothesis
from postedit.search.rules import Rules


@dataclass(frozen=True, slots=True)
class Sampling:
    """Options of sampling.

    Args:
        count: outputs per sentence; some may be equal.
        temperature: divides log-probabilities before drawing; below 1, probable tokens become more probable.
        top_k: draw from this many of the most probable tokens only; 0: from all that are allowed.

    Raises:
        DataError: naming an option that is out of range.
    """

    count: int = 1
    temperature: float = 1.0
    top_k: int = 0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DataError(f"count must be at least 1, not {self.count}")
        if not self.temperature > 0.0:
            raise DataError(f"temperature must be above 0, not {self.temperature}; greedy search is what 0 would be")
        if self.top_k < 0:
            raise DataError(f"top_k must be at least 0, not {self.top_k}")


@torch.inference_mode()
def sample(model: Seq2Seq, batch: Batch, limits: Tensor, sampling: Sampling) -> list[list[Hypothesis]]:
    """Return `sampling.count` outputs per sentence, in no order, of at most `limits` Long[B] tokens.

    The sentences are encoded once. Random numbers come from the default generator of torch on the model's device.
    Scores are those of the model, whatever the temperature.
    """
    rows = torch.arange(batch.rows, device=limits.device).repeat_interleave(sampling.count)
    state, rules = model.encode(batch).select(rows), Rules.of(model, batch, limits).select(rows)
    found = write(
        model, state, rules, lambda now, scores, length: now.draw(scores, length, sampling.temperature, sampling.top_k)
    )
    return [found[start : start + sampling.count] for start in range(0, len(found), sampling.count)]
