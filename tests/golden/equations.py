"""What the transcriptions of papers into NumPy share."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from postedit.core.model import Seq2Seq
from postedit.core.types import Stream

Array = NDArray[np.float64]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    exp = np.exp(x - x.max())
    return exp / exp.sum()


class Parameters(dict[str, Array]):
    """Those of a PyTorch model by name, and which of them were read."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__({name: parameter.numpy() for name, parameter in model.named_parameters()})
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        self.read.add(name)
        return super().__getitem__(name)


def scattered(model: Seq2Seq) -> Seq2Seq:
    """Give every parameter random values, in double precision."""
    model = model.double().eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.normal_(std=0.5, generator=generator)
    return model


def streams_of(texts: Mapping[str, list[list[int]]]) -> dict[str, Stream]:
    streams = {}
    for name, rows in texts.items():
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        streams[name] = Stream(ids, torch.arange(ids.size(1)) < torch.tensor([[len(row)] for row in rows]))
    return streams
