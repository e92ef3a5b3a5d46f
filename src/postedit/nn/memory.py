"""What a decoder keeps of its inputs: one entry a row, the same from the first token to the last."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from postedit.nn.attention import Kept
from postedit.nn.packing import join_rows


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """Tensors computed once from the inputs, and the sentence that each row belongs to.

    Beam search reorders hypotheses at every step, nearly always within a sentence. As hypotheses of one
    sentence share their inputs, such a `select` changes nothing here and copies nothing.

    Args:
        tensors: by name, each with N rows.
        sentence: Long[N], which sentence of the encoded batch a row belongs to.
        texts: by name, what the layers of a stack keep of a text that they attend to.
    """

    tensors: dict[str, Tensor]
    sentence: Tensor
    texts: Mapping[str, Kept] = field(default_factory=dict)

    @classmethod
    def of(cls, **tensors: Tensor) -> Self:
        """Return the memory of a freshly encoded batch, one row a sentence."""
        first = next(iter(tensors.values()))
        return cls(tensors, torch.arange(first.size(0), device=first.device))

    def __getitem__(self, name: str) -> Tensor:
        """Return the tensor called `name`."""
        return self.tensors[name]

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        sentence = self.sentence[rows]
        if torch.equal(sentence, self.sentence):
            return self
        tensors = {name: tensor[rows] for name, tensor in self.tensors.items()}
        texts = {name: kept.select(rows) for name, kept in self.texts.items()}
        return type(self)(tensors, sentence, texts)

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last; of tensors that both have."""
        tensors = {
            name: join_rows(tensor, other.tensors[name])
            for name, tensor in self.tensors.items()
            if name in other.tensors
        }
        texts = {name: kept.join(other.texts[name]) for name, kept in self.texts.items()}
        return type(self)(tensors, torch.cat([self.sentence, other.sentence + self.sentence.max() + 1]), texts)
