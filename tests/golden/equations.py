"""What the transcriptions of papers into NumPy share."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
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


def linear(p: Parameters, name: str, *x: Array) -> Array:
    return p[f"{name}.weight"] @ np.concatenate(x) + p[f"{name}.bias"]


def lstm(p: Parameters, name: str, suffix: str, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """The next h and c of an LSTM cell (Hochreiter and Schmidhuber 1997, with forget gates)."""
    gates = p[f"{name}weight_ih{suffix}"] @ x + p[f"{name}bias_ih{suffix}"]
    gates = gates + p[f"{name}weight_hh{suffix}"] @ h + p[f"{name}bias_hh{suffix}"]
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def bi_lstm(p: Parameters, name: str, suffix: str, xs: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """The states of both directions at each place, and the last h and the last c of both."""
    directions, ends = [], []
    for direction, order in (("", 1), ("_reverse", -1)):
        width = p[f"{name}weight_hh{suffix}{direction}"].shape[1]
        h, c, states = np.zeros(width), np.zeros(width), []
        for x in xs[::order]:
            h, c = lstm(p, name, suffix + direction, x, h, c)
            states.append(h)
        directions.append(states[::order])
        ends.append((h, c))
    return [np.concatenate(pair) for pair in zip(*directions)], [np.concatenate(pair) for pair in zip(*ends)]


def smoothed(log_probs: Array, labels: Sequence[int], smoothing: float) -> float:
    """The loss of labels, `smoothing` of which is shared by all symbols alike (Szegedy et al. 2016, section 7)."""
    nll = -sum(log_probs[place, label] for place, label in enumerate(labels))
    return float((1 - smoothing) * nll - smoothing * log_probs[: len(labels)].mean(1).sum())


def assert_gradients(model: Seq2Seq, loss: torch.Tensor, total: Callable[[], float]) -> None:
    """The gradient of `loss` is the slope of `total` in a random direction of each parameter."""
    loss.backward()
    generator, step = torch.Generator().manual_seed(1), 1e-6
    model.requires_grad_(False)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        ends = []
        for sign in (1.0, -1.0):
            parameter.data += sign * step * direction
            ends.append(total())
            parameter.data -= sign * step * direction
        slope = (ends[0] - ends[1]) / (2 * step)
        assert float((parameter.grad * direction).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-7), name


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
