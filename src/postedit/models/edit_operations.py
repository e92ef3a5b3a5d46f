"""Models that predict edit operations (Bérard et al. 2017): an LSTM keeps or deletes tokens of mt, and inserts others.

One model reads only mt; the other is chained with a translator from src to mt.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, Vocabularies
from postedit.core.special_tokens import BOS, PAD
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.attention import general_attention
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import require_one_vocabulary
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.operations import OperationDistribution, OperationGrammar, operations_of
from postedit.nn.recurrent import BiLSTM, RecurrentState, initialise_lstm
from postedit.nn.tensors import compute_dtype

_FORCED = AttentionKey("mt", "hard")


class EditOperationsConfig(Config):
    """Sizes; the defaults are small, as in the paper."""

    embedding: int = Field(128, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(128, ge=1, description="width of LSTM states; annotations are twice as wide")
    dropout: float = Field(0.0, ge=0, lt=1, description="on embeddings and on the deep output layer")


class EditOperations(Seq2Seq[RecurrentState]):
    """p(operations | mt): KEEP or DEL the token at the current position of mt, or INS a token before it.

    h = bi-LSTM(E mt); h0 = tanh(W [last h of both directions] + b), and c0 is computed from c in the same way. For each
    operation o read, when n KEEPs and DELs have been read: a = 1 + n (forced attention), s = LSTM(s, [E_o[o]; h_a]),
    t = tanh(W1 s + W2 E_o[o] + W3 h_a + b), p(next operation) = softmax(W_o t + b).

    Forced attention and the operations are the paper's. This class was written without its text, so the cells, the
    initial state and the deep output layer are our interpretation. There are three differences: the output ends with a
    KEEP of the EOS of mt, not with an operation of its own; the token at the current position cannot be inserted before
    itself, so that each operation can be expressed as a token (`nn.operations`); insertions come before deletions.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = EditOperationsConfig
    inputs: ClassVar[tuple[str, ...]] = ("mt",)
    soft: ClassVar[tuple[AttentionKey, ...]] = ()
    writes: ClassVar = "operations"

    def __init__(self, config: EditOperationsConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        require_one_vocabulary(vocabularies, "mt", "keeping tokens of mt")
        keys = frozenset({_FORCED, *self.soft})
        self.spec = ModelSpec(self.inputs, vocabularies, keys, parallel=False, writes="operations")
        size = vocabularies.target.size
        self.dropout, self.keep = config.dropout, size
        width, hidden, annotation = config.embedding, config.hidden, 2 * config.hidden
        context = annotation * (1 + len(self.soft))
        self.embed_mt = nn.Embedding(size, width, padding_idx=PAD)
        self.embed_operations = nn.Embedding(size + 1, width, padding_idx=PAD)  # KEEP comes last
        self.encoder = BiLSTM(width, annotation, 1, 0.0)
        self.starts = nn.ModuleList(nn.Linear(annotation, hidden) for _ in ("h", "c"))
        self.cell = nn.LSTMCell(width + context, hidden)
        self.deep_state = nn.Linear(hidden, width)
        self.deep_operation = nn.Linear(width, width, bias=False)
        self.deep_context = nn.Linear(context, width, bias=False)
        self.head = SoftmaxHead(width, size + 1)
        for layer in (*self.starts, self.deep_state, self.deep_operation, self.deep_context):
            nn.init.xavier_uniform_(layer.weight)
        for layer in (*self.starts, self.deep_state):
            nn.init.zeros_(layer.bias)
        for name, weight in (*self.encoder.named_parameters(), *self.cell.named_parameters()):
            initialise_lstm(name, weight)

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode mt into annotations and the initial decoder state; also keep its token ids."""
        mt = batch.streams["mt"]
        annotations_NSC, last = self.encoder(self._embed(self.embed_mt, mt.ids), mt.mask)
        states = [torch.tanh(start(part)) for start, part in zip(self.starts, last[:, :, 0].unbind(1), strict=True)]
        history = {
            "h and c": torch.stack(states, 1).unsqueeze(1),
            "position": torch.zeros(batch.rows, 1, dtype=torch.long, device=batch.device),
        }
        return RecurrentState(Memory.of(annotations=annotations_NSC, ids=mt.ids, mask=mt.mask), history)

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        memory, start_N = state.memory, state.current("position")
        ids_NS = memory["ids"]
        kept_NK, positions_NK = operations_of(tokens, ids_NS, start_N, memory["mask"].sum(1) - 1)
        embedded_NKE = self._embed(self.embed_operations, tokens.masked_fill(kept_NK, self.keep))
        contexts_NKC, attention = self.attend(memory, positions_NK)
        states = [state.current("h and c")]
        for x_NX in torch.cat([embedded_NKE, contexts_NKC], -1).unbind(1):
            states.append(torch.stack(self.cell(x_NX, states[-1].unbind(1)), 1))
        states_NK2D = torch.stack(states, 1)
        deep_NKE = self.deep_state(states_NK2D[:, 1:, 0]) + self.deep_operation(embedded_NKE)
        deep_NKE = dropout(torch.tanh(deep_NKE + self.deep_context(contexts_NKC)), self.dropout, self.training)
        distribution = OperationDistribution(self.head(deep_NKE), ids_NS.gather(1, positions_NK))
        history = {"h and c": states_NK2D, "position": torch.cat([start_N.unsqueeze(1), positions_NK], 1)}
        return DecoderOutput(distribution, attention), RecurrentState(memory, history)

    def attend(self, memory: Memory, positions_NK: Tensor) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Return the contexts Float[N,K,C] and the attention Float[N,K,S], by key, at these positions of mt."""
        annotations_NSC = memory["annotations"]
        attention = F.one_hot(positions_NK, annotations_NSC.size(1)).to(annotations_NSC.dtype)
        return _at(positions_NK, annotations_NSC), {_FORCED: attention}

    def constraints(self, batch: Batch) -> tuple[Constraint, ...]:
        """Return the grammar of edit operations over mt."""
        mt = batch.streams["mt"]
        return (OperationGrammar.over(mt.ids, mt.lengths, self.spec.vocabularies.target.size),)

    def _embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return dropout(table(ids), self.dropout, self.training)


def _at(positions_NK: Tensor, values_NSC: Tensor) -> Tensor:
    """Return the values Float[N,K,C] at the given positions."""
    return values_NSC.gather(1, positions_NK.unsqueeze(-1).expand(-1, -1, values_NSC.size(-1)))


class ChainedEditOperationsConfig(EditOperationsConfig):
    """Sizes of both models, and the weight of the translator."""

    translation: float = Field(1.0, gt=0, description="weight of the loss of the translator from src to mt in training")


class ChainedEditOperations(EditOperations):
    """p(operations | mt, src): `EditOperations`, chained with a translator from src to mt.

    The translator reads the tokens of mt one by one, and attends to src to predict the next: z_i = LSTM(E mt before i),
    r_i = sum over src of softmax(z_i^T W g) g, with g = bi-LSTM(E src), and p(mt_i) = softmax(V tanh(U [z_i; r_i] + b)
    + b'). At token a of mt, the model reads h_a and also the translator's context for writing that token: its context
    is [h_a; r_a]. Both models are trained together:

    L = -log p(operations | mt, src) - translation * log p(mt | src)

    The chain and the joint training follow descriptions of the paper; that the translator passes on its contexts, and
    the form of its attention and output layer, are our interpretation. The attention reported for src is that of the
    translator.
    """

    config_class: ClassVar = ChainedEditOperationsConfig
    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = (AttentionKey("src", "soft"),)
    training_only: ClassVar = ("translator.features.", "translator.head.")

    def __init__(self, config: ChainedEditOperationsConfig, vocabularies: Vocabularies) -> None:
        """Create both models with fresh weights."""
        super().__init__(config, vocabularies)
        self.translation = config.translation
        self.embed_src = nn.Embedding(vocabularies.streams["src"].size, config.embedding, padding_idx=PAD)
        self.translator = _Translator(config, vocabularies.streams["mt"].size)

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode mt and src, and run the translator over mt."""
        state, src, mt = super().encode(batch), batch.streams["src"], batch.streams["mt"]
        before = F.pad(mt.ids[:, :-1], (1, 0), value=BOS)
        x_NSE, before_NTE = self._embed(self.embed_src, src.ids), self._embed(self.embed_mt, before)
        tensors = self.translator(x_NSE, src.mask, before_NTE)
        return RecurrentState(Memory.of(**state.memory.tensors, **tensors), state.history)

    def attend(self, memory: Memory, positions_NK: Tensor) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Return the contexts Float[N,K,C] and the attention Float[N,K,S], by key, at these positions of mt."""
        at_NKC, attention = super().attend(memory, positions_NK)
        context_NKC, weights_NKS = self.translator.attend(_at(positions_NK, memory["z"]), memory)
        return torch.cat([at_NKC, context_NKC.to(at_NKC.dtype)], -1), {**attention, self.soft[0]: weights_NKS}

    def joint_loss(
        self, batch: Batch, state: RecurrentState, attention: Mapping[AttentionKey, Tensor], smoothing: float
    ) -> Tensor:
        """Return the weighted loss of the translator, that of mt given src."""
        mt, z_NTD = batch.streams["mt"], state.memory["z"]
        context_NTC, _ = self.translator.attend(z_NTD, state.memory)
        features_NTE = torch.tanh(self.translator.features(torch.cat([z_NTD, context_NTC.to(z_NTD.dtype)], -1)))
        predicted = self.translator.head(dropout(features_NTE, self.dropout, self.training))
        loss: Tensor = predicted.label_loss(mt.ids, mt.mask, smoothing).loss
        return self.translation * loss


class _Translator(nn.Module):
    """The translator from src to mt: a bi-LSTM encoder, an LSTM decoder, and attention computed from its states."""

    def __init__(self, config: EditOperationsConfig, vocabulary: int) -> None:
        """Create a translator with fresh weights."""
        super().__init__()
        width, hidden, annotation = config.embedding, config.hidden, 2 * config.hidden
        self.encoder = BiLSTM(width, annotation, 1, 0.0)
        self.starts = nn.ModuleList(nn.Linear(annotation, hidden) for _ in ("h", "c"))
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.keys = nn.Linear(annotation, hidden, bias=False)
        self.features = nn.Linear(hidden + annotation, width)
        self.head = SoftmaxHead(width, vocabulary)
        for layer in (*self.starts, self.keys, self.features):
            nn.init.xavier_uniform_(layer.weight)
        for layer in (*self.starts, self.features):
            nn.init.zeros_(layer.bias)
        for name, weight in (*self.encoder.named_parameters(), *self.lstm.named_parameters()):
            initialise_lstm(name, weight)

    def forward(self, x_NSE: Tensor, mask_NS: Tensor, before_NTE: Tensor) -> dict[str, Tensor]:
        """Return the tensors that attention needs, by name, given embedded src, and mt embedded one position later."""
        annotations_NSC, last = self.encoder(x_NSE, mask_NS)
        h, c = (start(part).tanh() for start, part in zip(self.starts, last.unbind(1), strict=True))
        # PyTorch decides by the type of the input whether oneDNN can compute the layer; autocast changes it only later.
        before_NTE = before_NTE.to(compute_dtype(before_NTE))
        z_NTD, _ = self.lstm(before_NTE, (h.transpose(0, 1), c.transpose(0, 1)))
        return {
            "z": z_NTD,
            "src.keys": self.keys(annotations_NSC),
            "src.annotations": annotations_NSC,
            "src.mask": mask_NS,
        }

    def attend(self, z_NTD: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return the contexts Float[N,T,C] and weights Float[N,T,S] of the attention to src, given decoder states."""
        return general_attention(z_NTD, *(memory[f"src.{part}"] for part in ("keys", "annotations", "mask")))
