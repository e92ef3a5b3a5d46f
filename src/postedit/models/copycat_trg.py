"""copycat-trg, PNT-TRG in the paper (Ive et al. 2019, 3.3): tokens are generated, or copied from mt."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.copying import CopyDistribution, CopySource, pointer_log_weights, sigmoid_gates
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState

_MT, _SRC, _COPY = AttentionKey("mt", "soft"), AttentionKey("src", "soft"), AttentionKey("mt", "copy")


class CopycatTrgConfig(StackConfig):
    """Sizes; the defaults are the paper's (3.1, 3.3 and 5.2: six layers, Transformer base, shared encoders)."""

    layers_encoder: int = Field(6, ge=1, description="layers of each encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    scale_copy: bool = Field(False, description="divide the dot products of the copy attention by sqrt(dim)")
    share_encoders: bool = Field(True, description="one encoder, with one embedding table, reads both texts")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")


class CopycatTrg(Seq2Seq[TransformerState]):
    """A dual-source Transformer with a pointer_log_weights-generator over the last decoder layer.

    Each decoder layer attends to mt and then to src. With A what follows the last layer's attention to the encoded
    mt, M, before normalisation: a = softmax(A M) over positions (eq. 1), g = sigmoid(w A) (eq. 2), and
    p = g softmax(W h + b) + (1 - g) a, a added up by token (eq. 3). A is taken with its residual connection, and w A
    has a bias. The end of mt is a position like any other: to copy it is to end the output.

    `aux["gate"]` Float[N,K,2] has the shares of generating and of copying.
    """

    config_class: ClassVar = CopycatTrgConfig
    inputs: ClassVar = ("mt", "src")

    def __init__(self, config: CopycatTrgConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if mt, which is copied from, does not have the vocabulary of pe, or texts that share an encoder
                do not share their embeddings.
        """
        super().__init__()
        mt, pe = vocabularies.streams["mt"], vocabularies.target
        if mt != pe:
            raise RecipeError(
                f"copying from mt needs one vocabulary for mt and pe, but they differ ({mt.size} and {pe.size} "
                'tokens); set text.vocabulary.sharing to "joint" or "mt-pe"'
            )
        if config.share_encoders and config.share_embeddings != "all":
            raise RecipeError(
                'model.share_encoders needs model.share_embeddings = "all", as one encoder reads src and mt, '
                f'but that is "{config.share_embeddings}"'
            )
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_MT, _SRC, _COPY}), parallel=True)
        tables, target = embedding_tables(vocabularies, self.inputs, config.dim, config.share_embeddings)
        self.embed_mt, self.embed_src, self.embed_pe = (
            ScaledEmbedding(table, config.dropout) for table in (tables["mt"], tables["src"], target)
        )
        self.encoder_mt = config.stack(config.layers_encoder)
        self.encoder_src = self.encoder_mt if config.share_encoders else config.stack(config.layers_encoder)
        self.decoder = config.stack(config.layers_pe, memories=2)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)
        self.gate = nn.Linear(config.dim, 1)
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def encode(self, batch: Batch) -> TransformerState:
        """Encode both texts; keep mt, its tokens, and each decoder layer's keys and values of both."""
        mt, src = batch.streams["mt"], batch.streams["src"]
        mt_NSD = self.encoder_mt.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        memories = {"mt": self.decoder.project(mt_NSD, mt.mask, 0), "src": self.decoder.project(src_NSD, src.mask, 1)}
        return TransformerState.of(memories, encoded=mt_NSD, ids=mt.ids)

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots, memory = state.cache.next_slots(tokens), state.memory
        memories = [state.stack_memory(name) for name in self.inputs]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, (to_mt, to_src), (attended_NKD, _)), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        log_weights = pointer_log_weights(attended_NKD, memory["encoded"], memory["mt.mask"], self.copy_scale)
        gates = sigmoid_gates(self.gate(attended_NKD).squeeze(-1))
        source = CopySource(log_weights, memory["ids"], memory["mt.mask"])
        distribution = CopyDistribution(self.head(x_NKD), gates, (source,))
        attention = {_MT: to_mt, _SRC: to_src, _COPY: log_weights.exp()}
        return DecoderOutput(distribution, attention, {"gate": gates.exp()}), state.with_cache(cache)
