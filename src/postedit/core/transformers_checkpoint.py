"""Checkpoints of the Transformers library, which `pretrained` and `causal` models start from.

The text pipeline uses a checkpoint's tokenizer; the architecture uses its settings and weights. This module defines the
token numbering that both share. The library comes with an optional extra and is imported only when it is needed.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Literal

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from postedit.core.errors import RecipeError, first_line, library, nearest
from postedit.core.files import with_home
from postedit.core.hints import split_fields
from postedit.core.model import Vocabularies
from postedit.core.special_tokens import EOS, PAD, SPECIAL_TOKENS, UNK

_OTHER_SETTINGS: Final = frozenset(
    {"_name_or_path", "architectures", "dtype", "id2label", "label2id", "task_specific_params", "torch_dtype",
     "transformers_version"}
)  # fmt: skip
"""Settings in config.json that do not describe the network."""

_PROBE: Final = "a"  # a text of at least one token, which shows what control tokens a tokenizer adds

Kind = Literal["sequence-to-sequence", "causal language"]

_KINDS: Final[Mapping[Kind, tuple[str, str]]] = {
    "sequence-to-sequence": ("AutoModelForSeq2SeqLM", "Marian, mBART, NLLB or T5"),
    "causal language": ("AutoModelForCausalLM", "Llama, Qwen, Gemma, Mistral or EuroLLM"),
}
"""The library class for each kind of model, and example models."""

_DATE: Final = datetime(2024, 7, 26)
"""The current date, as chat templates see it; Llama 3.1 templates use the same date where they cannot ask for one."""

# In chat templates, the library's `strftime_now` returns the date of the call; this macro replaces it.
_CALENDAR: Final = (
    "{% macro strftime_now(format) %}{{ format"
    + "".join(f" | replace('%{letter}', '{_DATE.strftime('%' + letter)}')" for letter in "aAbBdeFHIjmMpSyYZ")
    + " }}{% endmacro %}\n"
)

# Characters of a private use area, which no tokenizer or chat template changes.
_OPEN, _CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class RowNumbering:
    """A mapping from postedit's token ids to the rows of a checkpoint's tables.

    Special tokens come first. PAD, EOS and UNK have the checkpoint's rows; the other special tokens, and those that the
    checkpoint lacks, have new rows after all of its own. The remaining rows of the checkpoint follow, in its order.
    """

    rows: int  # number of rows in the checkpoint's tables
    pad: int | None  # row of its padding token; None: it has none
    eos: int | None  # row of its end-of-text token; None: it has none
    unk: int | None  # row of its unknown token; None: it has none

    def table(self) -> list[int]:
        """Return the row of each token id, in order."""
        own = {PAD: self.pad, EOS: self.eos, UNK: self.unk}
        new = iter(range(self.rows, self.rows + len(SPECIAL_TOKENS)))
        special = [next(new) if own.get(token) is None else own[token] for token in range(len(SPECIAL_TOKENS))]
        taken = set(special)
        return [row for row in special if row is not None] + [row for row in range(self.rows) if row not in taken]


@dataclass(frozen=True)
class PretrainedTokens:
    """The tokens of a checkpoint, numbered by postedit's token ids."""

    # names of all tokens by id: special tokens, the checkpoint's tokens, and `<row 7>` for a row without a token
    names: tuple[str, ...]
    rows: tuple[int, ...]  # row of each token id
    # ids of the other tokens that do not stand for text: rows without a token, control tokens, language codes
    controls: frozenset[int]

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 digest, in hexadecimal, of all names in order."""
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()


@dataclass(frozen=True)
class TransformersCheckpoint:
    """The settings, the tokenizer and the network of a checkpoint.

    Properties and methods raise a RecipeError if there is no such checkpoint, its tokenizer does not fit its tables, or
    it does not know a language.
    """

    name: str  # a folder or a hub id

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The config.json, without settings that do not describe the network."""
        config = _call_library(self.name, "AutoConfig")
        written: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
        described = {name: value for name, value in written.items() if name not in _OTHER_SETTINGS}
        values: dict[str, Any] = _without_none(described)
        return values

    @property
    def kind(self) -> Kind:
        """The kind of the network."""
        return "sequence-to-sequence" if self.settings.get("is_encoder_decoder") else "causal language"

    def check_kind(self, needed: Kind) -> None:
        """Raise a RecipeError if the network is not of the kind needed."""
        if self.kind != needed:
            raise RecipeError(
                f"{self.name}: is a {self.settings.get('model_type')}, which is not a {needed} model; choose one such "
                f"as {_KINDS[needed][1]}"
            )

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, as the library loads it."""
        return _call_library(self.name, "AutoTokenizer")

    @cached_property
    def numbering(self) -> RowNumbering:
        """The mapping from token ids to rows."""
        tokenizer, rows = self.tokenizer, self.settings.get("vocab_size")
        if not isinstance(rows, int):
            raise RecipeError(
                f"{self.name}: is a {self.settings.get('model_type')}, which has no single vocabulary for input and "
                f"output; choose a checkpoint that has one, such as {_KINDS[self.kind][1]}"
            )
        most = max(tokenizer.get_vocab().values())
        if most >= rows:
            raise RecipeError(
                f"{self.name}: its tokenizer has a token {most}, but its tables have {rows} rows; the tokenizer "
                "belongs to another checkpoint"
            )
        eos, pad, unk = self._end(), tokenizer.pad_token_id, tokenizer.unk_token_id
        # Some checkpoints use one row for two of these tokens; then the second token gets a new row.
        pad = None if pad == eos else pad
        return RowNumbering(rows, pad, eos, None if unk in (eos, pad) else unk)

    @cached_property
    def tokens(self) -> PretrainedTokens:
        """The tokens, numbered by postedit's token ids."""
        table = self.numbering.table()
        names = {row: token for token, row in self.tokenizer.get_vocab().items()}
        controls = self._controls | (set(range(self.numbering.rows)) - names.keys())
        return PretrainedTokens(
            (*SPECIAL_TOKENS, *(names.get(row, f"<row {row}>") for row in table[len(SPECIAL_TOKENS) :])),
            tuple(table),
            frozenset(token for token, row in enumerate(table) if token >= len(SPECIAL_TOKENS) and row in controls),
        )

    @property
    def _controls(self) -> set[int]:
        """Rows of the tokens that do not stand for text: the tokenizer's special tokens and language codes."""
        tokenizer = self.tokenizer
        added = {row for row, token in tokenizer.added_tokens_decoder.items() if token.special}
        return {*tokenizer.all_special_ids, *added, *(self.row(code) for code in _source_codes(tokenizer))}

    def network(self, rows: int, dtype: torch.dtype = torch.float32) -> Any:
        """Return the network, with its tables extended to `rows` rows; only safetensors files are read."""
        with _quiet():
            network = _call_library(self.name, _KINDS[self.kind][0], use_safetensors=True, dtype=dtype)
            network.resize_token_embeddings(rows, mean_resizing=False)  # the caller sets the new rows
        return network

    def prompt(self, template: str, chat: bool | None) -> tuple[list[list[int]], list[str]]:
        """Return the rows of the constant parts of a prompt, and the names of the texts between them.

        There is one part before the first text and one after each text; parts may be empty.

        Args:
            template: prompt with the names of texts in braces, such as "{src}"; see `hints.split_fields`.
            chat: whether to wrap the prompt as a user message in the checkpoint's chat template; None: if it has one. A
                template that includes the date gets a constant one, so that the prompt depends only on the checkpoint.
        """
        constant, names = split_fields(template)
        marked = constant[0] + "".join(f"{_OPEN}{name}{_CLOSE}{part}" for name, part in zip(names, constant[1:]))
        has_template = getattr(self.tokenizer, "chat_template", None) is not None
        if chat and not has_template:
            raise RecipeError(f"{self.name}: its tokenizer has no chat template; set model.chat = false")
        if has_template and chat is not False:
            marked = self._chat([{"role": "user", "content": marked}], add_generation_prompt=True)
        parts = re.split(rf"{_OPEN}(\w+){_CLOSE}", marked)
        rows = [self._rows_after_token(part) for part in parts[::2]]
        if not (has_template and chat is not False):
            rows[0] = self.around(None, None)[0] + self._rows(parts[0])
        return rows, parts[1::2]

    def _end(self) -> int | None:
        """Return the row of the token that ends a text; for a chat model, of the token that ends its turn."""
        eos: int | None = self.tokenizer.eos_token_id
        if self.kind == "sequence-to-sequence" or getattr(self.tokenizer, "chat_template", None) is None:
            return eos
        turns = [{"role": "user", "content": _PROBE}, {"role": "assistant", "content": _OPEN}]
        after = self._rows(self._chat(turns, add_generation_prompt=False).partition(_OPEN)[2])
        return next((row for row in after if row in self._controls), eos)

    def _chat(self, turns: list[dict[str, str]], *, add_generation_prompt: bool) -> str:
        try:
            # Reasoning models are told not to think before they answer; other templates ignore this option.
            text: str = self.tokenizer.apply_chat_template(
                turns,
                chat_template=_CALENDAR + self.tokenizer.get_chat_template(),
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                enable_thinking=False,
            )
        except Exception as error:  # a template is a program, which may raise anything
            raise RecipeError(
                f"{self.name}: its chat template cannot be used: {error}; set model.chat = false"
            ) from None
        return text

    def _rows(self, text: str) -> list[int]:
        rows: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return rows

    def _rows_after_token(self, text: str) -> list[int]:
        """Return the rows of a text that is not at the start, where some tokenizers would insert a space."""
        end = self.tokenizer.eos_token
        if text and end is not None and (rows := self._rows(end + text))[:1] == [self.tokenizer.eos_token_id]:
            return rows[1:]
        return self._rows(text)

    def around(self, src_lang: str | None, tgt_lang: str | None) -> tuple[list[int], list[int]]:
        """Return the rows that the encoder reads before and after a text, without EOS.

        These are the rows that the tokenizer adds, with the language code `src_lang`. If language codes precede the
        source and name the language to write, as in Marian, the code `tgt_lang` comes first.
        """
        tokenizer = self.tokenizer
        bare = tokenizer(_PROBE, add_special_tokens=False)["input_ids"]
        whole = tokenizer(_PROBE)["input_ids"]
        start = next(start for start in range(len(whole)) if whole[start : start + len(bare)] == bare)
        before, behind = whole[:start], [row for row in whole[start + len(bare) :] if row != tokenizer.eos_token_id]
        # A control token with no other function is the code of the tokenizer's current language.
        others = {tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.eos_token_id}
        codes = [row for row in before + behind if row not in others]
        if codes and (src_lang is None or tgt_lang is None):
            missing = "src_lang" if src_lang is None else "tgt_lang"
            example = tokenizer.convert_ids_to_tokens(codes[0])
            raise RecipeError(f"{self.name}: has language codes; set model.{missing} to one, such as {example}")
        if src_lang is not None:
            code = self._code(src_lang)
            before, behind = ([row if row in others else code for row in rows] for rows in (before, behind))
        if tgt_lang is not None and tgt_lang in _source_codes(tokenizer):
            before = [self.row(tgt_lang), *before]
        return before, behind

    def start(self, tgt_lang: str | None) -> list[int]:
        """Return the rows that the decoder reads before the first token of a text in `tgt_lang`."""
        # Newer checkpoints define these rows in generation_config.json, older ones in config.json, which is read
        # directly because the library drops the keys that it does not know.
        written = _call_library(self.name, "PretrainedConfig", "get_config_dict")[0]
        generation = _call_library(self.name, "GenerationConfig", or_none=True)
        given = {**_without_none(written), **_without_none(generation.to_dict() if generation is not None else {})}
        first, forced = given.get("decoder_start_token_id"), given.get("forced_bos_token_id")
        if tgt_lang is not None:
            tokenizer, code = self.tokenizer, self._code(tgt_lang)
            controls = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
            if tgt_lang not in _source_codes(tokenizer):
                first, forced = (first, code) if first in controls else (code, None)
        rows = [row for row in (first, forced) if row is not None]
        if not rows:
            raise RecipeError(
                f"{self.name}: does not say which token its decoder starts with; set model.tgt_lang to its code for "
                "the language of pe"
            )
        return rows

    def row(self, token: str) -> int:
        """Return the row of a token, which must be in the tokenizer's vocabulary."""
        return int(self.tokenizer.get_vocab()[token])

    def _code(self, language: str) -> int:
        tokens, controls = self.tokenizer.get_vocab(), self._controls
        if tokens.get(language) not in controls:
            codes = [token for token, row in tokens.items() if row in controls]
            raise RecipeError(f'{self.name}: has no language code "{language}"{nearest(language, codes)}')
        return self.row(language)


def _source_codes(tokenizer: Any) -> list[str]:
    """Return the language codes that precede a source text, such as `>>deu<<`."""
    return [token for token in tokenizer.get_vocab() if token.startswith(">>") and token.endswith("<<")]


def check_weights(name: str) -> None:
    """Raise a RecipeError for a folder without readable weights in safetensors files; hub ids are not checked."""
    folder = with_home(name)
    files = sorted(folder.glob("*.safetensors"))
    if folder.is_dir() and not files:
        raise RecipeError(
            f"{name}: has no weights in safetensors files, and files of other kinds are not read, for they can run "
            "code; save the checkpoint again with a current Transformers library"
        )
    for file in files:
        try:
            with safe_open(file, framework="pt"):
                pass  # opening the file already reads its header and checks its size
        except (SafetensorError, OSError) as error:
            raise RecipeError(f"{file}: truncated or damaged ({error}); copy the checkpoint again") from None


def copy_weights(network: nn.Module, weights: Mapping[str, Tensor], checkpoint: str) -> None:
    """Copy the weights of a checkpoint to a network; adapters, if it has any, keep their weights.

    Raises:
        RecipeError: if a tensor is missing or has another shape.
    """
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if "lora_" in name:
                continue
            theirs = weights.get(name.replace(".base_layer", ""))
            if theirs is None or theirs.shape != tensor.shape:
                found = "missing" if theirs is None else list(theirs.shape)
                raise RecipeError(f"{checkpoint}: its weights are not what its settings say: {name} is {found}")
            tensor.copy_(theirs)


def check_vocabularies(vocabularies: Vocabularies, size: int, fingerprint: str | None, checkpoint: str) -> None:
    """Raise a RecipeError unless all vocabularies of a model are that of the checkpoint.

    Args:
        vocabularies: vocabularies of the model.
        size: number of tokens of the checkpoint, including the special tokens that were added to it.
        fingerprint: fingerprint of its vocabulary; None: not known, and not checked.
        checkpoint: name of the checkpoint, for the message.
    """
    given = [*vocabularies.streams.values(), vocabularies.target]
    problem = ""
    if any(info != vocabularies.target or info.size != size for info in given):
        sizes = " and ".join(f"{number:,}" for number in sorted({info.size for info in given}))
        problem = f"has one vocabulary of {size:,} tokens, but [text] has {sizes}"
    elif fingerprint not in (None, vocabularies.target.fingerprint):
        problem = "has a vocabulary with other tokens than [text]"
    if problem:
        raise RecipeError(
            f"model.checkpoint: {checkpoint} {problem}; set text.vocabulary.checkpoint to the same checkpoint"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the library's progress bars and warnings."""
    logging = library("transformers.utils.logging", "a checkpoint")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _without_none(values: Any) -> Any:
    """Return the values of a configuration without those that are None, which TOML cannot express."""
    if isinstance(values, dict):
        return {name: _without_none(value) for name, value in values.items() if value is not None}
    return [_without_none(value) for value in values] if isinstance(values, list) else values


def _call_library(
    checkpoint: str, kind: str, method: str = "from_pretrained", *, or_none: bool = False, **options: Any
) -> Any:
    """Call `method` of the library's class `kind` for a checkpoint; code inside a checkpoint is never run.

    Raises:
        RecipeError: if the folder does not exist, or the call fails; with `or_none`, a failed call returns None.
    """
    path = with_home(checkpoint)
    if checkpoint.startswith((".", "/", "~")) and not path.is_dir():
        raise RecipeError(f"{checkpoint}: no such folder; give the folder of a checkpoint, or its hub id")
    load = getattr(getattr(library("transformers", "a checkpoint"), kind), method)
    try:
        return load(str(path) if path.is_dir() else checkpoint, **options)
    except Exception as error:  # the library has no error class of its own, and damaged files can raise any error
        if or_none:
            return None
        raise RecipeError(f"{checkpoint}: not a usable checkpoint: {first_line(error)}") from None
