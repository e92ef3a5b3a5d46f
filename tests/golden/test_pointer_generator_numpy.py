"""The pointer-generator against a NumPy transcription of See et al. 2017, equations 1 to 13.

Written sentence by sentence and step by step from the equations. What the
paper leaves open is as in its release: the input of the decoder, its start, and the parts of the state that are read.
"""

import numpy as np
import pytest
import torch
from equations import (
    Array,
    Parameters,
    assert_gradients,
    bi_lstm,
    linear,
    lstm,
    scattered,
    sigmoid,
    softmax,
    streams_of,
)

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, PAD, UNK
from postedit.core.types import AttentionKey, Batch, Target
from postedit.models.pointer_generator import PointerGenerator, PointerGeneratorConfig
from postedit.train.losses import CoverageLoss

EMBEDDING, HIDDEN, VOCABULARY, COPIED, WEIGHT = 5, 4, 17, 3, 0.7
SENTENCES = [[6, 9, 7, 6, EOS], [EOS], [13, 6, 14, 6, 12, 13, 15, EOS]]
OUTPUTS = [[6, 7, 6, EOS], [9, 10, 9, EOS], [14, 13, 15, EOS]]


def model_of(copied: int = COPIED, coverage: bool = True) -> PointerGenerator:
    pe = VocabularyInfo(VOCABULARY, "pe", copied)
    config = PointerGeneratorConfig(embedding=EMBEDDING, hidden=HIDDEN, coverage=coverage)
    model = scattered(PointerGenerator(config, Vocabularies({"src": pe, "mt": pe}, pe)))
    assert isinstance(model, PointerGenerator)
    return model


class Paper:
    """The model, over parameters of the PyTorch model by name."""

    def __init__(self, model: PointerGenerator, copied: int = COPIED) -> None:
        self.p = Parameters(model)
        self.known, self.coverage = VOCABULARY - copied, model.attention.coverage is not None

    def embedded(self, symbol: int) -> Array:
        return self.p["embed_pe.weight"][UNK if symbol >= self.known else symbol]

    def encode(self, ids: list[int]) -> tuple[Array, Array, Array]:
        """Return h_i, and the h and c that the decoder starts with."""
        annotations, ends = bi_lstm(self.p, "encoder.lstm.", "_l0", [self.embedded(symbol) for symbol in ids])
        h, c = (np.maximum(linear(self.p, f"starts.{i}", end), 0.0) for i, end in enumerate(ends))
        return np.array(annotations), h, c

    def attend(self, annotations: Array, s: Array, covered: Array) -> Array:
        """Equations 11 and 2."""
        w_h, bias = self.p["attention.annotation.weight"], self.p["attention.annotation.bias"]
        w_s, v = self.p["attention.state.weight"], self.p["attention.score.weight"][0]
        w_c = self.p["attention.coverage"] if self.coverage else np.zeros(2 * HIDDEN)
        e = [v @ np.tanh(w_h @ h + w_s @ s + w_c * c + bias) for h, c in zip(annotations, covered)]
        return softmax(np.array(e))

    def decode(self, text: list[int], prefix: list[int]) -> tuple[Array, Array, Array]:
        """Return P(w), a and p_gen after each symbol of the prefix."""
        annotations, h, c = self.encode(text)
        context, covered = np.zeros(2 * HIDDEN), np.zeros(len(text))
        steps = []
        for symbol in prefix:
            x = linear(self.p, "input", self.embedded(symbol), context)
            h, c = lstm(self.p, "cell.", "", x, h, c)
            a = self.attend(annotations, np.concatenate([c, h]), covered)
            covered = covered + a  # equation 10
            context = a @ annotations  # 3
            p_gen = sigmoid(linear(self.p, "gate", context, c, h, x))[0]  # 8
            scores = linear(self.p, "head", linear(self.p, "features", h, context))
            p = np.concatenate([p_gen * softmax(scores[: self.known]), np.zeros(VOCABULARY - self.known)])  # 4, 9
            for position, token in enumerate(text):
                p[token] += (1 - p_gen) * a[position]
            steps.append((p, a, p_gen))
        probabilities, attention, gates = (np.array(part) for part in zip(*steps))
        return probabilities, attention, gates

    def loss(self, text: list[int], output: list[int]) -> float:
        """Equations 12 and 13, summed over the output; the end of the text is no token of it."""
        probabilities, attention, _ = self.decode(text, [BOS, *output[:-1]])
        covered, total = np.zeros(len(text)), 0.0
        for p, a, token in zip(probabilities, attention, output):
            repeated = sum(min(now, had) for now, had, symbol in zip(a, covered, text) if symbol != EOS)
            total += WEIGHT * repeated - np.log(p[token])
            covered = covered + a
        return total


def batch() -> Batch:
    ids = torch.tensor([[*output, PAD] for output in OUTPUTS])
    return Batch(streams_of({"mt": SENTENCES}), Target(ids, ids != PAD))


@pytest.mark.parametrize("copied", [0, COPIED])
@pytest.mark.parametrize("coverage", [True, False])
def test_probabilities_attention_and_gate_are_those_of_the_equations(copied: int, coverage: bool) -> None:
    model = model_of(copied, coverage)
    paper = Paper(model, copied)
    prefixes = [[BOS, *output] for output in OUTPUTS]
    output, _ = model.decode(torch.tensor(prefixes), model.encode(batch()))
    for row, prefix in enumerate(prefixes):
        p, a, p_gen = paper.decode(SENTENCES[row], prefix)
        np.testing.assert_allclose(output.log_probs[row].exp().numpy(), p, rtol=1e-9, atol=0)
        found = output.attention[AttentionKey("mt", "copy")][row, :, : len(SENTENCES[row])]
        np.testing.assert_allclose(found.numpy(), a, rtol=0, atol=1e-12)
        np.testing.assert_allclose(output.aux["gate"][row].numpy(), np.array([p_gen, 1 - p_gen]).T, rtol=0, atol=1e-12)
    assert output.attention.keys() == {AttentionKey("mt", "copy")}
    assert paper.p.read == set(paper.p), "every parameter is in the equations"


def test_the_loss_with_coverage_and_its_gradient_are_those_of_equation_13() -> None:
    model = model_of().requires_grad_(True)
    # A label must be known or in mt: 9 and 10 are known, 14 and 15 are in the third text.
    found = CoverageLoss(model, WEIGHT)(batch()).loss

    def total() -> float:
        paper = Paper(model.requires_grad_(False))
        return sum(paper.loss(*pair) for pair in zip(SENTENCES, OUTPUTS))

    assert_gradients(model, found, total)
    assert float(found.detach()) == pytest.approx(total(), rel=1e-12)


def test_the_number_of_weights_is_that_of_the_paper() -> None:
    """Section 5: 21,499,600, and 1,153 of the gate and 512 of coverage."""
    pe = VocabularyInfo(50_000, "pe")
    with torch.device("meta"):
        model = PointerGenerator(PointerGeneratorConfig(), Vocabularies({"mt": pe}, pe))
    second_biases = 3 * 4 * 256  # each LSTM of PyTorch has two
    assert sum(weight.numel() for weight in model.parameters()) == 21_499_600 + 1_153 + 512 + second_biases
