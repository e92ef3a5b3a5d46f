"""copycat-src, PNT-TRG+SRC in the paper (Ive et al. 2019, 3.3): tokens are generated, or copied from mt or src."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.copying import CopyDistribution, CopySource, pointer_log_weights, softmax_gates
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, StackMemory, TransformerState

_KEYS = {name: (AttentionKey(name, "soft"), AttentionKey(name, "copy")) for name in ("mt", "src")}


class CopycatSrcConfig(StackConfig):
    """Sizes; the defaults are the paper's (3.1, 3.3 and 5.2: six layers, Transformer base, shared encoders)."""

    layers_encoder: int = Field(6, ge=1, description="layers of each encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    scale_copy: bool = Field(False, description="divide the dot products of the copy attention by sqrt(dim)")
    share_encoders: bool = Field(True, description="one encoder, with one embedding table, reads both texts")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")


class CopycatSrc(Seq2Seq[TransformerState]):
    """A dual-source Transformer that copies from both of its inputs.

    Each decoder layer attends to mt and then to src. With A_mt and A_src what follows the last layer's attentions to
    the encoded texts M_mt and M_src, before normalisation: a_mt = softmax(A_mt M_mt) (eq. 1), a_src =
    softmax(A_src M_src) (eq. 4), (g, g_mt, g_src) = softmax(W' A_src) (eq. 5), and p = g softmax(W h + b) + g_mt a_mt +
    g_src a_src, the last two added up by token. A is taken with its residual connection, and W' A_src has a bias. The
    ends of the inputs are positions like any other: to copy one is to end the output.

    `aux["gate"]` Float[N,K,3] has the shares of generating, of copying from mt, and of copying from src.
    """

    config_class: ClassVar = CopycatSrcConfig
    inputs: ClassVar = ("mt", "src")

    def __init__(self, config: CopycatSrcConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if mt or src, which are copied from, do not have the vocabulary of pe, or texts that share an
                encoder do not share their embeddings.
        """
        super().__init__()
        for name in self.inputs:
            if vocabularies.streams[name] != vocabularies.target:
                raise RecipeError(
                    f"copying from {name} needs one vocabulary for {name} and pe, but they differ "
                    f"({vocabularies.streams[name].size} and {vocabularies.target.size} tokens); "
                    'set text.vocabulary.sharing to "joint"'
                )
        if config.share_encoders and config.share_embeddings != "all":
            raise RecipeError(
                'model.share_encoders needs model.share_embeddings = "all", as one encoder reads src and mt, '
                f'but that is "{config.share_embeddings}"'
            )
        self.spec = ModelSpec(
            self.inputs, vocabularies, frozenset(key for keys in _KEYS.values() for key in keys), parallel=True
        )
        tables, target = embedding_tables(vocabularies, self.inputs, config.dim, config.share_embeddings)
        self.embed_mt, self.embed_src, self.embed_pe = (
            ScaledEmbedding(table, config.dropout) for table in (tables["mt"], tables["src"], target)
        )
        self.encoder_mt = config.stack(config.layers_encoder)
        self.encoder_src = self.encoder_mt if config.share_encoders else config.stack(config.layers_encoder)
        self.decoder = config.stack(config.layers_pe, memories=2)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)
        self.gate = nn.Linear(config.dim, 1 + len(self.inputs))
        self.copy_scale = config.dim**-0.5 if config.scale_copy else 1.0

    def encode(self, batch: Batch) -> TransformerState:
        """Encode both texts; keep them, their tokens, and each decoder layer's keys and values of them."""
        memories: dict[str, StackMemory] = {}
        tensors: dict[str, Tensor] = {}
        for index, (name, embed, encoder) in enumerate(
            [("mt", self.embed_mt, self.encoder_mt), ("src", self.embed_src, self.encoder_src)]
        ):
            text = batch.streams[name]
            encoded_NSD = encoder.encode(embed(text.ids), text.mask).x_NKD
            memories[name] = self.decoder.project(encoded_NSD, text.mask, index)
            tensors |= {f"{name}.encoded": encoded_NSD, f"{name}.ids": text.ids}
        return TransformerState.of(memories, **tensors)

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots, memory = state.cache.next_slots(tokens), state.memory
        memories = [state.stack_memory(name) for name in self.inputs]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, weights, cross_outputs), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        sources: list[CopySource] = []
        attention: dict[AttentionKey, Tensor] = {}
        for name, soft, attended_NKD in zip(self.inputs, weights, cross_outputs, strict=True):
            mask = memory[f"{name}.mask"]
            log_weights = pointer_log_weights(attended_NKD, memory[f"{name}.encoded"], mask, self.copy_scale)
            sources.append(CopySource(log_weights, memory[f"{name}.ids"], mask))
            soft_key, copy_key = _KEYS[name]
            attention |= {soft_key: soft, copy_key: log_weights.exp()}
        gates = softmax_gates(self.gate(cross_outputs[-1]))
        distribution = CopyDistribution(self.head(x_NKD), gates, tuple(sources))
        return DecoderOutput(distribution, attention, {"gate": gates.exp()}), state.with_cache(cache)
