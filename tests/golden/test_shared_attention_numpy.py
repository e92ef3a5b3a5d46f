"""Shared, flat and merged attention against a NumPy transcription of Jauregi Unanue et al. 2018, sections 2.1 and 3.

Written sentence by sentence and step by step from the equations; attentional
state and input feeding after Luong et al. 2015.
"""

import numpy as np
import pytest
import torch
from equations import Array, Parameters, bi_lstm, lstm, scattered, softmax, streams_of

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import AttentionKey, Batch
from postedit.models.shared_attention import FlatAttention, LSTMConfig, LSTMModel, MergedAttention, SharedAttention

EMBEDDING, HIDDEN, LAYERS = 5, 6, 2
SENTENCES = {
    "src": [[6, 8, 11, 10, 7, EOS], [18, EOS], [EOS]],
    "mt": [[6, 9, 7, EOS], [EOS], [16, 6, 6, 12, 13, 14, EOS]],
}
PREFIXES = [[BOS, 6, 22, 7], [BOS, 9, 9, 10], [BOS, 2, 3, 4]]


class Paper:
    """The models, over parameters of the PyTorch model by name."""

    def __init__(self, model: LSTMModel) -> None:
        self.p = Parameters(model)
        self.kind, self.feeding = type(model), model.input_feeding

    def encode(self, name: str, ids: list[int]) -> tuple[Array, list[tuple[Array, Array]]]:
        """Equation 7: annotations, and the last h and c of each layer."""
        x = list(self.p[f"embed_inputs.{name}.weight"][ids])
        last = []
        for layer in range(LAYERS):
            x, (h, c) = bi_lstm(self.p, f"encoders.{name}.lstm.", f"_l{layer}", x)
            last.append((h, c))
        return np.array(x), last

    def attend(self, texts: dict[str, Array], s: Array) -> tuple[Array, dict[AttentionKey, Array]]:
        if self.kind is SharedAttention:  # equations 8 to 11
            joined = np.concatenate([texts["src"], texts["mt"]])
            alpha = softmax(np.array([s @ self.p["score.weight"] @ h for h in joined]))
            return alpha @ joined, {AttentionKey("src+mt", "soft"): alpha}
        energies = {
            name: np.array([s @ self.p[f"scores.{name}.weight"] @ h for h in text]) for name, text in texts.items()
        }
        if self.kind is FlatAttention:  # equations 5 and 6
            alpha = softmax(np.concatenate([energies["src"], energies["mt"]]))
            projected = [self.p[f"projections.{name}.weight"] @ h for name in ("src", "mt") for h in texts[name]]
            return alpha @ np.array(projected), {AttentionKey("src+mt", "soft"): alpha}
        alphas = {name: softmax(values) for name, values in energies.items()}  # equations 1 to 4
        contexts = np.concatenate([alphas[name] @ texts[name] for name in ("src", "mt")])
        merged = self.p["merge.weight"] @ contexts + self.p["merge.bias"]
        return merged, {AttentionKey(name, "soft"): alpha for name, alpha in alphas.items()}

    def decode(self, sentence: dict[str, list[int]], prefix: list[int]) -> tuple[Array, dict[AttentionKey, Array]]:
        encoded = {name: self.encode(name, ids) for name, ids in sentence.items()}
        texts = {name: annotations for name, (annotations, _) in encoded.items()}
        states = []
        for layer in range(LAYERS):
            ends = [last[layer] for _, last in encoded.values()]
            states.append(tuple(np.mean(part, axis=0) for part in zip(*ends)))
        u = np.zeros(HIDDEN)
        log_probs, attention = [], []
        for symbol in prefix:
            x = self.p["embed_pe.weight"][symbol]
            x = np.concatenate([x, u]) if self.feeding else x
            for layer in range(LAYERS):
                h, c = lstm(self.p, f"cells.{layer}.", "", x, *states[layer])
                states[layer], x = (h, c), h
            context, alphas = self.attend(texts, x)
            attention.append(alphas)
            u = np.tanh(self.p["attentional.weight"] @ np.concatenate([context, x]))
            log_probs.append(np.log(softmax(self.p["head.weight"] @ u + self.p["head.bias"])))
        return np.array(log_probs), {key: np.array([step[key] for step in attention]) for key in attention[0]}


@pytest.mark.parametrize("feeding", [True, False])
@pytest.mark.parametrize("model_class", [SharedAttention, FlatAttention, MergedAttention])
def test_log_probs_and_attention_are_those_of_the_equations(model_class: type[LSTMModel], feeding: bool) -> None:
    config = LSTMConfig(embedding=EMBEDDING, hidden=HIDDEN, layers=LAYERS, input_feeding=feeding)
    sizes = {"src": VocabularyInfo(19, "src"), "mt": VocabularyInfo(17, "mt")}
    model = scattered(model_class(config, Vocabularies(sizes, VocabularyInfo(23, "pe"))))
    streams, paper = streams_of(SENTENCES), Paper(model)
    output, _ = model.decode(torch.tensor(PREFIXES), model.encode(Batch(streams)))
    for row, prefix in enumerate(PREFIXES):
        log_probs, attention = paper.decode({name: SENTENCES[name][row] for name in SENTENCES}, prefix)
        np.testing.assert_allclose(output.log_probs[row].numpy(), log_probs, rtol=0, atol=1e-10)
        assert output.attention.keys() == attention.keys()
        for key, expected in attention.items():
            real = torch.cat([streams[name].mask[row] for name in key.streams])
            np.testing.assert_allclose(output.attention[key][row][:, real].numpy(), expected, rtol=0, atol=1e-10)
    assert paper.p.read == set(paper.p), "every parameter is in the equations"
