"""The coverage penalty (Gehrmann et al. 2018), a price for attending to the same tokens repeatedly."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS
from postedit.core.types import AttentionKey, Batch


@dataclass(frozen=True, eq=False, slots=True)
class Coverage:
    """The attention that each input token has received so far, for N hypotheses.

    A hypothesis pays b (sum over input tokens of max(1, sum over steps of attention to the token)) - b n, where b is
    the price and n the number of input tokens: b nats for each unit of attention beyond 1 on a token. It pays at each
    step, before length normalisation, as in the authors' search (their text adds the penalty to the normalised score).
    The EOS of an input is not counted, because models rest their attention there.
    """

    key: AttentionKey  # the attention that is counted
    price: float  # b, in nats
    counted: Tensor  # Bool[N,S], True at tokens of the input, except EOS
    total: Tensor  # Float[N,S], attention received so far

    @classmethod
    def of(cls, model: Seq2Seq, batch: Batch, price: float) -> Self:
        """Return the coverage of a batch before its first step.

        Raises:
            DataError: if the model has neither copy nor soft attention.
        """
        key = model.spec.coverage_key
        if key is None:
            raise DataError("coverage_penalty needs soft attention, which this model does not have: leave it out")
        streams = [batch.streams[name] for name in key.streams]
        counted = torch.cat([stream.mask & (stream.ids != EOS) for stream in streams], 1)
        return cls(key, price, counted, torch.zeros_like(counted, dtype=torch.float64))

    def after(self, attention: Mapping[AttentionKey, Tensor]) -> tuple[Self, Tensor]:
        """Return the coverage after a step with attention Float[N,1,S], and the step's penalty Float[N], at most 0."""
        total = self.total + attention[self.key][:, 0].to(self.total.dtype).masked_fill(~self.counted, 0.0)
        paid = (total.clamp(min=1.0) - self.total.clamp(min=1.0)).sum(1)
        return type(self)(self.key, self.price, self.counted, total), -self.price * paid

    def of_outputs(self, attention: Mapping[AttentionKey, Tensor], steps: Tensor) -> Tensor:
        """Return the penalties Float[N] of whole outputs, at most 0.

        `attention` is Float[N,K,S] by key; `steps` Bool[N,K] is True at the steps of each output, False at padding.
        """
        weights = attention[self.key].to(self.total.dtype) * steps.unsqueeze(2)
        total = weights.sum(1).masked_fill(~self.counted, 0.0)
        return -self.price * (total - 1.0).clamp(min=0.0).sum(1)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.key, self.price, self.counted[rows], self.total[rows])
