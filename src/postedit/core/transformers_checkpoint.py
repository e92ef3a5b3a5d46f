"""Checkpoints of the Transformers library, from which a `pretrained` model starts.

Text needs a checkpoint's tokenizer and its architecture the settings and weights, and both must number the symbols in
the same way: how is said here, once. The library is an extra, so it is imported when it is needed.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from postedit.core.errors import RecipeError, nearest
from postedit.core.extras import library
from postedit.core.special_tokens import EOS, PAD, SYMBOLS, UNK

_NOT_OF_NETWORK: Final = frozenset(
    {"_name_or_path", "architectures", "dtype", "id2label", "label2id", "task_specific_params", "torch_dtype",
     "transformers_version"}
)  # fmt: skip
"""Settings in a config.json that say nothing of the network."""

_PROBE: Final = "a"
"""Any text with at least one piece, around which a tokenizer puts its control symbols."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """How the rows of a checkpoint's tables are numbered by the symbols of postedit.

    The reserved symbols come first. PAD, EOS and UNK are the checkpoint's own; the others, and what it lacks, have new
    rows, which stand behind all of its own. Then follow its other rows, in its order.

    Args:
        rows: of the tables of the checkpoint.
        pad: the row of its padding, or None.
        eos: likewise, of the end of a text.
        unk: likewise, of an unknown piece.
    """

    rows: int
    pad: int | None
    eos: int | None
    unk: int | None

    def table(self) -> list[int]:
        """Return the row of each symbol, one for each."""
        own = {PAD: self.pad, EOS: self.eos, UNK: self.unk}
        new = iter(range(self.rows, self.rows + len(SYMBOLS)))
        reserved = [next(new) if own.get(symbol) is None else own[symbol] for symbol in range(len(SYMBOLS))]
        taken = set(reserved)
        return [row for row in reserved if row is not None] + [row for row in range(self.rows) if row not in taken]


@dataclass(frozen=True)
class Symbols:
    """The pieces of a checkpoint as symbols.

    Args:
        names: of all symbols: reserved ones, pieces, and `<row 7>` for a row that only fills the tables.
        rows: that of each.
        controls: which of them, besides the reserved ones, are no text: rows that fill, special tokens, language codes.
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    controls: frozenset[int]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all names in order."""
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """The settings and the tokenizer of a checkpoint.

    Args:
        name: a folder or a hub id.
    """

    name: str

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What its config.json says, without what says nothing.

        Raises:
            RecipeError: if there is no such checkpoint, or it is not of a sequence-to-sequence model.
        """
        config = _asked(self.name, "AutoConfig")
        if not config.is_encoder_decoder:
            raise RecipeError(
                f"{self.name}: is a {config.model_type}, which is no sequence-to-sequence model; choose one such as "
                "Marian, mBART, NLLB or T5"
            )
        written: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
        values: dict[str, Any] = _set({name: value for name, value in written.items() if name not in _NOT_OF_NETWORK})
        return values

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer, as the Transformers library loads it.

        Raises:
            RecipeError: if it cannot be had.
        """
        return _asked(self.name, "AutoTokenizer")

    @cached_property
    def numbering(self) -> Numbering:
        """How its rows are numbered.

        Raises:
            RecipeError: if its tables are not of one size, or its tokenizer has more pieces than they have rows.
        """
        tokenizer, rows = self.tokenizer, self.settings.get("vocab_size")
        if not isinstance(rows, int):
            raise RecipeError(
                f"{self.name}: is a {self.settings.get('model_type')}, which has no single vocabulary for what it "
                "reads and what it writes; choose a checkpoint that has one, such as of Marian, mBART, NLLB or T5"
            )
        most = max(tokenizer.get_vocab().values())
        if most >= rows:
            raise RecipeError(
                f"{self.name}: its tokenizer has a piece {most}, but its tables have {rows} rows; the tokenizer is of "
                "another checkpoint"
            )
        eos, pad, unk = tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id
        # Some checkpoints have one row for two of them; then the later one gets a row of its own.
        pad = None if pad == eos else pad
        return Numbering(rows, pad, eos, None if unk in (eos, pad) else unk)

    @cached_property
    def symbols(self) -> Symbols:
        """Its pieces as symbols."""
        table = self.numbering.table()
        names = {row: piece for piece, row in self.tokenizer.get_vocab().items()}
        controls = self._controls | (set(range(self.numbering.rows)) - names.keys())
        return Symbols(
            (*SYMBOLS, *(names.get(row, f"<row {row}>") for row in table[len(SYMBOLS) :])),
            tuple(table),
            frozenset(symbol for symbol, row in enumerate(table) if symbol >= len(SYMBOLS) and row in controls),
        )

    @property
    def _controls(self) -> set[int]:
        """Rows of what is no text: the tokenizer's special tokens and codes of languages."""
        tokenizer = self.tokenizer
        added = {row for row, token in tokenizer.added_tokens_decoder.items() if token.special}
        return {*tokenizer.all_special_ids, *added, *(self.row(piece) for piece in _source_codes(tokenizer))}

    def network(self, rows: int) -> Any:
        """Return the network, its tables grown to `rows` rows; its weights are read from safetensors files alone.

        Raises:
            RecipeError: if it cannot be had.
        """
        with _quiet():
            network = _asked(self.name, "AutoModelForSeq2SeqLM", use_safetensors=True, dtype="float32")
            network.resize_token_embeddings(rows, mean_resizing=False)  # their values are for the caller to choose
        return network

    def around(self, src_lang: str | None, tgt_lang: str | None) -> tuple[list[int], list[int]]:
        """Return the rows of what its encoder reads before and behind a text, EOS left out.

        That is what its tokenizer puts there, a code being that of `src_lang`; or, where codes are part of the text and
        name the language to write, as Marian's, that of `tgt_lang` before the text.

        Raises:
            RecipeError: if the checkpoint does not know a language, or has codes and none is given.
        """
        tokenizer = self.tokenizer
        bare = tokenizer(_PROBE, add_special_tokens=False)["input_ids"]
        whole = tokenizer(_PROBE)["input_ids"]
        start = next(start for start in range(len(whole)) if whole[start : start + len(bare)] == bare)
        before, behind = whole[:start], [row for row in whole[start + len(bare) :] if row != tokenizer.eos_token_id]
        # A control symbol with no other meaning is the code of the language that the tokenizer is set to.
        others = {tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.eos_token_id}
        codes = [row for row in before + behind if row not in others]
        if codes and (src_lang is None or tgt_lang is None):
            missing = "src_lang" if src_lang is None else "tgt_lang"
            example = tokenizer.convert_ids_to_tokens(codes[0])
            raise RecipeError(f"{self.name}: has codes for languages; set model.{missing} to one, such as {example}")
        if src_lang is not None:
            code = self._code(src_lang)
            before, behind = ([row if row in others else code for row in rows] for rows in (before, behind))
        if tgt_lang is not None and tgt_lang in _source_codes(tokenizer):
            before = [self.row(tgt_lang), *before]
        return before, behind

    def start(self, tgt_lang: str | None) -> list[int]:
        """Return the rows that its decoder reads before the first piece of a text in `tgt_lang`.

        Raises:
            RecipeError: if the checkpoint does not say, or does not know the language.
        """
        # Newer checkpoints have this in another file. Of the older one the library keeps no more than it knows.
        written = _asked(self.name, "PretrainedConfig", "get_config_dict")[0]
        generation = _asked(self.name, "GenerationConfig", or_none=True)
        said = {**_set(written), **_set(generation.to_dict() if generation is not None else {})}
        first, forced = said.get("decoder_start_token_id"), said.get("forced_bos_token_id")
        if tgt_lang is not None:
            tokenizer, code = self.tokenizer, self._code(tgt_lang)
            controls = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
            if tgt_lang not in _source_codes(tokenizer):
                first, forced = (first, code) if first in controls else (code, None)
        rows = [row for row in (first, forced) if row is not None]
        if not rows:
            raise RecipeError(
                f"{self.name}: does not say what its decoder starts with; set model.tgt_lang to the language code that "
                "it has for the language of pe"
            )
        return rows

    def row(self, piece: str) -> int:
        """Return the row of a piece that there is."""
        return int(self.tokenizer.get_vocab()[piece])

    def _code(self, language: str) -> int:
        """Return the row of a language code.

        Raises:
            RecipeError: if there is none, with the nearest one.
        """
        pieces, controls = self.tokenizer.get_vocab(), self._controls
        if pieces.get(language) not in controls:
            codes = [piece for piece, row in pieces.items() if row in controls]
            raise RecipeError(f'{self.name}: has no language code "{language}"{nearest(language, codes)}')
        return self.row(language)


def _source_codes(tokenizer: Any) -> list[str]:
    """Return the codes of languages that are written before a source text, such as `>>deu<<`."""
    return [piece for piece in tokenizer.get_vocab() if piece.startswith(">>") and piece.endswith("<<")]


def public_name(checkpoint: str) -> str:
    """Return how a checkpoint is named where others see it: a folder by its last part alone."""
    path = Path(checkpoint).expanduser()
    return path.resolve().name if path.is_dir() or path.is_absolute() else checkpoint


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library from writing a progress bar and advice to the screen."""
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


def _set(values: Any) -> Any:
    """Return values of a configuration without those that are None, which TOML cannot say."""
    if isinstance(values, dict):
        return {name: _set(value) for name, value in values.items() if value is not None}
    return [_set(value) for value in values] if isinstance(values, list) else values


def _asked(
    checkpoint: str, kind: str, method: str = "from_pretrained", *, or_none: bool = False, **options: Any
) -> Any:
    """Return what a method of the library's class `kind` makes of a checkpoint; code that comes with one is never run.

    Raises:
        RecipeError: if there is nothing it can use, unless it may be None.
    """
    path = Path(checkpoint).expanduser()
    if checkpoint.startswith((".", "/", "~")) and not path.is_dir():
        raise RecipeError(f"{checkpoint}: no such folder; name that of a checkpoint, or its hub id")
    load = getattr(getattr(library("transformers", "a checkpoint"), kind), method)
    try:
        return load(str(path) if path.is_dir() else checkpoint, **options)
    except Exception as error:  # the library has no class of errors of its own, and damaged files raise any
        if or_none:
            return None
        reason = str(error).strip().partition("\n")[0]
        raise RecipeError(f"{checkpoint}: no checkpoint that can be used: {reason}") from None
