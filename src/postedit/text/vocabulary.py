"""A lossless subword vocabulary: byte-level BPE over text whose words are divided by single spaces."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.files import atomic_write
from postedit.core.model import VocabularyInfo
from postedit.core.special_tokens import SPECIAL_TOKENS
from postedit.core.token_spelling import Spelling

BYTES: Final = 256
"""Pieces that every vocabulary has, one for each byte, so that no text is ever unknown."""

SMALLEST: Final = len(SPECIAL_TOKENS) + BYTES

# Merges never cross these chunks: a word is cut where letters, digits and other characters meet, so that raw text
# such as `word,` shares its pieces with `word`. Marks count as letters, or Indic words would fall apart at vowels.
# No reserved symbol can arise from text either, since each of them mixes letters and other characters.
_CHUNK: Final = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^ \p{L}\p{M}\p{N}]+| +"

BYTE_SPACES: Final = frozenset("ĠĉĊč")
"""How byte-level BPE writes the bytes of space, tab, line feed and carriage return."""


class Vocabulary:
    """Pieces and their ids. The reserved `SPECIAL_TOKENS` have the first ids; text can never produce one of them.

    Text is given a leading space, so a piece that starts a word carries the mark of a space before it
    wherever it stands in the sentence. `decode` takes that space away again.

    Args:
        tokenizer: a byte-level BPE tokenizer whose first pieces are `SPECIAL_TOKENS`.
    """

    lossless: ClassVar[bool] = True
    """Whether decoding what was encoded gives the very text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = sorted(tokenizer.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
        self._pieces = tuple(piece for piece, _ in pieces)
        if self._pieces[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS or [number for _, number in pieces] != list(
            range(len(pieces))
        ):
            raise ValueError("a vocabulary starts with the reserved symbols and numbers its pieces without a gap")

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """Learn merges from `texts` until there are `size` pieces, or nothing is left to merge.

        The same texts in the same order give the same vocabulary on any number of threads.

        Raises:
            ValueError: if `size` has no room for the reserved symbols and all bytes.
        """
        if size < SMALLEST:
            raise ValueError(f"a vocabulary needs at least {SMALLEST} pieces, not {size}")
        learner = _pipeline(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(SPECIAL_TOKENS),
            min_frequency=2,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        learner.train_from_iterator((f" {text}" for text in texts), trainer)
        model = json.loads(learner.to_str())["model"]
        # The symbols are put in afterwards, as plain pieces: the library would find "added tokens" in user text.
        numbers = {symbol: number for number, symbol in enumerate(SPECIAL_TOKENS)}
        numbers |= {piece: number + len(SPECIAL_TOKENS) for piece, number in model["vocab"].items()}
        merges = [tuple(merge) for merge in model["merges"]]
        return cls(_pipeline(models.BPE(vocab=numbers, merges=merges)))

    @property
    def size(self) -> int:
        """The number of pieces, reserved symbols included."""
        return len(self._pieces)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The pieces in the order of their ids, each unlike all others, in the alphabet of bytes."""
        return self._pieces

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, over all pieces in order."""
        return hashlib.sha256("\n".join(self._pieces).encode()).hexdigest()

    @property
    def info(self) -> VocabularyInfo:
        """What a model needs to know of this vocabulary."""
        return VocabularyInfo(self.size, self.fingerprint)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, without EOS."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without EOS; all cores work on a long list.

        Raises:
            DataError: if a text holds half a surrogate pair, which is no character and has no UTF-8 form.
        """
        try:
            encodings = self._tokenizer.encode_batch_fast([f" {text}" for text in texts], add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            number = first_invalid(texts)
            if number is None:
                raise
            raise DataError(f"text {number + 1} of {len(texts)} is not valid Unicode: {texts[number]!r}") from None
        return [encoding.ids if text else [] for text, encoding in zip(texts, encodings, strict=True)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`. Reserved symbols have none; bytes that are not UTF-8 become U+FFFD."""
        text: str = self._tokenizer.decode([i for i in ids if i >= len(SPECIAL_TOKENS)], skip_special_tokens=False)
        return text.removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return each id in a readable form: a symbol by its name, a piece as text with `▁` for its space.

        A piece that is only a part of a character is shown as U+FFFD.
        """
        return [self._readable(i) for i in ids]

    def word_index(self, ids: Iterable[int]) -> list[int]:
        """Return for each id the number of the word it belongs to, counted as in `decode(ids)`; -1 for symbols."""
        return word_index(ids, self._pieces, BYTE_SPACES)

    @cached_property
    def spelling(self) -> Spelling:
        """How the pieces are spelt, in the alphabet of bytes."""
        return spell([""] * len(SPECIAL_TOKENS) + list(self._pieces[len(SPECIAL_TOKENS) :]), BYTE_SPACES, byte_joins)

    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON in the format of the `tokenizers` library.

        Raises:
            OutputError: if it cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self._tokenizer.to_str())

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Return the vocabulary saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
        """
        text = read_vocabulary(path)
        try:
            return cls(Tokenizer.from_str(text))
        except Exception as error:  # the library raises bare Exception for any fault in the file
            message = f"{path}: the vocabulary is damaged ({error}); copy the model folder again"
            raise ModelFolderError(message) from None

    def _readable(self, number: int) -> str:
        if number < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[number]
        text: str = self._tokenizer.decode([number], skip_special_tokens=False)
        return f"▁{text[1:]}" if text.startswith(" ") else text


def _pipeline(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_CHUNK), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def read_vocabulary(path: Path) -> str:
    """Return what a vocabulary file holds.

    Raises:
        ModelFolderError: if it is missing or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: the vocabulary is missing; copy the model folder again") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFolderError(f"{path}: the vocabulary cannot be read: {error}") from None


def first_invalid(texts: Sequence[str]) -> int | None:
    """Return which text, counted from 0, is the first that is not valid Unicode; None if all are."""
    return next((number for number, text in enumerate(texts) if not _is_unicode(text)), None)


def word_index(ids: Iterable[int], pieces: Sequence[str], spaces: Container[str]) -> list[int]:
    """Return for each id the number of the word that its piece belongs to; -1 for reserved symbols.

    Args:
        ids: of pieces.
        pieces: all of them.
        spaces: the characters that stand for white space in a piece.
    """
    result: list[int] = []
    word, inside = 0, False
    for i in ids:
        if i < len(SPECIAL_TOKENS):
            result.append(-1)
            continue
        index = word
        for character in pieces[i]:
            if character not in spaces:
                index, inside = word, True
            elif inside:
                word, inside = word + 1, False
                index = word
        result.append(index)
    return result


def spell(pieces: Sequence[str], spaces: Container[str], joins: Callable[[str], bool | None]) -> Spelling:
    """Return the spelling of pieces, in which the characters `spaces` stand for white space."""
    return Spelling(["".join(" " if letter in spaces else letter for letter in piece) for piece in pieces], joins)


def byte_joins(character: str) -> bool | None:
    """Return whether a character of byte-level BPE is of the inside of words; None for the later bytes of a character.

    Of characters of several bytes the first byte decides: punctuation of Latin-1, general punctuation and symbols do
    not join words, nor do scripts without spaces (U+3000 to U+9FFF, of Chinese and Japanese); all else does.
    """
    byte = _BYTE_OF[character]
    if byte < 0x80:
        return chr(byte).isalnum()
    if byte < 0xC0:
        return None
    return byte not in (0xC2, *range(0xE2, 0xEA))


def character_joins(character: str) -> bool:
    """Return whether a character is of the inside of words, as `byte_joins` does but for the characters themselves."""
    category = unicodedata.category(character)
    return (category[0] in "LM" or category == "Nd") and not "\u3000" <= character < "\ua000"


def _byte_alphabet() -> dict[str, int]:
    """Return the byte of each character of byte-level BPE: itself where it can be seen, else from U+0100 onwards."""
    seen = [byte for byte in range(BYTES) if chr(byte).isprintable() and byte not in (0x20, 0xA0)]
    unseen = [byte for byte in range(BYTES) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(BYTES + place): byte for place, byte in enumerate(unseen)}


_BYTE_OF: Final = _byte_alphabet()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
