"""Translators behind one protocol: models of postedit, CTranslate2 or Hugging Face, or arbitrary commands."""

import hashlib
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import torch

from postedit.core.errors import DataError, PosteditError, first_line, library
from postedit.core.files import reason_of, sha256_of, with_home
from postedit.core.wording import counted
from postedit.data.lines import encode_lines
from postedit.synthesis.translation.translator_config import TextTranslatorConfig

if TYPE_CHECKING:
    from postedit.core.editor import PostEdit

_STDERR_SHOWN: Final = 500  # characters from the end of a command's standard error that a message quotes


class TranslatorError(PosteditError):
    """A translator that cannot be loaded, fails, or does not return one line for each text."""


class TextTranslator(Protocol):
    """Anything that translates."""

    def translate(self, texts: Sequence[str]) -> Sequence[str | None]:
        """Return the translation of each text, one line each; None for a text that is too long for the translator.

        Raises:
            TranslatorError: if the translator fails.
            DataError: if a text does not fit into memory.
        """


def open_translator(config: TextTranslatorConfig) -> TextTranslator:
    """Load a translator.

    Raises:
        TranslatorError: if it cannot be loaded.
        RecipeError: if a library that it needs is not installed.
        ModelFolderError: if a model of postedit is damaged.
    """
    kinds: Mapping[str, Callable[[TextTranslatorConfig], TextTranslator]] = {
        "postedit": _Postedit,
        "ctranslate2": _CTranslate2,
        "huggingface": _HuggingFace,
        "command": _Command,
    }
    return _LineTranslator(kinds[config.kind](config))


def translator_fingerprints(config: TextTranslatorConfig) -> list[str]:
    """Return digests of the files of a translator, without loading it.

    Commands, and checkpoints named by their hub ids, have none.

    Raises:
        TranslatorError: if a file cannot be read.
        ModelFolderError: if a model of postedit is not found or damaged.
    """
    if config.kind == "postedit":
        return model_fingerprints(str(config.model))
    folders = [with_home(name) for name in (config.model, config.tokenizer) if name is not None]
    return [_folder_digest(folder) for folder in folders if folder.is_dir()]


def model_fingerprints(model: str) -> list[str]:
    """Return digests of the files of a postedit model, without loading it.

    Raises:
        ModelFolderError: if it is not found or damaged.
    """
    from postedit.editing.loading import choose
    from postedit.model_files import content_fingerprint

    choice = choose([model], None, "log")
    return [content_fingerprint(path) for path in (choice.file, *choice.paths) if path is not None]


def _folder_digest(folder: Path) -> str:
    """Return the SHA-256 digest, in hexadecimal, of the files in the folder of a checkpoint."""
    digest = hashlib.sha256()
    try:
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.suffix != ".md" and not file.name.startswith("."):
                digest.update(f"{file.name} {sha256_of(file)} ".encode())
    except OSError as error:
        raise TranslatorError(f"{error.filename or folder}: cannot be read: {reason_of(error)}") from None
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _LineTranslator:
    """A wrapper of a translator that returns blank texts unchanged and each translation as one line."""

    translator: TextTranslator

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        asked = [number for number, text in enumerate(texts) if text.strip()]
        written = self.translator.translate([texts[number] for number in asked]) if asked else []
        if len(written) != len(asked):
            raise TranslatorError(
                f"the translator returned {counted(len(written), 'line')} for {len(asked):,}; it must return one for "
                "each"
            )
        translations: list[str | None] = list(texts)
        for number, text in zip(asked, written):
            translations[number] = None if text is None else " ".join(text.splitlines())
        return translations


class _Command:
    """A program that translates all lines of a chunk."""

    def __init__(self, config: TextTranslatorConfig) -> None:
        self._command = list(config.command)

    def translate(self, texts: Sequence[str]) -> list[str]:
        name = self._command[0]
        try:
            process = subprocess.run(self._command, input=encode_lines(texts), capture_output=True, check=False)
        except OSError as error:
            raise TranslatorError(f"{name}: cannot be started: {error.strerror}; is it installed?") from None
        if process.returncode:
            how = f"status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
            stderr = process.stderr.decode(errors="replace").strip()[-_STDERR_SHOWN:]
            raise TranslatorError(f"{name}: ended with {how}" + (f": {stderr}" if stderr else ""))
        try:
            lines = process.stdout.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise TranslatorError(f"{name}: byte {error.start} of its output is not UTF-8") from None
        if len(lines) != len(texts):
            raise TranslatorError(
                f"{name}: returned {counted(len(lines), 'line')} for {len(texts):,}; it must return one for each, in "
                "order"
            )
        return lines


class _Postedit:
    """A postedit model that needs no mt: one that reads src only, or a first and second stage."""

    def __init__(self, config: TextTranslatorConfig) -> None:
        from postedit.editing.post_editor import PostEditor

        self._editor, self._beam = PostEditor.load(str(config.model), device=config.device), config.beam
        if self._editor.abilities.needs_mt:
            problem = "corrects translations and makes none; choose a model that reads src only"
            raise TranslatorError(f"{config.model}: {problem}")

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        return list(map(text_of, self._editor.edit(texts, beam=self._beam)))


def text_of(edit: "PostEdit") -> str | None:
    """Return what a model wrote, as one line; None if its input was too long for it.

    Raises:
        DataError: if the input does not fit into memory.
    """
    if edit.skipped == "no memory":
        raise DataError("a single line does not fit into memory; leave out the longest ones, or use more memory")
    return None if edit.skipped == "too long" else " ".join(edit.text.splitlines())


class _LibraryTranslator(ABC):
    """A library's model with the tokenizer of a Transformers checkpoint.

    The texts of a batch have equal numbers of tokens, and so the same limit of output: the batch does not affect it.
    """

    def __init__(self, config: TextTranslatorConfig, transformers: Any, load: Callable[[], Any]) -> None:
        self._config = config
        name = config.tokenizer or str(config.model)
        languages = {key: code for key in ("src_lang", "tgt_lang") if (code := getattr(config, key)) is not None}
        self._tokenizer = _loaded(name, lambda: transformers.AutoTokenizer.from_pretrained(name, **languages))
        self._model = _loaded(str(config.model), load)
        self._longest = self._tokenizer.model_max_length  # tokens of a source, and of a translation
        self._target = None if config.tgt_lang is None else _language_token(self._tokenizer, config.tgt_lang)

    def translate(self, texts: Sequence[str]) -> list[str | None]:
        sources = self._tokenizer(list(texts), verbose=False)["input_ids"]
        by_length: dict[int, list[int]] = {}  # numbers of the texts with so many tokens
        for number, source in enumerate(sources):
            if len(source) <= self._longest:
                by_length.setdefault(len(source), []).append(number)
        translations: list[str | None] = [None] * len(texts)
        for length, numbers in by_length.items():
            longest = min(self._config.max_tokens(length), self._longest)
            for start in range(0, len(numbers), self._config.batch):
                batch = numbers[start : start + self._config.batch]
                written = self._translate_batch([sources[number] for number in batch], longest)
                for number, ids in zip(batch, written, strict=True):
                    translations[number] = self._tokenizer.decode(ids, skip_special_tokens=True)
        return translations

    @abstractmethod
    def _translate_batch(self, sources: list[list[int]], longest: int) -> list[list[int]]:
        """Return translations of at most `longest` tokens, as token ids, of sources of equal length."""


class _HuggingFace(_LibraryTranslator):
    """A Transformers checkpoint."""

    def __init__(self, config: TextTranslatorConfig) -> None:
        transformers = library("transformers", "a translator of the kind huggingface")
        load = transformers.AutoModelForSeq2SeqLM.from_pretrained
        super().__init__(config, transformers, lambda: load(config.model, use_safetensors=True))
        self._model.to(config.device).eval()
        positions = getattr(self._model.config, "max_position_embeddings", None)  # none if they are relative
        self._longest = min(self._longest, positions or self._longest)

    def _translate_batch(self, sources: list[list[int]], longest: int) -> list[list[int]]:
        config, forced = self._config, {}
        if self._target is not None:
            forced["forced_bos_token_id"] = self._tokenizer.convert_tokens_to_ids(self._target)
        ids = torch.tensor(sources, device=config.device)
        written: list[list[int]] = self._model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            num_beams=config.beam,
            max_new_tokens=longest,
            **forced,
        ).tolist()
        return written


class _CTranslate2(_LibraryTranslator):
    """A CTranslate2 model converted from a Transformers checkpoint."""

    def __init__(self, config: TextTranslatorConfig) -> None:
        ctranslate2 = library("ctranslate2", "a translator of the kind ctranslate2", "ctranslate2")
        transformers = library("transformers", "the tokenizer of a translator of the kind ctranslate2")
        super().__init__(config, transformers, lambda: ctranslate2.Translator(str(config.model), device=config.device))

    def _translate_batch(self, sources: list[list[int]], longest: int) -> list[list[int]]:
        config, tokenizer = self._config, self._tokenizer
        prefix = None if self._target is None else [[self._target]] * len(sources)
        try:
            results = self._model.translate_batch(
                list(map(tokenizer.convert_ids_to_tokens, sources)),
                target_prefix=prefix,
                beam_size=config.beam,
                max_input_length=0,  # never cut
                max_decoding_length=longest,
            )
        except RuntimeError as error:  # the library does not tell the model's number of positions
            raise TranslatorError(
                f"{config.model}: cannot translate: {error}; if texts are too long, set model_max_length in "
                "tokenizer_config.json, in the folder of the tokenizer, to the most tokens that the model reads"
            ) from None
        return [tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results]


def _language_token(tokenizer: Any, code: str) -> str:
    """Return the token with which a translation into the language with this code begins."""
    token: str = getattr(tokenizer, "lang_code_to_token", {}).get(code, code)
    if tokenizer.convert_tokens_to_ids(token) in (None, tokenizer.unk_token_id):
        raise TranslatorError(
            f'tgt_lang: the tokenizer has no language {code}; use a code from the model card, such as "deu_Latn"'
        )
    return token


def _loaded(name: str, load: Callable[[], Any]) -> Any:
    if name.startswith((".", "/", "~")) and not with_home(name).exists():
        raise TranslatorError(f"{name}: no such folder")
    try:
        return load()
    except Exception as error:  # the libraries raise errors of many types
        raise TranslatorError(f"{name}: cannot be loaded: {first_line(error)}") from None
