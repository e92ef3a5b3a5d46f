"""Greedy search: the most probable symbol, one at a time."""

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS
from postedit.core.types import Batch
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import at_limit, permitted, raised, require_possible


@torch.inference_mode()
def greedy(model: Seq2Seq, batch: Batch, limits: Tensor) -> list[Hypothesis]:
    """Return one hypothesis a sentence; `limits` Long[B] is how many tokens each may have.

    Sentences leave the batch as they finish.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    state = model.encode(batch)
    constraints = list(model.constraints(batch))
    limits = raised(limits, constraints)
    device = limits.device
    sentence = list(range(batch.rows))
    tokens = torch.full((batch.rows,), BOS, device=device)
    written: list[list[int]] = [[] for _ in sentence]
    scores: list[list[float]] = [[] for _ in sentence]
    finished: dict[int, Hypothesis] = {}
    length = 0
    while sentence:
        output, state = model.decode(tokens.unsqueeze(1), state)
        ending = at_limit(limits, length, constraints)
        best, tokens = permitted(output.log_probs[:, 0], ending, constraints).max(1)
        constraints = [constraint.advance(tokens) for constraint in constraints]
        going = []
        for row, (token, score) in enumerate(zip(tokens.tolist(), best.tolist(), strict=True)):
            require_possible(score)
            index = sentence[row]
            scores[index].append(score)
            if token == EOS:
                finished[index] = Hypothesis(tuple(written[index]), tuple(scores[index]), bool(ending[row]))
            else:
                written[index].append(token)
                going.append(row)
        if len(going) < len(sentence):
            rows = torch.tensor(going, dtype=torch.long, device=device)
            sentence = [sentence[row] for row in going]
            state, tokens, limits = state.select(rows), tokens[rows], limits[rows]
            constraints = [constraint.select(rows) for constraint in constraints]
        length += 1
    return [finished[index] for index in range(batch.rows)]
