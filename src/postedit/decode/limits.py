"""What search never writes, and how long an output may be."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from postedit.core.errors import ModelFolderError
from postedit.core.model import Constraint
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch

_NEVER_WRITTEN = [PAD, BOS]


def length_limits(batch: Batch, ratio: float, extra: int) -> Tensor:
    """Return Long[B]: how many tokens (EOS not counted) each output may have, `ratio` times its input plus `extra`.

    The input is mt where there is one, else the longest stream of the sentence.
    """
    streams = [batch.streams["mt"]] if "mt" in batch.streams else list(batch.streams.values())
    lengths = torch.stack([stream.lengths for stream in streams]).amax(0)
    return (lengths * ratio).ceil().long() + extra


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


def permitted(log_probs: Tensor, at_limit: Tensor, constraints: Sequence[Constraint]) -> Tensor:
    """Return log_probs Float[N,V] with -inf for what may not be written next.

    `at_limit` Bool[N] marks rows as long as they may be: only EOS can follow, at its own probability, so that
    the score of every hypothesis is that of the model.
    """
    scores = log_probs.clone()
    scores[:, _NEVER_WRITTEN] = -math.inf
    for constraint in constraints:
        scores.masked_fill_(~constraint.allowed(), -math.inf)
    if bool(at_limit.any()):
        only_eos = torch.full_like(scores, -math.inf)
        only_eos[:, EOS] = log_probs[:, EOS]
        scores = torch.where(at_limit.unsqueeze(1), only_eos, scores)
    return scores
