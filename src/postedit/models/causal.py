"""A causal language model of the Transformers library, which continues a prompt containing src and mt with pe."""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.errors import RecipeError, library
from postedit.core.hints import HINTS, HintConfig, HintName, Hints, unknown_field
from postedit.core.model import ModelSpec, Vocabularies
from postedit.core.special_tokens import EOS, PAD
from postedit.core.tensor_files import tensors_sha256
from postedit.core.transformers_checkpoint import TransformersCheckpoint
from postedit.core.types import AttentionKey, Batch, DecoderOutput, LabelLoss
from postedit.models.checkpoint_base import CheckpointConfig, CheckpointModel, CheckpointNetworkConfig
from postedit.nn.cache import DecoderCache
from postedit.nn.heads import CappedDistribution, SoftmaxDistribution
from postedit.nn.memory import Memory
from postedit.nn.renumbering import text_attention
from postedit.nn.shared_rows import SharedRows
from postedit.nn.slot_attention import NAME, SlotCall, TextAttention, register
from postedit.nn.transformer import TransformerState

_KEY: Final = AttentionKey("src+mt", "soft")

_FIELDS: Final = ("src", "mt", *HINTS)

_PROMPT: Final = (
    "Correct the machine translation of the source. Change only what is wrong, and write nothing else.\n"
    "Source:\n{src}\nTranslation:\n{mt}\nCorrection:\n"
)


class CausalNetworkConfig(CheckpointNetworkConfig):
    """The configuration and special tokens of a causal checkpoint, and the prompt in its token ids."""

    prompt: list[list[int]] = Field(description="rows of the constant parts of the prompt: before, between and after")
    texts: list[str] = Field(description="the texts between the parts: src and mt in any order, and hints")

    @model_validator(mode="after")
    def _check_prompt(self) -> Self:
        twice = len({*self.texts}) < len(self.texts)
        if twice or not {"src", "mt"} <= {*self.texts} <= {*_FIELDS}:
            raise ValueError(
                f"a prompt has {{src}} and {{mt}} once each, and at most once each of {_braced(HINTS)}, not "
                f"{_braced(self.texts)}"
            )
        first, second = sorted(map(self.texts.index, ("src", "mt")))
        between, after = self.prompt[first + 1 : second + 1], self.prompt[-1]
        fits = len(self.prompt) == len(self.texts) + 1 and any(between) and after
        if not fits or sum(map(len, self.prompt)) < 3:
            raise ValueError("a prompt has text between src and mt, and at its end, such as a line feed")
        return self

    @property
    def hints(self) -> tuple[HintName, ...]:
        """The hints among the texts, in the order of `HINTS`."""
        return tuple(name for name in HINTS if name in self.texts)


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


class CausalConfig(CheckpointConfig):
    """The checkpoint of a causal language model, its prompt, and the part of it that is trained."""

    prompt: str = Field(
        _PROMPT,
        description="text that the model reads before pe; {src} and {mt} stand for the texts; {examples}, {glossary} "
        "and {errors}, which may be left out, for similar corrections, terms of src, and mt with its errors tagged; "
        "{{name}} for {name} as it stands",
    )
    hints: HintConfig = Field(HintConfig(), description="how much the prompt shows beside src and mt, if it does")
    chat: bool | None = Field(
        None,
        description="whether the prompt is the message of a user in the chat template of the checkpoint; none: if it "
        "has a template",
    )
    dropout: float | None = Field(None, ge=0, lt=1, description="on attention weights, instead of the checkpoint's own")
    recompute: bool = Field(
        False, description="compute layers again in the backward pass: less memory, about a third slower"
    )
    pack: int = Field(
        0,
        ge=0,
        description="tokens of a row in training, which holds several segments that do not see each other; a longer "
        "segment has its own row; 0: one segment per row",
    )
    lora_base: Literal["fp32", "bf16"] = Field("fp32", description="number type of the weights that adapters change")
    save_base: bool = Field(
        False,
        description="save the weights that adapters change with each model, which then does not need the checkpoint",
    )
    network: CausalNetworkConfig = Field(description="what the checkpoint says of itself; read from the checkpoint")

    @classmethod
    def read_network(cls, values: Mapping[str, Any]) -> CausalNetworkConfig | None:
        """Return the checkpoint's own configuration, and the prompt in its token ids."""
        template, chat = values.get("prompt", _PROMPT), values.get("chat")
        if not isinstance(template, str) or not isinstance(chat, bool | None):
            return None
        if fault := unknown_field(template, _FIELDS):
            raise RecipeError(f"prompt: {fault}")
        checkpoint = TransformersCheckpoint(values["checkpoint"])
        common = CausalNetworkConfig.common(checkpoint, "causal language")
        prompt, texts = checkpoint.prompt(template, chat)
        return CausalNetworkConfig(**common, prompt=prompt, texts=texts)


class _Prompt(NamedTuple):
    """The prompts of N sentences, without their last token, which is read as BOS."""

    rows: Tensor  # Long[N,P], row of each prompt token in the network's tables, padding last
    lengths: Tensor  # Long[N], number of tokens in each prompt
    positions: Tensor  # Long[N,S], position in the prompt of each token of src, then mt; EOS: of the token after it
    real: Tensor  # Bool[N,S], False at padding of src and mt


class Causal(CheckpointModel[TransformerState[DecoderCache]]):
    """A causal network of the Transformers library as a `Seq2Seq`.

    It reads the prompt `part src part mt part`, with hints before, between or after src and mt, and writes `pe EOS`.
    The last token of the prompt plays the part of BOS: after it, the network predicts the first token of pe. Hints that
    a batch lacks are left empty. The network keeps its own numbering of rows; token ids are mapped on input and output.
    Attention is that of the last layer without a sliding window, averaged over heads and normalised over src and mt.

    Raises:
        RecipeError: if the vocabularies are not those of the checkpoint, or a library is missing.
    """

    config_class: ClassVar = CausalConfig
    inputs: ClassVar = ("src", "mt")

    def __init__(self, config: CausalConfig, vocabularies: Vocabularies) -> None:
        """Create a network with fresh weights; `load_initial_weights` loads those of the checkpoint."""
        found = config.network
        never = [row for row in (found.pad, found.unk, *found.controls) if row is not None]
        super().__init__(config, vocabularies, found.prompt[-1][-1], never, keep_bias=False)
        self.config = config
        hints, longest = self.hints_of(config), _longest(config)
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset({_KEY}), parallel=True, longest=longest, hints=hints)
        self.network, self.head = _network(config, self.rows.numel())
        self._watched = _watched_layer(self.network.config)
        cap = found.settings.get("final_logit_softcapping")
        self._cap = None if cap is None else float(cap)
        if config.lora_rank and not config.save_base:
            self.frozen_checkpoint = config.checkpoint
            self.register_state_dict_post_hook(_keep_adapters)  # type: ignore[no-untyped-call]

    @classmethod
    def hints_of(cls, config: Config) -> Hints:
        """Return the hints in the prompt, and their options."""
        assert isinstance(config, CausalConfig)
        return Hints(config.network.hints, config.hints)

    def load_initial_weights(self) -> None:
        """Load the weights of the checkpoint, only from safetensors files, unless they are frozen; adapters stay fresh.

        Raises:
            RecipeError: if the weights cannot be loaded, belong to a network of other sizes, or produce other outputs
                here than in the library.
        """
        if self.frozen_checkpoint is None:
            self._load(self.config.checkpoint)

    def load_frozen_weights(self, checkpoint: str) -> None:
        """Load the weights that adapters modify, from a folder or hub id; errors are as in `load_initial_weights`."""
        self._load(checkpoint)
        frozen = {name: tensor for name, tensor in self.named_parameters() if "lora_" not in name}
        self.frozen_checkpoint, self.frozen_sha256 = checkpoint, tensors_sha256(frozen)

    def _load(self, name: str) -> None:
        checkpoint = TransformersCheckpoint(name)
        theirs = checkpoint.network(self.rows.numel(), self.head.weight.dtype)
        self.copy_weights(theirs, theirs.base_model.state_dict(), name, self.config.network.numbering.rows)
        self._check_against(theirs)

    @torch.no_grad()
    def _check_against(self, theirs: Any) -> None:
        """Raise a RecipeError unless outputs match the library's: networks differ in more than their settings say."""
        found = self.config.network
        rows = torch.tensor([[row for part in found.prompt for row in part]], device=self.rows.device)
        training = self.training
        self.eval()
        kind = (
            f"{self.config.checkpoint}: a {found.settings.get('model_type')} computes its outputs in a way that is not"
        )
        try:
            call = SlotCall.of(rows, DecoderCache(), self._watched)
            h_NKD = call.run(self.network, rows)
            own = self.of_rows(h_NKD).log_probs()
        except Exception as error:  # a network whose cache is not made of keys and values may fail in any way
            raise RecipeError(f"{kind} known here: {type(error).__name__} {error}") from None
        self.train(training)
        layers = int(self.network.config.num_hidden_layers)
        if list(call.new) != list(range(layers)):
            raise RecipeError(f"{kind} known here: {len(call.new)} of its {layers} layers keep keys and values")
        logits = theirs.eval().to(rows.device)(input_ids=rows).logits + self.bias
        difference = (own.exp() - logits.softmax(-1)).abs().max()
        if not difference < _LARGEST_DIFFERENCE:
            raise RecipeError(f"{kind} known here: probabilities differ by {difference:.3f}")

    def encode(self, batch: Batch) -> TransformerState[DecoderCache]:
        """Read the prompts, up to their last token."""
        prompt = self._prompt(batch)
        call = SlotCall.of(prompt.rows, DecoderCache(), self._watched)
        call.run(self.network, prompt.rows)
        memory = Memory.of(positions=prompt.positions, real=prompt.real)
        return TransformerState(memory, call.cache_after(DecoderCache()).rollback(prompt.lengths))

    def decode(
        self, tokens: Tensor, state: TransformerState[DecoderCache]
    ) -> tuple[DecoderOutput, TransformerState[DecoderCache]]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        rows, memory = self.input_rows[tokens], state.memory
        call = SlotCall.of(rows, state.cache, self._watched)
        h_NKD = call.run(self.network, rows)

        def attention() -> Tensor:
            assert call.weights is not None
            return text_attention(call.weights().mean(1), memory["positions"], memory["real"])

        output = DecoderOutput(self.distribution(h_NKD), TextAttention(_KEY, attention))
        return output, TransformerState(memory, call.cache_after(state.cache))

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of pe under teacher forcing; the prompt and pe are read in one pass.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        prompt, target = self._prompt(batch), batch.target
        width = torch.arange(prompt.rows.size(1), device=batch.device)
        real = torch.cat([width < prompt.lengths.unsqueeze(1), target.mask], 1)
        rows = torch.cat([prompt.rows, self.input_rows[target.inputs]], 1)
        rows = rows.gather(1, _real_first(real))
        row, start = torch.arange(batch.rows, device=batch.device), torch.zeros_like(prompt.lengths)
        if self.config.pack:
            shared = SharedRows.of(real.sum(1).tolist(), self.config.pack, batch.device)
            row, start, rows = shared.row_B, shared.start_B, shared.take(rows, int(self.rows[PAD]))
            call = SlotCall.of_shared(shared, self._watched)
        else:
            call = SlotCall.of(rows, DecoderCache(), self._watched, kept=False)
        h_NKD = call.run(self.network, rows)
        first = (start + prompt.lengths).unsqueeze(1)
        columns = first + torch.arange(target.ids.size(1), device=batch.device)
        columns = columns.clamp(max=rows.size(1) - 1)  # only padding lies beyond, and its loss does not count
        h_BTD = h_NKD[row.unsqueeze(1), columns]
        return self.distribution(h_BTD).label_loss(target.ids, target.mask, smoothing)

    def _prompt(self, batch: Batch) -> _Prompt:
        found, device = self.config.network, batch.device
        rows, kept = [], []
        before: dict[str, int] = {}  # number of columns before each text
        for part, name in zip_longest(found.prompt, found.texts):
            constant = torch.tensor(part if name else part[:-1], dtype=torch.long, device=device)
            rows.append(constant.expand(batch.rows, -1))
            kept.append(torch.ones_like(rows[-1], dtype=torch.bool))
            if name in batch.streams:
                before[name] = sum(columns.size(1) for columns in rows)
                rows.append(self.rows[batch.streams[name].ids])
                kept.append(batch.streams[name].mask & (batch.streams[name].ids != EOS))
        mask = torch.cat(kept, 1)
        places = mask.cumsum(1) - mask.long()  # number of real tokens before each column
        read = [batch.streams[name] for name in self.inputs]
        positions = [places[:, before[name] :][:, : text.ids.size(1)] for name, text in zip(self.inputs, read)]
        real = torch.cat([text.mask for text in read], 1)
        order = _real_first(mask)
        packed = torch.cat(rows, 1).gather(1, order).masked_fill(~mask.gather(1, order), int(self.rows[PAD]))
        return _Prompt(packed, mask.sum(1), torch.cat(positions, 1).masked_fill(~real, 0), real)

    def of_rows(self, h_NKD: Tensor) -> SoftmaxDistribution:
        """Return the distribution over rows after the features Float[N,K,D]; some networks cap its logits."""
        if self._cap is None:
            return super().of_rows(h_NKD)
        bias = self.bias.to(h_NKD.dtype)
        return CappedDistribution(h_NKD, self.head.weight, bias, self.head, cap=self._cap)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        # Rotation angles and scales (non-persistent buffers) need single precision, whatever type the weights get.
        kept = {
            (module, name): buffer
            for module in self.network.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None and name in module._non_persistent_buffers_set and buffer.is_floating_point()
        }
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for (module, name), buffer in kept.items():
            if not buffer.is_meta:
                module._buffers[name] = buffer.to(module._buffers[name].device)
        return self


def _longest(config: CausalConfig) -> int | None:
    """Return the largest number of tokens of src and mt together, and of pe, beside the prompt; None: no limit.

    Raises:
        RecipeError: if the prompt or its hints leave no room for src, mt and pe.
    """
    positions, hints = config.network.settings.get("max_position_embeddings"), Causal.hints_of(config)
    if positions is None:
        return None
    prompt = sum(map(len, config.network.prompt))
    longest = (int(positions) - prompt - hints.tokens) // 2
    if longest >= 2:
        return longest
    name, size, mend = "model.hints", f"{hints.tokens} tokens of hints", "lower the budgets"
    if int(positions) - prompt < 4:
        name, size, mend = "model.prompt", f"its {prompt} tokens", "shorten it"
    raise RecipeError(
        f"{name}: {size} leave no room for src, mt and pe in the {positions} positions of {config.checkpoint}; {mend}"
    )


_LARGEST_DIFFERENCE: Final = 0.05
"""Largest difference between probabilities that rounding can explain, even in bfloat16."""


def _real_first(mask: Tensor) -> Tensor:
    """Return the columns Long[N,P] of `mask` Bool[N,L], real ones first; P is the most real columns of a row."""
    return (~mask).byte().argsort(dim=1, stable=True)[:, : int(mask.sum(1).max())]


def _watched_layer(settings: Any) -> int:
    """Return the index of the last layer without a sliding window, or of the last layer if all have one."""
    kinds = getattr(settings, "layer_types", None) or []
    layers = [number for number, kind in enumerate(kinds) if kind == "full_attention"]
    return layers[-1] if layers else int(settings.num_hidden_layers) - 1


def _network(config: CausalConfig, rows: int) -> tuple[Any, nn.Linear]:
    """Return a network with fresh weights and tables of `rows` rows, and its output layer separately."""
    transformers = library("transformers", "the architecture causal")
    register()
    settings = {**config.network.settings, "vocab_size": rows}
    if config.dropout is not None:
        settings["attention_dropout"] = config.dropout
    kind = transformers.AutoConfig.for_model(**settings)
    # Created in its final number type: creating it in single precision first would take twice the memory.
    dtype = torch.bfloat16 if config.lora_rank and config.lora_base == "bf16" else torch.float32
    whole: Any = transformers.AutoModelForCausalLM.from_config(kind, dtype=dtype, attn_implementation=NAME)
    if config.recompute:
        enable = getattr(whole, "activation_checkpointing_enable", None) or whole.gradient_checkpointing_enable
        enable({"use_reentrant": False})  # by its former name before Transformers 5.23
    network, head = whole.base_model, whole.get_output_embeddings()
    return config.with_adapters(network, head), head


def _keep_adapters(_: nn.Module, state: dict[str, Tensor], prefix: str, __: Mapping[str, Any]) -> None:
    """Remove everything but the adapters of this model from a state dict."""
    for name in [name for name in state if name.startswith(prefix) and "lora_" not in name]:
        del state[name]
