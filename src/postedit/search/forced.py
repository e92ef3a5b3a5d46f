"""Forced scoring: the scores of given outputs, whose tokens are all read in one call."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.search.coverage import Coverage
from postedit.search.hypothesis import Hypothesis

_LARGEST: Final = 2**26
"""Largest number of log-probabilities that a call returns (256 MB in single precision); larger batches are divided."""


def force(
    model: Seq2Seq, batch: Batch, outputs: Sequence[Sequence[int]], coverage_penalty: float = 0.0
) -> list[Hypothesis]:
    """Return the scores of one output per sentence; a token score is -inf where the model can never write the token.

    Outputs are target tokens without EOS, with STEPs if the model writes them. The bias of a hypothesis is its coverage
    penalty, at a price of `coverage_penalty` nats (0: none).

    Raises:
        ValueError: if the numbers of outputs and sentences differ.
    """
    return [only for (only,) in force_lists(model, batch, [[output] for output in outputs], coverage_penalty)]


@torch.inference_mode()
def force_lists(
    model: Seq2Seq, batch: Batch, lists: Sequence[Sequence[Sequence[int]]], coverage_penalty: float = 0.0
) -> list[list[Hypothesis]]:
    """Return the scores of any number of outputs per sentence, as `force` does; each sentence is encoded once.

    Raises:
        ValueError: if the numbers of lists and sentences differ.
    """
    if len(lists) != batch.rows:
        raise ValueError(f"outputs of {len(lists)} sentences for a batch of {batch.rows}")
    rows = [row for row, outputs in enumerate(lists) for _ in outputs]
    outputs = [output for outputs in lists for output in outputs]
    results: list[list[Hypothesis]] = [[] for _ in lists]
    if not outputs:
        return results
    state: State = model.encode(batch)
    coverage = Coverage.of(model, batch, coverage_penalty) if coverage_penalty else None
    width = 1 + max(len(output) for output in outputs)
    count = max(1, _LARGEST // (width * model.spec.vocabularies.target.size))
    for start in range(0, len(rows), count):
        part = rows[start : start + count]
        index = torch.tensor(part, device=batch.device)
        covered = None if coverage is None else coverage.select(index)
        scored = _read(model, state.select(index), outputs[start : start + count], batch.device, covered)
        for row, hypothesis in zip(part, scored, strict=True):
            results[row].append(hypothesis)
    return results


def _read(
    model: Seq2Seq, state: State, outputs: Sequence[Sequence[int]], device: torch.device, coverage: Coverage | None
) -> list[Hypothesis]:
    """Return the scores of one output for each row of the state."""
    lengths = torch.tensor([len(output) + 1 for output in outputs], device=device)
    width = int(lengths.max())
    inputs = _padded([[BOS, *output] for output in outputs], width, device)
    labels = _padded([[*output, EOS] for output in outputs], width, device)
    read = model.decode(inputs, state)[0]
    scores = read.log_probs.gather(2, labels.unsqueeze(2)).squeeze(2).tolist()
    biases = [0.0] * len(outputs)
    if coverage is not None:
        steps = torch.arange(width, device=device) < lengths.unsqueeze(1)
        biases = coverage.of_outputs(read.attention, steps).tolist()
    return [
        Hypothesis(tuple(output), tuple(row[: len(output) + 1]), bias=bias)
        for output, row, bias in zip(outputs, scores, biases, strict=True)
    ]


def _padded(rows: Sequence[list[int]], width: int, device: torch.device) -> Tensor:
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], device=device)
