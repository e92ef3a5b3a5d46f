"""The rules that decide which tokens may come next: model grammar, guidance and length limits combined."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from postedit.core.model import Constraint, Seq2Seq, Writes
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import Batch
from postedit.search.guidance import NO_GUIDANCE, Guidance

_NEVER_WRITTEN: Final = len((PAD, BOS))  # the first tokens of every vocabulary


def length_limits(
    batch: Batch, ratio: float, extra: int, writes: Writes = "tokens", longest: int | None = None
) -> Tensor:
    """Return Long[B], the maximum number of tokens of each output, without EOS: `ratio` times its input plus `extra`.

    The input is mt if there is one, else the longest stream of the sentence. If the model writes STEPs, those that mt
    can take are added. With EOS, an output has at most `longest` tokens; None: no such limit.
    """
    streams = [batch.streams["mt"]] if "mt" in batch.streams else list(batch.streams.values())
    lengths = torch.stack([stream.lengths for stream in streams]).amax(0)
    limits = (lengths * ratio).ceil().long() + extra
    limits = limits + batch.streams["mt"].lengths - 1 if writes != "tokens" else limits
    return limits if longest is None else limits.clamp(max=longest - 1)


@dataclass(frozen=True, eq=False, slots=True)
class NextTokens:
    """The best next tokens of each of N rows, best first, then the proposals of goals in no order; C in all."""

    tokens: Tensor  # Long[N,C]
    # Float[N,C], log-probability plus biases, by which the tokens are ranked; -inf for tokens that are not allowed
    ranked: Tensor
    gained: Tensor  # Float[N,C], log-probability under the model
    ending: Tensor  # Bool[N], True for rows that have room left only for the tokens that lead to their end


@dataclass(frozen=True, eq=False, slots=True)
class Rules:
    """The rules for the next token of N rows, given the tokens that each row has written.

    Grammar and guidance count different tokens (STEPs and text), so the numbers that they require before EOS are added.
    """

    limits: Tensor  # Long[N], maximum number of tokens of each output, without EOS
    grammar: tuple[Constraint, ...]  # constraints of the model
    guidance: Guidance  # constraints and biases of the user

    @classmethod
    def of(cls, model: Seq2Seq, batch: Batch, limits: Tensor, guidance: Guidance = NO_GUIDANCE) -> Self:
        """Return the rules at the start; `limits` Long[B] are raised to the tokens that must come before EOS."""
        rules = cls(limits, tuple(model.constraints(batch)), guidance)
        return cls(torch.maximum(limits, rules.to_end()), rules.grammar, guidance)

    def to_end(self) -> Tensor:
        """Return Long[N], the least number of tokens that each row must write before EOS is allowed."""
        needed = torch.zeros_like(self.limits)
        for constraint in self.grammar:
            needed = torch.maximum(needed, constraint.to_end())
        for constraint in self.guidance.constraints:
            needed = needed + constraint.to_end()
        return needed

    def best(self, log_probs: Tensor, written: Tensor | int, count: int) -> NextTokens:
        """Return the `count` best next tokens (fewer if V is smaller), followed by those that goals propose.

        A row at its length limit may only end, or write the tokens that constraints require before its end. Tokens that
        would move the end beyond the limit are not allowed. Forced tokens also get the log-probability that the model
        gives them, so the score of every hypothesis is that of the model. `log_probs` Float[N,V] are the model's;
        `written` is the number of tokens that each row has written, Long[N], or one number for all rows.
        """
        ranked = self._ranked(log_probs)
        values, tokens = _highest(ranked, count)
        for goal in self.guidance.goals:
            proposals = goal.proposals()
            known = (proposals.unsqueeze(2) == tokens.unsqueeze(1)).any(2)
            # Some rows are padded with EOS several times, which would end their hypotheses several times.
            known |= (proposals.unsqueeze(2) == proposals.unsqueeze(1)).tril(-1).any(2)
            values = torch.cat([values, ranked.gather(1, proposals).masked_fill(known, -math.inf)], 1)
            tokens = torch.cat([tokens, proposals], 1)
        ending = self.limits <= written + self.to_end()
        if self.guidance.constraints:
            values = values.masked_fill(self._too_far(tokens, written), -math.inf)
            ending = ending | (values.amax(1) == -math.inf)
        if bool(ending.any()):
            last, at_last = self._last(ranked, written, values.size(1))
            values = torch.where(ending.unsqueeze(1), at_last, values)
            tokens = torch.where(ending.unsqueeze(1), last, tokens)
        return NextTokens(tokens, values, log_probs.gather(1, tokens), ending)

    def best_one(self, log_probs: Tensor, written: Tensor | int) -> NextTokens:
        """Return the best next token of each row (C = 1); if it is too far, the second best, as in a beam of one."""
        if not self.guidance.constraints:
            return self.best(log_probs, written, 1)
        found = self.best(log_probs, written, 2)
        column = found.ranked.argmax(1, keepdim=True)
        tokens, ranked, gained = (part.gather(1, column) for part in (found.tokens, found.ranked, found.gained))
        return NextTokens(tokens, ranked, gained, found.ending)

    def draw(self, log_probs: Tensor, written: int, temperature: float, top_k: int) -> NextTokens:
        """Return one next token for each row, drawn at random from the `top_k` best allowed ones (0: from all of them).

        `log_probs` Float[N,V] are those of the model; before drawing, they are divided by `temperature`, above 0.
        """
        ranked = self._ranked(log_probs)
        best = ranked[:, _NEVER_WRITTEN:].amax(1, keepdim=True)
        possible = best > -math.inf  # False for NaN too
        weights = ((ranked - best) / temperature).exp_()
        weights[:, :_NEVER_WRITTEN] = 0.0
        if 0 < top_k < weights.size(1):
            weights = weights.masked_fill(weights < weights.topk(top_k, 1).values[:, -1:], 0.0)
        drawn = _drawn(weights.masked_fill_(~possible, 1.0))
        ending = self.limits <= written + self.to_end()
        tokens = torch.where(ending.unsqueeze(1) | ~possible, self._last(ranked, written, 1)[0], drawn)
        return NextTokens(tokens, ranked.gather(1, tokens), log_probs.gather(1, tokens), ending)

    def advance(self, tokens: Tensor) -> Self:
        """Return the rules after `tokens` Long[N], one per row, have been written; PAD leaves a row as it is."""
        grammar = tuple(constraint.advance(tokens) for constraint in self.grammar)
        return type(self)(self.limits, grammar, self.guidance.advance(tokens))

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        grammar = tuple(constraint.select(rows) for constraint in self.grammar)
        return type(self)(self.limits[rows], grammar, self.guidance.select(rows))

    def _too_far(self, tokens: Tensor, written: Tensor | int) -> Tensor:
        """Return Bool[N,C], True for the `tokens` Long[N,C] after which a row cannot end within its limit.

        A token can move the end further away by lengthening a word: "boot" after "Haus", if "Haus" is required. EOS
        is True only where it is not allowed, or at the limit, where all tokens are.
        """
        rows = torch.arange(len(tokens), device=tokens.device).repeat_interleave(tokens.size(1))
        to_end = self.select(rows).advance(tokens.reshape(-1)).to_end().view_as(tokens)
        room = (self.limits - written - 1).unsqueeze(1)
        return to_end > room

    def _ranked(self, log_probs: Tensor) -> Tensor:
        """Return `log_probs` Float[N,V] plus biases, with -inf for forbidden tokens; the same tensor without rules."""
        constraints: Sequence[Constraint] = (*self.guidance.constraints, *self.grammar)
        for bias in self.guidance.biases:
            log_probs = log_probs + bias.added()
        if not constraints:
            return log_probs
        allowed = constraints[0].allowed()
        for constraint in constraints[1:]:
            allowed = allowed & constraint.allowed()
        return log_probs.masked_fill(~allowed, -math.inf)

    def _last(self, ranked: Tensor, written: Tensor | int, width: int) -> tuple[Tensor, Tensor]:
        """Return the tokens Long[N,width] that lead to the end soonest, best first, and their values in `ranked`.

        If a row has fewer than `width`, its first token is repeated, with the value -inf.
        """
        last = self._closing()
        values = ranked.gather(1, last)
        if last.size(1) > 1:
            others = last[:, 1:]
            useless = others == last[:, :1]
            if self.guidance.constraints:
                useless = useless | self._too_far(others, written)
            values[:, 1:].masked_fill_(useless, -math.inf)
            values, order = values.sort(dim=1, descending=True, stable=True)
            last = last.gather(1, order)
        missing = max(0, width - last.size(1))
        last = torch.cat([last, last[:, :1].expand(-1, missing)], 1)[:, :width]
        return last, F.pad(values, (0, missing), value=-math.inf)[:, :width]

    def _closing(self) -> Tensor:
        """Return Long[N,C], the tokens that lead to the end soonest; EOS where nothing is required before it."""
        last = torch.full_like(self.limits, EOS).unsqueeze(1)
        for constraint in (*self.guidance.constraints, *self.grammar):
            closing = constraint.closing()
            last = torch.where(last == EOS, closing if closing.dim() == 2 else closing.unsqueeze(1), last)
        return last


def _highest(ranked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` highest values of each row (fewer if V is smaller), and their tokens, without PAD and BOS."""
    if count == 1 and ranked.device.type == "cpu" and ranked.size(1) > _NEVER_WRITTEN:
        # NumPy takes a twentieth of the time of topk; it returns the first of equal values.
        tokens = torch.from_numpy(ranked[:, _NEVER_WRITTEN:].numpy().argmax(1)).unsqueeze(1) + _NEVER_WRITTEN
        return ranked.gather(1, tokens), tokens
    size = ranked.size(1)
    # Tokens that are never written may be among the best, so as many more are taken, and the former then removed.
    values, tokens = ranked.topk(min(count + _NEVER_WRITTEN, size), 1)
    values = values.masked_fill(tokens <= BOS, -math.inf)
    values, order = values.topk(min(count, size), 1)
    return values, tokens.gather(1, order)


def _drawn(weights: Tensor) -> Tensor:
    """Draw one column Long[N,1] for each row of `weights` Float[N,V], with probabilities proportional to them.

    This inverts the cumulative distribution, because `multinomial` draws a random number for each of the V columns,
    which on a CPU takes as long as running a small model.
    """
    cumulative = weights.cumsum(1, dtype=torch.float64)
    total = cumulative[:, -1:].clone()
    place = (torch.rand_like(total) * total).minimum(total.nextafter(torch.zeros_like(total)))
    # The first column whose cumulative weight exceeds `place`, which is never one of weight 0.
    return torch.searchsorted(cumulative, place, right=True)
