"""A sequence-to-sequence model from a Transformers checkpoint, which reads src and mt as one text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from postedit.core.errors import library
from postedit.core.model import ModelSpec, Vocabularies
from postedit.core.special_tokens import EOS, PAD, SEP
from postedit.core.transformers_checkpoint import TransformersCheckpoint
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.models.checkpoint_base import CheckpointConfig, CheckpointModel, CheckpointNetworkConfig
from postedit.nn.cache import DenseKeyValueCache
from postedit.nn.memory import Memory
from postedit.nn.renumbering import text_attention
from postedit.nn.transformer import TransformerState
from postedit.nn.transformers_cache import TransformersCache, cache_name, from_library, to_library

_KEY = AttentionKey("src+mt", "soft")

_State = TransformerState[TransformersCache]


class NetworkConfig(CheckpointNetworkConfig):
    """The configuration of a checkpoint, and the rows that its encoder and decoder read in addition to the texts."""

    before_src: list[int] = Field([], description="rows that its encoder reads first")
    after_mt: list[int] = Field([], description="rows that its encoder reads last, after the end of the text")
    before_pe: list[int] = Field(min_length=1, description="rows that its decoder reads before the first token")


class PretrainedConfig(CheckpointConfig):
    """The checkpoint of a sequence-to-sequence model, and the part of it that is trained."""

    src_lang: str | None = Field(None, description="the checkpoint's code of the language of src, if it has codes")
    tgt_lang: str | None = Field(
        None, description="the checkpoint's code of the language of mt and pe, if it has codes"
    )
    dropout: float | None = Field(None, ge=0, lt=1, description="instead of the checkpoint's own")
    network: NetworkConfig = Field(description="what the checkpoint says of itself; read from the checkpoint")

    @classmethod
    def read_network(cls, values: Mapping[str, Any]) -> NetworkConfig:
        """Return the checkpoint's own configuration, for the languages in `values`."""
        checkpoint = TransformersCheckpoint(values["checkpoint"])
        common = NetworkConfig.common(checkpoint, "sequence-to-sequence")
        before, after = checkpoint.around(values.get("src_lang"), values.get("tgt_lang"))
        start = checkpoint.start(values.get("tgt_lang"))
        return NetworkConfig(**common, before_src=before, after_mt=after, before_pe=start)


class Pretrained(CheckpointModel[_State]):
    """A sequence-to-sequence network of the Transformers library as a `Seq2Seq`.

    Its encoder reads `before src [SEP] mt EOS after`, without padding in between; `before` and `after` are what its
    tokenizer puts around a text, such as a language code. Its decoder starts with the rows that it was trained to start
    with, the last of which is used for BOS. The network keeps its own numbering of rows; token ids are mapped on input
    and output. Tokens without a row in the checkpoint get a new row of zeros, except SEP, which gets a copy of the EOS
    row. The attention reported is that of the last decoder layer, averaged over heads and normalised over src and mt.

    Raises:
        RecipeError: if the vocabularies are not those of the checkpoint, or a library is missing.
    """

    config_class: ClassVar = PretrainedConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: PretrainedConfig, vocabularies: Vocabularies) -> None:
        """Create a network with fresh weights; `load_initial_weights` loads those of the checkpoint."""
        found = config.network
        super().__init__(config, vocabularies, found.before_pe[-1], found.controls, keep_bias=True)
        self.config = config
        longest = found.settings.get("max_position_embeddings")
        around = len(found.before_src) + len(found.after_mt) + len(found.before_pe)
        longest = None if longest is None else int(longest) - around
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_KEY}), parallel=True, longest=longest)
        self.network, self.head = _network(config, self.rows.numel())
        self._cache_name = cache_name()

    def load_initial_weights(self) -> None:
        """Load the weights of the checkpoint, only from safetensors files.

        Raises:
            RecipeError: if they cannot be loaded, or belong to a network of other sizes.
        """
        checkpoint, own = TransformersCheckpoint(self.config.checkpoint), self.config.network.numbering.rows
        theirs = checkpoint.network(self.rows.numel())
        weights = dict(theirs.state_dict())
        self.copy_weights(theirs, weights, checkpoint.name, own)
        with torch.no_grad():
            final = weights.get("final_logits_bias")
            if final is not None:
                self.bias[:own] += final.flatten()[:own]
            for table in self.tables():
                table[self.rows[SEP]] = table[self.rows[EOS]]

    def encode(self, batch: Batch) -> _State:
        """Encode src and mt as one text."""
        src, mt = batch.streams["src"], batch.streams["mt"]
        found = self.config.network
        texts = torch.cat([src.ids.masked_fill(src.ids == EOS, SEP), mt.ids], 1)
        before, after = (self._constant(rows, batch.rows) for rows in (found.before_src, found.after_mt))
        always = [torch.ones_like(rows, dtype=torch.bool) for rows in (before, after)]
        mask = torch.cat([always[0], src.mask, mt.mask, always[1]], 1)
        order = (~mask).byte().argsort(dim=1, stable=True)[:, : int(mask.sum(1).max())]
        packed = mask.gather(1, order)
        ids = torch.cat([before, self.rows[texts], after], 1).gather(1, order).masked_fill(~packed, int(self.rows[PAD]))
        encoder = self.network.get_encoder()
        encoded_NSD = encoder(input_ids=ids, attention_mask=packed.long()).last_hidden_state
        # `packed` Bool[N,P] marks the real positions of the joint text. `positions` Long[N,S] are those of the tokens
        # of src, then mt; they count only where `real` Bool[N,S] is True.
        joint = slice(before.size(1), before.size(1) + texts.size(1))
        real = mask[:, joint]
        positions = (mask.cumsum(1) - 1)[:, joint].masked_fill(~real, 0)
        memory = Memory.of(encoded=encoded_NSD, packed=packed, real=real, positions=positions)
        return TransformerState(memory, TransformersCache())

    def decode(self, tokens: Tensor, state: _State) -> tuple[DecoderOutput, _State]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        from transformers.modeling_outputs import BaseModelOutput

        inputs = state.cache.next_input(tokens)
        rows = self.input_rows[inputs.tokens]
        prefix = 0 if state.cache.layers else len(self.config.network.before_pe) - 1
        if prefix:
            rows = torch.cat([self._constant(self.config.network.before_pe[:prefix], rows.size(0)), rows], 1)
        memory, known = state.memory, state.memory.key_values.get("joint")
        cross = () if known is None else cast(DenseKeyValueCache, known).layers
        output = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory["encoded"]),
            attention_mask=memory["packed"].long(),
            decoder_input_ids=rows,
            use_cache=True,
            output_attentions=True,
            **{self._cache_name: to_library(inputs.layers, cross)},
        )
        h_NKD = inputs.select_new(output.logits[:, prefix:])  # the library's output layer is the identity
        w_NKP = inputs.select_new(output.cross_attentions[-1].mean(1)[:, prefix:])
        layers, cross = from_library(output[self._cache_name])
        if known is None:
            memory = replace(memory, key_values={"joint": DenseKeyValueCache(cross)})
        after = TransformerState(memory, inputs.cache_after(layers, prefix))
        return DecoderOutput(
            self.distribution(h_NKD), {_KEY: text_attention(w_NKP, memory["positions"], memory["real"])}
        ), after

    def _constant(self, rows: Sequence[int], count: int) -> Tensor:
        """Return Long[count,len(rows)] with `rows` repeated `count` times."""
        return torch.tensor([*rows], dtype=torch.long, device=self.rows.device).expand(count, -1)


def _network(config: PretrainedConfig, rows: int) -> tuple[Any, nn.Linear]:
    """Return a network with fresh weights and tables of `rows` rows, and its output layer, which is removed from it."""
    transformers = library("transformers", "the architecture pretrained")
    settings = {**config.network.settings, "vocab_size": rows}
    # A dropped layer would leave a gap in the caches, and weights without gradients.
    settings |= {name: 0.0 for name in settings if name.endswith("layerdrop")}
    if config.dropout is not None:
        settings |= {name: config.dropout for name in ("dropout", "dropout_rate") if name in settings}
    kind = transformers.AutoConfig.for_model(**settings)
    network: Any = transformers.AutoModelForSeq2SeqLM.from_config(kind, attn_implementation="eager")
    network.float()
    head = network.get_output_embeddings()
    network.set_output_embeddings(nn.Identity())
    if hasattr(network, "final_logits_bias"):
        network.register_buffer("final_logits_bias", torch.zeros(1, 1), persistent=False)
    return config.with_adapters(network, head), head
