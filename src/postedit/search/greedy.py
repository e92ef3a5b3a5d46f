"""Greedy search: the best symbol, one at a time."""

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch
from postedit.search.guidance import NONE, Guidance
from postedit.search.hypothesis import Hypothesis
from postedit.search.limits import require_possible
from postedit.search.rules import Rules


@torch.inference_mode()
def greedy(model: Seq2Seq, batch: Batch, limits: Tensor, guidance: Guidance = NONE) -> list[Hypothesis]:
    """Return one hypothesis a sentence; `limits` Long[B] is how many tokens each may have.

    Sentences leave the batch as they finish. One to which `guidance` leaves nothing to write is returned as far as
    it came, and is `stuck`.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    state = model.encode(batch)
    rules = Rules.of(model, batch, limits, guidance)
    sentences = list(range(batch.rows))
    tokens = torch.full((batch.rows,), BOS, device=limits.device)
    written: list[list[int]] = [[] for _ in sentences]
    scores: list[list[float]] = [[] for _ in sentences]
    bias = [0.0] * batch.rows
    finished: dict[int, Hypothesis] = {}
    length = 0
    while sentences:
        output, state = model.decode(tokens.unsqueeze(1), state)
        choice = rules.best(output.log_probs[:, 0], length, 1)
        tokens = choice.symbols[:, 0]
        going = []
        values = zip(
            sentences,
            tokens.tolist(),
            choice.ranked[:, 0].tolist(),
            choice.gained[:, 0].tolist(),
            choice.ending.tolist(),
            strict=True,
        )
        for row, (index, token, ranked, gained, ending) in enumerate(values):
            stuck = bool(guidance) and ranked == -torch.inf
            if stuck:
                finished[index] = Hypothesis(tuple(written[index]), tuple(scores[index]), False, bias[index], True)
                continue
            require_possible(ranked)
            scores[index].append(gained)
            bias[index] += ranked - gained
            if token == EOS:
                finished[index] = Hypothesis(tuple(written[index]), tuple(scores[index]), ending, bias[index])
            else:
                written[index].append(token)
                going.append(row)
        rules = rules.advance(tokens)
        if len(going) < len(sentences):
            rows = torch.tensor(going, dtype=torch.long, device=limits.device)
            sentences = [sentences[row] for row in going]
            state, tokens, rules = state.select(rows), tokens[rows], rules.select(rows)
        length += 1
    return [finished[index] for index in range(batch.rows)]
