"""copycat (Ive et al. 2019, 3.2): a Transformer that generates tokens or copies them from its one input."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.copying import CopyDistribution, CopySource, pointer_log_weights, sigmoid_gates
from postedit.nn.embeddings import embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState

_SOFT, _COPY = AttentionKey("mt", "soft"), AttentionKey("mt", "copy")


class CopycatConfig(StackConfig):
    """Sizes; the defaults are the paper's (3.1: six layers; Transformer base)."""

    layers_mt: int = Field(6, ge=1, description="layers of the encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    scale_copy: bool = Field(False, description="divide the dot products of the copy attention by sqrt(dim)")


class Copycat(Seq2Seq[TransformerState]):
    """A pointer_log_weights-generator over the last decoder layer.

    With A what follows the last layer's attention to the encoded text M, before it is normalised and fed forward:
    a = softmax(A M) over positions (eq. 1), g = sigmoid(w A) (eq. 2), p = g softmax(W h + b) + (1 - g) a, a added up
    by token (eq. 3). A is taken with its residual connection, and w A has a bias. The end of the input is a position
    like any other: to copy it is to end the output.

    `aux["gate"]` Float[N,K,2] has the shares of generating and of copying.
    """

    config_class: ClassVar = CopycatConfig
    inputs: ClassVar = ("mt",)

    def __init__(self, config: CopycatConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if mt, which is copied from, does not have the vocabulary of pe.
        """
        super().__init__()
        mt, pe = vocabularies.streams["mt"], vocabularies.target
        if mt != pe:
            raise RecipeError(
                f"copying from mt needs one vocabulary for mt and pe, but they differ ({mt.size} and {pe.size} "
                'tokens); set text.vocabulary.sharing to "joint" or "mt-pe"'
            )
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_SOFT, _COPY}), parallel=True)
        tables, target = embedding_tables(vocabularies, self.inputs, config.dim, config.share_embeddings)
        self.embed_mt, self.embed_pe = (ScaledEmbedding(table, config.dropout) for table in (tables["mt"], target))
        self.encoder = config.stack(config.layers_mt)
        self.decoder = config.stack(config.layers_pe, memories=1)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)
        self.gate = nn.Linear(config.dim, 1)
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def encode(self, batch: Batch) -> TransformerState:
        """Encode the text; keep it, its tokens, and each decoder layer's keys and values of it."""
        mt = batch.streams["mt"]
        mt_NSD = self.encoder.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        return TransformerState.of({"mt": self.decoder.project(mt_NSD, mt.mask)}, encoded=mt_NSD, ids=mt.ids)

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots, memory = state.cache.next_slots(tokens), state.memory
        memories = [state.stack_memory("mt")]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, (soft,), (attended_NKD,)), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        log_weights = pointer_log_weights(attended_NKD, memory["encoded"], memory["mt.mask"], self.copy_scale)
        gates = sigmoid_gates(self.gate(attended_NKD).squeeze(-1))
        source = CopySource(log_weights, memory["ids"], memory["mt.mask"])
        distribution = CopyDistribution(self.head(x_NKD), gates, (source,))
        attention = {_SOFT: soft, _COPY: log_weights.exp()}
        return DecoderOutput(distribution, attention, {"gate": gates.exp()}), state.with_cache(cache)
