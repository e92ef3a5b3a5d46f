"""Sampling: outputs drawn from the model's own distribution, symbol by symbol."""

from dataclasses import dataclass

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch
from postedit.search.hypothesis import Hypothesis
from postedit.search.limits import require_possible
from postedit.search.rules import Rules


@dataclass(frozen=True, slots=True)
class Sampling:
    """How outputs are drawn.

    Args:
        count: outputs a sentence; some may be the same.
        temperature: log-probabilities are divided by it before drawing: below 1 the likely become likelier.
        top_k: only so many of the likeliest symbols are drawn from; 0: from all that may come next.

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
    """Return `sampling.count` outputs a sentence, in no order; `limits` Long[B] is how many tokens each may have.

    The sentences are encoded once. Outputs leave the batch as they end. Random numbers come from the default generator
    of torch on the model's device. Scores are those of the model, whatever the temperature.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    count, device = sampling.count, limits.device
    sentences = torch.arange(batch.rows, device=device).repeat_interleave(count)
    state = model.encode(batch).select(sentences)
    rules = Rules.of(model, batch, limits).select(sentences)
    outputs = torch.arange(len(sentences), device=device)
    tokens = torch.full_like(outputs, BOS)
    written: list[list[int]] = [[] for _ in sentences]
    scores: list[list[float]] = [[] for _ in sentences]
    at_limit = [False] * len(written)
    length = 0
    while len(outputs):
        output, state = model.decode(tokens.unsqueeze(1), state)
        choice = rules.draw(output.log_probs[:, 0], length, sampling.temperature, sampling.top_k)
        tokens = choice.symbols[:, 0]
        values = zip(outputs.tolist(), tokens.tolist(), choice.gained[:, 0].tolist(), choice.ending.tolist())
        for index, token, gained, ending in values:
            require_possible(gained)
            scores[index].append(gained)
            if token == EOS:
                at_limit[index] = ending
            else:
                written[index].append(token)
        rules = rules.advance(tokens)
        going = (tokens != EOS).nonzero().squeeze(1)
        if len(going) < len(outputs):
            outputs, tokens, state, rules = outputs[going], tokens[going], state.select(going), rules.select(going)
        length += 1
    found = [Hypothesis(tuple(text), tuple(gained), ending) for text, gained, ending in zip(written, scores, at_limit)]
    return [found[start : start + count] for start in range(0, len(found), count)]
