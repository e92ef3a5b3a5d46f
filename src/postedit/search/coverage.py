"""The coverage penalty (Gehrmann et al. 2018): attending to the same tokens again and again has a price."""

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
    """The attention that each input token of N hypotheses has had.

    A hypothesis pays b (sum over input tokens of max(1, sum over steps of its attention)) - b n, with b the price and n
    the number of tokens: b nats for each unit of attention beyond 1 on a token. It pays at each step, before its length
    is normalised, as the authors' search does (their text adds the penalty to the normalised score). The end of an
    input is no token of it: models rest there.
    """

    key: AttentionKey
    price: float  # nats
    counted: Tensor  # Bool[N,S], tokens of the input
    total: Tensor  # Float[N,S], attention so far

    @classmethod
    def of(cls, model: Seq2Seq, batch: Batch, price: float) -> Self:
        """Return the coverage of a batch before its first step.

        Raises:
            DataError: if the model has no attention that could be counted.
        """
        key = model.spec.coverage_key
        if key is None:
            raise DataError("coverage_penalty counts soft attention, of which this model has none: leave it out")
        streams = [batch.streams[name] for name in key.streams]
        counted = torch.cat([stream.mask & (stream.ids != EOS) for stream in streams], 1)
        return cls(key, price, counted, torch.zeros_like(counted, dtype=torch.float64))

    def after(self, attention: Mapping[AttentionKey, Tensor]) -> tuple[Self, Tensor]:
        """Return the coverage after one more step, with its attention Float[N,1,S], and what it costs Float[N]."""
        total = self.total + attention[self.key][:, 0].to(self.total.dtype).masked_fill(~self.counted, 0.0)
        paid = (total.clamp(min=1.0) - self.total.clamp(min=1.0)).sum(1)
        return type(self)(self.key, self.price, self.counted, total), -self.price * paid

    def of_outputs(self, attention: Mapping[AttentionKey, Tensor], steps: Tensor) -> Tensor:
        """Return the cost of whole outputs Float[N], given attention Float[N,K,S] and their steps Bool[N,K]."""
        weights = attention[self.key].to(self.total.dtype) * steps.unsqueeze(2)
        total = weights.sum(1).masked_fill(~self.counted, 0.0)
        return -self.price * (total - 1.0).clamp(min=0.0).sum(1)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.key, self.price, self.counted[rows], self.total[rows])
