"""Beam search on tensors, without Python loops over sentences or hypotheses until the outputs are returned."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import AttentionKey, Batch
from postedit.search.coverage import Coverage
from postedit.search.guidance import NO_GUIDANCE, Goal, Guidance
from postedit.search.hypothesis import STUCK, Hypothesis, require_possible
from postedit.search.rules import Rules


@torch.inference_mode()
def beam_search(
    model: Seq2Seq, batch: Batch, limits: Tensor, settings: SearchConfig, guidance: Guidance = NO_GUIDANCE
) -> list[list[Hypothesis]]:
    """Return up to `settings.n_best` hypotheses per sentence, best first by normalised score.

    Outputs have at most `limits` Long[B] tokens. If guidance allows no output, a sentence has only `STUCK`. A model
    whose log-probabilities are NaN raises a ModelFolderError, as in greedy search.

    In each step, those of a sentence's `beam` best continuations that end in EOS are finished. The `beam` best of the
    continuations that do not end stay alive, so finished hypotheses do not take up places in the beam. A sentence is
    done when `patience` times `beam` hypotheses have finished (Kasai et al. 2022). It is done earlier if no live
    hypothesis can still be among the n best (Huang et al. 2017, here for normalised scores), which does not change the
    n best. Done sentences leave the batch.

    If guidance has goals, their proposals are added to the continuations, and the beam is divided between groups of
    hypotheses that are equally far from the goals (dynamic beam allocation, Post and Vilar 2018; on tensors, Hu et al.
    2019).
    """
    price = settings.coverage_penalty
    coverage = Coverage.of(model, batch, price) if price else None
    live = _Live.start(model, batch, Rules.of(model, batch, limits, guidance), settings.beam, coverage)
    finished = _Finished.none(batch.rows, settings, limits.device)
    trace, damaged = _Trace(), torch.zeros((), dtype=torch.bool, device=limits.device)
    while len(live.sentences):
        output, state = model.decode(live.tokens.view(-1, 1), live.state)
        live = live.attending(output.attention)
        candidates = live.candidates(output.log_probs[:, 0], trace.length)
        damaged = damaged | candidates.totals.isnan().any()
        finished.add(live.sentences, candidates, trace.length)
        live = live.onward(state, candidates, finished, trace)
    found = finished.hypotheses(trace, biased=bool(guidance.biases) or coverage is not None)
    if bool(damaged):
        require_possible(math.nan)
    if not guidance:
        for hypotheses in found:
            require_possible(hypotheses[0].score if hypotheses else -math.inf)
    return [hypotheses or [STUCK] for hypotheses in found]


class _Candidates(NamedTuple):
    """Continuations of the hypotheses of A sentences, best first."""

    totals: Tensor  # Float[A,C], log-probability plus biases, summed over all tokens; -inf where not allowed
    parents: Tensor  # Long[A,C], index in the beam of the hypothesis that is continued
    tokens: Tensor  # Long[A,C], the token that continues it
    gained: Tensor  # Float[A,C], log-probability of the token
    at_limit: Tensor  # Bool[A,C], whether only tokens that lead to the end were allowed

    def take(self, columns: Tensor) -> Self:
        """Return the candidates in the given columns Long[A,M] of each sentence."""
        return type(self)(*(part.gather(1, columns) for part in self))

    @property
    def ends(self) -> Tensor:
        """Bool[A,C]: whether the continuation ends its hypothesis."""
        return (self.tokens == EOS) & (self.totals > -math.inf)


@dataclass(frozen=True, eq=False, slots=True)
class _Live:
    """The live hypotheses: `beam` adjacent rows for each of A sentences."""

    state: State  # of the model, A*beam rows
    rules: Rules  # A*beam rows
    sentences: Tensor  # Long[A], index in the batch
    tokens: Tensor  # Long[A,beam], the last token of each hypothesis
    totals: Tensor  # Float[A,beam], log-probability plus biases; -inf where a sentence has fewer hypotheses
    coverage: Coverage | None = None  # A*beam rows, if there is a coverage penalty

    @classmethod
    def start(cls, model: Seq2Seq, batch: Batch, rules: Rules, beam: int, coverage: Coverage | None) -> "_Live":
        count, device = batch.rows, rules.limits.device
        sentences = torch.arange(count, device=device)
        rows = sentences.repeat_interleave(beam)
        first_only = torch.full((count, beam), -math.inf, device=device, dtype=torch.float64)
        first_only[:, 0] = 0.0
        tokens = torch.full((count, beam), BOS, device=device)
        covered = None if coverage is None else coverage.select(rows)
        return cls(model.encode(batch).select(rows), rules.select(rows), sentences, tokens, first_only, covered)

    def attending(self, attention: Mapping[AttentionKey, Tensor]) -> "_Live":
        """Return the hypotheses with the coverage penalty of their latest attention Float[A*beam,1,S] deducted."""
        if self.coverage is None:
            return self
        coverage, paid = self.coverage.after(attention)
        return replace(self, coverage=coverage, totals=self.totals + paid.view_as(self.totals))

    def candidates(self, log_probs: Tensor, length: int) -> _Candidates:
        """Return the 2 * beam best continuations, given log_probs Float[A*beam,V] after `length` tokens.

        At most one continuation of each hypothesis ends it, so at least `beam` of these stay alive.
        """
        count, beam = self.totals.shape
        best = self.rules.best(log_probs, length, 2 * beam)
        tokens, gained = best.tokens.view(count, -1), best.gained.view(count, -1)
        totals = (self.totals.unsqueeze(2) + best.ranked.view(count, beam, -1)).view(count, -1)
        goals = self.rules.guidance.goals
        totals, columns = totals.topk(totals.size(1) if goals else 2 * beam, 1)
        parents = columns // best.tokens.size(1)
        at_limit = best.ending.view(count, beam).gather(1, parents)
        found = _Candidates(totals, parents, tokens.gather(1, columns), gained.gather(1, columns).double(), at_limit)
        return self._shared_out(found, goals) if goals else found

    def onward(self, state: State, candidates: _Candidates, finished: "_Finished", trace: "_Trace") -> "_Live":
        """Return the live hypotheses, each longer by one token, of the sentences that are not done."""
        beam = self.totals.size(1)
        alive = candidates.take(candidates.ends.long().sort(dim=1, stable=True).indices[:, :beam])
        done = finished.done(self.sentences, alive.totals.amax(1), self.rules.limits.view(-1, beam)[:, 0])
        kept = (~done).nonzero().squeeze(1)
        sentences, totals = self.sentences[kept], alive.totals[kept]
        parents, tokens = alive.parents[kept], alive.tokens[kept]
        trace.add(_Step(parents, tokens, alive.gained[kept]), sentences, len(finished.counts))
        rows = (kept.unsqueeze(1) * beam + parents).view(-1)
        rules, coverage = self.rules.select(rows).advance(tokens.view(-1)), self.coverage
        covered = None if coverage is None else coverage.select(rows)
        return _Live(state.select(rows), rules, sentences, tokens, totals, covered)

    def _shared_out(self, candidates: _Candidates, goals: Sequence[Goal]) -> _Candidates:
        """Return 2 * beam candidates, taken in turn from the groups with the same number of tokens to their goals."""
        count, beam = self.totals.shape
        rows = torch.arange(count, device=self.totals.device).unsqueeze(1) * beam + candidates.parents
        away = torch.zeros_like(candidates.tokens)
        for goal in goals:
            away = away + goal.select(rows.view(-1)).advance(candidates.tokens.view(-1)).to_end().view_as(away)
        possible = candidates.totals > -math.inf
        same = away.unsqueeze(2) == away.unsqueeze(1)
        turn = same.tril(-1).sum(2).masked_fill(~possible, away.size(1))
        return candidates.take(turn.sort(dim=1, stable=True).indices[:, : 2 * beam])


class _Step(NamedTuple):
    """One step of B sentences: parent (index in beam), token and log-probability of each hypothesis, [B,beam] each."""

    parents: Tensor
    tokens: Tensor
    gained: Tensor


@dataclass(frozen=True, slots=True)
class _Trace:
    """The steps so far, from which the tokens of hypotheses are read backwards."""

    steps: list[_Step] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Number of tokens of the live hypotheses."""
        return len(self.steps)

    def add(self, step: _Step, sentences: Tensor, batch: int) -> None:
        """Add a step of the live `sentences` Long[A], filled up with zeros to all `batch` sentences."""
        if len(sentences) < batch:
            step = _Step(*(part.new_zeros(batch, part.size(1)).index_copy_(0, sentences, part) for part in step))
        self.steps.append(step)

    def read(self, places: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens Long[B,M,T] and log-probabilities Float[B,M,T] of M hypotheses per sentence, padded.

        `places` Long[B,M] are their indices in the beam after their last token, `lengths` Long[B,M] their lengths.
        """
        shape = (*places.shape, self.length)
        tokens = torch.full(shape, PAD, device=places.device)
        gained = torch.zeros(shape, dtype=torch.float64, device=places.device)
        for at, step in reversed(list(enumerate(self.steps))):
            inside = at < lengths
            tokens[..., at] = torch.where(inside, step.tokens.gather(1, places), PAD)
            gained[..., at] = torch.where(inside, step.gained.gather(1, places), 0.0)
            places = torch.where(inside, step.parents.gather(1, places), places)
        return tokens, gained


class _Ended(NamedTuple):
    """Finished hypotheses, best first; all tensors are [B,beam]."""

    ranks: Tensor  # Float, normalised totals; -inf where there are fewer than `beam`
    totals: Tensor  # Float, log-probability plus biases
    lengths: Tensor  # Long, number of tokens without EOS
    places: Tensor  # Long, index in the beam before EOS
    gained: Tensor  # Float, log-probability of EOS
    at_limit: Tensor  # Bool, whether only tokens that lead to the end were allowed


@dataclass(slots=True)
class _Finished:
    """The best finished hypotheses of all B sentences, and the number of all finished ones, Long[B]."""

    settings: SearchConfig
    best: _Ended
    counts: Tensor

    @classmethod
    def none(cls, batch: int, settings: SearchConfig, device: torch.device) -> "_Finished":
        shape = (batch, settings.beam)
        scores = torch.full(shape, -math.inf, dtype=torch.float64, device=device)
        numbers = torch.zeros(shape, dtype=torch.long, device=device)
        best = _Ended(scores, scores, numbers, numbers, scores, numbers.bool())
        return cls(settings, best, numbers[:, 0])

    def add(self, sentences: Tensor, candidates: _Candidates, length: int) -> None:
        """Add those of the first `beam` candidates of `sentences` Long[A] that end, after `length` tokens."""
        beam = self.settings.beam
        first = _Candidates(*(part[:, :beam] for part in candidates))
        ends = first.ends
        if not bool(ends.any()):
            return
        ranks = (first.totals / self.settings.normaliser(length + 1)).masked_fill(~ends, -math.inf)
        lengths = torch.full_like(first.parents, length)
        new = _Ended(ranks, first.totals, lengths, first.parents, first.gained, first.at_limit)
        both = _Ended(*(torch.cat([old[sentences], part], 1) for old, part in zip(self.best, new)))
        columns = both.ranks.topk(beam, 1).indices
        self.best = _Ended(
            *(old.index_copy(0, sentences, part.gather(1, columns)) for old, part in zip(self.best, both))
        )
        self.counts = self.counts.index_add(0, sentences, ends.sum(1))

    def done(self, sentences: Tensor, best_live: Tensor, limits: Tensor) -> Tensor:
        """Return Bool[A], whether each of `sentences` Long[A] is done, given its best live total `best_live` Float[A].

        Totals only fall, and the normaliser grows with the length, so the best total normalised by the largest length
        is an upper bound of all ranks to come.
        """
        worst = self.best.ranks[sentences, self.settings.n_best - 1]
        enough = self.settings.patience * self.settings.beam
        bound = best_live / self.settings.normaliser((limits + 1).double())
        return ~(best_live > -math.inf) | (self.counts[sentences] >= enough) | (worst >= bound)

    def hypotheses(self, trace: _Trace, *, biased: bool) -> list[list[Hypothesis]]:
        """Return the n best of each sentence, best first."""
        best = _Ended(*(part[:, : self.settings.n_best] for part in self.best))
        possible, lengths, at_limit = (part.tolist() for part in (best.ranks > -math.inf, best.lengths, best.at_limit))
        written, gained = (part.tolist() for part in trace.read(best.places, best.lengths))
        last, totals = best.gained.tolist(), best.totals.tolist()
        result: list[list[Hypothesis]] = []
        for row in range(len(lengths)):
            result.append([])
            for place, length in enumerate(lengths[row]):
                if possible[row][place]:
                    scores = (*gained[row][place][:length], last[row][place])
                    bias = totals[row][place] - sum(scores) if biased else 0.0
                    tokens = tuple(written[row][place][:length])
                    result[-1].append(Hypothesis(tokens, scores, at_limit[row][place], bias))
        return result
