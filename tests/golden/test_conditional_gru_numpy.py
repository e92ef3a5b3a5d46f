"""The conditional GRUs against a NumPy transcription of Junczys-Dowmunt and Grundkiewicz 2017, sections 3 and 4.

So are the character-level model, whose encoder is that of Lee et al. 2017, and the agreement of two models, by Cohn et
al. 2016, section 4.4.

Written sentence by sentence and step by step from the equations, with the biases that the paper leaves out; positions
count from 1, as in the paper.
"""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from equations import Array, Parameters, assert_gradients, scattered, sigmoid, smoothed, softmax, streams_of

from postedit.core.errors import RecipeError
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, STEP
from postedit.core.types import AttentionKey, Batch, Target
from postedit.models.conditional_gru import (
    CGRU,
    MCGRU,
    CGRUHard,
    CharacterLevel,
    CharacterLevelConfig,
    ConditionalGRUConfig,
    ConditionalGRUModel,
    GRUHard,
    MCGRUHard,
    SymmetricAttention,
    SymmetricAttentionConfig,
)

EMBEDDING, HIDDEN, ATTENTION = 5, 4, 7
SENTENCES = {
    "mt": [[6, 9, 7, EOS], [EOS], [16, 6, 6, 12, 13, 14, EOS]],
    "src": [[6, 8, 11, 10, 7, EOS], [18, EOS], [EOS]],
}
PREFIXES = [[BOS, 6, STEP, STEP, 7, STEP, 8], [BOS, 9, 9, 10, 11, 12, 13], [BOS, STEP, STEP, 6, 7, STEP, 16]]


class System(NamedTuple):
    """What a model of the paper reads, and what it attends to, in the order in which vectors are concatenated."""

    inputs: tuple[str, ...]
    soft: tuple[str, ...]
    hard: bool = False


BASELINE = System(("mt",), ("mt",))  # section 3
DUAL = System(("mt", "src"), ("mt", "src"))  # section 4.3: mt comes first in s_0 and in c_j
SYSTEMS: dict[type[ConditionalGRUModel], System] = {
    CGRU: BASELINE,
    GRUHard: System(("mt",), (), hard=True),  # section 4.1, equation 3
    CGRUHard: BASELINE._replace(hard=True),  # section 4.2, equation 4
    MCGRU: DUAL,  # equation 5
    MCGRUHard: DUAL._replace(hard=True),  # section 4.4
}


class Paper:
    """The models of sections 3 and 4, over parameters of the PyTorch model by name."""

    def __init__(self, model: ConditionalGRUModel, system: System) -> None:
        self.p = Parameters(model)
        self.inputs, self.soft, self.hard = system

    def gru(self, name: str, s: Array, x: Array) -> Array:
        """Equation 1."""
        w_r, w_z, w = np.split(self.p[f"{name}.input.weight"] @ x + self.p[f"{name}.input.bias"], 3)
        u_r, u_z, u = np.split(self.p[f"{name}.state.weight"] @ s + self.p[f"{name}.state.bias"], 3)
        r, z = sigmoid(w_r + u_r), sigmoid(w_z + u_z)
        return (1 - z) * np.tanh(w + r * u) + z * s

    def encode(self, name: str, ids: list[int]) -> Array:
        """h_i is the forward state and the backward state at position i."""
        return self.both_ways(f"encoders.{name}", self.embedded(name, ids))

    def embedded(self, name: str, ids: list[int]) -> Array:
        return self.p[f"embed_inputs.{name}.weight"][ids] * EMBEDDING**0.5

    def both_ways(self, name: str, inputs: Array) -> Array:
        left, right = [np.zeros(HIDDEN)], [np.zeros(HIDDEN)]
        for x in inputs:
            left.append(self.gru(f"{name}.forwards", left[-1], x))
        for x in inputs[::-1]:
            right.append(self.gru(f"{name}.backwards", right[-1], x))
        return np.array([np.concatenate(pair) for pair in zip(left[1:], right[:0:-1])])

    def attend(self, name: str, context: Array, s: Array) -> tuple[Array, Array]:
        """ATT: the context vector and the alignment weights."""
        u_a, w_a = self.p[f"attentions.{name}.state.weight"], self.p[f"attentions.{name}.annotation.weight"]
        bias, v_a = self.p[f"attentions.{name}.annotation.bias"], self.p[f"attentions.{name}.score.weight"][0]
        alpha = softmax(np.array([v_a @ np.tanh(u_a @ s + w_a @ h + bias) for h in context]))
        return alpha @ context, alpha

    def decode(self, sentence: dict[str, list[int]], prefix: list[int]) -> tuple[Array, dict[AttentionKey, Array]]:
        """Log-probabilities after each symbol of the prefix, and all attention."""
        contexts = {name: self.encode(name, sentence[name]) for name in self.inputs}
        means = np.concatenate([contexts[name].mean(0) for name in self.inputs])
        s = np.tanh(self.p["init.weight"] @ means + self.p["init.bias"])
        a = 1  # section 4.1: a_1
        log_probs: list[Array] = []
        attention: dict[AttentionKey, list[Array]] = {AttentionKey(name, "soft"): [] for name in self.soft}
        if self.hard:
            attention[AttentionKey("mt", "hard")] = []
        for symbol in prefix:
            if symbol == STEP:
                a += 1
            y = self.p["embed_pe.weight"][symbol] * EMBEDDING**0.5
            attended = contexts["mt"][a - 1] if self.hard else None
            x = y if attended is None else np.concatenate([y, attended])
            s = self.gru("gru1", s, x)
            c = attended
            if self.soft:
                parts = []
                for name in self.soft:
                    part, alpha = self.attend(name, contexts[name], s)
                    parts.append(part)
                    attention[AttentionKey(name, "soft")].append(alpha)
                c = np.concatenate(parts)
                s = self.gru("gru2", s, c)
            if self.hard:
                attention[AttentionKey("mt", "hard")].append(np.eye(len(sentence["mt"]))[a - 1])
            t = np.tanh(
                self.p["deep_state.weight"] @ s
                + self.p["deep_state.bias"]
                + self.p["deep_embedding.weight"] @ y
                + self.p["deep_context.weight"] @ c
            )
            log_probs.append(np.log(softmax(self.p["head.weight"] @ t + self.p["head.bias"])))
        return np.array(log_probs), {key: np.array(rows) for key, rows in attention.items()}


@pytest.mark.parametrize("model_class", SYSTEMS)
def test_log_probs_and_attention_are_those_of_the_equations(model_class: type[ConditionalGRUModel]) -> None:
    system = SYSTEMS[model_class]
    config = ConditionalGRUConfig(embedding=EMBEDDING, hidden=HIDDEN, attention=ATTENTION)
    pe = VocabularyInfo(17, "pe")
    model = scattered(model_class(config, Vocabularies({"src": VocabularyInfo(19, "src"), "mt": pe}, pe)))
    batch, paper = Batch(streams_of({name: SENTENCES[name] for name in system.inputs})), Paper(model, system)
    output, _ = model.decode(torch.tensor(PREFIXES), model.encode(batch))
    for row, prefix in enumerate(PREFIXES):
        sentence = {name: SENTENCES[name][row] for name in system.inputs}
        log_probs, attention = paper.decode(sentence, prefix)
        np.testing.assert_allclose(output.log_probs[row].numpy(), log_probs, rtol=0, atol=1e-10)
        assert output.attention.keys() == attention.keys()
        for key, expected in attention.items():
            actual = output.attention[key][row, :, : len(sentence[key.stream])]
            np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=1e-10)
    assert paper.p.read == set(paper.p), "every parameter is in the equations"


FILTERS, SEGMENT, HIGHWAY = (3, 2, 4, 2), 3, 2


class CharacterPaper(Paper):
    """The character-level model: convolutions, pooling, highway layers and a bi-GRU, then the decoder of M-CGRU."""

    def encode(self, name: str, ids: list[int]) -> Array:
        characters = self.embedded(name, ids)
        features = []
        for place in range(len(ids)):
            found = []
            for number in range(len(FILTERS)):
                width = number + 1
                weight = self.p[f"encoders.{name}.convolutions.{number}.weight"]
                total = self.p[f"encoders.{name}.convolutions.{number}.bias"].copy()
                for offset in range(width):
                    seen = place - (width - 1) // 2 + offset
                    if 0 <= seen < len(ids):
                        total += weight[:, :, offset] @ characters[seen]
                found.append(np.maximum(total, 0.0))
            features.append(np.concatenate(found))
        segments = [np.max(features[start : start + SEGMENT], axis=0) for start in range(0, len(ids), SEGMENT)]
        for layer in range(HIGHWAY):
            prefix = f"encoders.{name}.highways.{layer}"
            gates = [sigmoid(self.p[f"{prefix}.gate.weight"] @ x + self.p[f"{prefix}.gate.bias"]) for x in segments]
            changes = [self.p[f"{prefix}.change.weight"] @ x + self.p[f"{prefix}.change.bias"] for x in segments]
            segments = [t * np.maximum(new, 0.0) + (1 - t) * x for t, new, x in zip(gates, changes, segments)]
        return self.both_ways(f"encoders.{name}.rnn", np.array(segments))


def test_the_character_level_model_attends_to_segments() -> None:
    config = CharacterLevelConfig(
        embedding=EMBEDDING, hidden=HIDDEN, attention=ATTENTION, filters=FILTERS, segment=SEGMENT, highway=HIGHWAY
    )
    pe = VocabularyInfo(17, "pe")
    model = scattered(CharacterLevel(config, Vocabularies({"src": VocabularyInfo(19, "src"), "mt": pe}, pe)))
    batch, paper = Batch(streams_of(SENTENCES)), CharacterPaper(model, DUAL)
    output, _ = model.decode(torch.tensor(PREFIXES), model.encode(batch))
    for row, prefix in enumerate(PREFIXES):
        sentence = {name: SENTENCES[name][row] for name in DUAL.inputs}
        log_probs, attention = paper.decode(sentence, prefix)
        np.testing.assert_allclose(output.log_probs[row].numpy(), log_probs, rtol=0, atol=1e-10)
        for key, expected in attention.items():
            length = len(sentence[key.stream])
            sizes = [len(range(start, min(start + SEGMENT, length))) for start in range(0, length, SEGMENT)]
            shares = np.repeat(expected / sizes, sizes, axis=1)
            np.testing.assert_allclose(output.attention[key][row, :, :length].numpy(), shares, rtol=0, atol=1e-10)
    assert paper.p.read == set(paper.p), "every parameter is in the equations"


POST_EDITS = [[6, 10, 7, 8, EOS], [8, EOS], [16, 6, 12, EOS]]


# Places in mt and in pe of tokens that are kept, or replaced as 9 by 10, by the fewest edits.
ALIGNED = [[(0, 0), (1, 1), (2, 2), (3, 4)], [(0, 1)], [(0, 0), (1, 1), (3, 2), (6, 3)]]


class SymmetricPaper:
    """Two models that are trained to attend alike: the loss of each by the equations of CGRU, and their agreement.

    The agreement is the trace of the product of both attentions. An alignment is a matrix of zeros and ones, with which
    each attention agrees as with the other.
    """

    def __init__(self, model: SymmetricAttention) -> None:
        self.there, self.back = Paper(model, BASELINE), Paper(model.reverse, BASELINE)

    def losses(self, prior: float, smoothing: float) -> tuple[float, float]:
        """The loss of pe given mt, and what training adds to it."""
        key, loss, joint = AttentionKey("mt", "soft"), 0.0, 0.0
        for mt, pe, aligned in zip(SENTENCES["mt"], POST_EDITS, ALIGNED):
            log_probs, attention = self.there.decode({"mt": mt}, [BOS, *pe[:-1]])
            backwards, reverse = self.back.decode({"mt": pe}, [BOS, *mt[:-1]])
            z = np.zeros((len(pe), len(mt)))
            z[[t for _, t in aligned], [i for i, _ in aligned]] = 1.0
            loss += smoothed(log_probs, pe, smoothing)
            joint += smoothed(backwards, mt, smoothing) - 0.7 * np.trace(attention[key] @ reverse[key])
            joint -= prior * (np.trace(attention[key] @ z.T) + np.trace(z @ reverse[key]))
        return loss, joint


def symmetric(prior: float) -> tuple[SymmetricAttention, Batch]:
    sizes = {"embedding": EMBEDDING, "hidden": HIDDEN, "attention": ATTENTION, "dropout_rnn": 0.0, "dropout_word": 0.0}
    pe = VocabularyInfo(17, "pe")
    mt = pe if prior else VocabularyInfo(19, "mt")
    config = SymmetricAttentionConfig(**sizes, agreement=0.7, prior=prior)  # type: ignore[arg-type]
    model = scattered(SymmetricAttention(config, Vocabularies({"mt": mt}, pe)))
    assert isinstance(model, SymmetricAttention)
    texts = streams_of({"mt": SENTENCES["mt"], "pe": POST_EDITS})
    return model, Batch({"mt": texts["mt"]}, Target(texts["pe"].ids, texts["pe"].mask))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_two_models_are_trained_to_attend_alike(prior: float, smoothing: float) -> None:
    model, batch = symmetric(prior)
    paper = SymmetricPaper(model)
    (nll, _), (loss, joint) = paper.losses(prior, 0.0), paper.losses(prior, smoothing)
    trained, judged = model.train()(batch, smoothing), model.eval()(batch, smoothing)
    np.testing.assert_allclose([trained.loss, trained.nll], [loss + joint, nll], rtol=1e-12)
    np.testing.assert_allclose([judged.loss, judged.nll], [loss, nll], rtol=1e-12)
    read = paper.there.p.read | {f"reverse.{name}" for name in paper.back.p.read}
    assert read == set(paper.there.p), "every parameter counts"


def test_each_model_learns_from_the_attention_of_the_other() -> None:
    model, batch = symmetric(prior=0.3)
    loss = model.requires_grad_(True).train()(batch, 0.1).loss
    assert_gradients(model, loss, lambda: sum(SymmetricPaper(model).losses(0.3, 0.1)))


def test_a_prior_needs_one_vocabulary() -> None:
    config = SymmetricAttentionConfig(prior=1.0)
    with torch.device("meta"), pytest.raises(RecipeError, match=r"model\.prior, .*one vocabulary for mt and pe"):
        SymmetricAttention(config, Vocabularies({"mt": VocabularyInfo(17, "mt")}, VocabularyInfo(19, "pe")))
