"""A model that writes given outputs whatever its weights, for decoding benchmarks."""

from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq, State
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch, DecoderOutput, Shortlist
from postedit.nn.heads import SoftmaxDistribution
from postedit.nn.tensors import at_least_float

FAVOUR = 20.0  # added to the logit of the token to write


class Favouring(Seq2Seq["FavouringState"]):
    """A model that gives the targets of a batch a probability of about 1, whatever its weights; it counts its calls."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model, self.spec, self.calls = model, model.spec, 0
        self.device = next(model.parameters()).device

    def encode(self, batch: Batch) -> "FavouringState":
        """Encode a batch; its targets are the outputs to favour."""
        assert batch.target is not None
        return FavouringState(self.model.encode(batch), batch.target.ids, torch.zeros_like(batch.target.ids[:, 0]), 0)

    def decode(self, tokens: Tensor, state: "FavouringState") -> tuple[DecoderOutput, "FavouringState"]:
        """Read K more target tokens Long[N,K], and predict the token after each of them."""
        self.calls += 1
        count = tokens.size(1)
        output, inner = self.model.decode(tokens, state.inner)
        places = (state.read.unsqueeze(1) + torch.arange(count, device=self.device)).clamp(max=state.wanted.size(1) - 1)
        distribution = FavouringDistribution(
            cast(SoftmaxDistribution, output.distribution), state.wanted.gather(1, places)
        )
        after = FavouringState(inner, state.wanted, state.read + count, count)
        return DecoderOutput(distribution, output.attention), after


@dataclass(frozen=True, eq=False)
class FavouringState:
    """The state of the model, the targets, the number of tokens read in each row, and that of the last call."""

    inner: State
    wanted: Tensor
    read: Tensor
    last: int

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.inner.select(rows), self.wanted[rows], self.read[rows], self.last)

    def rollback(self, keep: Tensor) -> Self:
        """Return the state as if the last call had read only the first `keep` Long[N] tokens of each row."""
        return type(self)(self.inner.rollback(keep), self.wanted, self.read - self.last + keep, 0)

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        longest = max(self.wanted.size(1), other.wanted.size(1))
        wanted = [
            torch.nn.functional.pad(part, (0, longest - part.size(1)), value=EOS)
            for part in (self.wanted, other.wanted)
        ]
        return type(self)(self.inner.join(other.inner), torch.cat(wanted), torch.cat([self.read, other.read]), 0)


@dataclass(frozen=True, eq=False)
class FavouringDistribution:
    """A distribution with `FAVOUR` added to the logit of one token at each position: `favoured` Long[N,K]."""

    inner: SoftmaxDistribution
    favoured: Tensor

    def log_probs(self) -> Tensor:
        """Return the log-probabilities Float[N,K,V], with the favoured tokens raised."""
        logits, chosen = self.inner.logits(), self.favoured.unsqueeze(-1)
        raised = logits.scatter_add_(-1, chosen, torch.full_like(chosen, FAVOUR, dtype=logits.dtype))
        return raised.log_softmax(-1, dtype=at_least_float(logits.dtype))

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return Float[N,K,C], the log-probabilities of the tokens of a shortlist, with the favoured ones raised."""
        scores, chosen = self.inner.among(shortlist), self.favoured
        beyond = shortlist.first + torch.searchsorted(shortlist.others, chosen)
        column = torch.where(chosen < shortlist.first, chosen, beyond).clamp(max=shortlist.size - 1).unsqueeze(-1)
        raised = scores.gather(-1, column) + FAVOUR
        total = torch.logaddexp(torch.log1p(-(raised - FAVOUR).exp()), raised)
        return scores.scatter_(-1, column, raised).sub_(total)

    def at(self, mask: Tensor) -> Self:
        """Return the M distributions where `mask` Bool[N,K] is true, in order, as [M,1]."""
        return type(self)(self.inner.at(mask), self.favoured[mask].unsqueeze(1))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> Any:
        """Raise an error: this distribution is not for training."""
        raise NotImplementedError
