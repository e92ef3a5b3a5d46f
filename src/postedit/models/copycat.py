"""Transformers that generate tokens or copy them from their inputs.

They are the copycat networks of Ive et al. 2019, and the CopyTransformer of Gehrmann et al. 2018, their baseline.
"""

from typing import Any, ClassVar, Literal, cast

from pydantic import Field
from torch import Tensor, nn

from postedit.core.model import Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.models.transformer_base import DualSourceConfig, DualSourceModel, TransformerModel
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.copying import (
    CopyDistribution,
    CopySource,
    pointer_log_weights,
    sigmoid_gates,
    softmax_gates,
)
from postedit.nn.embeddings import require_one_vocabulary
from postedit.nn.memory import Memory
from postedit.nn.transformer import LayerOutput, StackConfig, TransformerStack, TransformerState

_MT, _COPY_MT = AttentionKey("mt", "soft"), AttentionKey("mt", "copy")
_SRC, _COPY_SRC = AttentionKey("src", "soft"), AttentionKey("src", "copy")

CopyQuery = Literal["sum", "attended"]
"""A in the equations of `Copycat`: the attention output of the last layer with its residual ("sum"), or without
("attended", as in the authors' release)."""

_SCALE_COPY = Field(False, description="divide the dot products of the copy attention by sqrt(dim)")
_COPY_QUERY: Any = Field(
    "sum", description="what copying and its gate read: the last layer's attention with (sum) or without its residual"
)
_GATE_BIAS = Field(True, description="whether the gate has a bias")


class CopycatConfig(StackConfig):
    """Sizes; the defaults are the paper's (3.1: six layers; 4: Transformer base)."""

    layers_mt: int = Field(6, ge=1, description="layers of the encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    scale_copy: bool = _SCALE_COPY
    copy_query: CopyQuery = _COPY_QUERY
    gate_bias: bool = _GATE_BIAS


class Copycat(TransformerModel):
    """A pointer-generator over the last decoder layer (section 3.2).

    Let A be the output of the last layer's attention to the encoded text M, before normalisation. Then a = softmax(A M)
    over positions (eq. 1), g = sigmoid(w A) (eq. 2), and p = g softmax(W h + b) + (1 - g) a (eq. 3), where a is summed
    over positions with the same token. The EOS of the input is a position like any other: copying it ends the output.

    The paper is ambiguous about A. It places A just before normalisation, after the residual has been added, but also
    defines it as a function of M and the layer input, which is the attention output alone, as in the authors' release.
    `copy_query` chooses. The sum is the default, because it also carries the tokens written so far. Neither equation 2
    nor the release has a bias; `gate_bias`, on by default, lets a model learn how often it copies in general.

    `aux["gate"]` Float[N,K,2] holds the probabilities of generating and of copying, g and 1 - g.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = CopycatConfig
    inputs: ClassVar = ("mt",)

    def __init__(self, config: CopycatConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        require_one_vocabulary(vocabularies, "mt", "copying from mt")
        super().__init__(config, vocabularies, self.inputs, (_MT, _COPY_MT))
        self.encoder = config.stack(config.layers_mt)
        self.decoder = config.stack(config.layers_pe, memories=1, reports=config.copy_query)
        self.head = self.create_head(config)
        self.gate = nn.Linear(config.dim, 1, bias=config.gate_bias)
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def encode(self, batch: Batch) -> TransformerState:
        """Encode mt into a memory; also keep its encoding and token ids, for copying."""
        mt = batch.streams["mt"]
        mt_NSD = self.encoder.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        copied = {"mt.encoded": mt_NSD, "mt.ids": mt.ids}
        return TransformerState.of({"mt": self.decoder.project(mt_NSD, mt.mask)}, **copied)

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        gates = sigmoid_gates(self.gate(output.cross_outputs[0]).squeeze(-1))
        return _mixture(self, output, gates, state.memory, self.copy_scale), after


class CopycatDualConfig(DualSourceConfig):
    """Sizes; the defaults are the paper's (3.1: six layers; 4: Transformer base; 5.2: shared encoders)."""

    scale_copy: bool = _SCALE_COPY
    copy_query: CopyQuery = _COPY_QUERY
    gate_bias: bool = _GATE_BIAS

    def decoder_stack(self) -> TransformerStack:
        """Return the layers of the decoder."""
        return self.stack(self.layers_pe, memories=2, reports=self.copy_query)


class CopycatTrg(DualSourceModel):
    """PNT-TRG (section 3.3): a dual-source Transformer that copies from mt, with the equations of `Copycat`.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe, or texts that share an encoder do not share their
            embeddings.
    """

    config_class: ClassVar = CopycatDualConfig

    def __init__(self, config: CopycatDualConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        require_one_vocabulary(vocabularies, "mt", "copying from mt")
        super().__init__(config, vocabularies, (_MT, _SRC, _COPY_MT))
        self.gate = nn.Linear(config.dim, 1, bias=config.gate_bias)
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        gates = sigmoid_gates(self.gate(output.cross_outputs[0]).squeeze(-1))
        return _mixture(self, output, gates, state.memory, self.copy_scale), after


class CopycatSrc(DualSourceModel):
    """PNT-TRG+SRC (section 3.3): a dual-source Transformer that copies from mt and from src.

    With A_mt and A_src defined for the encoded texts M_mt and M_src as A is in `Copycat`: a_mt = softmax(A_mt M_mt)
    (eq. 1), a_src = softmax(A_src M_src) (eq. 4), (g, g_mt, g_src) = softmax(W' A_src) (eq. 5), and
    p = g softmax(W h + b) + g_mt a_mt + g_src a_src, where a_mt and a_src are summed by token.

    `aux["gate"]` Float[N,K,3] holds the probabilities of generating, of copying from mt, and of copying from src.

    Raises:
        RecipeError: if mt or src does not have the vocabulary of pe, or texts that share an encoder do not share their
            embeddings.
    """

    config_class: ClassVar = CopycatDualConfig

    def __init__(self, config: CopycatDualConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        for name in self.inputs:
            require_one_vocabulary(vocabularies, name, f"copying from {name}")
        super().__init__(config, vocabularies, (_MT, _COPY_MT, _SRC, _COPY_SRC))
        self.gate = nn.Linear(config.dim, 3, bias=config.gate_bias)
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        gates = softmax_gates(self.gate(output.cross_outputs[-1]))
        return _mixture(self, output, gates, state.memory, self.copy_scale), after


class CopyTransformerConfig(StackConfig):
    """Sizes; the defaults are those of the authors' release: four layers, Transformer base."""

    layers_mt: int = Field(4, ge=1, description="layers of the encoder")
    layers_pe: int = Field(4, ge=1, description="layers of the decoder")
    dropout: float = Field(0.2, ge=0, lt=1, description="on embeddings, sublayers, attention weights and inner units")


class CopyTransformer(TransformerModel):
    """A Transformer in which one attention head provides the copy distribution (Gehrmann et al. 2018).

    Let a be the weights of the first head in the last decoder layer's attention to the input, before dropout, and h the
    output of the decoder. Then g = sigmoid(w h + b) and p = g softmax(W h + b) + (1 - g) a, where a is summed by token,
    as in See et al. 2017 (eq. 8, 9). The head also serves its layer like any other. The paper chooses a head at random;
    the first one is as good a choice, because before training heads differ only in their random weights. The EOS of the
    input is a position like any other: copying it ends the output.

    `aux["gate"]` Float[N,K,2] holds the probabilities of generating and of copying, g and 1 - g.

    Raises:
        RecipeError: if mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = CopyTransformerConfig
    inputs: ClassVar = ("mt",)

    def __init__(self, config: CopyTransformerConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        require_one_vocabulary(vocabularies, "mt", "copying from mt")
        super().__init__(config, vocabularies, self.inputs, (_MT, _COPY_MT))
        self.encoder = config.stack(config.layers_mt)
        self.decoder = config.stack(config.layers_pe, memories=1, reports="query")
        self.head = self.create_head(config)
        self.gate = nn.Linear(config.dim, 1)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode mt into a memory; also keep its token ids, for copying."""
        mt = batch.streams["mt"]
        mt_NSD = self.encoder.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        return TransformerState.of({"mt": self.decoder.project(mt_NSD, mt.mask)}, **{"mt.ids": mt.ids})

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        last = len(self.decoder.layers) - 1
        attention = cast(MultiHeadAttention, self.decoder.blocks()[last].cross_attentions[0])
        memory = state.stack_memories()[0].layer(last)
        log_weights = attention.head_log_weights(output.cross_outputs[0], memory.key_value, memory.mask, head=0)
        log_gates = sigmoid_gates(self.gate(output.x_NKD).squeeze(-1))
        source = CopySource(log_weights, state.memory["mt.ids"], state.memory["mt.mask"])
        distribution = CopyDistribution(self.head(output.x_NKD), log_gates, (source,))
        weights = self.soft_attention(output) | {_COPY_MT: log_weights.exp()}
        return DecoderOutput(distribution, weights, {"gate": log_gates.exp()}), after


def _mixture(
    model: TransformerModel, output: LayerOutput, log_gates_NKG: Tensor, memory: Memory, scale: float
) -> DecoderOutput:
    """Return the output of a model that mixes generating and copying from each input with a copy key.

    `log_gates_NKG` are the log-probabilities of generating and of copying from each of these inputs, in order.
    """
    sources, attention = [], model.soft_attention(output)
    for name, queries_NKD in zip(model.inputs, output.cross_outputs, strict=True):
        key = AttentionKey(name, "copy")
        if key in model.keys:
            encoded_NSD, ids, mask = (memory[f"{name}.{part}"] for part in ("encoded", "ids", "mask"))
            sources.append(CopySource(pointer_log_weights(queries_NKD, encoded_NSD, mask, scale), ids, mask))
            attention[key] = sources[-1].log_weights.exp()
    distribution = CopyDistribution(model.head(output.x_NKD), log_gates_NKG, tuple(sources))
    attention = {key: attention[key] for key in model.keys}
    return DecoderOutput(distribution, attention, {"gate": log_gates_NKG.exp()})
