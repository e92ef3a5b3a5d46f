"""Encoder outputs that a decoder attends to; constant during decoding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from postedit.nn.cache import KeyValueCache
from postedit.nn.tensors import join_rows


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """Tensors computed once from the inputs, and the sentence that each row belongs to.

    Beam search reorders hypotheses at every step, nearly always within a sentence. Hypotheses of one sentence
    share their inputs, so such a `select` copies nothing.
    """

    tensors: dict[str, Tensor]  # by name, each with N rows
    sentence: Tensor  # Long[N], the sentence of the encoded batch that a row belongs to
    # by name, keys and values of an encoded text in the cross-attentions of a stack
    key_values: Mapping[str, KeyValueCache] = field(default_factory=dict)

    @classmethod
    def of(cls, **tensors: Tensor) -> Self:
        """Return the memory of a freshly encoded batch, with one row per sentence."""
        first = next(iter(tensors.values()))
        return cls(tensors, torch.arange(first.size(0), device=first.device))

    def __getitem__(self, name: str) -> Tensor:
        """Return the tensor called `name`."""
        return self.tensors[name]

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        sentence = self.sentence[rows]
        if torch.equal(sentence, self.sentence):
            return self
        tensors = {name: tensor[rows] for name, tensor in self.tensors.items()}
        key_values = {name: cache.select(rows) for name, cache in self.key_values.items()}
        return type(self)(tensors, sentence, key_values)

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last; keys and values that only one of them has are dropped."""
        tensors = {name: join_rows(tensor, other.tensors[name]) for name, tensor in self.tensors.items()}
        shared = [name for name in self.key_values if name in other.key_values]
        key_values = {name: self.key_values[name].join(other.key_values[name]) for name in shared}
        return type(self)(tensors, torch.cat([self.sentence, other.sentence + self.sentence.max() + 1]), key_values)
