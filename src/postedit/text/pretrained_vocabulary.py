"""The vocabulary of a checkpoint of the Transformers library.

It is read from the checkpoint when a training run starts. A model folder holds a copy in one JSON file, which can be
read without that library.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from postedit.core.editor import Side
from postedit.core.errors import RecipeError, library
from postedit.core.files import atomic_write, load_json
from postedit.core.special_tokens import SPECIAL_TOKENS, UNK
from postedit.core.transformers_checkpoint import PretrainedTokens, TransformersCheckpoint
from postedit.text.vocabulary import BYTE_LETTERS, BYTE_SPACES, Subwords, check_unicode, explain_damage

_UNKNOWN: Final = "\ufffd"
"""The text of UNK; rendering replaces it with the corresponding word of mt, if the model left that unchanged."""

_SPACE: Final = "▁"


class PretrainedVocabulary(Subwords):
    """The tokens of a checkpoint, numbered as in `core.transformers_checkpoint.RowNumbering`.

    Unlike a vocabulary learnt here, it may normalise characters and lack some, so decoding may not restore a text. It
    is lossless if it is byte-level BPE with a token for every byte and without normalisation.

    Args:
        tokens: the tokens, with their rows in the checkpoint's tables.
        divider: the tokeniser that divides texts into tokens, and joins them again.
    """

    def __init__(self, tokens: PretrainedTokens, divider: "_Backend | _SentencePieces") -> None:
        super().__init__(tokens.names, tokens.fingerprint, divider.spaces)
        self.lossless = divider.lossless
        self._checkpoint, self._divider = tokens, divider
        no_text = {*range(len(SPECIAL_TOKENS)), *tokens.controls}
        self._of_row = {row: UNK if token in no_text else token for token, row in enumerate(tokens.rows)}

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; see `Subwords`."""
        check_unicode(texts)
        return [[self._of_row.get(row, UNK) for row in rows] for rows in self._divider.divide(texts)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; see `Subwords`. Control tokens of the checkpoint have no text either."""
        written = (i for i in ids if i == UNK or not self._is_control(i))
        text = self._divider.join([_UNKNOWN if i == UNK else self.tokens[i] for i in written])
        return text.strip(" " if self.lossless else None)  # other white space may be part of a word

    def save(self, path: Path) -> None:
        """Write the vocabulary and the model of its tokenizer; see `Subwords`."""
        tokens = self._checkpoint
        values = {"names": tokens.names, "rows": tokens.rows, "controls": sorted(tokens.controls)}
        values |= self._divider.to_json()
        with atomic_write(path) as file:
            json.dump(values, file, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> "PretrainedVocabulary":
        """Return the vocabulary saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
            RecipeError: if the vocabulary needs a library that is not installed.
        """
        with explain_damage(path, "the vocabulary", expected=RecipeError):
            values = load_json(path)
            if "tokenizer" in values:
                divider: _Backend | _SentencePieces = _Backend(Tokenizer.from_str(values["tokenizer"]))
            else:
                divider = _SentencePieces(b64decode(values["sentencepiece"]), values["numbers"], values["unknown"])
            tokens = PretrainedTokens(tuple(values["names"]), tuple(values["rows"]), frozenset(values["controls"]))
            if tokens.names[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS or len(tokens.names) != len(tokens.rows):
                raise ValueError("its tokens are not numbered as they must be")
            return cls(tokens, divider)

    def _is_control(self, number: int) -> bool:
        return super()._is_control(number) or number in self._checkpoint.controls

    def _letters(self, number: int) -> str:
        return _UNKNOWN if number == UNK else super()._letters(number)

    def _readable(self, number: int) -> str:
        name = self.tokens[number]
        text = self._divider.join([name])
        return f"{_SPACE}{text.strip()}" if name[0] in self._divider.spaces else text


def checkpoint_vocabularies(checkpoint: str, sides: Mapping[str, Sequence[Side]]) -> dict[str, PretrainedVocabulary]:
    """Return the vocabularies of a checkpoint, by the names in `sides`.

    Raises:
        RecipeError: if the checkpoint cannot be loaded, has separate vocabularies for input and output, has a tokenizer
            of an unsupported kind, or uses two tokenizers for texts that are to share a vocabulary.
    """
    found = TransformersCheckpoint(checkpoint)
    tokens = found.tokens
    dividers = {name: _pieces(checkpoint, found.tokenizer, served) for name, served in sides.items()}
    return {name: PretrainedVocabulary(tokens, divider) for name, divider in dividers.items()}


def _pieces(checkpoint: str, tokenizer: Any, sides: Sequence[Side]) -> "_Backend | _SentencePieces":
    """Return a divider for texts of `sides` that works like the checkpoint's own tokenizer."""
    if getattr(tokenizer, "separate_vocabs", False):
        raise RecipeError(
            f"{checkpoint}: has one vocabulary for what it reads and another for what it writes, so it cannot read mt; "
            "choose a checkpoint with a single vocabulary"
        )
    if hasattr(tokenizer, "backend_tokenizer"):
        values = json.loads(tokenizer.backend_tokenizer.to_str())  # added tokens would be found in user text
        values |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        return _Backend(Tokenizer.from_str(json.dumps(values)))
    if not hasattr(tokenizer, "encoder"):
        raise RecipeError(f"{checkpoint}: its tokenizer, a {type(tokenizer).__name__}, is of a kind not known here")
    if hasattr(tokenizer, "spm_files"):  # Marian has one model for src, and another for mt and pe
        if "src" in sides and len(sides) > 1:
            raise RecipeError(
                f'{checkpoint}: divides src by another model than mt and pe; set text.vocabulary.sharing = "mt-pe"'
            )
        file = tokenizer.spm_files["src" not in sides]
    else:
        file = tokenizer.spm_file if hasattr(tokenizer, "spm_file") else tokenizer.vocab_file
    return _SentencePieces(Path(file).read_bytes(), tokenizer.encoder, tokenizer.unk_token)


@dataclass(frozen=True, slots=True)
class _Backend:
    """A tokenizer of the `tokenizers` library."""

    tokenizer: Tokenizer

    @property
    def lossless(self) -> bool:
        values = json.loads(self.tokenizer.to_str())
        if self.spaces != BYTE_SPACES or values["normalizer"] is not None or values["model"]["type"] != "BPE":
            return False
        return all(letter in values["model"]["vocab"] for letter in BYTE_LETTERS)

    @property
    def spaces(self) -> frozenset[str]:
        return BYTE_SPACES if "ByteLevel" in str(self.tokenizer.decoder) else frozenset(_SPACE)

    def divide(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def join(self, pieces: Sequence[str]) -> str:
        decoder = self.tokenizer.decoder
        text: str = " ".join(pieces) if decoder is None else decoder.decode(list(pieces))
        return text

    def to_json(self) -> dict[str, Any]:
        return {"tokenizer": self.tokenizer.to_str()}


class _SentencePieces:
    """A SentencePiece model whose tokens the checkpoint numbers in a separate file."""

    lossless = False
    spaces = frozenset(_SPACE)

    def __init__(self, model: bytes, numbers: Mapping[str, int], unknown: str) -> None:
        self._model, self._numbers, self._unknown = model, dict(numbers), unknown
        processor = library("sentencepiece", "the vocabulary of this checkpoint").SentencePieceProcessor
        self._processor = processor(model_proto=model)

    def divide(self, texts: Sequence[str]) -> list[list[int]]:
        numbers, unknown = self._numbers, self._numbers[self._unknown]
        texts_in_pieces = self._processor.encode(list(texts), out_type=str)
        return [[numbers.get(piece, unknown) for piece in pieces] for pieces in texts_in_pieces]

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(_SPACE, " ")

    def to_json(self) -> dict[str, Any]:
        model = b64encode(self._model).decode("ascii")
        return {"sentencepiece": model, "numbers": self._numbers, "unknown": self._unknown}
