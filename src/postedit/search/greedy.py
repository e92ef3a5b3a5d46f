"""Greedy search and sampling: write one token at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq, State
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch
from postedit.search.guidance import NO_GUIDANCE, Guidance
from postedit.search.hypothesis import Hypothesis, require_possible
from postedit.search.rules import NextTokens, Rules


def greedy(model: Seq2Seq, batch: Batch, limits: Tensor, guidance: Guidance = NO_GUIDANCE) -> list[Hypothesis]:
    """Return one hypothesis per sentence, each of at most `limits` Long[B] tokens.

    If `guidance` leaves no token to write, the hypothesis has the tokens written so far, and is marked `stuck`.
    """
    with torch.inference_mode():
        rules = Rules.of(model, batch, limits, guidance)
        return write(model, model.encode(batch), rules, Rules.best_one)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling options; a value out of range raises a DataError."""

    count: int = 1  # outputs per sentence; some may be equal
    temperature: float = 1.0  # divides log-probabilities; below 1, probable tokens become more probable
    top_k: int = 0  # draw from this many of the most probable tokens; 0: from all that are allowed

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or self.count < 1:
            raise DataError(f"count must be a whole number of at least 1, not {self.count!r}")
        if not isinstance(self.temperature, float | int) or not 1e-3 <= self.temperature <= 1e3:
            raise DataError(
                f"temperature must be between 0.001 and 1000, not {self.temperature!r}; for the most probable outputs, "
                "use beam search"
            )
        if not isinstance(self.top_k, int) or self.top_k < 0:
            raise DataError(f"top_k must be a whole number of at least 0, not {self.top_k!r}")


@torch.inference_mode()
def sample(model: Seq2Seq, batch: Batch, limits: Tensor, sampling: Sampling) -> list[list[Hypothesis]]:
    """Return `sampling.count` outputs per sentence, in no order, each of at most `limits` Long[B] tokens.

    Each sentence is encoded once. Random numbers come from PyTorch's default generator for the model's device. Scores
    are the model's own, whatever the temperature.
    """
    rows = torch.arange(batch.rows, device=limits.device).repeat_interleave(sampling.count)
    state, rules = model.encode(batch).select(rows), Rules.of(model, batch, limits).select(rows)
    found = write(
        model, state, rules, lambda now, scores, length: now.draw(scores, length, sampling.temperature, sampling.top_k)
    )
    return [found[start : start + sampling.count] for start in range(0, len(found), sampling.count)]


@torch.inference_mode()
def write(
    model: Seq2Seq, state: State, rules: Rules, choose: Callable[[Rules, Tensor, int], NextTokens]
) -> list[Hypothesis]:
    """Write one output for each row of `state` and `rules`, token by token, and remove rows as they finish.

    `choose` returns the next tokens, given the rules, the model's log-probabilities Float[N,V] and the number of tokens
    that each row has written.
    """
    count, device, guided = len(rules.limits), rules.limits.device, bool(rules.guidance)
    outputs = list(range(count))
    tokens = torch.full((count,), BOS, device=device)
    written: list[list[int]] = [[] for _ in outputs]
    scores: list[list[float]] = [[] for _ in outputs]
    bias, hit_limit, stuck = [0.0] * count, [False] * count, [False] * count
    length = 0
    while outputs:
        output, state = model.decode(tokens.unsqueeze(1), state)
        chosen = choose(rules, output.log_probs[:, 0], length)
        tokens = chosen.tokens[:, 0]
        columns = tokens, chosen.ranked[:, 0], chosen.gained[:, 0], chosen.ending
        going = []
        rows = zip(outputs, *(part.tolist() for part in columns))
        for row, (index, token, ranked, gained, ending) in enumerate(rows):
            if guided and ranked == -torch.inf:
                stuck[index] = True
                continue
            require_possible(ranked)
            scores[index].append(gained)
            bias[index] += ranked - gained
            if token == EOS:
                hit_limit[index] = ending
            else:
                written[index].append(token)
                going.append(row)
        rules = rules.advance(tokens)
        if len(going) < len(outputs):
            kept = torch.tensor(going, dtype=torch.long, device=device)
            outputs = [outputs[row] for row in going]
            state, tokens, rules = state.select(kept), tokens[kept], rules.select(kept)
        length += 1
    return [Hypothesis(tuple(written[i]), tuple(scores[i]), hit_limit[i], bias[i], stuck[i]) for i in range(count)]
