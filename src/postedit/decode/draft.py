"""Greedy search that takes the machine translation for a draft: same output, fewer calls.

A post-edit is mostly its input. So instead of asking for one symbol at a time, the rest of mt is proposed in one
call; the longest prefix that greedy search would have written itself is accepted together with the symbol it
writes in place of the first it rejects; the rest of the call is rolled back. Drafting goes on where the output
meets mt again.

Rows advance at their own pace. As sentences finish others take their places, so that a batch is never smaller
than it may be, and no sentence waits for the slowest of its batch.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from postedit.core.model import Constraint, Seq2Seq, State
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.decode.greedy import greedy
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import at_limit, permitted, raised, require_possible
from postedit.decode.proposals import Acceptance, Proposer

# What a call costs besides its tokens, in tokens: reading the weights, starting kernels. It decides how far drafts
# reach, and nothing else. It is not measured on the spot, as calls of other widths round otherwise, and the same
# command shall give the same output even where two symbols are equally probable but for rounding.
_CALL_COST: Final = {"cpu": 16.0}
_CALL_COST_ACCELERATOR: Final = 1024.0

# A state is cut to its live rows when this share of them has finished: to cut it means to copy it.
_FINISHED_SHARE: Final = 0.25


@dataclass(frozen=True, eq=False, slots=True)
class Drafted:
    """Sentences that are encoded together.

    Args:
        batch: B sentences.
        drafts: for each of them what its output may be like, in target symbols without EOS.
        limits: Long[B], how many tokens each output may have.
    """

    batch: Batch
    drafts: Sequence[Sequence[int]]
    limits: Tensor


class DraftSearch:
    """Searches with drafts; it learns from each sentence how far to trust the next one's draft.

    Args:
        model: any model or ensemble. Those that decode token by token anyway are searched greedily.
        slots: sentences searched at a time, at most.
        call_cost: what a call costs besides its tokens, in tokens; that of the model's device if not given.
    """

    def __init__(self, model: Seq2Seq, slots: int = 32, call_cost: float | None = None) -> None:
        """Start without experience."""
        self.model, self.slots, self._given_cost = model, slots, call_cost
        self.calls, self.tokens = 0, 0  # of `decode` so far, and what was fed in them
        self._acceptance = Acceptance()

    @torch.inference_mode()
    def __call__(self, groups: Iterable[Drafted]) -> Iterator[list[Hypothesis]]:
        """Yield for each group the hypotheses of `greedy`, in order.

        A group is taken up as soon as there is room for all of it, so that small groups of sentences of like length
        keep the slots full; one of more rows than slots waits until all of these are empty.

        Raises:
            ModelFolderError: if the model gives nothing that it may write a probability.
        """
        if not self.model.spec.parallel:
            yield from (greedy(self.model, group.batch, group.limits) for group in groups)
            return
        waiting = iter(groups)
        coming, taken = next(waiting, None), deque[list[_Row]]()
        live = _Live(torch.device("cpu") if coming is None else coming.limits.device)
        while coming or live.rows:
            while coming and (not live.count or live.count + coming.batch.rows <= self.slots):
                taken.append(self._rows(coming))
                live.join(taken[-1], self.model.encode(coming.batch))
                coming = next(waiting, None)
            self._advance(live)
            while taken and all(row.done for row in taken[0]):
                yield [row.hypothesis() for row in taken.popleft()]

    def _rows(self, group: Drafted) -> list["_Row"]:
        constraints = self.model.constraints(group.batch)
        limits = raised(group.limits, constraints).tolist()
        return [
            _Row(
                Proposer([*(symbol for symbol in draft if symbol != PAD), EOS]),
                limit,
                _of_row(constraints, i, group.limits.device),
            )
            for i, (draft, limit) in enumerate(zip(group.drafts, limits, strict=True))
        ]

    def _advance(self, live: "_Live") -> None:
        """Make one call; let each row take what it can of it."""
        assert live.state is not None
        going = [row for row in live.rows if not row.done]
        call_cost = self._call_cost(live.device) / len(going)
        for row in going:
            row.propose(self._acceptance.reach(row.proposer.context, call_cost))
        width = 1 + max(len(row.proposal) for row in going)
        fed = [[] if row.done else [row.pending, *row.proposal] for row in live.rows]
        tokens = torch.tensor([call + [PAD] * (width - len(call)) for call in fed], device=live.device)
        output, state = self.model.decode(tokens, live.state)
        scores = output.distribution.at(tokens != PAD).log_probs().squeeze(1)
        gains, answers = (found.tolist() for found in _permitted(scores, going).max(1))
        self.calls, self.tokens, start = self.calls + 1, self.tokens + len(answers), 0
        kept = []
        for row, call in zip(live.rows, fed):
            end = start + len(call)
            kept.append(self._accept(row, answers[start:end], gains[start:end]) if call else 0)
            start = end
        live.state = state.rollback(torch.tensor(kept, device=live.device))
        live.cut(_FINISHED_SHARE)

    def _accept(self, row: "_Row", answers: list[int], gains: list[float]) -> int:
        """Return how many of the tokens that the row has fed stand."""
        context, proposal = row.proposer.context, row.proposal
        agreed = row.accept(answers, gains)
        rejected = agreed < len(proposal) and answers[agreed] != proposal[agreed]
        self._acceptance.learn(context, agreed, rejected=rejected)
        return agreed + 1

    def _call_cost(self, device: torch.device) -> float:
        if self._given_cost is not None:
            return self._given_cost
        return _CALL_COST.get(device.type, _CALL_COST_ACCELERATOR)


def draft_decode(model: Seq2Seq, batch: Batch, drafts: Sequence[Sequence[int]], limits: Tensor) -> list[Hypothesis]:
    """Return the hypotheses of `greedy`, given for each sentence a draft in target symbols without EOS.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    (found,) = DraftSearch(model, batch.rows)([Drafted(batch, drafts, limits)])
    return found


@dataclass
class _Row:
    """One sentence being written.

    Args:
        proposer: follows the draft.
        limit: how many tokens the output may have.
        constraints: on what comes next, of one row each.
        tokens: written so far, without EOS.
        scores: their log-probabilities, and that of EOS once done.
        proposal: what is proposed in the present call.
        done: whether EOS is written.
    """

    proposer: Proposer
    limit: int
    constraints: list[Constraint]
    tokens: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    proposal: list[int] = field(default_factory=list)
    done: bool = False

    @property
    def pending(self) -> int:
        """The symbol the model has not read yet."""
        return self.tokens[-1] if self.tokens else BOS

    def propose(self, reach: int) -> None:
        """Choose what to propose; no further than the limit, where only EOS can follow."""
        self.proposal = self.proposer.propose(min(reach, self.limit - len(self.tokens)))

    def accept(self, answers: Sequence[int], gains: Sequence[float]) -> int:
        """Take what the model agrees with, and its own next symbol; return how many of the proposed stand.

        `answers` and `gains` are the most probable symbol and its log-probability after `pending` and after each of
        the proposed symbols.
        """
        agreed = 0
        while agreed < len(self.proposal) and answers[agreed] == self.proposal[agreed] != EOS:
            agreed += 1
        for symbol, gain in zip(answers[: agreed + 1], gains):
            require_possible(gain)
            self.constraints = [
                constraint.advance(torch.tensor([symbol], device=constraint.to_end().device))
                for constraint in self.constraints
            ]
        self.scores += gains[: agreed + 1]
        self.tokens += answers[:agreed]
        if answers[agreed] == EOS:
            self.done = True
        else:
            self.tokens.append(answers[agreed])
            self.proposer.follow(self.tokens, agreed, rejected=agreed < len(self.proposal))
        return agreed

    def hypothesis(self) -> Hypothesis:
        """Return what was written."""
        return Hypothesis(tuple(self.tokens), tuple(self.scores), len(self.tokens) >= self.limit)


@dataclass
class _Live:
    """The sentences being written, one row of the state each; some of them may have finished."""

    device: torch.device
    rows: list[_Row] = field(default_factory=list)
    state: State | None = None

    @property
    def count(self) -> int:
        """How many have not finished."""
        return sum(not row.done for row in self.rows)

    def join(self, rows: list[_Row], state: State) -> None:
        """Take up further rows; those that have finished make room."""
        self.cut(0.0)
        self.state = state if self.state is None else self.state.join(state)
        self.rows = self.rows + rows

    def cut(self, share: float) -> None:
        """Drop the rows that have finished if they are more than this share of all."""
        going = [number for number, row in enumerate(self.rows) if not row.done]
        if len(self.rows) - len(going) <= share * len(self.rows):
            return
        self.rows = [self.rows[number] for number in going]
        if not going or self.state is None:
            self.state = None
        else:
            self.state = self.state.select(torch.tensor(going, device=self.device))


def _of_row(constraints: Sequence[Constraint], row: int, device: torch.device) -> list[Constraint]:
    return [constraint.select(torch.tensor([row], device=device)) for constraint in constraints]


def _permitted(scores: Tensor, rows: Sequence[_Row]) -> Tensor:
    """Return Float[M,V] with -inf for what may not be written, after each token that `rows` have fed, row by row."""
    if any(row.constraints for row in rows):
        parts = torch.split(scores, [1 + len(row.proposal) for row in rows])
        return torch.cat([_constrained(part, row) for part, row in zip(parts, rows, strict=True)])
    full = [len(row.tokens) + ahead >= row.limit for row in rows for ahead in range(1 + len(row.proposal))]
    return permitted(scores, torch.tensor(full, device=scores.device), ())


def _constrained(scores: Tensor, row: _Row) -> Tensor:
    constraints, limit = row.constraints, torch.tensor([row.limit], device=scores.device)
    found = []
    for ahead, score in enumerate(scores.unsqueeze(1)):
        if ahead:
            symbol = torch.tensor([row.proposal[ahead - 1]], device=scores.device)
            constraints = [constraint.advance(symbol) for constraint in constraints]
        found.append(permitted(score, at_limit(limit, len(row.tokens) + ahead, constraints), constraints))
    return torch.cat(found)
