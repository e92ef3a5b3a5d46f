"""M-CGRU against a NumPy transcription of Junczys-Dowmunt and Grundkiewicz 2017, sections 3 and 4.3.

Written sentence by sentence and step by step from the equations, with the biases that the paper leaves out.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS
from postedit.core.types import AttentionKey, Batch, Stream
from postedit.models.conditional_gru import MCGRU, ConditionalGRUConfig

Array = NDArray[np.float64]

EMBEDDING, HIDDEN, ATTENTION = 5, 4, 7
SIZES = {"src": 19, "mt": 17, "pe": 23}
SENTENCES = [
    {"mt": [6, 9, 7, 2], "src": [6, 8, 11, 10, 7, 2]},
    {"mt": [2], "src": [18, 2]},
    {"mt": [16, 6, 6, 12, 13, 14, 2], "src": [2]},
]
PREFIXES = [[BOS, 6, 22, 7, 7], [BOS, 9, 9, 10, 11], [BOS, 2, 3, 4, 5]]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    exp = np.exp(x - x.max())
    return exp / exp.sum()


@dataclass
class GRU:
    """Equation 1. Of each matrix there are three: for the reset gate, the update gate and the proposed state."""

    w_r: Array
    w_z: Array
    w: Array
    u_r: Array
    u_z: Array
    u: Array
    biases: dict[str, Array]

    def __call__(self, s: Array, x: Array) -> Array:
        b = self.biases
        r = sigmoid(self.w_r @ x + b["w_r"] + self.u_r @ s + b["u_r"])
        z = sigmoid(self.w_z @ x + b["w_z"] + self.u_z @ s + b["u_z"])
        proposed = np.tanh(self.w @ x + b["w"] + r * (self.u @ s + b["u"]))
        return (1 - z) * proposed + z * s


class Paper:
    """The model of section 4.3, over parameters of the PyTorch model by name."""

    def __init__(self, parameters: dict[str, Array]) -> None:
        self.p = parameters

    def table(self, name: str) -> Array:
        """The embedding matrices F and E; the model keeps them divided by the root of their width."""
        return self.p[f"{name}.weight"] * EMBEDDING**0.5

    def gru(self, name: str) -> GRU:
        matrices, biases = {}, {}
        for letter, layer in (("w", "input"), ("u", "state")):
            blocks = np.split(self.p[f"{name}.{layer}.weight"], 3)
            offsets = np.split(self.p[f"{name}.{layer}.bias"], 3)
            for gate, block, offset in zip(("_r", "_z", ""), blocks, offsets):
                matrices[letter + gate], biases[letter + gate] = block, offset
        return GRU(**matrices, biases=biases)

    def encode(self, name: str, ids: list[int]) -> Array:
        """Section 3, encoder context: h_i is the forward state and the backward state at position i."""
        embedded = self.table(f"embed_inputs.{name}")[ids]
        forward, backward = self.gru(f"encoders.{name}.forwards"), self.gru(f"encoders.{name}.backwards")
        left, right = [np.zeros(HIDDEN)], [np.zeros(HIDDEN)]
        for x in embedded:
            left.append(forward(left[-1], x))
        for x in embedded[::-1]:
            right.append(backward(right[-1], x))
        return np.array([np.concatenate(pair) for pair in zip(left[1:], right[:0:-1])])

    def attend(self, name: str, context: Array, s: Array) -> tuple[Array, Array]:
        """Section 3, ATT: the context vector and the alignment weights."""
        u_a, w_a = self.p[f"attentions.{name}.state.weight"], self.p[f"attentions.{name}.annotation.weight"]
        bias, v_a = self.p[f"attentions.{name}.annotation.bias"], self.p[f"attentions.{name}.score.weight"][0]
        e = np.array([v_a @ np.tanh(u_a @ s + w_a @ h + bias) for h in context])
        alpha = softmax(e)
        return np.sum([weight * h for weight, h in zip(alpha, context)], axis=0), alpha

    def decode(self, sentence: dict[str, list[int]], prefix: list[int]) -> tuple[Array, dict[str, Array]]:
        """Section 4.3: log-probabilities after each symbol of the prefix, and both alignments."""
        contexts = {name: self.encode(name, sentence[name]) for name in ("mt", "src")}
        means = np.concatenate([contexts[name].sum(0) / len(sentence[name]) for name in ("mt", "src")])
        s = np.tanh(self.p["init.weight"] @ means + self.p["init.bias"])
        gru1, gru2 = self.gru("gru1"), self.gru("gru2")
        log_probs, alignments = [], {"mt": [], "src": []}
        for symbol in prefix:
            y = self.table("embed_pe")[symbol]
            inner = gru1(s, y)
            parts = []
            for name in ("mt", "src"):
                part, alpha = self.attend(name, contexts[name], inner)
                parts.append(part)
                alignments[name].append(alpha)
            c = np.concatenate(parts)
            s = gru2(inner, c)  # equation 5
            t = np.tanh(
                self.p["deep_state.weight"] @ s
                + self.p["deep_state.bias"]
                + self.p["deep_embedding.weight"] @ y
                + self.p["deep_context.weight"] @ c
            )
            log_probs.append(np.log(softmax(self.p["head.weight"] @ t + self.p["head.bias"])))
        return np.array(log_probs), {name: np.array(rows) for name, rows in alignments.items()}


@pytest.fixture(scope="module")
def model() -> MCGRU:
    config = ConditionalGRUConfig(embedding=EMBEDDING, hidden=HIDDEN, attention=ATTENTION)
    sizes = {name: VocabularyInfo(size, name) for name, size in SIZES.items()}
    target = sizes.pop("pe")
    model = MCGRU(config, Vocabularies(sizes, target)).double().eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.normal_(std=0.5, generator=generator)
    return model


def batch() -> Batch:
    streams = {}
    for name in ("src", "mt"):
        rows = [torch.tensor(sentence[name]) for sentence in SENTENCES]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        streams[name] = Stream(ids, torch.arange(ids.size(1)) < torch.tensor([[len(row)] for row in rows]))
    return Batch(streams)


def test_log_probs_and_attention_are_those_of_the_equations(model: MCGRU) -> None:
    paper = Paper({name: parameter.numpy() for name, parameter in model.named_parameters()})
    output, _ = model.decode(torch.tensor(PREFIXES), model.encode(batch()))
    for row, (sentence, prefix) in enumerate(zip(SENTENCES, PREFIXES)):
        log_probs, alignments = paper.decode(sentence, prefix)
        np.testing.assert_allclose(output.log_probs[row].numpy(), log_probs, rtol=0, atol=1e-10)
        for name, expected in alignments.items():
            actual = output.attention[AttentionKey(name, "soft")][row, :, : len(sentence[name])]
            np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=1e-10)


def test_every_parameter_of_the_model_is_in_the_equations(model: MCGRU) -> None:
    class Recorder(dict[str, Array]):
        read: set[str]

        def __getitem__(self, name: str) -> Array:
            self.read.add(name)
            return super().__getitem__(name)

    parameters = Recorder({name: parameter.numpy() for name, parameter in model.named_parameters()})
    parameters.read = set()
    Paper(parameters).decode(SENTENCES[0], PREFIXES[0])
    assert parameters.read == set(parameters)
