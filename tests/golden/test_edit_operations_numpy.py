"""The predictor of edit operations against a NumPy transcription over the alphabet of operations.

Written sentence by sentence and operation by operation: a KEEP is a KEEP here, not a token. LSTM cells after Hochreiter
and Schmidhuber.
"""

from typing import Final

import numpy as np
import torch
from equations import Array, Parameters, scattered, sigmoid, softmax, streams_of

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, STEP
from postedit.core.types import AttentionKey, Batch, Target
from postedit.models.edit_operations import EditOperations, EditOperationsConfig

EMBEDDING, HIDDEN, VOCABULARY = 5, 4, 17
KEEP: Final = "KEEP"
DEL: Final = "DEL"
Operation = str | int  # KEEP, DEL, or the token that is inserted

SENTENCES = [[6, 9, 7, 6, EOS], [EOS], [13, 6, 6, 12, EOS]]
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

    def lstm(self, prefix: str, suffix: str, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        p = self.p
        gates = p[f"{prefix}weight_ih{suffix}"] @ x + p[f"{prefix}bias_ih{suffix}"]
        gates = gates + p[f"{prefix}weight_hh{suffix}"] @ h + p[f"{prefix}bias_hh{suffix}"]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c

    def encode(self, ids: list[int]) -> tuple[Array, Array, Array]:
        """Return annotations, and the h and c that the decoder starts with."""
        directions, ends = [], []
        for suffix, order in (("", 1), ("_reverse", -1)):
            h, c, states = np.zeros(HIDDEN), np.zeros(HIDDEN), []
            for token in ids[::order]:
                h, c = self.lstm("encoder.lstm.", f"_l0{suffix}", self.p["embed_mt.weight"][token], h, c)
                states.append(h)
            directions.append(states[::order])
            ends.append((h, c))
        starts = []
        for part in range(2):
            both = np.concatenate([ends[0][part], ends[1][part]])
            starts.append(np.tanh(self.p[f"starts.{part}.weight"] @ both + self.p[f"starts.{part}.bias"]))
        return np.array([np.concatenate(pair) for pair in zip(*directions)]), starts[0], starts[1]

    def row(self, operation: Operation) -> int:
        """Return the row of an operation: that of the token that is inserted, of STEP for DEL, the last for KEEP."""
        if operation == KEEP:
            return VOCABULARY
        return STEP if operation == DEL else int(operation)

    def decode(self, mt: list[int], operations: list[Operation]) -> list[tuple[int, Array]]:
        """Return the position after BOS and each operation but the last, and the scores of the next ones by row."""
        annotations, h, c = self.encode(mt)
        steps, at = [], 0
        for operation in [BOS, *operations[:-1]]:
            at += operation in (KEEP, DEL)
            e, attended = self.p["embed_operations.weight"][self.row(operation)], annotations[at]
            h, c = self.lstm("cell.", "", np.concatenate([e, attended]), h, c)
            t = np.tanh(
                self.p["deep_state.weight"] @ h
                + self.p["deep_state.bias"]
                + self.p["deep_operation.weight"] @ e
                + self.p["deep_context.weight"] @ attended
            )
            steps.append((at, self.p["head.weight"] @ t + self.p["head.bias"]))
        return steps


def test_probabilities_attention_and_loss_are_those_of_operations() -> None:
    pe = VocabularyInfo(VOCABULARY, "pe")
    config = EditOperationsConfig(embedding=EMBEDDING, hidden=HIDDEN)
    model = scattered(EditOperations(config, Vocabularies({"mt": pe}, pe)))
    assert isinstance(model, EditOperations)
    paper = Paper(model)
    written = [tokens_of(mt, operations) for mt, operations in zip(SENTENCES, OPERATIONS)]
    texts = streams_of({"mt": SENTENCES, "pe": written})
    batch = Batch({"mt": texts["mt"]}, Target(texts["pe"].ids, texts["pe"].mask))
    assert batch.target is not None
    output, _ = model.decode(batch.target.inputs, model.encode(batch))
    total = 0.0
    for row, (mt, operations, tokens) in enumerate(zip(SENTENCES, OPERATIONS, written)):
        for step, (at, scores) in enumerate(paper.decode(mt, operations)):
            # All operations but one: to insert the token at the position is to keep it.
            possible = [*(token for token in range(VOCABULARY) if token != mt[at]), VOCABULARY]
            probabilities = dict(zip(possible, softmax(scores[possible])))
            as_tokens = [probabilities[VOCABULARY if token == mt[at] else token] for token in range(VOCABULARY)]
            np.testing.assert_allclose(output.log_probs[row, step].numpy(), np.log(as_tokens), rtol=0, atol=1e-10)
            weights = output.attention[AttentionKey("mt", "hard")][row, step]
            assert weights.tolist() == [float(place == at) for place in range(len(weights))]
            total -= np.log(probabilities[paper.row(operations[step])])
        assert tokens[-1] == EOS
    loss = model(batch)
    np.testing.assert_allclose([loss.loss, loss.nll], total, rtol=1e-12)
    assert paper.p.read == set(paper.p), "every parameter is in the equations"
    torch.testing.assert_close(loss.tokens, batch.target.mask.sum())
