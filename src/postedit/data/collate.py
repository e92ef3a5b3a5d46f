"""Padded batches of token ids, and the division of rows of similar length into batches."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from postedit.core.special_tokens import PAD
from postedit.core.types import Batch, Stream, Target
from postedit.data.ragged import Ints, Ragged


def length_batches(lengths: Ints, batch_tokens: int) -> list[Ints]:
    """Return row numbers in batches of like length within the budget, the longest first.

    Args:
        lengths: of each row's longest text.
        batch_tokens: budget of a batch, in tokens.
    """
    return divide(lengths, np.argsort(-lengths, kind="stable"), batch_tokens)


def collate(rows: Mapping[str, Ragged | Sequence[Sequence[int]]], inputs: Sequence[str]) -> Batch:
    """Return a padded batch on the CPU.

    Args:
        rows: the ids of each text, by side; those of "pe", if given, become the target.
        inputs: which sides become streams.
    """
    padded = {}
    for side, texts in rows.items():
        ids, mask = (texts if isinstance(texts, Ragged) else Ragged.of(texts)).padded(PAD)
        padded[side] = (torch.from_numpy(ids), torch.from_numpy(mask))
    target = Target(*padded["pe"]) if "pe" in padded else None
    return Batch({name: Stream(*padded[name]) for name in inputs}, target)


def divide(lengths: Ints, order: Ints, budget: int) -> list[Ints]:
    """Cut `order` into batches whose rows x longest length is within the budget; a longer row is a batch by itself."""
    batches = []
    start = 0
    while start < len(order):
        coming = order[start : start + max(1, budget // max(1, int(lengths[order[start]])))]
        cost = np.maximum.accumulate(lengths[coming]) * np.arange(1, len(coming) + 1)
        size = max(1, int(np.searchsorted(cost, budget, side="right")))
        batches.append(coming[:size])
        start += size
    return batches
