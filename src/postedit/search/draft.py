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
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, NamedTuple, Self

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import Batch, DecoderOutput, Shortlist
from postedit.search.greedy import greedy
from postedit.search.guidance import NONE, Guidance
from postedit.search.hypothesis import Hypothesis
from postedit.search.limits import require_possible
from postedit.search.proposals import Acceptance, Proposer
from postedit.search.rules import Choice, Rules

# What a call costs besides its tokens, in tokens: reading the weights, starting kernels. It decides how far drafts
# reach, and nothing else. It is not measured on the spot, as calls of other widths round otherwise, and the same
# command shall give the same output even where two symbols are equally probable but for rounding.
_CALL_COST: Final = {"cpu": 16.0}
_CALL_COST_ACCELERATOR: Final = 1024.0

# A state is cut to its live rows when this share of them has finished: to cut it means to copy it.
_FINISHED_SHARE: Final = 0.25

# Places whose scores are held at a time: enough to keep a matrix product busy. With a shortlist more of them, as far as
# that makes no more scores than these.
_SCORED: Final = 64
_SCORES: Final = 2**21


@dataclass(frozen=True, eq=False, slots=True)
class Drafted:
    """Sentences that are encoded together.

    Args:
        batch: B sentences.
        drafts: for each of them what its output may be like, in target symbols without EOS.
        limits: Long[B], how many tokens each output may have.
        guidance: for the B sentences.
    """

    batch: Batch
    drafts: Sequence[Sequence[int]]
    limits: Tensor
    guidance: Guidance = NONE


class DraftSearch:
    """Searches with drafts; it learns from each sentence how far to trust the next one's draft.

    Args:
        model: any model or ensemble. Those that decode token by token anyway are searched greedily.
        slots: sentences searched at a time, at most.
        call_cost: what a call costs besides its tokens, in tokens; that of the model's device if not given.
        shortlist: 0, or how many of the first symbols of the vocabulary, which are the frequent ones, a sentence may
            have besides those of its draft and of its inputs. Outputs then are no longer those of greedy search.
    """

    def __init__(self, model: Seq2Seq, slots: int = 32, call_cost: float | None = None, shortlist: int = 0) -> None:
        """Start without experience."""
        self.model, self.slots, self._given_cost = model, slots, call_cost
        self._first = shortlist if shortlist < model.spec.vocabularies.target.size else 0
        self.calls, self.tokens = 0, 0  # of `decode` so far, and what was fed in them
        self._acceptance = Acceptance()

    @torch.inference_mode()
    def __call__(self, groups: Iterable[Drafted]) -> Iterator[list[Hypothesis]]:
        """Yield for each group the hypotheses of `greedy`, in order; guidance and shortlist do not go together.

        A group is taken up as soon as there is room for all of it, so that small groups of sentences of like length
        keep the slots full. One that has guidance, or more rows than slots, waits until all of these are empty.

        Raises:
            ModelFolderError: if the model gives nothing that it may write a probability.
        """
        if not self.model.spec.parallel:
            yield from (greedy(self.model, group.batch, group.limits, group.guidance) for group in groups)
            return
        waiting = iter(groups)
        coming, taken, live = next(waiting, None), deque[list[_Row]](), None
        while coming or live:
            while coming and (live is None or live.count + coming.batch.rows <= self.slots):
                if live is not None and (live.rules or coming.guidance):
                    break
                arrived = _Live.of(self.model, coming, self._first)
                taken.append(arrived.rows)
                live = arrived if live is None else live.join(arrived)
                coming = next(waiting, None)
            assert live is not None
            live = self._advanced(live)
            while taken and all(row.done for row in taken[0]):
                yield [row.hypothesis() for row in taken.popleft()]

    def _advanced(self, live: "_Live") -> "_Live | None":
        """Make one call and let each row take what it can of it; return the rows that go on, if there are any."""
        call_cost = self._call_cost(live.device) / live.count
        for row in live.going:
            row.propose(self._acceptance.reach(row.proposer.context, call_cost))
        fed = [[] if row.done else [row.pending, *row.proposal] for row in live.rows]
        width = max(map(len, fed))
        tokens = torch.tensor([call + [PAD] * (width - len(call)) for call in fed], device=live.device)
        output, state = self.model.decode(tokens, live.state)
        answers = live.answers(output, tokens, [len(call) for call in fed])
        self.calls, self.tokens = self.calls + 1, self.tokens + sum(map(len, fed))
        before = [len(row.tokens) for row in live.rows]
        kept = [0 if row.done else self._take(row, found) for row, found in zip(live.rows, answers, strict=True)]
        written = [row.tokens[length:] for row, length in zip(live.rows, before, strict=True)]
        return live.after(state.rollback(torch.tensor(kept, device=live.device)), written)

    def _take(self, row: "_Row", answers: "Sequence[_Answer]") -> int:
        """Return how many of the tokens that the row has fed stand."""
        context = row.proposer.context
        agreed, rejected = row.accept(answers)
        self._acceptance.learn(context, agreed, rejected=rejected)
        return agreed + 1

    def _call_cost(self, device: torch.device) -> float:
        if self._given_cost is not None:
            return self._given_cost
        return _CALL_COST.get(device.type, _CALL_COST_ACCELERATOR)


def draft_decode(
    model: Seq2Seq, batch: Batch, drafts: Sequence[Sequence[int]], limits: Tensor, guidance: Guidance = NONE
) -> list[Hypothesis]:
    """Return the hypotheses of `greedy`, given for each sentence a draft in target symbols without EOS.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    (found,) = DraftSearch(model, batch.rows)([Drafted(batch, drafts, limits, guidance)])
    return found


class _Answer(NamedTuple):
    """What is best after one token: the symbol, by what it is ranked, its log-probability, and if it had to be."""

    symbol: int
    ranked: float
    gained: float
    ending: bool


@dataclass
class _Row:
    """One sentence being written.

    Args:
        proposer: follows the draft.
        limit: how many tokens the output may have.
        guided: whether there is guidance.
        others: symbols of its draft and its inputs, beside the first ones of a shortlist.
        tokens: written so far, without EOS.
        scores: their log-probabilities, and that of EOS once done.
        bias: what guidance added to them.
        proposal: what is proposed in the present call.
        last: what was written last, or could not be.
        done: whether there is no more to come.
    """

    proposer: Proposer
    limit: int
    guided: bool
    others: frozenset[int] = frozenset()
    tokens: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    bias: float = 0.0
    proposal: list[int] = field(default_factory=list)
    last: _Answer | None = None
    done: bool = False

    @property
    def pending(self) -> int:
        """The symbol the model has not read yet."""
        return self.tokens[-1] if self.tokens else BOS

    def propose(self, reach: int) -> None:
        """Choose what to propose; no further than the limit, where only EOS can follow."""
        self.proposal = self.proposer.propose(min(reach, self.limit - len(self.tokens)))

    def accept(self, answers: Sequence[_Answer]) -> tuple[int, bool]:
        """Take what is best, as long as that is what was proposed, and one symbol after it.

        `answers` come after `pending` and after each of the proposed symbols. Returns how many of these stand, and
        whether the next one was rejected.
        """
        agreed = 0
        while agreed < len(self.proposal) and answers[agreed].symbol == self.proposal[agreed] != EOS:
            agreed += 1
        rejected = agreed < len(self.proposal) and answers[agreed].symbol != self.proposal[agreed]
        for answer in answers[: agreed + 1]:
            self._write(answer)
            if self.done:
                break
        else:
            self.proposer.follow(self.tokens, agreed, rejected=agreed < len(self.proposal))
        return agreed, rejected

    def _write(self, answer: _Answer) -> None:
        self.last = answer
        if self.guided and answer.ranked == -torch.inf:
            self.done = True
            return
        require_possible(answer.ranked)
        self.scores.append(answer.gained)
        self.bias += answer.ranked - answer.gained
        if answer.symbol == EOS:
            self.done = True
        else:
            self.tokens.append(answer.symbol)

    def hypothesis(self) -> Hypothesis:
        """Return what was written."""
        assert self.last is not None
        stuck = len(self.scores) == len(self.tokens)
        return Hypothesis(tuple(self.tokens), tuple(self.scores), self.last.ending and not stuck, self.bias, stuck)


@dataclass(frozen=True, eq=False, slots=True)
class _Live:
    """The sentences being written, one row of the state each; some of them may have finished.

    Args:
        rows: in the order of the state's.
        state: of the model.
        rules: for the rows, where there are any but that an output has an end; else None.
        device: of the state.
        first: how many of the first symbols are on the shortlist; 0: there is none.
    """

    rows: list[_Row]
    state: State
    rules: Rules | None
    device: torch.device
    first: int

    @classmethod
    def of(cls, model: Seq2Seq, group: Drafted, first: int) -> Self:
        rules = Rules.of(model, group.batch, group.limits, group.guidance)
        guided = bool(group.guidance)
        rows = [
            _Row(Proposer([*(symbol for symbol in draft if symbol != PAD), EOS]), limit, guided, others)
            for draft, limit, others in zip(
                group.drafts, rules.limits.tolist(), _beyond(first, model, group), strict=True
            )
        ]
        own = rules if guided or rules.grammar else None
        return cls(rows, model.encode(group.batch), own, group.limits.device, first)

    @property
    def going(self) -> list[_Row]:
        """Those that have not finished."""
        return [row for row in self.rows if not row.done]

    @property
    def count(self) -> int:
        """How many have not finished."""
        return len(self.going)

    def join(self, other: Self) -> Self:
        """Return the rows of both without those that have finished; neither has guidance, nor the model a grammar."""
        kept = self._cut()
        return replace(kept, rows=kept.rows + other.rows, state=kept.state.join(other.state))

    def answers(self, output: DecoderOutput, tokens: Tensor, fed: Sequence[int]) -> list[list[_Answer]]:
        """Return for each row what is best after each token fed, given how many these are in Long[N,K] `tokens`."""
        if self.rules is not None:
            return self._ruled_answers(self.rules, output, tokens)
        places = [(row.limit, len(row.tokens) + i) for row, count in zip(self.rows, fed) for i in range(count)]
        limits, written = torch.tensor(places, device=self.device).unbind(1)
        real = tokens != PAD
        number = real.view(-1).cumsum(0).view_as(real) - 1
        shortlist = self._shortlist(fed) if self.first else None
        found: list[_Answer] = []
        most = _SCORED if shortlist is None else max(_SCORED, _SCORES // shortlist.size)
        for start in range(0, len(places), most):
            part = slice(start, start + most)
            said = output.distribution.at(real & (number >= part.start) & (number < part.stop))
            few = None if shortlist is None else shortlist.take(part)
            scores = (said.log_probs() if few is None else said.among(few)).squeeze(1)
            choice = Rules(limits[part], (), NONE).best(scores, written[part], 1)
            found += _listed(choice if few is None else replace(choice, symbols=few.token_ids[choice.symbols]))
        answers = iter(found)
        return [[next(answers) for _ in range(count)] for count in fed]

    def _shortlist(self, fed: Sequence[int]) -> Shortlist:
        """Return the symbols that rows may have after each of the tokens fed: each its own, whatever its company."""
        others = sorted(frozenset().union(*(row.others for row in self.going)))
        column = {symbol: number for number, symbol in enumerate(others)}
        own = torch.zeros(len(self.rows), len(others), dtype=torch.bool)
        for number, (row, count) in enumerate(zip(self.rows, fed, strict=True)):
            if count:
                own[number, [column[symbol] for symbol in row.others]] = True
        own = own.repeat_interleave(torch.tensor(fed), 0).unsqueeze(1)
        return Shortlist(self.first, torch.tensor(others, dtype=torch.long), own).to(self.device)

    def _ruled_answers(self, rules: Rules, output: DecoderOutput, tokens: Tensor) -> list[list[_Answer]]:
        written = torch.tensor([len(row.tokens) for row in self.rows], device=self.device)
        columns = []
        for i in range(tokens.size(1)):
            rules = rules.advance(tokens[:, i]) if i else rules
            columns.append(_listed(rules.best(output.log_probs[:, i], written + i, 1)))
        return [list(row) for row in zip(*columns, strict=True)]

    def after(self, state: State, written: Sequence[Sequence[int]]) -> Self | None:
        """Return the rows after a call, None if all have finished; `written` is what each has written in it."""
        going = self.count
        if not going:
            return None
        rules = self.rules
        if rules is not None:
            for column in zip_longest(*written, fillvalue=PAD):
                rules = rules.advance(torch.tensor(column, device=self.device))
        new = replace(self, state=state, rules=rules)
        return new if len(self.rows) - going <= _FINISHED_SHARE * len(self.rows) else new._cut()

    def _cut(self) -> Self:
        """Return the rows that have not finished."""
        going = [number for number, row in enumerate(self.rows) if not row.done]
        if len(going) == len(self.rows):
            return self
        index = torch.tensor(going, device=self.device)
        rules = None if self.rules is None else self.rules.select(index)
        return replace(self, rows=[self.rows[i] for i in going], state=self.state.select(index), rules=rules)


def _beyond(first: int, model: Seq2Seq, group: Drafted) -> list[frozenset[int]]:
    """Return for each sentence the symbols of its draft, and of its inputs in the same vocabulary, from `first` on."""
    if not first:
        return [frozenset()] * len(group.drafts)
    vocabularies = model.spec.vocabularies
    same = [name for name in model.spec.inputs if vocabularies.streams[name] == vocabularies.target]
    texts = [group.drafts, *(group.batch.streams[name].ids.tolist() for name in same)]
    return [frozenset(symbol for text in row for symbol in text if symbol >= first) for row in zip(*texts, strict=True)]


def _listed(choice: Choice) -> list[_Answer]:
    values = choice.symbols[:, 0], choice.ranked[:, 0], choice.gained[:, 0], choice.ending
    return list(map(_Answer, *(value.tolist() for value in values)))
