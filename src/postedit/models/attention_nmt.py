"""Attention-based translation (Li et al. 2017, III, after Bahdanau et al. 2014): the first stage, which drafts."""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.attention import AdditiveAttention
from postedit.nn.dropout import keep_mask, variational_dropout
from postedit.nn.embeddings import embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiGRU, GRUCell, MaxoutReadout, RecurrentState

_KEY = AttentionKey("src", "soft")


class AttentionNMTConfig(Config):
    """Sizes; the defaults are those of the large-scale task (V.C), and where the paper is silent of the cited model."""

    embedding: int = Field(620, ge=1, description="width of embeddings")
    hidden: int = Field(1000, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int = Field(1000, ge=1, description="width of the attention layer")
    maxout: int = Field(500, ge=1, description="pairs of units in the layer before the softmax")
    dropout: float = Field(0.0, ge=0, lt=1, description="variational, over GRU inputs and states")
    share_embeddings: Literal["none", "all"] = Field("none", description="all: src and pe share an embedding table")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")

    @model_validator(mode="after")
    def _check_tying(self) -> Self:
        if self.tie_output and self.maxout != self.embedding:
            raise ValueError(f"tie_output needs maxout ({self.maxout}) to equal embedding ({self.embedding})")
        return self


class AttentionNMT(Seq2Seq[RecurrentState]):
    """p(pe | src): a bidirectional GRU, attention, a GRU that reads the last token and the context.

    s_0 = tanh(W_init h'_1) with h'_1 the backward state at the first position; then for each token
    c_t = ATT(C, s_{t-1}), s_t = GRU([E[y_{t-1}]; c_t], s_{t-1}), t = maxout(U s_t + V E[y_{t-1}] + C c_t), and
    p = softmax(W_o t).

    The paper leaves open f of the attention, g of its equation 3, s_0 and the widths of attention and output layers:
    they are those of the model it reproduces (Bahdanau et al. 2014, A.1.2 and A.2.2). Only that g sees s_t, as equation
    3 says, where the cited appendix has s_{t-1}. The reset gate acts on U s, not on s before U. Embeddings are read
    times sqrt(width): E[y] above is that product.
    """

    config_class: ClassVar = AttentionNMTConfig
    inputs: ClassVar = ("src",)

    def __init__(self, config: AttentionNMTConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if src and pe share embeddings and have different vocabularies.
        """
        super().__init__()
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_KEY}), parallel=False)
        self.dropout = config.dropout
        width, hidden = config.embedding, config.hidden
        self.embedding_scale = width**0.5
        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.embed_src = tables["src"]
        self.encoder = BiGRU(width, hidden, config.dropout)
        self.attention = AdditiveAttention(hidden, 2 * hidden, config.attention)
        self.init = nn.Linear(hidden, hidden)
        self.gru = GRUCell(width, hidden)
        self.gru_context = nn.Linear(2 * hidden, 3 * hidden, bias=False)  # the rest of its input weights
        self.readout = MaxoutReadout(hidden, width, 2 * hidden, config.maxout)
        tied = self.embed_pe if config.tie_output else None
        self.head = SoftmaxHead(config.maxout, vocabularies.target.size, tied=tied)
        for block in self.gru_context.weight.chunk(3):
            nn.init.xavier_uniform_(block)
        for table in (self.embed_src, self.embed_pe):
            nn.init.normal_(table.weight, std=width**-0.5)
        nn.init.xavier_uniform_(self.init.weight)
        nn.init.zeros_(self.init.bias)

    def embeddings(self) -> Mapping[str, nn.Embedding]:
        """Return the tables of src and pe."""
        return {"src": self.embed_src, "pe": self.embed_pe}

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode src; keep annotations, their projection and the start state."""
        stream = batch.streams["src"]
        annotations_NSC = self.encoder(self._embed(self.embed_src, stream.ids), stream.mask)
        backward_ND = annotations_NSC[:, 0].chunk(2, -1)[1]
        start_ND = torch.tanh(self.init(backward_ND))
        keys_NSA = self.attention.project(annotations_NSC)
        memory = Memory.of(annotations=annotations_NSC, keys=keys_NSA, mask=stream.mask)
        return RecurrentState(memory, start_ND.unsqueeze(1))

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        memory, s_ND = state.memory, state.states_NKD[:, -1]
        embedded_NKE = self._embed(self.embed_pe, tokens)
        state_mask, context_mask = self._masks(s_ND)
        states, contexts, weights = [s_ND], [], []
        for projected in self.gru.project(embedded_NKE).unbind(1):
            context, weight = self.attention(s_ND, memory["keys"], memory["annotations"], memory["mask"])
            dropped = context if context_mask is None else context * context_mask
            s_ND = self.gru(projected + self.gru_context(dropped), s_ND, state_mask)
            states.append(s_ND)
            contexts.append(context)
            weights.append(weight)
        states_NKD = torch.stack(states, 1)
        features_NKM = self.readout(states_NKD[:, 1:], embedded_NKE, torch.stack(contexts, 1))
        output = DecoderOutput(self.head(features_NKM), {_KEY: torch.stack(weights, 1)})
        return output, RecurrentState(memory, states_NKD)

    def _embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return variational_dropout(table(ids) * self.embedding_scale, self.dropout, self.training)

    def _masks(self, s_ND: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Draw the masks of state and context that all steps of this call share, None if nothing is dropped."""
        if not self.training or self.dropout == 0.0:
            return None, None
        rows, hidden = s_ND.shape
        return keep_mask(s_ND, (rows, hidden), self.dropout), keep_mask(s_ND, (rows, 2 * hidden), self.dropout)
