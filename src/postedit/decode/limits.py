"""What search never writes, and how long an output may be."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from postedit.core.errors import ModelFolderError
from postedit.core.model import Constraint, Writes
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch

_NEVER_WRITTEN = [PAD, BOS]


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


def raised(limits: Tensor, constraints: Sequence[Constraint]) -> Tensor:
    """Return limits Long[N] that leave room for what must come before an EOS."""
    for constraint in constraints:
        limits = torch.maximum(limits, constraint.to_end())
    return limits


def at_limit(limits: Tensor, length: int, constraints: Sequence[Constraint]) -> Tensor:
    """Return Bool[N]: whether an output of `length` symbols has only room for what leads to its end."""
    longest = torch.full_like(limits, length)
    for constraint in constraints:
        longest = torch.maximum(longest, length + constraint.to_end())
    return limits <= longest


def permitted(log_probs: Tensor, at_limit: Tensor, constraints: Sequence[Constraint]) -> Tensor:
    """Return log_probs Float[N,V] with -inf for what may not be written next.

    `at_limit` Bool[N] marks rows as long as they may be: only EOS can follow, or what a constraint demands before it,
    at its own probability, so that the score of every hypothesis is that of the model.
    """
    scores = log_probs.clone()
    scores[:, _NEVER_WRITTEN] = -math.inf
    for constraint in constraints:
        scores.masked_fill_(~constraint.allowed(), -math.inf)
    if bool(at_limit.any()):
        last = torch.full((len(scores), 1), EOS, device=scores.device)
        for constraint in constraints:
            closing = constraint.closing().unsqueeze(1)
            last = torch.where(last == EOS, closing, last)
        only_last = torch.full_like(scores, -math.inf).scatter(1, last, log_probs.gather(1, last))
        scores = torch.where(at_limit.unsqueeze(1), only_last, scores)
    return scores
