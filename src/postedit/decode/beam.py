"""Beam search with length normalisation and n-best lists."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from postedit.core.model import Constraint, Seq2Seq, State
from postedit.core.symbols import BOS, EOS
from postedit.core.types import Batch
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import at_limit, permitted, raised, require_possible


@torch.inference_mode()
def beam_search(
    model: Seq2Seq, batch: Batch, limits: Tensor, beam: int, length_penalty: float = 1.0, n_best: int = 1
) -> list[list[Hypothesis]]:
    """Return up to `n_best` hypotheses a sentence, best first by `Hypothesis.normalised(length_penalty)`.

    At every step the `beam` best continuations of a sentence count: those that end are finished, the best
    `beam` of those that go on stay alive. A sentence is done when `beam` hypotheses have finished, or when no
    live one can still be among its n best. Finished sentences leave the batch.

    Args:
        model: any model or ensemble.
        batch: B sentences.
        limits: Long[B], how many tokens each output may have.
        beam: live hypotheses a sentence, at least 1.
        length_penalty: at least 0; 0 ranks by probability alone, 1 by mean log-probability of a symbol.
        n_best: at most `beam`.

    Raises:
        ValueError: if beam, n_best or length_penalty is out of range.
        ModelFolderError: if the model gives nothing that it may write a probability.
    """
    if not 1 <= n_best <= beam or length_penalty < 0.0:
        raise ValueError(f"need 1 <= n_best <= beam and length_penalty >= 0, not {n_best}, {beam}, {length_penalty}")
    limits = raised(limits, model.constraints(batch))
    pools = [_Pool(beam, n_best, length_penalty, limit) for limit in limits.tolist()]
    live = _Live.start(model, batch, limits, beam)
    while live.sentence:
        output, live.state = model.decode(live.tokens.view(-1, 1), live.state)
        live.step(output.log_probs[:, 0], pools)
    for pool in pools:
        require_possible(max((hypothesis.score for hypothesis in pool.finished), default=-math.inf))
    return [pool.best() for pool in pools]


@dataclass
class _Pool:
    """The finished hypotheses of one sentence."""

    beam: int
    n_best: int
    length_penalty: float
    limit: int
    finished: list[Hypothesis] = field(default_factory=list)

    def best(self) -> list[Hypothesis]:
        """Return the n best of them, best first."""
        return sorted(self.finished, key=self._rank, reverse=True)[: self.n_best]

    def done(self, best_live_score: float) -> bool:
        """Whether the search for this sentence is over, given the score of its best live hypothesis."""
        if not best_live_score > -math.inf or len(self.finished) >= self.beam:
            return True
        if len(self.finished) < self.n_best:
            return False
        # Scores only fall, and dividing a negative number by a greater length raises it: so this is a bound.
        bound = best_live_score / math.pow(self.limit + 1, self.length_penalty)
        return self._rank(self.best()[-1]) >= bound

    def _rank(self, hypothesis: Hypothesis) -> float:
        return hypothesis.normalised(self.length_penalty)


@dataclass
class _Live:
    """The live hypotheses: `beam` rows for each sentence still in the batch, those of a sentence side by side.

    Args:
        state: of the model, A*beam rows.
        sentence: index in the batch of each of the A sentences.
        limits: Long[A].
        tokens: Long[A,beam], the last symbol of each hypothesis.
        scores: Float[A,beam], its log-probability; -inf where a sentence has fewer hypotheses than the beam.
        history: Long[A,beam,L], all symbols so far.
        history_scores: Float[A,beam,L], their log-probabilities.
        constraints: of the model, A*beam rows.
    """

    state: State
    sentence: list[int]
    limits: Tensor
    tokens: Tensor
    scores: Tensor
    history: Tensor
    history_scores: Tensor
    constraints: list[Constraint]

    @classmethod
    def start(cls, model: Seq2Seq, batch: Batch, limits: Tensor, beam: int) -> "_Live":
        device, count = limits.device, batch.rows
        rows = torch.arange(count, device=device).repeat_interleave(beam)
        first_only = torch.full((count, beam), -math.inf, device=device, dtype=torch.float64)
        first_only[:, 0] = 0.0
        return cls(
            model.encode(batch).select(rows),
            list(range(count)),
            limits,
            torch.full((count, beam), BOS, device=device),
            first_only,
            torch.empty((count, beam, 0), dtype=torch.long, device=device),
            torch.empty((count, beam, 0), dtype=torch.float64, device=device),
            [constraint.select(rows) for constraint in model.constraints(batch)],
        )

    def step(self, log_probs: Tensor, pools: list[_Pool]) -> None:
        """Extend all hypotheses by one symbol, given log_probs Float[A*beam,V]; hand the finished ones to `pools`."""
        count, beam = self.scores.shape
        ending = at_limit(self.limits.repeat_interleave(beam), self.history.size(2), self.constraints)
        step_scores = permitted(log_probs, ending, self.constraints).to(self.scores.dtype)
        vocabulary = step_scores.size(1)
        totals = (self.scores.view(-1, 1) + step_scores).view(count, -1)
        # At most `beam` of the candidates can be EOS, so twice as many hold enough that go on.
        candidates, index = totals.topk(min(2 * beam, totals.size(1)), 1)
        parents, symbols = index // vocabulary, index % vocabulary
        gained = step_scores.view(count, -1).gather(1, index)
        ends = symbols == EOS
        self._finish(ends & (candidates > -math.inf), parents, gained, pools)
        self._continue(candidates.masked_fill(ends, -math.inf), parents, symbols, gained, pools)

    def _finish(self, ends: Tensor, parents: Tensor, gained: Tensor, pools: list[_Pool]) -> None:
        beam, length = self.scores.size(1), self.history.size(2)
        for i, j in ends[:, :beam].nonzero().tolist():
            parent = parents[i, j]
            pool = pools[self.sentence[i]]
            scores = (*self.history_scores[i, parent].tolist(), gained[i, j].item())
            pool.finished.append(Hypothesis(tuple(self.history[i, parent].tolist()), scores, length >= pool.limit))

    def _continue(
        self, candidates: Tensor, parents: Tensor, symbols: Tensor, gained: Tensor, pools: list[_Pool]
    ) -> None:
        beam = self.scores.size(1)
        scores, chosen = candidates.topk(min(beam, candidates.size(1)), 1)
        best = scores[:, 0].tolist()
        going = [i for i, index in enumerate(self.sentence) if not pools[index].done(best[i])]
        kept = torch.tensor(going, dtype=torch.long, device=scores.device)
        chosen, scores = chosen[kept], scores[kept]
        parents, symbols, gained = (part[kept].gather(1, chosen) for part in (parents, symbols, gained))
        rows = (kept.unsqueeze(1) * beam + parents).view(-1)
        self.sentence = [self.sentence[i] for i in going]
        self.limits, self.tokens, self.scores = self.limits[kept], symbols, scores
        self.history = torch.cat([self._ancestors(self.history, kept, parents), symbols.unsqueeze(2)], 2)
        self.history_scores = torch.cat([self._ancestors(self.history_scores, kept, parents), gained.unsqueeze(2)], 2)
        self.state = self.state.select(rows)
        self.constraints = [c.select(rows).advance(symbols.view(-1)) for c in self.constraints]

    @staticmethod
    def _ancestors(history: Tensor, kept: Tensor, parents: Tensor) -> Tensor:
        return history[kept.unsqueeze(1), parents]
