"""Both stages of Li et al. 2017 against NumPy transcriptions of sections III and IV.

Where the paper is silent, the equations are those of Bahdanau et al. 2014, A.1.2 and A.2.2. Written sentence by
sentence and step by step.
"""

import numpy as np
import pytest
import torch
from equations import Array, Parameters, scattered, sigmoid, softmax, streams_of

from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS
from postedit.core.types import AttentionKey, Batch
from postedit.models.draft_and_refine import AttentionNMT, AttentionNMTConfig, DoubleAttention, DoubleAttentionConfig

EMBEDDING, HIDDEN, ATTENTION, MAXOUT = 5, 4, 7, 3
SENTENCES = [
    {"mt": [6, 9, 7, 2], "src": [6, 8, 11, 10, 7, 2]},
    {"mt": [2], "src": [18, 2]},
    {"mt": [16, 6, 6, 12, 13, 14, 2], "src": [2]},
]
PREFIXES = [[BOS, 6, 22, 7, 7], [BOS, 9, 9, 10, 11], [BOS, 2, 3, 4, 5]]


class Equations:
    """What both stages have in common."""

    def __init__(self, p: Parameters) -> None:
        self.p = p

    def embed(self, table: str, symbol: int) -> Array:
        return self.p[f"{table}.weight"][symbol] * EMBEDDING**0.5

    def gru(self, name: str, x: Array, s: Array, context: Array | None = None) -> Array:
        """s' = (1 - z) n + z s; a context adds to the input of every gate (A.2.2: C_r c, C_z c, C c)."""
        p = self.p
        inputs = np.split(p[f"{name}.input.weight"] @ x + p[f"{name}.input.bias"], 3)
        if context is not None:
            blocks = np.split(p[f"{name}_context.weight"], 3)
            inputs = [part + block @ context for part, block in zip(inputs, blocks)]
        u_r, u_z, u = np.split(p[f"{name}.state.weight"], 3)
        b_r, b_z, b = np.split(p[f"{name}.state.bias"], 3)
        r = sigmoid(inputs[0] + u_r @ s + b_r)
        z = sigmoid(inputs[1] + u_z @ s + b_z)
        return (1 - z) * np.tanh(inputs[2] + r * (u @ s + b)) + z * s

    def annotate(self, encoder: str, table: str, ids: list[int]) -> tuple[Array, Array]:
        """Equation 1 in both directions: forward and backward states, position by position."""
        xs = [self.embed(table, symbol) for symbol in ids]
        forward, backward = [np.zeros(HIDDEN)], [np.zeros(HIDDEN)]
        for x in xs:
            forward.append(self.gru(f"{encoder}.forwards", x, forward[-1]))
        for x in xs[::-1]:
            backward.append(self.gru(f"{encoder}.backwards", x, backward[-1]))
        return np.array(forward[1:]), np.array(backward[:0:-1])

    def attend(self, name: str, s: Array, annotations: Array) -> tuple[Array, Array]:
        """Equation 2, with f of A.1.2."""
        p = self.p
        w, u, bias = p[f"{name}.state.weight"], p[f"{name}.annotation.weight"], p[f"{name}.annotation.bias"]
        v = p[f"{name}.score.weight"][0]
        alpha = softmax(np.array([v @ np.tanh(w @ s + u @ h + bias) for h in annotations]))
        return alpha @ annotations, alpha

    def g(self, y: Array, s: Array, c: Array) -> Array:
        """Equations 3 and 8, as in A.2.2: a maxout layer and a softmax; log-probabilities."""
        p = self.p
        units = p["readout.state.weight"] @ s + p["readout.state.bias"]
        units = units + p["readout.embedding.weight"] @ y + p["readout.context.weight"] @ c
        t = np.array([max(units[2 * i], units[2 * i + 1]) for i in range(MAXOUT)])
        return np.log(softmax(p["head.weight"] @ t + p["head.bias"]))


class FirstStage(Equations):
    """Section III."""

    def decode(self, sentence: dict[str, list[int]], prefix: list[int]) -> tuple[Array, dict[str, Array]]:
        forward, backward = self.annotate("encoder", "embed_src", sentence["src"])
        annotations = np.concatenate([forward, backward], 1)
        s = np.tanh(self.p["init.weight"] @ backward[0] + self.p["init.bias"])
        log_probs, alphas = [], []
        for symbol in prefix:
            y = self.embed("embed_pe", symbol)
            c, alpha = self.attend("attention", s, annotations)
            s = self.gru("gru", y, s, c)
            log_probs.append(self.g(y, s, c))
            alphas.append(alpha)
        return np.array(log_probs), {"src": np.array(alphas)}


class SecondStage(Equations):
    """Section IV."""

    def decode(self, sentence: dict[str, list[int]], prefix: list[int]) -> tuple[Array, dict[str, Array]]:
        annotations, firsts = {}, []
        for name in ("src", "mt"):
            forward, backward = self.annotate(f"encoders.{name}", f"embed_inputs.{name}", sentence[name])
            annotations[name] = np.concatenate([forward, backward], 1)
            firsts.append(backward[0])
        s = 0.5 * (firsts[0] + firsts[1])  # equation 9
        log_probs, alphas = [], {"src": [], "mt": []}
        for symbol in prefix:
            y = self.embed("embed_pe", symbol)
            parts = []
            for name in ("src", "mt"):
                part, alpha = self.attend(f"attentions.{name}", s, annotations[name])
                parts.append(part)
                alphas[name].append(alpha)
            c = np.concatenate(parts)
            s = self.gru("gru", y, s, c)
            log_probs.append(self.g(y, s, c))
        return np.array(log_probs), {name: np.array(rows) for name, rows in alphas.items()}


def first_stage() -> tuple[Seq2Seq, FirstStage]:
    config = AttentionNMTConfig(embedding=EMBEDDING, hidden=HIDDEN, attention=ATTENTION, maxout=MAXOUT)
    model = scattered(AttentionNMT(config, sizes()))
    return model, FirstStage(Parameters(model))


def second_stage() -> tuple[Seq2Seq, SecondStage]:
    config = DoubleAttentionConfig(
        embedding=EMBEDDING, hidden=HIDDEN, attention=ATTENTION, maxout=MAXOUT, share_embeddings="none"
    )
    model = scattered(DoubleAttention(config, sizes()))
    return model, SecondStage(Parameters(model))


def sizes() -> Vocabularies:
    found = {name: VocabularyInfo(size, name) for name, size in {"src": 19, "mt": 17, "pe": 23}.items()}
    target = found.pop("pe")
    return Vocabularies(found, target)


@pytest.mark.parametrize("stage", [first_stage, second_stage])
def test_log_probs_and_attention_are_those_of_the_equations(stage) -> None:
    model, equations = stage()
    batch = Batch(streams_of({name: [sentence[name] for sentence in SENTENCES] for name in ("src", "mt")}))
    output, _ = model.decode(torch.tensor(PREFIXES), model.encode(batch))
    for row, (sentence, prefix) in enumerate(zip(SENTENCES, PREFIXES)):
        log_probs, alphas = equations.decode(sentence, prefix)
        np.testing.assert_allclose(output.log_probs[row].numpy(), log_probs, rtol=0, atol=1e-10)
        for name, expected in alphas.items():
            actual = output.attention[AttentionKey(name, "soft")][row, :, : len(sentence[name])]
            np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=1e-10)
    assert equations.p.read == set(equations.p), "every parameter is in the equations"


def test_draft_and_output_share_embeddings_and_frozen_ones_stay() -> None:
    info = VocabularyInfo(23, "pe")
    config = DoubleAttentionConfig(embedding=EMBEDDING, hidden=HIDDEN, freeze_embeddings=True)
    model = DoubleAttention(config, Vocabularies({"src": VocabularyInfo(19, "src"), "mt": info}, info))
    tables = model.embeddings()
    assert tables["mt"] is tables["pe"]
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {"embed_pe.weight", "embed_inputs.src.weight"}
