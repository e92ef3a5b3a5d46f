"""How long an output may be, and what it may not be."""

import math

import torch
from torch import Tensor

from postedit.core.errors import ModelFolderError
from postedit.core.model import Writes
from postedit.core.types import Batch


def length_limits(
    batch: Batch, ratio: float, extra: int, writes: Writes = "tokens", longest: int | None = None
) -> Tensor:
    """Return Long[B]: how many symbols (EOS not counted) each output may have, `ratio` times its input plus `extra`.

    The input is mt where there is one, else the longest stream of the sentence. STEPs come on top of that. With EOS
    an output has no more than `longest`, if there is such a limit.
    """
    streams = [batch.streams["mt"]] if "mt" in batch.streams else list(batch.streams.values())
    lengths = torch.stack([stream.lengths for stream in streams]).amax(0)
    limits = (lengths * ratio).ceil().long() + extra
    limits = limits + batch.streams["mt"].lengths - 1 if writes == "steps" else limits
    return limits if longest is None else limits.clamp(max=longest - 1)


def require_possible(score: float) -> None:
    """Refuse to go on with a symbol or a sentence of this natural-log probability if it has none.

    Search would otherwise wait for an end that never comes.

    Raises:
        ModelFolderError: if the score is -inf or not a number.
    """
    if not score > -math.inf:
        raise ModelFolderError(
            "the model gives nothing that it may write a probability: its weights are damaged, or training diverged"
        )
