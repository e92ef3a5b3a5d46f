"""M-CGRU (Junczys-Dowmunt and Grundkiewicz 2017, 3 and 4.3): two encoders, a doubly-attentive conditional GRU."""

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.nn.attention import AdditiveAttention
from postedit.nn.dropout import keep_mask, variational_dropout, word_dropout
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiGRU, GRUCell

_STREAMS = ("mt", "src")  # the order of the concatenated contexts


class MCGRUConfig(Config):
    """Sizes; the defaults are the paper's (section 5.2)."""

    embedding: int = Field(512, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(1024, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int | None = Field(
        None, ge=1, description="width of the attention layers; as wide as annotations if unset"
    )
    dropout_rnn: float = Field(0.2, ge=0, lt=1, description="variational, over GRU inputs and states")
    dropout_word: float = Field(0.2, ge=0, lt=1, description="of whole words, in src, mt and pe")
    share_embeddings: Sharing = Field("none", description="streams that share an embedding table with pe")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")


class MCGRU(Seq2Seq["MCGRUState"]):
    """p(pe | mt, src) with soft attention over both inputs at every step.

    s0 = tanh(W_init [mean h_mt; mean h_src]); then for each symbol s' = GRU1(s, E[y]), c = [ATT(C_mt, s');
    ATT(C_src, s')], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t).

    The paper leaves biases out of its formulas (its footnote 2), does not give the width of the attention layer, and
    does not say what is read before the first symbol. Here each tanh, sigmoid and the last softmax has a bias inside,
    those of the GRUs two, as in PyTorch; the width is that of annotations, as in the Nematus model the paper follows;
    and BOS has an embedding of its own. Embeddings are read times sqrt(width), as in a Transformer: E[y] above is that
    product, so that one table, of deviation 1/sqrt(width) at first, has the right size to read from and to write with.
    """

    config_class: ClassVar = MCGRUConfig
    inputs: ClassVar = _STREAMS

    def __init__(self, config: MCGRUConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if streams that share embeddings have different vocabularies.
        """
        super().__init__()
        keys = frozenset(AttentionKey(name, "soft") for name in _STREAMS)
        self.spec = ModelSpec(self.inputs, vocabularies, keys, parallel=False)
        self.dropout_rnn, self.dropout_word = config.dropout_rnn, config.dropout_word
        width, hidden = config.embedding, config.hidden
        self.embedding_scale = width**0.5
        annotation, contexts = 2 * hidden, 2 * hidden * len(_STREAMS)

        tables, self.embed_pe = embedding_tables(vocabularies, _STREAMS, width, config.share_embeddings)
        self.embed_inputs = nn.ModuleDict(tables)
        self.encoders = nn.ModuleDict({name: BiGRU(width, hidden, config.dropout_rnn) for name in _STREAMS})
        self.attentions = nn.ModuleDict(
            {name: AdditiveAttention(hidden, annotation, config.attention or annotation) for name in _STREAMS}
        )
        self.init = nn.Linear(contexts, hidden)
        self.gru1 = GRUCell(width, hidden)
        self.gru2 = GRUCell(contexts, hidden)
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

    def encode(self, batch: Batch) -> "MCGRUState":
        """Encode both streams; keep annotations, their projections and the start state."""
        tensors: dict[str, Tensor] = {}
        means = []
        for name in _STREAMS:
            stream = batch.streams[name]
            annotations_NSC = self.encoders[name](self._embed(self.embed_inputs[name], stream.ids), stream.mask)
            means.append(_mean(annotations_NSC, stream))
            keys_NSA = cast(AdditiveAttention, self.attentions[name]).project(annotations_NSC)
            tensors |= {f"{name}.annotations": annotations_NSC, f"{name}.keys": keys_NSA, f"{name}.mask": stream.mask}
        start_ND = torch.tanh(self.init(torch.cat(means, -1)))
        return MCGRUState(Memory.of(**tensors), start_ND.unsqueeze(1))

    def decode(self, tokens: Tensor, state: "MCGRUState") -> tuple[DecoderOutput, "MCGRUState"]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        embedded_NKE = self._embed(self.embed_pe, tokens)
        projected_NKD = self.gru1.project(embedded_NKE)
        s_ND = state.trail_NKD[:, -1]
        masks = self._masks(s_ND)
        states, contexts = [s_ND], []
        weights: dict[str, list[Tensor]] = {name: [] for name in _STREAMS}
        for projected in projected_NKD.unbind(1):
            inner_ND = self.gru1(projected, s_ND, masks.state1)
            context_NC = self._attend(inner_ND, state.memory, weights)
            seen = context_NC if masks.context is None else context_NC * masks.context
            s_ND = self.gru2(self.gru2.project(seen), inner_ND, masks.state2)
            states.append(s_ND)
            contexts.append(context_NC)
        trail_NKD = torch.stack(states, 1)
        features_NKE = torch.tanh(
            self.deep_state(trail_NKD[:, 1:])
            + self.deep_embedding(embedded_NKE)
            + self.deep_context(torch.stack(contexts, 1))
        )
        attention = {AttentionKey(name, "soft"): torch.stack(weights[name], 1) for name in _STREAMS}
        return DecoderOutput(self.head(features_NKE), attention), MCGRUState(state.memory, trail_NKD)

    def _attend(self, s_ND: Tensor, memory: Memory, weights: dict[str, list[Tensor]]) -> Tensor:
        contexts = []
        for name in _STREAMS:
            context, weight = self.attentions[name](
                s_ND, memory[f"{name}.keys"], memory[f"{name}.annotations"], memory[f"{name}.mask"]
            )
            contexts.append(context)
            weights[name].append(weight)
        return torch.cat(contexts, -1)

    def _embed(self, table: nn.Module, ids: Tensor) -> Tensor:
        x = word_dropout(table(ids) * self.embedding_scale, self.dropout_word, self.training)
        return variational_dropout(x, self.dropout_rnn, self.training)

    def _masks(self, s_ND: Tensor) -> "_StepMasks":
        """Draw the masks that all steps of this call share."""
        if not self.training or self.dropout_rnn == 0.0:
            return _StepMasks()
        rows, hidden = s_ND.shape
        contexts = self.deep_context.in_features
        return _StepMasks(*(keep_mask(s_ND, (rows, width), self.dropout_rnn) for width in (hidden, hidden, contexts)))


@dataclass(frozen=True, eq=False, slots=True)
class MCGRUState:
    """The encoded inputs, and the decoder states of the last call.

    Args:
        memory: annotations, attention keys and masks of both streams.
        trail_NKD: the state before the last call and after each of its K tokens; the last one is the current one.
    """

    memory: Memory
    trail_NKD: Tensor

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.memory.select(rows), self.trail_NKD[rows])

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of the last decode, row by row."""
        rows = torch.arange(keep.size(0), device=keep.device)
        return type(self)(self.memory, self.trail_NKD[rows, keep].unsqueeze(1))


@dataclass(frozen=True, eq=False, slots=True)
class _StepMasks:
    """Dropout masks of the state in both GRUs and of the context, None where nothing is dropped."""

    state1: Tensor | None = None
    state2: Tensor | None = None
    context: Tensor | None = None


def _mean(annotations_NSC: Tensor, stream: Stream) -> Tensor:
    """Return the mean annotation Float[N,C] of the real positions; annotations are zero on padding."""
    return annotations_NSC.sum(1) / stream.lengths.unsqueeze(1).to(annotations_NSC.dtype)
