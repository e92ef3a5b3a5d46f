"""Beam search, all of it in tensors: no loop over sentences or hypotheses until the outputs are handed over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.search.guidance import NONE, Goal, Guidance
from postedit.search.hypothesis import STUCK, Hypothesis
from postedit.search.limits import require_possible
from postedit.search.rules import Rules


@torch.inference_mode()
def beam_search(
    model: Seq2Seq, batch: Batch, limits: Tensor, settings: SearchConfig, guidance: Guidance = NONE
) -> list[list[Hypothesis]]:
    """Return up to `settings.n_best` hypotheses a sentence, best first by normalised score.

    At every step the `beam` best continuations of a sentence count: those that end are finished, the best `beam` of
    those that go on stay alive, so that finished hypotheses take no place in the beam. A sentence is done when `beam`
    hypotheses have finished: first come, first served, in the terms of Kasai et al. (2022, "A call for clarity in
    beam search: how it works and when it stops"), with a patience of 1. It is done earlier if no live hypothesis can
    still be among the n best, whatever it goes on with (as Huang et al. 2017, "When to finish?", but for normalised
    scores): the n best are those of the rule above. Done sentences leave the batch.

    Where guidance has goals, the beam is shared out among hypotheses that are equally far from them (dynamic beam
    allocation, Post and Vilar 2018; in tensors as Hu et al. 2019), and what a goal proposes is among the
    continuations.

    Args:
        model: any model or ensemble.
        batch: B sentences.
        limits: Long[B], how many tokens each output may have.
        settings: of which those of the beam count here.
        guidance: for the B sentences.

    Returns:
        At least one hypothesis a sentence; `STUCK` alone if guidance allows none.

    Raises:
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    live = _Live.start(model, batch, Rules.of(model, batch, limits, guidance), settings.beam)
    finished = _Finished.none(batch.rows, settings, limits.device)
    trace = _Trace()
    while len(live.sentences):
        output, state = model.decode(live.tokens.view(-1, 1), live.state)
        candidates = live.candidates(output.log_probs[:, 0], trace.length)
        finished.add(live.sentences, candidates, trace.length)
        live = live.onward(state, candidates, finished, trace)
    found = finished.hypotheses(trace, biased=bool(guidance.biases))
    if not guidance:
        for hypotheses in found:
            require_possible(hypotheses[0].score if hypotheses else -math.inf)
    return [hypotheses or [STUCK] for hypotheses in found]


class _Candidates(NamedTuple):
    """Continuations of each of A sentences, the better ones first.

    totals: Float[A,C], log-probability and biases of all symbols; -inf for what may not be written.
    parents: Long[A,C], the place in the beam of what is continued.
    symbols, gained: Long[A,C] and Float[A,C], the symbol and its log-probability.
    at_limit: Bool[A,C], whether nothing else could be written.
    """

    totals: Tensor
    parents: Tensor
    symbols: Tensor
    gained: Tensor
    at_limit: Tensor

    def take(self, columns: Tensor) -> Self:
        """Return the columns Long[A,M] of each sentence."""
        return type(self)(*(part.gather(1, columns) for part in self))

    @property
    def ends(self) -> Tensor:
        """Bool[A,C]: where the hypothesis is finished."""
        return (self.symbols == EOS) & (self.totals > -math.inf)


@dataclass(frozen=True, eq=False, slots=True)
class _Live:
    """The live hypotheses: `beam` rows for each of the A sentences in the batch, those of a sentence side by side.

    Args:
        state: of the model, A*beam rows.
        rules: A*beam rows.
        sentences: Long[A], index in the batch.
        tokens: Long[A,beam], the last symbol of each hypothesis.
        totals: Float[A,beam], log-probability and biases; -inf where a sentence has fewer hypotheses than the beam.
    """

    state: State
    rules: Rules
    sentences: Tensor
    tokens: Tensor
    totals: Tensor

    @classmethod
    def start(cls, model: Seq2Seq, batch: Batch, rules: Rules, beam: int) -> "_Live":
        count, device = batch.rows, rules.limits.device
        sentences = torch.arange(count, device=device)
        rows = sentences.repeat_interleave(beam)
        first_only = torch.full((count, beam), -math.inf, device=device, dtype=torch.float64)
        first_only[:, 0] = 0.0
        tokens = torch.full((count, beam), BOS, device=device)
        return cls(model.encode(batch).select(rows), rules.select(rows), sentences, tokens, first_only)

    def candidates(self, log_probs: Tensor, length: int) -> _Candidates:
        """Return the best continuations, given log_probs Float[A*beam,V] after `length` symbols.

        At most one continuation a hypothesis ends it, so 2 * beam hold `beam` that go on.
        """
        count, beam = self.totals.shape
        choice = self.rules.best(log_probs, length, 2 * beam)
        symbols, gained = choice.symbols.view(count, -1), choice.gained.view(count, -1)
        totals = (self.totals.unsqueeze(2) + choice.ranked.view(count, beam, -1)).view(count, -1)
        goals = self.rules.guidance.goals
        totals, columns = totals.topk(totals.size(1) if goals else 2 * beam, 1)
        parents = columns // choice.symbols.size(1)
        at_limit = choice.ending.view(count, beam).gather(1, parents)
        found = _Candidates(totals, parents, symbols.gather(1, columns), gained.gather(1, columns).double(), at_limit)
        return self._shared_out(found, goals) if goals else found

    def onward(self, state: State, candidates: _Candidates, finished: "_Finished", trace: "_Trace") -> "_Live":
        """Return the hypotheses that go on, one symbol longer, of the sentences that are not done."""
        beam = self.totals.size(1)
        ends = candidates.ends
        alive = candidates.take(ends.long().sort(dim=1, stable=True).indices[:, :beam])
        totals = alive.totals.masked_fill(alive.ends, -math.inf)
        done = finished.done(self.sentences, totals.amax(1), self.rules.limits.view(-1, beam)[:, 0])
        kept = (~done).nonzero().squeeze(1)
        sentences, totals = self.sentences[kept], totals[kept]
        parents, symbols = alive.parents[kept], alive.symbols[kept]
        trace.add(_Step(parents, symbols, alive.gained[kept]), sentences, len(finished.counts))
        rows = (kept.unsqueeze(1) * beam + parents).view(-1)
        return _Live(state.select(rows), self.rules.select(rows).advance(symbols.view(-1)), sentences, symbols, totals)

    def _shared_out(self, candidates: _Candidates, goals: Sequence[Goal]) -> _Candidates:
        """Return the 2 * beam first candidates, if they take turns by how many symbols their goals are away."""
        count, beam = self.totals.shape
        rows = torch.arange(count, device=self.totals.device).unsqueeze(1) * beam + candidates.parents
        away = torch.zeros_like(candidates.symbols)
        for goal in goals:
            away = away + goal.select(rows.view(-1)).advance(candidates.symbols.view(-1)).to_end().view_as(away)
        possible = candidates.totals > -math.inf
        same = (away.unsqueeze(2) == away.unsqueeze(1)) & possible.unsqueeze(1)
        turn = same.tril(-1).sum(2).masked_fill(~possible, away.size(1))
        return candidates.take(turn.sort(dim=1, stable=True).indices[:, : 2 * beam])


class _Step(NamedTuple):
    """What each live hypothesis of each of B sentences continued, by what symbol, and its log-probability: [B,beam]."""

    parents: Tensor
    symbols: Tensor
    gained: Tensor


@dataclass(frozen=True, slots=True)
class _Trace:
    """The steps so far, from which a hypothesis is read backwards."""

    steps: list[_Step] = field(default_factory=list)

    @property
    def length(self) -> int:
        """How many symbols the live hypotheses have."""
        return len(self.steps)

    def add(self, step: _Step, sentences: Tensor, batch: int) -> None:
        """Add a step of the `sentences` Long[A] out of `batch`."""
        if len(sentences) < batch:
            step = _Step(*(part.new_zeros(batch, part.size(1)).index_copy_(0, sentences, part) for part in step))
        self.steps.append(step)

    def read(self, places: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the symbols Long[B,M,T] and their log-probabilities Float[B,M,T] of hypotheses, padded.

        Args:
            places: Long[B,M], where in the beam each stood when it had all its symbols.
            lengths: Long[B,M], how many those are.
        """
        shape = (*places.shape, self.length)
        symbols = torch.full(shape, PAD, device=places.device)
        gained = torch.zeros(shape, dtype=torch.float64, device=places.device)
        for at, step in reversed(list(enumerate(self.steps))):
            inside = at < lengths
            symbols[..., at] = torch.where(inside, step.symbols.gather(1, places), PAD)
            gained[..., at] = torch.where(inside, step.gained.gather(1, places), 0.0)
            places = torch.where(inside, step.parents.gather(1, places), places)
        return symbols, gained


class _Ended(NamedTuple):
    """Finished hypotheses, the better ones first; all [B,beam].

    ranks: Float, the normalised totals; -inf where there are fewer than `beam`.
    totals: Float, log-probability and biases.
    lengths: Long, symbols without EOS.
    places: Long, where in the beam each stood before EOS.
    gained: Float, the log-probability of EOS.
    at_limit: Bool, whether nothing but EOS could be written.
    """

    ranks: Tensor
    totals: Tensor
    lengths: Tensor
    places: Tensor
    gained: Tensor
    at_limit: Tensor


@dataclass(slots=True)
class _Finished:
    """The finished hypotheses of all B sentences: the best ones, and Long[B], how many there were."""

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
        """Take those of the first `beam` candidates of `sentences` Long[A] that end after `length` symbols."""
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
        """Return Bool[A]: whether the search for `sentences` is over, given the totals Float[A] of the best live ones.

        Totals only fall, and the normaliser grows with the length: so the best total at the longest length is a
        bound of what can come.
        """
        worst = self.best.ranks[sentences, self.settings.n_best - 1]
        bound = best_live / self.settings.normaliser((limits + 1).double())
        return ~(best_live > -math.inf) | (self.counts[sentences] >= self.settings.beam) | (worst >= bound)

    def hypotheses(self, trace: _Trace, *, biased: bool) -> list[list[Hypothesis]]:
        """Return the n best of each sentence, best first."""
        best = _Ended(*(part[:, : self.settings.n_best] for part in self.best))
        possible, lengths, at_limit = (part.tolist() for part in (best.ranks > -math.inf, best.lengths, best.at_limit))
        symbols, gained = (part.tolist() for part in trace.read(best.places, best.lengths))
        last, totals = best.gained.tolist(), best.totals.tolist()
        result: list[list[Hypothesis]] = []
        for row in range(len(lengths)):
            result.append([])
            for place, length in enumerate(lengths[row]):
                if possible[row][place]:
                    scores = (*gained[row][place][:length], last[row][place])
                    bias = totals[row][place] - sum(scores) if biased else 0.0
                    tokens = tuple(symbols[row][place][:length])
                    result[-1].append(Hypothesis(tokens, scores, at_limit[row][place], bias))
        return result
