"""Base classes of the Transformer models: one for all of them, and one for models with encoders of mt and src."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.transformer import LayerOutput, ScaledEmbedding, StackConfig, TransformerStack, TransformerState

_MT, _SRC = AttentionKey("mt", "soft"), AttentionKey("src", "soft")


class TransformerModel(Seq2Seq[TransformerState]):
    """A Transformer whose decoder layers attend to one or more memories.

    This class creates the embeddings; a subclass then creates its encoders, `decoder` and `head`, and encodes a batch
    into one memory per cross-attention of the decoder. `keys` names all attention that the model reports; unless it is
    one soft key per cross-attention, in their order, the subclass overrides `decode`.

    Raises:
        RecipeError: if streams that share embeddings have different vocabularies.
    """

    keys: tuple[AttentionKey, ...]
    embed_src: ScaledEmbedding
    embed_mt: ScaledEmbedding
    decoder: TransformerStack
    head: SoftmaxHead

    def __init__(
        self, config: StackConfig, vocabularies: Vocabularies, inputs: tuple[str, ...], keys: tuple[AttentionKey, ...]
    ) -> None:
        """Create the embeddings, with fresh weights."""
        super().__init__()
        self.keys = keys
        self.spec = ModelSpec(inputs, vocabularies, frozenset(keys), parallel=True)
        tables, target = embedding_tables(vocabularies, inputs, config.dim, config.share_embeddings)
        self.create_input_embeddings(tables, config)
        self.embed_pe = ScaledEmbedding(target, config.dropout)

    def create_input_embeddings(self, tables: Mapping[str, nn.Embedding], config: StackConfig) -> None:
        """Create an embedding module for each input, in the attribute `embed_<name>`."""
        for name, table in tables.items():
            self.add_module(f"embed_{name}", ScaledEmbedding(table, config.dropout))

    def create_head(self, config: StackConfig) -> SoftmaxHead:
        """Return the output layer, which shares its weights with the embeddings of pe if `tie_output` is set."""
        tied = self.embed_pe.table if config.tie_output else None
        return SoftmaxHead(config.dim, self.spec.vocabularies.target.size, tied=tied)

    def run_decoder(self, tokens: Tensor, state: TransformerState) -> tuple[LayerOutput, TransformerState]:
        """Run the decoder over K more target tokens Long[N,K], and return its output and the next state."""
        slots = state.cache.next_slots(tokens)
        x_NKD = self.embed_pe(tokens, slots.positions)
        output, cache = self.decoder.decode(x_NKD, slots, state.cache, state.stack_memories())
        return output, TransformerState(state.memory, cache)

    def soft_attention(self, output: LayerOutput) -> dict[AttentionKey, Tensor]:
        """Return the attention Float[N,K,S] of the last decoder layer to each memory."""
        return dict(zip((key for key in self.keys if key.kind == "soft"), output.weights, strict=True))

    def decode(self, tokens: Tensor, state: TransformerState) -> tuple[DecoderOutput, TransformerState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        output, after = self.run_decoder(tokens, state)
        return DecoderOutput(self.head(output.x_NKD), self.soft_attention(output)), after


class DualSourceConfig(StackConfig):
    """Options of models that encode mt and src; the default sizes are those of Transformer base, with one encoder."""

    layers_encoder: int = Field(6, ge=1, description="layers of each encoder")
    layers_pe: int = Field(6, ge=1, description="layers of the decoder")
    share_encoders: bool = Field(True, description="one encoder, with one embedding table, reads both texts")
    share_embeddings: Sharing = Field("all", description="streams that share an embedding table with pe")

    def decoder_stack(self) -> TransformerStack:
        """Return the layers of the decoder."""
        return self.stack(self.layers_pe, memories=2)


class DualSourceModel(TransformerModel):
    """Two encoders; each decoder layer attends to itself, to mt, and then to src.

    Raises:
        RecipeError: if texts that share an encoder do not share their embeddings, or streams that share embeddings have
            different vocabularies.
    """

    inputs: ClassVar = ("mt", "src")

    def __init__(
        self, config: DualSourceConfig, vocabularies: Vocabularies, keys: tuple[AttentionKey, ...] = (_MT, _SRC)
    ) -> None:
        """Create a model with fresh weights; its states also keep the encoding and ids of inputs with a copy key."""
        if config.share_encoders and config.share_embeddings != "all":
            raise RecipeError(
                'model.share_encoders needs model.share_embeddings = "all", as one encoder reads src and mt, '
                f'but that is "{config.share_embeddings}"'
            )
        super().__init__(config, vocabularies, self.inputs, keys)
        self.encoder_mt = config.stack(config.layers_encoder)
        self.encoder_src = self.encoder_mt if config.share_encoders else config.stack(config.layers_encoder)
        self.decoder = config.decoder_stack()
        self.head = self.create_head(config)

    def encode(self, batch: Batch) -> TransformerState:
        """Encode both texts, each into a memory of its own."""
        memories, copied = {}, dict[str, Tensor]()
        encoders = {"mt": (self.embed_mt, self.encoder_mt), "src": (self.embed_src, self.encoder_src)}
        for index, (name, (embed, encoder)) in enumerate(encoders.items()):
            text = batch.streams[name]
            encoded_NSD = encoder.encode(embed(text.ids), text.mask).x_NKD
            memories[name] = self.decoder.project(encoded_NSD, text.mask, index)
            if AttentionKey(name, "copy") in self.keys:
                copied |= {f"{name}.encoded": encoded_NSD, f"{name}.ids": text.ids}
        return TransformerState.of(memories, **copied)
