"""Greedy search that takes the machine translation for a draft: same output, fewer calls.

A post-edit is mostly its input. So instead of asking for one symbol at a time, the rest of mt is proposed in one
call; the longest prefix that greedy search would have written itself is accepted together with the symbol it
writes in place of the first it rejects; the rest of the call is rolled back. Drafting goes on where the output
meets mt again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.decode.greedy import greedy
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import permitted, require_possible

# How many symbols a call may propose: a wider call costs more, and what follows a rejected symbol is wasted. After
# an edit the draft is less certain, the less so the shorter the context that tied it to mt again.
_FIRST_PROPOSAL = 16
_PROPOSAL_AFTER = {2: 12, 1: 4}
_PROPOSAL_AFTER_GUESS = 4


@torch.inference_mode()
def draft_decode(model: Seq2Seq, batch: Batch, drafts: Sequence[Sequence[int]], limits: Tensor) -> list[Hypothesis]:
    """Return the hypotheses of `greedy`, given for each sentence a draft in target symbols without EOS.

    Models that decode token by token anyway, or whose grammar constrains each step, are searched greedily.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    if not model.spec.parallel or model.constraints(batch):
        return greedy(model, batch, limits)
    rows = [
        _Row(index, [*draft, EOS], limit)
        for index, (draft, limit) in enumerate(zip(drafts, limits.tolist(), strict=True))
    ]
    state = model.encode(batch)
    finished: dict[int, Hypothesis] = {}
    while rows:
        proposals = [row.propose() for row in rows]
        width = 1 + max(len(proposal) for proposal in proposals)
        calls = [[row.pending, *proposal] for row, proposal in zip(rows, proposals, strict=True)]
        tokens = torch.tensor([call + [PAD] * (width - len(call)) for call in calls], device=limits.device)
        output, state = model.decode(tokens, state)
        lengths = torch.tensor([len(row.tokens) for row in rows], device=limits.device)
        positions = lengths.unsqueeze(1) + torch.arange(width, device=limits.device)
        at_limit = positions >= torch.tensor([[row.limit] for row in rows], device=limits.device)
        scores, best = permitted(output.log_probs.flatten(0, 1), at_limit.flatten(), ()).max(1)
        keep, going = [], []
        for i, (row, proposal, answers, gains) in enumerate(
            zip(rows, proposals, best.view(-1, width).tolist(), scores.view(-1, width).tolist(), strict=True)
        ):
            keep.append(row.accept(proposal, answers, gains))
            if row.done:
                finished[row.index] = Hypothesis(tuple(row.tokens), tuple(row.scores), len(row.tokens) >= row.limit)
            else:
                going.append(i)
        state = state.rollback(torch.tensor(keep, device=limits.device))
        if len(going) < len(rows):
            rows = [rows[i] for i in going]
            state = state.select(torch.tensor(going, dtype=torch.long, device=limits.device))
    return [finished[index] for index in range(batch.rows)]


@dataclass
class _Row:
    """One sentence being written.

    Args:
        index: in the batch.
        draft: mt in target symbols, with EOS.
        limit: how many tokens the output may have.
        tokens: written so far, without EOS.
        scores: their log-probabilities, and that of EOS once done.
        at: where in the draft the output is thought to go on; its length if nowhere.
        cap: how many symbols to propose next.
        done: whether EOS is written.
    """

    index: int
    draft: list[int]
    limit: int
    tokens: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    at: int = 0
    cap: int = _FIRST_PROPOSAL
    done: bool = False

    @property
    def pending(self) -> int:
        """The symbol the model has not read yet."""
        return self.tokens[-1] if self.tokens else BOS

    def propose(self) -> list[int]:
        return self.draft[self.at : self.at + self.cap]

    def accept(self, proposal: list[int], answers: list[int], gains: list[float]) -> int:
        """Take what the model agrees with, and its own next symbol; return how many tokens of the call stand."""
        agreed = 0
        while agreed < len(proposal) and answers[agreed] == proposal[agreed] != EOS:
            agreed += 1
        for gain in gains[: agreed + 1]:
            require_possible(gain)
        self.scores += gains[: agreed + 1]
        self.tokens += answers[:agreed]
        self.at += agreed
        if answers[agreed] == EOS:
            self.done = True
        else:
            self.tokens.append(answers[agreed])
            self._synchronise(rejected=agreed < len(proposal))
        return agreed + 1

    def _synchronise(self, rejected: bool) -> None:
        """Find where the draft goes on after the symbol the model wrote last."""
        if not rejected and self.at < len(self.draft) and self.draft[self.at] == self.tokens[-1]:
            self.at, self.cap = self.at + 1, _FIRST_PROPOSAL
            return
        for length, cap in _PROPOSAL_AFTER.items():
            suffix = self.tokens[-length:]
            ends = range(length, len(self.draft))
            places = [end for end in ends if self.draft[end - length : end] == suffix]
            if len(places) == 1:
                self.at, self.cap = places[0], cap
                return
        self.at, self.cap = min(self.at + 1, len(self.draft)), _PROPOSAL_AFTER_GUESS
