"""The vocabulary of a checkpoint of the Transformers library, behind the same methods as one learnt here.

It is read from the checkpoint once, when a run begins. A model folder holds a copy as one JSON file, from which it is
read without that library.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from tokenizers import Tokenizer

from postedit.core.errors import DataError, ModelFolderError, RecipeError, library
from postedit.core.files import atomic_write
from postedit.core.model import VocabularyInfo
from postedit.core.special_tokens import SPECIAL_TOKENS, UNK
from postedit.core.token_spelling import Spelling
from postedit.core.transformers_checkpoint import CheckpointTokens, TransformersCheckpoint
from postedit.text.config import Side
from postedit.text.vocabulary import (
    BYTE_SPACES,
    byte_joins,
    character_joins,
    first_invalid,
    read_vocabulary,
    spell,
    word_index,
)

_UNKNOWN: Final = "\ufffd"
"""What an unknown piece is decoded as; rendering puts the word of mt there that the model left in place."""

_SPACE: Final = "▁"


class _Pieces(Protocol):
    """What divides text into pieces of a checkpoint, and joins them."""

    @property
    def spaces(self) -> frozenset[str]:
        """The characters that stand for white space in pieces."""
        ...

    def divide(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers that the checkpoint has for the pieces of each text."""
        ...

    def join(self, pieces: Sequence[str]) -> str:
        """Return the text of pieces."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return all there is to it."""
        ...


class CheckpointVocabulary:
    """The pieces of a checkpoint, numbered as `core.transformers_checkpoint.RowNumbering` says.

    Unlike a vocabulary learnt here it may be unable to write some texts as they were: it may normalise characters,
    and have unknown ones. `decode` writes those as U+FFFD.

    Args:
        symbols: the pieces.
        pieces: what divides and joins.
    """

    lossless: ClassVar[bool] = False

    def __init__(self, symbols: CheckpointTokens, pieces: _Pieces) -> None:
        self._symbols, self._divider = symbols, pieces
        no_text = {*range(len(SPECIAL_TOKENS)), *symbols.controls}
        self._of_row = {row: UNK if symbol in no_text else symbol for symbol, row in enumerate(symbols.rows)}

    @property
    def size(self) -> int:
        """The number of symbols, which is that of the rows of the model's tables."""
        return len(self._symbols.names)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols in the order of their ids, in the checkpoint's alphabet."""
        return self._symbols.names

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all pieces in order."""
        return self._symbols.fingerprint

    @property
    def info(self) -> VocabularyInfo:
        """What a model needs to know of this vocabulary."""
        return VocabularyInfo(self.size, self.fingerprint)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, without EOS."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without EOS. No text has a reserved symbol in it, but for UNK.

        Raises:
            DataError: if a text holds half a surrogate pair, which is no character and has no UTF-8 form.
        """
        number = first_invalid(texts)
        if number is not None:
            raise DataError(f"text {number + 1} of {len(texts)} is not valid Unicode: {texts[number]!r}")
        return [[self._of_row.get(row, UNK) for row in rows] for rows in self._divider.divide(texts)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; UNK is U+FFFD, other reserved symbols and what is no text have none."""
        written = (i for i in ids if i == UNK or not self._is_control(i))
        return self._divider.join([_UNKNOWN if i == UNK else self._symbols.names[i] for i in written]).strip()

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return each id in a readable form: a symbol by its name, a piece as text with `▁` for its space."""
        return [self._readable(i) for i in ids]

    def word_index(self, ids: Iterable[int]) -> list[int]:
        """Return for each id the number of the word it belongs to, counted as in `decode(ids)`; -1 for symbols."""
        return word_index(ids, self._symbols.names, self._divider.spaces)

    @cached_property
    def spelling(self) -> Spelling:
        """How the pieces are spelt, in the checkpoint's alphabet; what is unknown is not."""
        names = ["" if self._is_control(i) else name for i, name in enumerate(self._symbols.names)]
        spaces = self._divider.spaces
        return spell(names, spaces, byte_joins if spaces == BYTE_SPACES else character_joins)

    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON.

        Raises:
            OutputError: if it cannot be written.
        """
        symbols = self._symbols
        values = {"names": symbols.names, "rows": symbols.rows, "controls": sorted(symbols.controls)}
        values |= self._divider.to_json()
        with atomic_write(path) as file:
            json.dump(values, file, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> "CheckpointVocabulary":
        """Return the vocabulary saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
            RecipeError: if a library that it needs is not installed.
        """
        text = read_vocabulary(path)
        try:
            values = json.loads(text)
            if "tokenizer" in values:
                pieces: _Pieces = _Backend(Tokenizer.from_str(values["tokenizer"]))
            else:
                pieces = _SentencePieces(b64decode(values["sentencepiece"]), values["numbers"], values["unknown"])
            symbols = CheckpointTokens(tuple(values["names"]), tuple(values["rows"]), frozenset(values["controls"]))
            if symbols.names[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS or len(symbols.names) != len(symbols.rows):
                raise ValueError("its symbols are not numbered as they must be")
            return cls(symbols, pieces)
        except RecipeError:
            raise
        except Exception as error:  # the tokenizers library raises bare Exception for any fault
            message = f"{path}: the vocabulary is damaged ({error}); copy the model folder again"
            raise ModelFolderError(message) from None

    def _is_control(self, symbol: int) -> bool:
        return symbol < len(SPECIAL_TOKENS) or symbol in self._symbols.controls

    def _readable(self, number: int) -> str:
        name = self._symbols.names[number]
        if self._is_control(number):
            return name
        text = self._divider.join([name])
        return f"{_SPACE}{text.strip()}" if name[0] in self._divider.spaces else text


def checkpoint_vocabularies(checkpoint: str, sides: Mapping[str, Sequence[Side]]) -> dict[str, CheckpointVocabulary]:
    """Return the vocabularies of a checkpoint, by the names in `sides`.

    Raises:
        RecipeError: if it cannot be had, has another vocabulary for what it writes than for what it reads, or divides
            by two rules texts that shall have one vocabulary.
    """
    found = TransformersCheckpoint(checkpoint)
    symbols = found.tokens
    return {
        name: CheckpointVocabulary(symbols, _pieces(checkpoint, found.tokenizer, served))
        for name, served in sides.items()
    }


def _pieces(checkpoint: str, tokenizer: Any, sides: Sequence[Side]) -> _Pieces:
    """Return what divides texts of `sides` as the checkpoint's own tokenizer does."""
    if getattr(tokenizer, "separate_vocabs", False):
        raise RecipeError(
            f"{checkpoint}: has one vocabulary for what it reads and another for what it writes, so it cannot read mt; "
            "choose a checkpoint with a single vocabulary"
        )
    if hasattr(tokenizer, "backend_tokenizer"):
        return _Backend.of(tokenizer.backend_tokenizer)
    if not hasattr(tokenizer, "encoder"):
        raise RecipeError(f"{checkpoint}: its tokenizer, a {type(tokenizer).__name__}, is of a kind not known here")
    if hasattr(tokenizer, "spm_files"):  # Marian divides src by one model, and mt and pe by another
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
    def spaces(self) -> frozenset[str]:
        return BYTE_SPACES if "ByteLevel" in str(self.tokenizer.decoder) else frozenset(_SPACE)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "_Backend":
        """Take a tokenizer without its added tokens, which it would find in the texts of users."""
        values = json.loads(tokenizer.to_str())
        values |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        return cls(Tokenizer.from_str(json.dumps(values)))

    def divide(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def join(self, pieces: Sequence[str]) -> str:
        decoder = self.tokenizer.decoder
        text: str = " ".join(pieces) if decoder is None else decoder.decode(list(pieces))
        return text

    def to_json(self) -> dict[str, Any]:
        return {"tokenizer": self.tokenizer.to_str()}


class _SentencePieces:
    """A model of the SentencePiece library, whose pieces a checkpoint numbers in a file of its own."""

    spaces = frozenset(_SPACE)

    def __init__(self, model: bytes, numbers: Mapping[str, int], unknown: str) -> None:
        self._model, self._numbers, self._unknown = model, dict(numbers), unknown
        processor = library("sentencepiece", "the vocabulary of this checkpoint").SentencePieceProcessor
        self._processor = processor(model_proto=model)

    def divide(self, texts: Sequence[str]) -> list[list[int]]:
        unknown = self._numbers[self._unknown]
        return [
            [self._numbers.get(piece, unknown) for piece in pieces]
            for pieces in self._processor.encode(list(texts), out_type=str)
        ]

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(_SPACE, " ")

    def to_json(self) -> dict[str, Any]:
        model = b64encode(self._model).decode("ascii")
        return {"sentencepiece": model, "numbers": self._numbers, "unknown": self._unknown}
