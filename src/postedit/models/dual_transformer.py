"""The dual-source Transformer (Junczys-Dowmunt and Grundkiewicz 2018, as Pal et al. 2020, 2, describe it)."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import ScaledEmbedding, StackConfig, TransformerState

_MT, _SRC = AttentionKey("mt", "soft"), AttentionKey("src", "soft")


class DualTransformerConfig(StackConfig):
    """Sizes; the defaults are those of Transformer base."""

    layers_encoder: int = Field(6, ge=1, description="layers of each encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    share_encoders: bool = Field(True, description="one encoder, with one embedding table, reads both texts")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")


class DualTransformer(Seq2Seq[TransformerState]):
    """Two encoders; each decoder layer attends to itself, to mt, and then to src.

    In the winner of WMT18 both encoders are one and the same (`share_encoders`); without, this is the system that
    Ive et al. 2019 (5.2) call NO-PNT.
    """

    config_class: ClassVar = DualTransformerConfig
    inputs: ClassVar = ("mt", "src")

    def __init__(self, config: DualTransformerConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if texts that share an encoder do not share their embeddings, or streams that share embeddings
                have different vocabularies.
        """
        super().__init__()
        if config.share_encoders and config.share_embeddings != "all":
            raise RecipeError(
                'model.share_encoders needs model.share_embeddings = "all", as one encoder reads src and mt, '
                f'but that is "{config.share_embeddings}"'
            )
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_MT, _SRC}), parallel=True)
        tables, target = embedding_tables(vocabularies, self.inputs, config.dim, config.share_embeddings)
        self.embed_mt, self.embed_src, self.embed_pe = (
            ScaledEmbedding(table, config.dropout) for table in (tables["mt"], tables["src"], target)
        )
        self.encoder_mt = config.stack(config.layers_encoder)
        self.encoder_src = self.encoder_mt if config.share_encoders else config.stack(config.layers_encoder)
        self.decoder = config.stack(config.layers_pe, memories=2)
        self.head = SoftmaxHead(config.dim, vocabularies.target.size, tied=target if config.tie_output else None)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode both texts; keep each decoder layer's keys and values of them."""
        mt, src = batch.streams["mt"], batch.streams["src"]
        mt_NSD = self.encoder_mt.encode(self.embed_mt(mt.ids), mt.mask).x_NKD
        src_NSD = self.encoder_src.encode(self.embed_src(src.ids), src.mask).x_NKD
        return TransformerState.of(
            {"mt": self.decoder.project(mt_NSD, mt.mask, 0), "src": self.decoder.project(src_NSD, src.mask, 1)}
        )

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        slots = state.cache.next_slots(tokens)
        memories = [state.stack_memory(name) for name in self.inputs]
        x_NKD = self.embed_pe(tokens, slots.positions)
        (x_NKD, (to_mt, to_src), _), cache = self.decoder.decode(x_NKD, slots, state.cache, memories)
        return DecoderOutput(self.head(x_NKD), {_MT: to_mt, _SRC: to_src}), state.with_cache(cache)
