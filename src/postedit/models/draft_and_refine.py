"""A translation model, and a model that refines its drafts (Li et al. 2017, based on Bahdanau et al. 2014)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, Self

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


class TranslatorConfig(Config):
    """Options of both stages; the defaults are those of the large-scale task (V.C), or else of Bahdanau et al. 2014."""

    embedding: int = Field(620, ge=1, description="width of embeddings")
    hidden: int = Field(1000, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int = Field(1000, ge=1, description="width of the attention layers")
    maxout: int = Field(500, ge=1, description="pairs of units in the layer before the softmax")
    dropout: float = Field(0.0, ge=0, lt=1, description="variational, over GRU inputs and states")
    share_embeddings: Sharing = Field("mt-pe", description="streams that share an embedding table with pe")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")

    @model_validator(mode="after")
    def _check_tying(self) -> Self:
        if self.tie_output and self.maxout != self.embedding:
            raise ValueError(f"tie_output needs maxout ({self.maxout}) to equal embedding ({self.embedding})")
        return self


class InputLayers(NamedTuple):
    """The layers that read one input."""

    table: nn.Embedding
    encoder: BiGRU
    attention: AdditiveAttention


class Translator(Seq2Seq[RecurrentState]):
    """Base class of both stages: bidirectional GRU encoders, and a GRU decoder with an attention to each input.

    For each token, c_t = [ATT(C, s_{t-1}) for each input], s_t = GRU([E[y_{t-1}]; c_t], s_{t-1}),
    t = maxout(U s_t + V E[y_{t-1}] + C c_t), and p = softmax(W_o t).

    The paper does not specify f of the attention, g of equations 3 and 8, or the widths of attention and output layers;
    they are those of the cited model (Bahdanau et al. 2014, A.1.2 and A.2.2), except that g reads s_t, as equation 3
    says, in place of the s_{t-1} of the cited appendix. The reset gate acts on U s, not on s before U. Embeddings are
    multiplied by sqrt(width), and E[y] above is the product.

    Raises:
        RecipeError: if streams that share embeddings have different vocabularies.
    """

    def __init__(self, config: TranslatorConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        keys = frozenset(AttentionKey(name, "soft") for name in self.inputs)
        self.spec = ModelSpec(self.inputs, vocabularies, keys, parallel=False)
        self.dropout = config.dropout
        width, hidden, contexts = config.embedding, config.hidden, 2 * config.hidden * len(self.inputs)
        self.embedding_scale = width**0.5
        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.input_layers = self.create_input_layers(tables, config)
        self.gru = GRUCell(width, hidden)
        self.gru_context = nn.Linear(contexts, 3 * hidden, bias=False)  # input weights of the GRU for the contexts
        self.readout = MaxoutReadout(hidden, width, contexts, config.maxout)
        tied = self.embed_pe if config.tie_output else None
        self.head = SoftmaxHead(config.maxout, vocabularies.target.size, tied=tied)
        for block in self.gru_context.weight.chunk(3):
            nn.init.xavier_uniform_(block)
        for table in self.embeddings().values():
            nn.init.normal_(table.weight, std=width**-0.5)

    @abstractmethod
    def create_input_layers(
        self, tables: Mapping[str, nn.Embedding], config: TranslatorConfig
    ) -> dict[str, InputLayers]:
        """Create the layers that read each input."""

    @abstractmethod
    def start(self, backward: Sequence[Tensor]) -> Tensor:
        """Return s_0 Float[N,D], given the backward states Float[N,D] at the first position of each input."""

    def embeddings(self) -> Mapping[str, nn.Embedding]:
        """Return the embedding tables of the inputs and of pe."""
        return {**{name: layers.table for name, layers in self.input_layers.items()}, "pe": self.embed_pe}

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode the inputs into annotations, attention keys and the initial decoder state."""
        tensors: dict[str, Tensor] = {}
        backward = []
        for name, layers in self.input_layers.items():
            stream = batch.streams[name]
            annotations_NSC = layers.encoder(self._embed(layers.table, stream.ids), stream.mask)
            keys_NSA = layers.attention.project(annotations_NSC)
            tensors |= {f"{name}.annotations": annotations_NSC, f"{name}.keys": keys_NSA, f"{name}.mask": stream.mask}
            backward.append(annotations_NSC[:, 0].chunk(2, -1)[1])
        return RecurrentState(Memory.of(**tensors), {"s": self.start(backward).unsqueeze(1)})

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        memory, s_ND = state.memory, state.current("s")
        embedded_NKE = self._embed(self.embed_pe, tokens)
        state_mask, context_mask = self._masks(s_ND)
        states, contexts = [s_ND], []
        weights: dict[str, list[Tensor]] = {name: [] for name in self.inputs}
        texts = {name: [memory[f"{name}.{part}"] for part in ("keys", "annotations", "mask")] for name in self.inputs}
        for projected in self.gru.project(embedded_NKE).unbind(1):
            parts = []
            for name, text in texts.items():
                context, weight = self.input_layers[name].attention(s_ND, *text)
                parts.append(context)
                weights[name].append(weight)
            contexts.append(torch.cat(parts, -1) if len(parts) > 1 else parts[0])
            dropped = contexts[-1] if context_mask is None else contexts[-1] * context_mask
            s_ND = self.gru(projected + self.gru_context(dropped), s_ND, state_mask)
            states.append(s_ND)
        states_NKD = torch.stack(states, 1)
        features_NKM = self.readout(states_NKD[:, 1:], embedded_NKE, torch.stack(contexts, 1))
        attention = {AttentionKey(name, "soft"): torch.stack(steps, 1) for name, steps in weights.items()}
        return DecoderOutput(self.head(features_NKM), attention), RecurrentState(memory, {"s": states_NKD})

    def _embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return variational_dropout(table(ids) * self.embedding_scale, self.dropout, self.training)

    def _masks(self, s_ND: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the dropout masks for state and contexts that all steps of this call share; None without dropout."""
        if not self.training or self.dropout == 0.0:
            return None, None
        shapes = s_ND.shape, (s_ND.size(0), self.gru_context.in_features)
        return keep_mask(s_ND, shapes[0], self.dropout), keep_mask(s_ND, shapes[1], self.dropout)


class AttentionNMTConfig(TranslatorConfig):
    """Options of the first stage."""

    share_embeddings: Literal["none", "all"] = Field("none", description="all: src and pe share an embedding table")


class AttentionNMT(Translator):
    """The first stage, which writes a draft (section III): p(pe | src).

    s_0 = tanh(W_init h'_1), where h'_1 is the backward state at the first position, as in Bahdanau et al. 2014 (A.2.2).
    """

    config_class: ClassVar = AttentionNMTConfig
    inputs: ClassVar = ("src",)

    def __init__(self, config: AttentionNMTConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies)
        nn.init.xavier_uniform_(self.init.weight)
        nn.init.zeros_(self.init.bias)

    def create_input_layers(
        self, tables: Mapping[str, nn.Embedding], config: TranslatorConfig
    ) -> dict[str, InputLayers]:
        """Create the layers that read src, and the layer that computes s_0."""
        hidden, self.embed_src = config.hidden, tables["src"]
        self.encoder = BiGRU(config.embedding, hidden, config.dropout)
        self.attention = AdditiveAttention(hidden, 2 * hidden, config.attention)
        self.init = nn.Linear(hidden, hidden)
        return {"src": InputLayers(self.embed_src, self.encoder, self.attention)}

    def start(self, backward: Sequence[Tensor]) -> Tensor:
        """Return s_0 Float[N,D]."""
        return torch.tanh(self.init(backward[0]))


class DoubleAttentionConfig(TranslatorConfig):
    """Options of the second stage."""

    freeze_embeddings: bool = Field(
        False, description="embeddings are not trained: they stay as inherited from the first stage (or `train.init`)"
    )


class DoubleAttention(Translator):
    """The second stage, which refines a draft (section IV): p(pe | src, mt), where mt is the draft.

    s_0 = (h'_1 + g'_1) / 2, the mean of the backward states at the first positions of src and mt (equation 9).

    As printed, equation 7 computes the annotations of the draft from those of the source. A tilde is probably missing:
    the text above it says that both encoders are like that of section III, and so they are here. With
    `freeze_embeddings`, the tables keep the values that they inherit from the first stage; if `tie_output` makes one of
    them the weights of the output layer, so does that layer.
    """

    config_class: ClassVar = DoubleAttentionConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: DoubleAttentionConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__(config, vocabularies)
        for table in self.embeddings().values():
            table.requires_grad_(not config.freeze_embeddings)

    def create_input_layers(
        self, tables: Mapping[str, nn.Embedding], config: TranslatorConfig
    ) -> dict[str, InputLayers]:
        """Create the layers that read src and mt."""
        hidden = config.hidden
        encoders = {name: BiGRU(config.embedding, hidden, config.dropout) for name in self.inputs}
        attentions = {name: AdditiveAttention(hidden, 2 * hidden, config.attention) for name in self.inputs}
        self.embed_inputs = nn.ModuleDict(dict(tables))
        self.encoders, self.attentions = nn.ModuleDict(encoders), nn.ModuleDict(attentions)
        return {name: InputLayers(tables[name], encoders[name], attentions[name]) for name in self.inputs}

    def start(self, backward: Sequence[Tensor]) -> Tensor:
        """Return s_0 Float[N,D]."""
        return (backward[0] + backward[1]) / 2
