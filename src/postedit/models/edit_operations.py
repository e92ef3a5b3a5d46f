"""The predictor of edit operations of Bérard et al. 2017: an LSTM that keeps, deletes and inserts tokens of mt."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.errors import RecipeError
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, Vocabularies
from postedit.core.special_tokens import PAD
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.dropout import dropout
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.operations import OperationDistribution, OperationGrammar, operations_of
from postedit.nn.recurrent import BiLSTM, RecurrentState, initialise_lstm

_FORCED = AttentionKey("mt", "hard")


class EditOperationsConfig(Config):
    """Sizes; small, as in the paper."""

    embedding: int = Field(128, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(128, ge=1, description="width of LSTM states; annotations are twice as wide")
    dropout: float = Field(0.0, ge=0, lt=1, description="on embeddings and on the deep output layer")


class EditOperations(Seq2Seq[RecurrentState]):
    """p(operations | mt): KEEP or DEL the token at the present position of mt, or INS a token before it.

    h = bi-LSTM(E mt); h0 = tanh(W [last h of both directions] + b), c0 likewise of c. For each operation o read, of
    which n KEEPs and DELs so far: a = 1 + n (forced attention), s = LSTM(s, [E_o[o]; h_a]),
    t = tanh(W1 s + W2 E_o[o] + W3 h_a + b), p(next operation) = softmax(W_o t + b).

    Forced attention and the operations are the paper's. Its text is not among the papers that this project was made
    from, so the cells, the start state and the deep output are readings of ours. Three things differ: the output ends
    with a KEEP of the end of mt, not with an operation of its own; a token that is the one at the position cannot be
    inserted before it, so that operations are tokens (`nn.operations`); insertions come before deletions.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = EditOperationsConfig
    inputs: ClassVar[tuple[str, ...]] = ("mt",)
    writes: ClassVar = "operations"

    def __init__(self, config: EditOperationsConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        mt, pe = vocabularies.streams["mt"], vocabularies.target
        if mt != pe:
            raise RecipeError(
                "edit operations keep the tokens of mt and need one vocabulary for mt and pe, but they differ "
                f'({mt.size} and {pe.size} tokens); set text.vocabulary.sharing to "joint" or "mt-pe"'
            )
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_FORCED}), parallel=False, writes="operations")
        self.dropout, self.keep = config.dropout, pe.size
        width, hidden, annotation = config.embedding, config.hidden, 2 * config.hidden
        self.embed_mt = nn.Embedding(mt.size, width, padding_idx=PAD)
        self.embed_operations = nn.Embedding(pe.size + 1, width, padding_idx=PAD)  # KEEP comes last
        self.encoder = BiLSTM(width, annotation, 1, 0.0)
        self.starts = nn.ModuleList(nn.Linear(annotation, hidden) for _ in ("h", "c"))
        self.cell = nn.LSTMCell(width + annotation, hidden)
        self.deep_state = nn.Linear(hidden, width)
        self.deep_operation = nn.Linear(width, width, bias=False)
        self.deep_context = nn.Linear(annotation, width, bias=False)
        self.head = SoftmaxHead(width, pe.size + 1)
        for layer in (*self.starts, self.deep_state, self.deep_operation, self.deep_context):
            nn.init.xavier_uniform_(layer.weight)
        for layer in (*self.starts, self.deep_state):
            nn.init.zeros_(layer.bias)
        for name, weight in (*self.encoder.named_parameters(), *self.cell.named_parameters()):
            initialise_lstm(name, weight)

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode mt; keep annotations, tokens and the start state."""
        mt = batch.streams["mt"]
        annotations_NSC, last = self.encoder(self._embed(self.embed_mt, mt.ids), mt.mask)
        states = [torch.tanh(start(part)) for start, part in zip(self.starts, last[:, :, 0].unbind(1), strict=True)]
        history = {
            "h and c": torch.stack(states, 1).unsqueeze(1),
            "position": torch.zeros(batch.rows, 1, dtype=torch.long, device=batch.device),
        }
        return RecurrentState(Memory.of(annotations=annotations_NSC, ids=mt.ids, mask=mt.mask), history)

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        memory, start_N = state.memory, state.current("position")
        ids_NS, annotations_NSC = memory["ids"], memory["annotations"]
        kept_NK, positions_NK = operations_of(tokens, ids_NS, start_N, memory["mask"].sum(1) - 1)
        embedded_NKE = self._embed(self.embed_operations, tokens.masked_fill(kept_NK, self.keep))
        attended = positions_NK.unsqueeze(-1).expand(-1, -1, annotations_NSC.size(-1))
        contexts_NKC = annotations_NSC.gather(1, attended)
        states = [state.current("h and c")]
        for x_NX in torch.cat([embedded_NKE, contexts_NKC], -1).unbind(1):
            states.append(torch.stack(self.cell(x_NX, states[-1].unbind(1)), 1))
        states_NK2D = torch.stack(states, 1)
        deep_NKE = self.deep_state(states_NK2D[:, 1:, 0]) + self.deep_operation(embedded_NKE)
        deep_NKE = dropout(torch.tanh(deep_NKE + self.deep_context(contexts_NKC)), self.dropout, self.training)
        distribution = OperationDistribution(self.head(deep_NKE), ids_NS.gather(1, positions_NK))
        attention = F.one_hot(positions_NK, ids_NS.size(1)).to(deep_NKE.dtype)
        history = {"h and c": states_NK2D, "position": torch.cat([start_N.unsqueeze(1), positions_NK], 1)}
        return DecoderOutput(distribution, {_FORCED: attention}), RecurrentState(memory, history)

    def constraints(self, batch: Batch) -> tuple[Constraint, ...]:
        """Return the grammar of operations."""
        mt = batch.streams["mt"]
        return (OperationGrammar.over(mt.ids, mt.lengths, self.spec.vocabularies.target.size),)

    def _embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return dropout(table(ids), self.dropout, self.training)
