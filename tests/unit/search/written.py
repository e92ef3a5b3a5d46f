"""A model whose predictions are written down."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch, DecoderOutput, Stream
from postedit.search.ensemble import LogProbDistribution

A, B, C, SIZE = 6, 7, 8, 9


@dataclass(frozen=True)
class Written:
    """The tokens that each row has read, and how many of them the last call brought."""

    rows: tuple[tuple[int, ...], ...]
    last: int = 0

    def select(self, rows: Tensor) -> Self:
        return type(self)(tuple(self.rows[row] for row in rows.tolist()), self.last)

    def rollback(self, keep: Tensor) -> Self:
        return type(self)(tuple(row[: len(row) - self.last + k] for row, k in zip(self.rows, keep.tolist())))

    def join(self, other: Self) -> Self:
        return type(self)(self.rows + other.rows)


class Table(Seq2Seq):
    """Predicts by a table from what is written (without BOS) to probabilities; what is not in it ends."""

    config_class: ClassVar = Config
    inputs: ClassVar = ("mt",)

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]], rest: dict[int, float] | None = None) -> None:
        super().__init__()
        info = VocabularyInfo(SIZE, "letters")
        self.spec = ModelSpec(self.inputs, Vocabularies({"mt": info}, info), frozenset(), parallel=True)
        self.table, self.rest = table, rest or {EOS: 1.0}
        self.calls: list[int] = []

    def encode(self, batch: Batch) -> Written:
        return Written(((),) * batch.rows)

    def decode(self, tokens: Tensor, state: Written) -> tuple[DecoderOutput, Written]:  # type: ignore[override]
        self.calls.append(tokens.size(1))
        rows, said = [], []
        for read, new in zip(state.rows, tokens.tolist(), strict=True):
            for j in range(len(new)):
                written = (*read, *new[: j + 1])
                assert written[0] == BOS
                said.append(self.log_probs(written[1:]))
            rows.append((*read, *new))
        log_probs = torch.tensor(said, dtype=torch.float64).view(*tokens.shape, SIZE)
        return DecoderOutput(LogProbDistribution(log_probs), {}), Written(tuple(rows), tokens.size(1))

    def log_probs(self, written: tuple[int, ...]) -> list[float]:
        probabilities = self.table.get(written, self.rest)
        return [math.log(p) if (p := probabilities.get(symbol, 0.0)) else -math.inf for symbol in range(SIZE)]


def batch(rows: int = 1) -> Batch:
    ids = torch.full((rows, 2), A)
    return Batch({"mt": Stream(ids, torch.ones_like(ids, dtype=torch.bool))})


def limits(*numbers: int) -> Tensor:
    return torch.tensor(numbers)
