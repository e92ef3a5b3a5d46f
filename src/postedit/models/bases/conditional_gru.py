"""The recurrent models of Junczys-Dowmunt and Grundkiewicz 2017, which share all but what their decoder looks at.

Encoders are bidirectional GRUs, the decoder is a GRU that attends, the output layer is deep. A model looks at texts
through soft attention, at one position of mt through hard attention, or both; each file in `models` says which, and
gives the equations.
"""

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.errors import RecipeError
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.nn.attention import AdditiveAttention
from postedit.nn.dropout import keep_mask, variational_dropout, word_dropout
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.hard_attention import StepGrammar, hard_positions
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiGRU, GRUCell

HARD = AttentionKey("mt", "hard")


class ConditionalGRUConfig(Config):
    """Sizes; the defaults are the paper's (section 5.2)."""

    embedding: int = Field(512, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(1024, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int | None = Field(
        None, ge=1, description="width of the soft attention layers; as wide as annotations if unset"
    )
    dropout_rnn: float = Field(0.2, ge=0, lt=1, description="variational, over GRU inputs and states")
    dropout_word: float = Field(0.2, ge=0, lt=1, description="of whole words, in inputs and pe")
    share_embeddings: Sharing = Field("none", description="streams that share an embedding table with pe")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")


class ConditionalGRUModel(Seq2Seq["ConditionalGRUState"]):
    """Base of the family; a subclass names its inputs, which of them it attends to softly, and whether hard to mt.

    s0 = tanh(W_init [mean of each input's annotations]); for each token s' = GRU1(s, x), c = [ATT(C, s') of each
    softly attended text], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t), where x = E[y], or
    [E[y]; h_a] under hard attention, h_a being the annotation of mt at its position. With hard attention alone there
    is no GRU2: s = s', and c = h_a.

    The paper leaves biases out of its formulas (its footnote 2), does not give the width of the attention layer, and
    does not say what is read before the first token. Here each tanh, sigmoid and the last softmax has a bias inside,
    those of the GRUs two, as in PyTorch; the width is that of annotations, as in the Nematus model the paper follows;
    and BOS has an embedding of its own. Embeddings are read times sqrt(width), as in a Transformer: E[y] above is that
    product, so that one table, of deviation 1/sqrt(width) at first, has the right size to read from and to write with.
    """

    config_class: ClassVar = ConditionalGRUConfig
    soft: ClassVar[tuple[str, ...]]
    hard: ClassVar[bool] = False

    def __init__(self, config: ConditionalGRUConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if streams that share embeddings, or mt and pe under hard attention, have different
                vocabularies.
        """
        super().__init__()
        keys = {AttentionKey(name, "soft") for name in self.soft} | ({HARD} if self.hard else set())
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset(keys), parallel=False, writes=self.writes)
        if self.hard:
            _require_one_vocabulary(vocabularies)
        self.dropout_rnn, self.dropout_word = config.dropout_rnn, config.dropout_word
        width, hidden = config.embedding, config.hidden
        self.embedding_scale = width**0.5
        annotation = 2 * hidden
        contexts = annotation * (len(self.soft) or 1)

        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.embed_inputs = nn.ModuleDict(tables)
        self.encoders = nn.ModuleDict({name: BiGRU(width, hidden, config.dropout_rnn) for name in self.inputs})
        self.attentions = nn.ModuleDict(
            {name: AdditiveAttention(hidden, annotation, config.attention or annotation) for name in self.soft}
        )
        self.init = nn.Linear(annotation * len(self.inputs), hidden)
        self.gru1 = GRUCell(width + annotation if self.hard else width, hidden)
        self.gru2 = GRUCell(contexts, hidden) if self.soft else None
        self.deep_state = nn.Linear(hidden, width)
        self.deep_embedding = nn.Linear(width, width, bias=False)
        self.deep_context = nn.Linear(contexts, width, bias=False)
        self.head = SoftmaxHead(width, vocabularies.target.size, tied=self.embed_pe if config.tie_output else None)
        for layer in (self.init, self.deep_state, self.deep_embedding, self.deep_context):
            nn.init.xavier_uniform_(layer.weight)
        for table in (*tables.values(), self.embed_pe):
            nn.init.normal_(table.weight, std=width**-0.5)
        nn.init.zeros_(self.init.bias)
        nn.init.zeros_(self.deep_state.bias)

    def encode(self, batch: Batch) -> "ConditionalGRUState":
        """Encode all inputs; keep annotations, their projections and the start state."""
        tensors: dict[str, Tensor] = {}
        means = []
        for name in self.inputs:
            stream = batch.streams[name]
            annotations_NSC = self.encoders[name](self._embed(self.embed_inputs[name], stream.ids), stream.mask)
            means.append(_mean(annotations_NSC, stream))
            tensors |= {f"{name}.annotations": annotations_NSC, f"{name}.mask": stream.mask}
            if name in self.soft:
                tensors[f"{name}.keys"] = cast(AdditiveAttention, self.attentions[name]).project(annotations_NSC)
        start_ND = torch.tanh(self.init(torch.cat(means, -1)))
        positions_N1 = torch.zeros(batch.rows, 1, dtype=torch.long, device=start_ND.device)
        return ConditionalGRUState(Memory.of(**tensors), start_ND.unsqueeze(1), positions_N1)

    def decode(self, tokens: Tensor, state: "ConditionalGRUState") -> tuple[DecoderOutput, "ConditionalGRUState"]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        memory = state.memory
        embedded_NKE = self._embed(self.embed_pe, tokens)
        masks = self._masks(embedded_NKE)
        inputs_NKX, positions_NK, hard_NKC = embedded_NKE, torch.zeros_like(tokens), None
        if self.hard:
            positions_NK = hard_positions(state.positions_NK[:, -1], memory["mt.mask"].sum(1) - 1, tokens)
            annotations_NSC = memory["mt.annotations"]
            hard_NKC = annotations_NSC.gather(1, positions_NK.unsqueeze(-1).expand(-1, -1, annotations_NSC.size(-1)))
            dropped_NKC = hard_NKC if masks.hard is None else hard_NKC * masks.hard.unsqueeze(1)
            inputs_NKX = torch.cat([embedded_NKE, dropped_NKC], -1)
        states_NKD, contexts_NKC, attention = self._run_decoder(inputs_NKX, state, masks)
        if hard_NKC is not None:
            one_hot_NKS = F.one_hot(positions_NK, memory["mt.mask"].size(1))
            attention[HARD] = one_hot_NKS.to(states_NKD.dtype)
        contexts_NKC = hard_NKC if contexts_NKC is None else contexts_NKC
        features_NKE = torch.tanh(
            self.deep_state(states_NKD[:, 1:]) + self.deep_embedding(embedded_NKE) + self.deep_context(contexts_NKC)
        )
        positions_NK = torch.cat([state.positions_NK[:, -1:], positions_NK], 1)
        return DecoderOutput(self.head(features_NKE), attention), ConditionalGRUState(memory, states_NKD, positions_NK)

    def constraints(self, batch: Batch) -> tuple[Constraint, ...]:
        """Under hard attention, pass all of mt and no more."""
        if not self.hard:
            return ()
        return (StepGrammar.of(batch.streams["mt"].lengths, self.spec.vocabularies.target.size),)

    def _run_decoder(
        self, inputs_NKX: Tensor, state: "ConditionalGRUState", masks: "_StepMasks"
    ) -> tuple[Tensor, Tensor | None, dict[AttentionKey, Tensor]]:
        """Return the states Float[N,K+1,D], the first one included, soft contexts Float[N,K,C], and soft attention."""
        s_ND = state.states_NKD[:, -1]
        states, contexts = [s_ND], []
        weights: dict[str, list[Tensor]] = {name: [] for name in self.soft}
        for projected in self.gru1.project(inputs_NKX).unbind(1):
            s_ND = self.gru1(projected, s_ND, masks.state1)
            if self.gru2 is not None:
                context_NC = self._attend(s_ND, state.memory, weights)
                dropped_NC = context_NC if masks.context is None else context_NC * masks.context
                s_ND = self.gru2(self.gru2.project(dropped_NC), s_ND, masks.state2)
                contexts.append(context_NC)
            states.append(s_ND)
        attention = {AttentionKey(name, "soft"): torch.stack(weights[name], 1) for name in self.soft}
        return torch.stack(states, 1), torch.stack(contexts, 1) if contexts else None, attention

    def _attend(self, s_ND: Tensor, memory: Memory, weights: dict[str, list[Tensor]]) -> Tensor:
        contexts = []
        for name in self.soft:
            context, weight = self.attentions[name](
                s_ND, memory[f"{name}.keys"], memory[f"{name}.annotations"], memory[f"{name}.mask"]
            )
            contexts.append(context)
            weights[name].append(weight)
        return torch.cat(contexts, -1)

    def _embed(self, table: nn.Module, ids: Tensor) -> Tensor:
        x = word_dropout(table(ids) * self.embedding_scale, self.dropout_word, self.training)
        return variational_dropout(x, self.dropout_rnn, self.training)

    def _masks(self, like: Tensor) -> "_StepMasks":
        """Draw the masks that all steps of this call share."""
        if not self.training or self.dropout_rnn == 0.0:
            return _StepMasks()
        hidden, contexts = self.init.out_features, self.deep_context.in_features

        def mask(width: int) -> Tensor:
            return keep_mask(like, (like.size(0), width), self.dropout_rnn)

        return _StepMasks(
            mask(hidden),
            mask(hidden) if self.soft else None,
            mask(contexts) if self.soft else None,
            mask(2 * hidden) if self.hard else None,
        )


@dataclass(frozen=True, eq=False, slots=True)
class ConditionalGRUState:
    """The encoded inputs, and the decoder states of the last call.

    Args:
        memory: annotations, attention keys and masks of the inputs.
        states_NKD: the state before the last call and after each of its K tokens; the last one is the current one.
        positions_NK: Long[N,K+1], likewise the position of hard attention; 0 without.
    """

    memory: Memory
    states_NKD: Tensor
    positions_NK: Tensor

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.memory.select(rows), self.states_NKD[rows], self.positions_NK[rows])

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of the last decode, row by row."""
        rows = torch.arange(keep.size(0), device=keep.device)
        return type(self)(
            self.memory, self.states_NKD[rows, keep].unsqueeze(1), self.positions_NK[rows, keep].unsqueeze(1)
        )

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        states_NKD = torch.cat([self.states_NKD[:, -1:], other.states_NKD[:, -1:]])
        positions_NK = torch.cat([self.positions_NK[:, -1:], other.positions_NK[:, -1:]])
        return type(self)(self.memory.join(other.memory), states_NKD, positions_NK)


@dataclass(frozen=True, eq=False, slots=True)
class _StepMasks:
    """Dropout masks of the state in both GRUs, of soft contexts and of the hard one, None where nothing is dropped."""

    state1: Tensor | None = None
    state2: Tensor | None = None
    context: Tensor | None = None
    hard: Tensor | None = None


def _mean(annotations_NSC: Tensor, stream: Stream) -> Tensor:
    """Return the mean annotation Float[N,C] of the real positions; annotations are zero on padding."""
    return annotations_NSC.sum(1) / stream.lengths.unsqueeze(1).to(annotations_NSC.dtype)


def _require_one_vocabulary(vocabularies: Vocabularies) -> None:
    mt, pe = vocabularies.streams["mt"], vocabularies.target
    if mt != pe:
        raise RecipeError(
            "hard attention finds the tokens of mt in pe and needs one vocabulary for both, but they differ "
            f'({mt.size} and {pe.size} tokens); set text.vocabulary.sharing to "joint" or "mt-pe"'
        )
