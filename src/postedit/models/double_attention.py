"""Double-attention translation (Li et al. 2017, IV): the second stage, which refines a draft."""

from collections.abc import Mapping
from typing import ClassVar, Self, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.attention import AdditiveAttention
from postedit.nn.dropout import keep_mask, variational_dropout
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiGRU, GRUCell, MaxoutReadout, RecurrentState

_STREAMS = ("src", "mt")  # the order of the concatenated contexts


class DoubleAttentionConfig(Config):
    """Sizes; the defaults are those of the large-scale task (V.C), and where the paper is silent of the cited model."""

    embedding: int = Field(620, ge=1, description="width of embeddings")
    hidden: int = Field(1000, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int = Field(1000, ge=1, description="width of the attention layers")
    maxout: int = Field(500, ge=1, description="pairs of units in the layer before the softmax")
    dropout: float = Field(0.0, ge=0, lt=1, description="variational, over GRU inputs and states")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")
    freeze_embeddings: bool = Field(False, description="embeddings are not trained, but those of a first stage")

    @model_validator(mode="after")
    def _check_tying(self) -> Self:
        if self.tie_output and self.maxout != self.embedding:
            raise ValueError(f"tie_output needs maxout ({self.maxout}) to equal embedding ({self.embedding})")
        return self


class DoubleAttention(Seq2Seq[RecurrentState]):
    """p(pe | src, mt), mt being the draft: two encoders, and an attention for each.

    s_0 = (h'_1 + g'_1) / 2, the mean of the backward states at the first positions of src and mt (equation 9); then
    for each token c_t = [ATT(C_src, s_{t-1}); ATT(C_mt, s_{t-1})], s_t = GRU([E[y_{t-1}]; c_t], s_{t-1}),
    t = maxout(U s_t + V E[y_{t-1}] + C c_t), and p = softmax(W_o t).

    Equation 7 has the annotations of the draft depend on those of the source, by a lost tilde: the text above it says
    that the encoders are like that of section III, each on its own, and so they are here. What the paper leaves open is
    as in the cited Bahdanau et al. 2014 (A.1.2, A.2.2). The reset gate acts on U s, not on s before U. Embeddings are
    read times sqrt(width): E[y] above is that product. A table that is frozen keeps the values it was given.
    """

    config_class: ClassVar = DoubleAttentionConfig
    inputs: ClassVar = _STREAMS

    def __init__(self, config: DoubleAttentionConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if streams that share embeddings have different vocabularies.
        """
        super().__init__()
        keys = frozenset(AttentionKey(name, "soft") for name in _STREAMS)
        self.spec = ModelSpec(self.inputs, vocabularies, keys, parallel=False)
        self.dropout = config.dropout
        width, hidden = config.embedding, config.hidden
        self.embedding_scale = width**0.5
        annotation, contexts = 2 * hidden, 2 * hidden * len(_STREAMS)

        tables, self.embed_pe = embedding_tables(vocabularies, _STREAMS, width, config.share_embeddings)
        self.embed_inputs = nn.ModuleDict(tables)
        self.encoders = nn.ModuleDict({name: BiGRU(width, hidden, config.dropout) for name in _STREAMS})
        self.attentions = nn.ModuleDict(
            {name: AdditiveAttention(hidden, annotation, config.attention) for name in _STREAMS}
        )
        self.gru = GRUCell(width, hidden)
        self.gru_context = nn.Linear(contexts, 3 * hidden, bias=False)  # the rest of its input weights
        self.readout = MaxoutReadout(hidden, width, contexts, config.maxout)
        tied = self.embed_pe if config.tie_output else None
        self.head = SoftmaxHead(config.maxout, vocabularies.target.size, tied=tied)
        for block in self.gru_context.weight.chunk(3):
            nn.init.xavier_uniform_(block)
        for table in self.embeddings().values():
            nn.init.normal_(table.weight, std=width**-0.5)
            table.requires_grad_(not config.freeze_embeddings)

    def embeddings(self) -> Mapping[str, nn.Embedding]:
        """Return the tables of src, mt and pe."""
        return {**{name: cast(nn.Embedding, self.embed_inputs[name]) for name in _STREAMS}, "pe": self.embed_pe}

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode both streams; keep annotations, their projections and the start state."""
        tensors: dict[str, Tensor] = {}
        firsts = []
        for name in _STREAMS:
            stream = batch.streams[name]
            annotations_NSC = self.encoders[name](self._embed(self.embed_inputs[name], stream.ids), stream.mask)
            keys_NSA = cast(AdditiveAttention, self.attentions[name]).project(annotations_NSC)
            tensors |= {f"{name}.annotations": annotations_NSC, f"{name}.keys": keys_NSA, f"{name}.mask": stream.mask}
            firsts.append(annotations_NSC[:, 0].chunk(2, -1)[1])
        start_ND = (firsts[0] + firsts[1]) / 2
        return RecurrentState(Memory.of(**tensors), start_ND.unsqueeze(1))

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        s_ND = state.states_NKD[:, -1]
        embedded_NKE = self._embed(self.embed_pe, tokens)
        state_mask, context_mask = self._masks(s_ND)
        states, contexts = [s_ND], []
        weights: dict[str, list[Tensor]] = {name: [] for name in _STREAMS}
        for projected in self.gru.project(embedded_NKE).unbind(1):
            context_NC = self._attend(s_ND, state.memory, weights)
            dropped = context_NC if context_mask is None else context_NC * context_mask
            s_ND = self.gru(projected + self.gru_context(dropped), s_ND, state_mask)
            states.append(s_ND)
            contexts.append(context_NC)
        states_NKD = torch.stack(states, 1)
        features_NKM = self.readout(states_NKD[:, 1:], embedded_NKE, torch.stack(contexts, 1))
        attention = {AttentionKey(name, "soft"): torch.stack(weights[name], 1) for name in _STREAMS}
        return DecoderOutput(self.head(features_NKM), attention), RecurrentState(state.memory, states_NKD)

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
        return variational_dropout(table(ids) * self.embedding_scale, self.dropout, self.training)

    def _masks(self, s_ND: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Draw the masks of state and contexts that all steps of this call share, None if nothing is dropped."""
        if not self.training or self.dropout == 0.0:
            return None, None
        rows, hidden = s_ND.shape
        contexts = 2 * hidden * len(_STREAMS)
        return keep_mask(s_ND, (rows, hidden), self.dropout), keep_mask(s_ND, (rows, contexts), self.dropout)
