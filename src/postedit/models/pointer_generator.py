"""The pointer-generator network with coverage of See et al. 2017: an LSTM that generates tokens or copies them."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.special_tokens import UNK
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.attention import AdditiveAttention, weighted_sum
from postedit.nn.copying import CopyDistribution, CopySource, sigmoid_gates
from postedit.nn.embeddings import Sharing, embedding_tables, require_one_vocabulary
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiLSTM, RecurrentState, initialise_lstm
from postedit.nn.tensors import at_least_float

_COPY = AttentionKey("mt", "copy")


class PointerGeneratorConfig(Config):
    """Sizes; the defaults are the paper's (section 5)."""

    embedding: int = Field(128, ge=1, description="width of embeddings")
    hidden: int = Field(256, ge=1, description="width of LSTM states; annotations and attention are twice as wide")
    coverage: bool = Field(True, description="attention reads how much attention each token of mt has had")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")


class PointerGenerator(Seq2Seq[RecurrentState]):
    """p(pe | mt), where each token is generated from the vocabulary or copied from mt.

    Let h_i be the state of the bi-LSTM at token i of mt. For each token y read: x = W_x [E y; h*] + b, s = LSTM(s, x),
    e_i = v tanh(W_h h_i + W_s s + w_c c_i + b) (eq. 1 and 11), a = softmax(e) (eq. 2), h* = sum a_i h_i (eq. 3),
    P = softmax(V' (V [s, h*] + b) + b') (eq. 4), g = sigmoid(w_h h* + w_s s + w_x x + b) (eq. 8),
    p(w) = g P(w) + (1 - g) sum of a_i where mt has w (eq. 9). The coverage c is the sum of all earlier a (eq. 10). The
    coverage loss (eq. 12, 13) is the option `train.coverage`.

    The paper does not say how x is computed from y, how the decoder starts, or which part of the LSTM state is s. All
    three follow the authors' release: x includes the last context; the initial state is relu(W [last states of both
    directions] + b), for h and c separately; s is [c; h] in equations 1, 8 and 11, and h in equation 4. The number of
    weights is the paper's. Initialisation differs (Glorot and orthogonal, embeddings with standard deviation 1, forget
    gates with bias 1), because the tiny initial weights of the release need its optimiser. w_c starts at zero: until it
    is trained, the model behaves as if it had no coverage.

    With `text.vocabulary.copied`, the vocabulary of pe ends in copied tokens, which stand for the unknown tokens of mt,
    in their order: the paper's extended vocabulary. They are read as UNK, and can be copied but not generated.

    `aux["gate"]` Float[N,K,2] holds the probabilities of generating and of copying, g and 1 - g.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = PointerGeneratorConfig
    inputs: ClassVar = ("mt",)

    def __init__(self, config: PointerGeneratorConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        require_one_vocabulary(vocabularies, "mt", "copying from mt")
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_COPY}), parallel=False)
        width, hidden, target = config.embedding, config.hidden, vocabularies.target
        annotation = 2 * hidden
        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.embed_mt = tables["mt"]
        self.encoder = BiLSTM(width, annotation, 1, 0.0)
        self.starts = nn.ModuleList(nn.Linear(annotation, hidden) for _ in ("h", "c"))
        self.input = nn.Linear(width + annotation, width)
        self.cell = nn.LSTMCell(width, hidden)
        self.attention = AdditiveAttention(annotation, annotation, annotation, config.coverage)
        self.gate = nn.Linear(2 * annotation + width, 1)
        self.features = nn.Linear(hidden + annotation, hidden)
        self.known = target.size - target.copied
        self.head = SoftmaxHead(hidden, target.size, copied=target.copied)
        for layer in (*self.starts, self.input, self.gate, self.features):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        for name, weight in (*self.encoder.named_parameters(), *self.cell.named_parameters()):
            initialise_lstm(name, weight)

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode mt into annotations, attention keys and the initial decoder state; also keep its token ids."""
        mt = batch.streams["mt"]
        annotations_NSC, last = self.encoder(self.embed_mt(self._read(mt.ids)), mt.mask)
        keys_NSA = self.attention.project(annotations_NSC)
        memory = Memory.of(annotations=annotations_NSC, keys=keys_NSA, mask=mt.mask, ids=mt.ids)
        states = [F.relu(start(part)) for start, part in zip(self.starts, last[:, :, 0].unbind(1), strict=True)]
        nothing = torch.zeros_like(mt.ids, dtype=at_least_float(annotations_NSC.dtype))
        history = {
            "h and c": torch.stack(states, 1).unsqueeze(1),
            "context": torch.zeros_like(annotations_NSC[:, :1]),
            "coverage": nothing.unsqueeze(1),
        }
        return RecurrentState(memory, history)

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        memory = state.memory
        keys_NSA, annotations_NSC, mask_NS = memory["keys"], memory["annotations"], memory["mask"]
        history = {name: [state.current(name)] for name in state.history}
        inputs, log_weights = [], []
        for embedded_NE in self.embed_pe(self._read(tokens)).unbind(1):
            (h_ND, c_ND), coverage_NS = history["h and c"][-1].unbind(1), history["coverage"][-1]
            inputs.append(self.input(torch.cat([embedded_NE, history["context"][-1]], -1)))
            h_ND, c_ND = self.cell(inputs[-1], (h_ND, c_ND))
            scores_NS = self.attention.scores(torch.cat([c_ND, h_ND], -1), keys_NSA, mask_NS, coverage_NS)
            log_weights.append(scores_NS.log_softmax(-1, dtype=coverage_NS.dtype))
            weights_NS = log_weights[-1].exp()
            history["h and c"].append(torch.stack([h_ND, c_ND], 1))
            history["context"].append(weighted_sum(weights_NS, annotations_NSC))
            history["coverage"].append(coverage_NS + weights_NS)
        grown = {name: torch.stack(parts, 1) for name, parts in history.items()}
        (h_NKD, c_NKD), contexts_NKC = grown["h and c"][:, 1:].unbind(2), grown["context"][:, 1:]
        gate = self.gate(torch.cat([contexts_NKC, c_NKD, h_NKD, torch.stack(inputs, 1)], -1))
        log_gates_NKG, log_weights_NKS = sigmoid_gates(gate.squeeze(-1)), torch.stack(log_weights, 1)
        generator = self.head(self.features(torch.cat([h_NKD, contexts_NKC], -1)))
        distribution = CopyDistribution(
            generator, log_gates_NKG, (CopySource(log_weights_NKS, memory["ids"], mask_NS),)
        )
        output = DecoderOutput(distribution, {_COPY: log_weights_NKS.exp()}, {"gate": log_gates_NKG.exp()})
        return output, RecurrentState(memory, grown)

    def _read(self, ids: Tensor) -> Tensor:
        """Return the token ids as the model reads them: copied tokens become UNK."""
        return ids.masked_fill(ids >= self.known, UNK)
