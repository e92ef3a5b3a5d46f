"""Greedy search with mt as draft: the output of greedy search in fewer calls of the model.

Most of a post-edit is the same as its mt, so the next tokens of mt are proposed in one call. The longest prefix that
greedy search would have written is accepted, and the token that it would write in place of the first rejected one is
added; the rest of the call is rolled back. Drafting continues where the output meets mt again. Rows advance
independently, and as sentences finish, others take their rows.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, NamedTuple, Self

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from postedit.core.types import Batch, DecoderOutput, Shortlist
from postedit.search.greedy import greedy
from postedit.search.guidance import NO_GUIDANCE, Guidance
from postedit.search.hypothesis import Hypothesis, require_possible
from postedit.search.proposals import Acceptance, DraftFollower
from postedit.search.rules import NextTokens, Rules

# The fixed cost of a call (reading weights, starting kernels) in units of the cost of a token. It determines the length
# of proposals. It is a constant, not measured at run time, because calls of different widths round differently: the
# same command should give the same output even where the probabilities of two tokens differ only by rounding.
_CALL_COST: Final = {"cpu": 16.0}
_CALL_COST_ACCELERATOR: Final = 1024.0

# Removing finished rows copies the state, so they are removed only when they exceed this share of its rows.
_FINISHED_SHARE: Final = 0.25

# Number of positions whose scores are computed together: enough for an efficient matrix product. With a shortlist, more
# positions are taken together, up to `_SCORES` scores.
_SCORED: Final = 64
_SCORES: Final = 2**21


@dataclass(frozen=True, eq=False, slots=True)
class DraftGroup:
    """Sentences that are encoded together, with their drafts."""

    batch: Batch  # B sentences
    drafts: Sequence[Sequence[int]]  # one per sentence, in target tokens without EOS
    limits: Tensor  # Long[B], maximum number of tokens of each output
    guidance: Guidance = NO_GUIDANCE  # for the B sentences


class DraftSearch:
    """A search with drafts, which learns from each sentence how many tokens to propose for the next one.

    Args:
        model: any model or ensemble; plain greedy search is used for one that is not `parallel`.
        rows: maximum number of sentences searched at a time.
        call_cost: fixed cost of a call, in tokens; None: the default for the model's device.
        shortlist: number of tokens at the beginning of the vocabulary, the most frequent ones, that a sentence may
            write besides those of its draft and inputs; outputs may then differ from greedy search. The special tokens
            are always among them. 0: all tokens.
        ranking: search options by which output and draft are compared; the draft is returned where it ranks higher,
            unless there is guidance or a grammar. Its score comes from the first call, which proposes all of it.
    """

    def __init__(
        self,
        model: Seq2Seq,
        rows: int = 32,
        call_cost: float | None = None,
        shortlist: int = 0,
        ranking: SearchConfig | None = None,
    ) -> None:
        self.model, self.rows, self._given_cost, self._ranking = model, rows, call_cost, ranking
        first = max(shortlist, len(SPECIAL_TOKENS)) if shortlist else 0  # without EOS, no output would end
        self._first = first if first < model.spec.vocabularies.target.size else 0
        self.calls, self.tokens = 0, 0  # calls of `decode` so far, and tokens fed in them
        self._acceptance = Acceptance()

    @torch.inference_mode()
    def __call__(self, groups: Iterable[DraftGroup]) -> Iterator[list[Hypothesis]]:
        """Yield the hypotheses of `greedy` for each group, in order; guidance and a shortlist cannot be combined.

        A group starts as soon as there is room for all of it, so small groups of sentences of similar length keep the
        rows full. A group with guidance, or with more sentences than `rows`, waits until all rows are free.
        """
        if not self.model.spec.parallel:
            yield from (greedy(self.model, group.batch, group.limits, group.guidance) for group in groups)
            return
        waiting = iter(groups)
        coming, taken, live = next(waiting, None), deque[list[_Row]](), None
        while coming or live:
            while coming and (live is None or len(live.going) + coming.batch.rows <= self.rows):
                if live is not None and (live.rules or coming.guidance):
                    break
                arrived = _Live.of(self.model, coming, self._first)
                taken.append(arrived.rows)
                live = arrived if live is None else live.join(arrived)
                coming = next(waiting, None)
            assert live is not None
            live = self._advanced(live)
            while taken and all(row.done for row in taken[0]):
                yield [row.hypothesis(self._ranking) for row in taken.popleft()]

    def _advanced(self, live: "_Live") -> "_Live | None":
        """Return the unfinished rows after one more call, or None if all have finished."""
        cost = self._given_cost
        if cost is None:
            cost = _CALL_COST.get(live.device.type, _CALL_COST_ACCELERATOR)
        for row in live.going:
            if self._ranking is not None and live.rules is None and not row.scores:
                row.propose(len(row.draft))
            else:
                row.propose(self._acceptance.reach(row.follower.context, cost / len(live.going)))
        fed = [[] if row.done else [row.pending, *row.proposal] for row in live.rows]
        width = max(map(len, fed))
        tokens = torch.tensor([call + [PAD] * (width - len(call)) for call in fed], device=live.device)
        output, state = self.model.decode(tokens, live.state)
        answers = live.answers(output, tokens, [len(call) for call in fed])
        self.calls, self.tokens = self.calls + 1, self.tokens + sum(map(len, fed))
        before = [len(row.tokens) for row in live.rows]
        kept = []
        for row, found in zip(live.rows, answers, strict=True):
            agreed = -1
            if not row.done:
                context = row.follower.context
                agreed, rejected = row.accept(found)
                self._acceptance.learn(context, agreed, rejected=rejected)
            kept.append(agreed + 1)
        written = [row.tokens[length:] for row, length in zip(live.rows, before, strict=True)]
        return live.after(state.rollback(torch.tensor(kept, device=live.device)), written)


def draft_decode(
    model: Seq2Seq, batch: Batch, drafts: Sequence[Sequence[int]], limits: Tensor, guidance: Guidance = NO_GUIDANCE
) -> list[Hypothesis]:
    """Return the hypotheses of `greedy`, given a draft for each sentence, in target tokens without EOS."""
    (found,) = DraftSearch(model, batch.rows)([DraftGroup(batch, drafts, limits, guidance)])
    return found


class _Answer(NamedTuple):
    """The best next token at one position."""

    token: int
    ranked: float  # log-probability plus biases, by which it was chosen
    gained: float  # log-probability
    ending: bool  # whether only tokens that lead to the end were allowed
    proposed: float | None = None  # log-probability of the next proposed token, or of EOS after all; None under rules


@dataclass
class _Row:
    """One sentence that is being written."""

    follower: DraftFollower  # follows the draft
    limit: int  # maximum number of tokens of the output
    guided: bool  # whether there is guidance
    others: frozenset[int] = frozenset()  # tokens of its draft and inputs that are not among the first of a shortlist
    tokens: list[int] = field(default_factory=list)  # tokens written so far, without EOS
    scores: list[float] = field(default_factory=list)  # their log-probabilities, and that of EOS once it is written
    bias: float = 0.0  # sum of the biases
    proposal: list[int] = field(default_factory=list)  # tokens proposed in the current call
    draft_scores: tuple[float, ...] = ()  # log-probability of each token of the draft and of EOS; empty if not known
    last: _Answer | None = None  # the last answer, even if its token could not be written
    done: bool = False  # whether the output is finished or stuck

    @property
    def draft(self) -> Sequence[int]:
        """The tokens of the draft, without EOS."""
        return self.follower.draft[:-1]

    @property
    def pending(self) -> int:
        """The last token written (BOS at the start), which the model has not read yet."""
        return self.tokens[-1] if self.tokens else BOS

    def propose(self, reach: int) -> None:
        """Set the proposal to the next tokens of the draft, at most `reach` and within the length limit."""
        self.proposal = self.follower.propose(min(reach, self.limit - len(self.tokens)))

    def accept(self, answers: Sequence[_Answer]) -> tuple[int, bool]:
        """Write the best tokens as long as they agree with the proposal, and one more.

        `answers` are those after `pending` and after each proposed token. Return the number of proposed tokens that
        were accepted, and whether the next one was rejected.
        """
        known = [answer.proposed for answer in answers if answer.proposed is not None]
        if not self.scores and len(known) == len(self.draft) + 1:
            self.draft_scores = tuple(known)
        agreed = 0
        while agreed < len(self.proposal) and answers[agreed].token == self.proposal[agreed] != EOS:
            agreed += 1
        rejected = agreed < len(self.proposal) and answers[agreed].token != self.proposal[agreed]
        for answer in answers[: agreed + 1]:
            self._write(answer)
            if self.done:
                break
        else:
            self.follower.follow(self.tokens, agreed)
        return agreed, rejected

    def _write(self, answer: _Answer) -> None:
        self.last = answer
        if self.guided and answer.ranked == -torch.inf:
            self.done = True
            return
        require_possible(answer.ranked)
        self.scores.append(answer.gained)
        self.bias += answer.ranked - answer.gained
        if answer.token == EOS:
            self.done = True
        else:
            self.tokens.append(answer.token)

    def hypothesis(self, ranking: SearchConfig | None) -> Hypothesis:
        """Return the output, or the draft if `ranking` is given and the draft is the better one."""
        assert self.last is not None
        stuck = len(self.scores) == len(self.tokens)
        ending = self.last.ending and not stuck
        found = Hypothesis(tuple(self.tokens), tuple(self.scores), ending, self.bias, stuck)
        if ranking is None or not self.draft_scores:
            return found
        draft = Hypothesis(tuple(self.draft), self.draft_scores)
        return draft if found.yields_to(draft, ranking) else found


@dataclass(frozen=True, eq=False, slots=True)
class _Live:
    """The sentences that are being written, one per row of the state; some of them may have finished."""

    rows: list[_Row]  # in the order of the state's rows
    state: State  # state of the model
    rules: Rules | None  # rules for the rows; None: there are only length limits
    device: torch.device  # device of the state
    first: int  # number of the vocabulary's first tokens that are on the shortlist; 0: there is no shortlist

    @classmethod
    def of(cls, model: Seq2Seq, group: DraftGroup, first: int) -> Self:
        rules = Rules.of(model, group.batch, group.limits, group.guidance)
        guided, others = bool(group.guidance), _beyond(first, model, group)
        rows = [
            _Row(DraftFollower([*(token for token in draft if token != PAD), EOS]), limit, guided, own)
            for draft, limit, own in zip(group.drafts, rules.limits.tolist(), others, strict=True)
        ]
        kept = rules if guided or rules.grammar else None
        return cls(rows, model.encode(group.batch), kept, group.limits.device, first)

    @property
    def going(self) -> list[_Row]:
        """The unfinished rows."""
        return [row for row in self.rows if not row.done]

    def join(self, other: Self) -> Self:
        """Return the unfinished rows of both; there must be neither guidance nor a grammar."""
        kept = self._cut()
        return replace(kept, rows=kept.rows + other.rows, state=kept.state.join(other.state))

    def answers(self, output: DecoderOutput, tokens: Tensor, fed: Sequence[int]) -> list[list[_Answer]]:
        """Return the answers after each of the `fed` tokens that a row has in `tokens` Long[N,K], by row."""
        if self.rules is not None:
            return self._ruled_answers(self.rules, output, tokens)
        places = [(row.limit, len(row.tokens) + i) for row, count in zip(self.rows, fed) for i in range(count)]
        limits, written = torch.tensor(places, device=self.device).unbind(1)
        proposed = [token for row, count in zip(self.rows, fed) if count for token in (*row.proposal, EOS)]
        wanted = torch.tensor(proposed, device=self.device).unsqueeze(1)
        real = tokens != PAD
        number = real.view(-1).cumsum(0).view_as(real) - 1
        shortlist = self._shortlist(fed) if self.first else None
        found: list[_Answer] = []
        most = _SCORED if shortlist is None else max(_SCORED, _SCORES // shortlist.size)
        for start in range(0, len(places), most):
            part = slice(start, start + most)
            distribution = output.distribution.at(real & (number >= part.start) & (number < part.stop))
            few = None if shortlist is None else shortlist.take(part)
            scores = (distribution.log_probs() if few is None else distribution.among(few)).squeeze(1)
            best = Rules(limits[part], (), NO_GUIDANCE).best_one(scores, written[part])
            columns = wanted[part] if few is None else few.columns(wanted[part])
            gained = scores.gather(1, columns).squeeze(1).tolist()
            found += _listed(best if few is None else replace(best, tokens=few.token_ids[best.tokens]), gained)
        answers = iter(found)
        return [[next(answers) for _ in range(count)] for count in fed]

    def _shortlist(self, fed: Sequence[int]) -> Shortlist:
        """Return the tokens allowed at each fed position, which are only those of its own sentence."""
        others = sorted(frozenset().union(*(row.others for row in self.going)))
        column = {token: number for number, token in enumerate(others)}
        own = torch.zeros(len(self.rows), len(others), dtype=torch.bool)
        for number, (row, count) in enumerate(zip(self.rows, fed, strict=True)):
            if count:
                own[number, [column[token] for token in row.others]] = True
        own = own.repeat_interleave(torch.tensor(fed), 0).unsqueeze(1)
        return Shortlist(self.first, torch.tensor(others, dtype=torch.long), own).to(self.device)

    def _ruled_answers(self, rules: Rules, output: DecoderOutput, tokens: Tensor) -> list[list[_Answer]]:
        written = torch.tensor([len(row.tokens) for row in self.rows], device=self.device)
        columns = []
        for i in range(tokens.size(1)):
            rules = rules.advance(tokens[:, i]) if i else rules
            columns.append(_listed(rules.best_one(output.log_probs[:, i], written + i)))
        return [list(row) for row in zip(*columns, strict=True)]

    def after(self, state: State, written: Sequence[Sequence[int]]) -> Self | None:
        """Return the rows after a call in which each has `written` these tokens; None if all have finished."""
        going = len(self.going)
        if not going:
            return None
        rules = self.rules
        if rules is not None:
            for column in zip_longest(*written, fillvalue=PAD):
                rules = rules.advance(torch.tensor(column, device=self.device))
        new = replace(self, state=state, rules=rules)
        return new if len(self.rows) - going <= _FINISHED_SHARE * len(self.rows) else new._cut()

    def _cut(self) -> Self:
        """Return the unfinished rows."""
        going = [number for number, row in enumerate(self.rows) if not row.done]
        if len(going) == len(self.rows):
            return self
        index = torch.tensor(going, device=self.device)
        rules = None if self.rules is None else self.rules.select(index)
        return replace(self, rows=[self.rows[i] for i in going], state=self.state.select(index), rules=rules)


def _beyond(first: int, model: Seq2Seq, group: DraftGroup) -> list[frozenset[int]]:
    """Return, by sentence, the tokens with ids from `first` on in its draft and its inputs in the target vocabulary."""
    if not first:
        return [frozenset()] * len(group.drafts)
    vocabularies = model.spec.vocabularies
    same = [name for name in model.spec.inputs if vocabularies.streams[name] == vocabularies.target]
    texts = [group.drafts, *(group.batch.streams[name].ids.tolist() for name in same)]
    return [frozenset(token for text in row for token in text if token >= first) for row in zip(*texts, strict=True)]


def _listed(best: NextTokens, proposed: Sequence[float] | None = None) -> list[_Answer]:
    values = best.tokens[:, 0], best.ranked[:, 0], best.gained[:, 0], best.ending
    columns = [value.tolist() for value in values]
    return list(map(_Answer, *columns) if proposed is None else map(_Answer, *columns, proposed))
