"""The predictor of edit operations against a NumPy transcription over the alphabet of operations.

Written sentence by sentence and operation by operation: a KEEP is a KEEP here, not a token.
"""

from typing import Final

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
    smoothed,
    softmax,
    streams_of,
)

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, STEP
from postedit.core.types import AttentionKey, Batch, Target
from postedit.models.edit_operations import (
    ChainedEditOperations,
    ChainedEditOperationsConfig,
    EditOperations,
    EditOperationsConfig,
)

EMBEDDING, HIDDEN, VOCABULARY, TRANSLATION = 5, 4, 17, 0.7
HARD, SOFT = AttentionKey("mt", "hard"), AttentionKey("src", "soft")
KEEP: Final = "KEEP"
DEL: Final = "DEL"
Operation = str | int  # KEEP, DEL, or the token that is inserted
Sentence = dict[str, list[int]]

SENTENCES = {
    "mt": [[6, 9, 7, 6, EOS], [EOS], [13, 6, 6, 12, EOS]],
    "src": [[8, 11, 10, EOS], [18, 7, EOS], [EOS]],
}
# "9 7 8 6", "8", "13 6 12 7": deleted and kept, inserted alone, kept one of two and written beyond the end.
OPERATIONS: list[list[Operation]] = [
    [DEL, KEEP, KEEP, 8, KEEP, KEEP],
    [8, KEEP],
    [KEEP, KEEP, DEL, KEEP, 7, KEEP],
]


def tokens_of(mt: list[int], operations: list[Operation]) -> list[int]:
    """Return the tokens that stand for operations."""
    tokens, rest = [], list(mt)
    for operation in operations:
        if operation == KEEP:
            tokens.append(rest.pop(0))
        elif operation == DEL:
            rest.pop(0)
            tokens.append(STEP)
        else:
            assert isinstance(operation, int)
            tokens.append(operation)
    assert not rest
    return tokens


class Paper:
    """The model, over parameters of the PyTorch model by name."""

    def __init__(self, model: EditOperations) -> None:
        self.p = Parameters(model)

    def encode(self, sentence: Sentence) -> tuple[Array, Array, Array]:
        """Return annotations, and the h and c that the decoder starts with."""
        annotations, ends = bi_lstm(self.p, "encoder.lstm.", "_l0", list(self.p["embed_mt.weight"][sentence["mt"]]))
        h, c = self.starts("", ends)
        return np.array(annotations), h, c

    def starts(self, prefix: str, ends: list[Array]) -> list[Array]:
        return [np.tanh(linear(self.p, f"{prefix}starts.{part}", end)) for part, end in enumerate(ends)]

    def row(self, operation: Operation) -> int:
        """Return the row of an operation: that of the token that is inserted, of STEP for DEL, the last for KEEP."""
        if operation == KEEP:
            return VOCABULARY
        return STEP if operation == DEL else int(operation)

    def decode(self, sentence: Sentence, operations: list[Operation]) -> list[tuple[int, Array]]:
        """Return the position after BOS and each operation but the last, and the scores of the next ones by row."""
        annotations, h, c = self.encode(sentence)
        steps, at = [], 0
        for operation in [BOS, *operations[:-1]]:
            at += operation in (KEEP, DEL)
            e, attended = self.p["embed_operations.weight"][self.row(operation)], annotations[at]
            h, c = lstm(self.p, "cell.", "", np.concatenate([e, attended]), h, c)
            t = np.tanh(
                linear(self.p, "deep_state", h)
                + self.p["deep_operation.weight"] @ e
                + self.p["deep_context.weight"] @ attended
            )
            steps.append((at, linear(self.p, "head", t)))
        return steps

    def log_probs(self, sentence: Sentence, operations: list[Operation]) -> Array:
        """Return the log-probabilities of the tokens that stand for the operations."""
        mt, rows = sentence["mt"], []
        for at, scores in self.decode(sentence, operations):
            # All operations but one: to insert the token at the position is to keep it.
            possible = [*(token for token in range(VOCABULARY) if token != mt[at]), VOCABULARY]
            probabilities = dict(zip(possible, softmax(scores[possible])))
            rows.append([probabilities[VOCABULARY if token == mt[at] else token] for token in range(VOCABULARY)])
        return np.log(rows)

    def joint(self, sentence: Sentence, smoothing: float) -> float:
        """Return what is added to the loss in training."""
        return 0.0


class ChainedPaper(Paper):
    """The model whose annotations have what a translator from src to mt looks at."""

    def translated(self, sentence: Sentence) -> tuple[Array, Array, Array]:
        """Return states, attention to src and contexts of the translator, each where it writes a token of mt."""
        p, mt = self.p, sentence["mt"]
        annotations, ends = bi_lstm(p, "translator.encoder.lstm.", "_l0", list(p["embed_src.weight"][sentence["src"]]))
        h, c = self.starts("translator.", ends)
        states, attention = [], []
        for token in [BOS, *mt[:-1]]:
            h, c = lstm(p, "translator.lstm.", "_l0", p["embed_mt.weight"][token], h, c)
            states.append(h)
            attention.append(softmax(np.array([h @ p["translator.keys.weight"] @ g for g in annotations])))
        return np.array(states), np.array(attention), np.array(attention) @ np.array(annotations)

    def encode(self, sentence: Sentence) -> tuple[Array, Array, Array]:
        annotations, h, c = super().encode(sentence)
        return np.concatenate([annotations, self.translated(sentence)[2]], 1), h, c

    def joint(self, sentence: Sentence, smoothing: float) -> float:
        rows = []
        for state, _, context in zip(*self.translated(sentence)):
            t = np.tanh(linear(self.p, "translator.features", state, context))
            rows.append(np.log(softmax(linear(self.p, "translator.head", t))))
        return TRANSLATION * smoothed(np.array(rows), sentence["mt"], smoothing)


WRITTEN = [tokens_of(mt, operations) for mt, operations in zip(SENTENCES["mt"], OPERATIONS)]
ROWS: list[Sentence] = [{name: texts[row] for name, texts in SENTENCES.items()} for row in range(len(OPERATIONS))]


def build(chained: bool) -> tuple[EditOperations, Batch]:
    pe, sizes = VocabularyInfo(VOCABULARY, "pe"), {"embedding": EMBEDDING, "hidden": HIDDEN}
    vocabularies = Vocabularies({"mt": pe, "src": VocabularyInfo(19, "src")}, pe)
    if chained:
        config = ChainedEditOperationsConfig(**sizes, translation=TRANSLATION)
        model = scattered(ChainedEditOperations(config, vocabularies))
    else:
        model = scattered(EditOperations(EditOperationsConfig(**sizes), vocabularies))
    assert isinstance(model, EditOperations)
    texts = streams_of({**SENTENCES, "pe": WRITTEN})
    return model, Batch({name: texts[name] for name in model.inputs}, Target(texts["pe"].ids, texts["pe"].mask))


def paper_of(model: EditOperations) -> Paper:
    return ChainedPaper(model) if isinstance(model, ChainedEditOperations) else Paper(model)


def losses(paper: Paper, smoothing: float) -> tuple[float, float]:
    """Return the loss of the operations, and what training adds to it."""
    found = [paper.log_probs(*pair) for pair in zip(ROWS, OPERATIONS)]
    loss = sum(smoothed(log_probs, tokens, smoothing) for log_probs, tokens in zip(found, WRITTEN))
    return loss, sum(paper.joint(sentence, smoothing) for sentence in ROWS)


@pytest.mark.parametrize("chained", [False, True])
def test_probabilities_attention_and_loss_are_those_of_operations(chained: bool) -> None:
    model, batch = build(chained)
    paper = paper_of(model)
    assert batch.target is not None
    output, _ = model.decode(batch.target.inputs, model.encode(batch))
    assert output.attention.keys() == {HARD, SOFT} if chained else {HARD}
    for row, (sentence, operations, tokens) in enumerate(zip(ROWS, OPERATIONS, WRITTEN)):
        log_probs = output.log_probs[row, : len(tokens)].numpy()
        np.testing.assert_allclose(log_probs, paper.log_probs(sentence, operations), rtol=0, atol=1e-10)
        for step, (at, _) in enumerate(paper.decode(sentence, operations)):
            weights = output.attention[HARD][row, step]
            assert weights.tolist() == [float(place == at) for place in range(len(weights))]
            if isinstance(paper, ChainedPaper):
                attended = paper.translated(sentence)[1][at]
                found = output.attention[SOFT][row, step, : len(attended)]
                np.testing.assert_allclose(found.numpy(), attended, rtol=0, atol=1e-10)
        assert tokens[-1] == EOS
    for smoothing in (0.0, 0.1):
        (nll, _), (loss, joint) = losses(paper, 0.0), losses(paper, smoothing)
        judged, trained = model.eval()(batch, smoothing), model.train()(batch, smoothing)
        np.testing.assert_allclose([judged.nll, trained.nll, judged.loss], [nll, nll, loss], rtol=1e-12)
        np.testing.assert_allclose(trained.loss, loss + joint, rtol=1e-12)
        assert (joint > 0.0) == chained
    assert paper.p.read == set(paper.p), "every parameter is in the equations"
    torch.testing.assert_close(judged.tokens, batch.target.mask.sum())


@pytest.mark.parametrize("chained", [False, True])
def test_gradients_are_those_of_operations_and_translation(chained: bool) -> None:
    model, batch = build(chained)
    loss = model.requires_grad_(True).train()(batch, 0.1).loss
    assert_gradients(model, loss, lambda: sum(losses(paper_of(model), 0.1)))
