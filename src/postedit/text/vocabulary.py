"""Subword vocabularies: their interface, lossless byte-level BPE over space-separated words, and its limited form."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.files import atomic_write, load_json, load_text, reason_of
from postedit.core.model import VocabularyInfo
from postedit.core.special_tokens import SPECIAL_TOKENS, UNK
from postedit.core.token_spelling import Spelling
from postedit.text.config import BYTES, SMALLEST
from postedit.text.words import character_joins

# Merges never cross these chunks: a word is cut where letters, digits and other characters meet, so that raw text
# such as `word,` shares its tokens with `word`. Marks count as letters; otherwise Indic words would be cut at vowels.
# Text never yields a special token, because each of those mixes letters and other characters.
_CHUNK: Final = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^ \p{L}\p{M}\p{N}]+| +"

BYTE_SPACES: Final = frozenset("ĠĉĊč")
"""The characters of byte-level BPE for space, tab, line feed and carriage return."""


class Subwords(ABC):
    """A subword vocabulary: tokens and their ids, of which `SPECIAL_TOKENS` have the first.

    Args:
        tokens: the distinct tokens in the order of their ids, in the alphabet of the vocabulary.
        fingerprint: hexadecimal SHA-256 hash of all tokens in order.
        spaces: the characters of this alphabet that stand for white space.
    """

    lossless: bool
    """Whether decoding restores every encoded text exactly."""

    def __init__(self, tokens: tuple[str, ...], fingerprint: str, spaces: frozenset[str]) -> None:
        self.tokens, self.fingerprint, self._spaces = tokens, fingerprint, spaces

    @property
    def size(self) -> int:
        """The number of tokens, special tokens included."""
        return len(self.tokens)

    @property
    def info(self) -> VocabularyInfo:
        """Size and fingerprint, for the model."""
        return VocabularyInfo(self.size, self.fingerprint)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, without EOS."""
        return self.encode_batch([text])[0]

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without EOS. The only special token that may occur is UNK.

        Raises:
            DataError: if a text holds half a surrogate pair, which is no character and has no UTF-8 form.
        """

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; invalid UTF-8 and UNK become U+FFFD, other special tokens have no text."""

    def encode_beside(self, texts: Sequence[str], others: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, where unknown tokens that also occur in its `others` text have distinct ids.

        Vocabularies without copied tokens encode them as `encode_batch` does.

        Raises:
            DataError: as `encode_batch`.
        """
        return self.encode_batch(texts)

    def decode_beside(self, ids: Iterable[int], other: str) -> str:
        """Return the text of ids that come from `encode_beside`, or from a model that read `other`."""
        return self.decode(ids)

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON.

        Raises:
            OutputError: if it cannot be written.
        """

    @cached_property
    def spelling(self) -> Spelling:
        """The texts of the tokens in the alphabet of the vocabulary, by which search recognises words."""
        names = ("" if self._is_control(i) else name for i, name in enumerate(self.tokens))
        texts = ["".join(" " if letter in self._spaces else letter for letter in name) for name in names]
        return Spelling(texts, byte_joins if self._spaces == BYTE_SPACES else character_joins)

    def readable(self, ids: Iterable[int]) -> list[str]:
        """Return each token in readable form: special tokens by name, others as text with `▁` for a leading space.

        A token that is only part of a character is shown as U+FFFD.
        """
        return [self.tokens[i] if self._is_control(i) else self._readable(i) for i in ids]

    def word_index(self, ids: Iterable[int]) -> list[int]:
        """Return, for each id, the index of its word in `decode(ids)`, from 0; -1 for tokens without text."""
        result: list[int] = []
        word, inside = 0, False
        for i in ids:
            letters = self._letters(i)
            if not letters:
                result.append(-1)
                continue
            index = word
            for character in letters:
                if character not in self._spaces:
                    index, inside = word, True
                elif inside:
                    word, inside = word + 1, False
                    index = word
            result.append(index)
        return result

    def _letters(self, number: int) -> str:
        """Return what `decode` writes for a token, in the alphabet of the vocabulary."""
        return "" if self._is_control(number) else self.tokens[number]

    def _is_control(self, number: int) -> bool:
        """Return whether a token stands for no text."""
        return number < len(SPECIAL_TOKENS)

    @abstractmethod
    def _readable(self, number: int) -> str:
        """Return a token that is not special as text with `▁` for a leading space."""


class Vocabulary(Subwords):
    """A vocabulary learnt from the training triplets. Text never contains a special token.

    Text gets a leading space, so a token that starts a word always begins with a space, at the start of a sentence too.
    `decode` removes that space.

    Args:
        tokenizer: a byte-level BPE tokenizer whose first tokens are `SPECIAL_TOKENS`.
    """

    lossless = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        numbers = sorted(tokenizer.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
        tokens = tuple(token for token, _ in numbers)
        numbered = [number for _, number in numbers] == list(range(len(numbers)))
        if tokens[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS or not numbered:
            raise ValueError("a vocabulary starts with the special tokens and numbers its tokens without a gap")
        super().__init__(tokens, hashlib.sha256("\n".join(tokens).encode()).hexdigest(), BYTE_SPACES)

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """Learn merges from `texts` until there are `size` tokens, or nothing is left to merge.

        The same texts in the same order give the same vocabulary on any number of threads.

        Raises:
            ValueError: if `size` is too small for the special tokens and all bytes.
        """
        if size < SMALLEST:
            raise ValueError(f"a vocabulary needs at least {SMALLEST} tokens, not {size}")
        learner = _pipeline(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(SPECIAL_TOKENS),
            min_frequency=2,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        learner.train_from_iterator((f" {text}" for text in texts), trainer)
        model = json.loads(learner.to_str())["model"]
        # Special tokens are added afterwards, as plain tokens: the library would find "added tokens" in user text.
        numbers = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
        numbers |= {token: number + len(SPECIAL_TOKENS) for token, number in model["vocab"].items()}
        merges = [tuple(merge) for merge in model["merges"]]
        return cls(_pipeline(models.BPE(vocab=numbers, merges=merges)))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; see `Subwords`. Long lists are encoded on all cores."""
        try:
            encodings = self._tokenizer.encode_batch_fast([f" {text}" for text in texts], add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            check_unicode(texts)
            raise
        return [encoding.ids if text else [] for text, encoding in zip(texts, encodings, strict=True)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; see `Subwords`. UNK has no text, as no text needs it."""
        return self.decode_raw(ids).removeprefix(" ")

    def decode_raw(self, ids: Iterable[int]) -> str:
        """Return the text of `ids` with the space that is added at the start of every text."""
        text: str = self._tokenizer.decode([i for i in ids if i >= len(SPECIAL_TOKENS)], skip_special_tokens=False)
        return text

    def to_json(self) -> str:
        """Return the vocabulary in the format of the `tokenizers` library."""
        text: str = self._tokenizer.to_str()
        return text

    def save(self, path: Path) -> None:
        """Write the vocabulary in the format of the `tokenizers` library; see `Subwords`."""
        with atomic_write(path) as file:
            file.write(self.to_json())

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Return the vocabulary saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
        """
        with explain_damage(path, "the vocabulary"):
            return cls(Tokenizer.from_str(load_text(path)))

    def _readable(self, number: int) -> str:
        text: str = self._tokenizer.decode([number], skip_special_tokens=False)
        return f"▁{text[1:]}" if text.startswith(" ") else text


class LimitedVocabulary(Subwords):
    """The most frequent tokens of a vocabulary; others are UNK, as in Jauregi Unanue et al. (2018), section 4.3.

    UNK is decoded as a separate word, U+FFFD.

    The last `copied` tokens extend the vocabulary for one text at a time (See et al. 2017, section 2.2): they stand for
    the unknown tokens of the accompanying text (mt), in the order of their first occurrence, so that a model can copy
    them.

    Args:
        whole: the whole vocabulary.
        kept: the ids of the tokens to keep, in ascending order, including the special tokens.
        copied: the number of tokens that stand for unknown ones.
    """

    lossless = False

    def __init__(self, whole: Vocabulary, kept: Sequence[int], copied: int = 0) -> None:
        if list(kept[: len(SPECIAL_TOKENS)]) != list(range(len(SPECIAL_TOKENS))) or list(kept) != sorted(set(kept)):
            raise ValueError("a limited vocabulary keeps the special tokens, and tokens in ascending order")
        self._whole, self._kept, self._copied = whole, tuple(kept), copied
        self._numbers = {old: new for new, old in enumerate(kept)}
        tokens = (*(whole.tokens[i] for i in kept), *(f"Ġ<unk-{place}>" for place in range(1, copied + 1)))
        super().__init__(tokens, hashlib.sha256("\n".join(tokens).encode()).hexdigest(), BYTE_SPACES)

    @classmethod
    def of(cls, whole: Vocabulary, texts: Iterable[str], limit: int, copied: int = 0) -> "LimitedVocabulary":
        """Keep the `limit` most frequent tokens in `texts`, special tokens included, and add `copied` further ones.

        Of equally frequent tokens, those with lower ids are kept.
        """
        counts = Counter[int]()
        rest = iter(texts)
        while block := list(islice(rest, _COUNTED)):
            for ids in whole.encode_batch(block):
                counts.update(ids)
        first = len(SPECIAL_TOKENS)
        ranked = sorted(range(first, whole.size), key=lambda i: (-counts[i], i))
        return cls(whole, [*range(first), *sorted(ranked[: limit - first])], copied)

    @property
    def info(self) -> VocabularyInfo:
        """Size, fingerprint, and the number of tokens that stand for unknown ones, for the model."""
        return VocabularyInfo(self.size, self.fingerprint, self._copied)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; see `Subwords`."""
        return [[self._numbers.get(i, UNK) for i in ids] for ids in self._whole.encode_batch(texts)]

    def encode_beside(self, texts: Sequence[str], others: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, with copied tokens for unknown ones that its `others` text has too."""
        if not self._copied:
            return self.encode_batch(texts)
        beside = [{old: new for new, old in self._unknown_in(other).items()} for other in others]
        return [
            [self._numbers.get(i, unknown.get(i, UNK)) for i in ids]
            for ids, unknown in zip(self._whole.encode_batch(texts), beside, strict=True)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; see `Subwords`. Tokens that stand for unknown ones are decoded like UNK."""
        return self._decode(ids, {})

    def decode_beside(self, ids: Iterable[int], other: str) -> str:
        """Return the text of `ids`, with copied tokens decoded as the unknown tokens of `other`."""
        return self._decode(ids, self._unknown_in(other))

    def _unknown_in(self, text: str) -> dict[int, int]:
        """Return the unknown tokens of a text, as ids of the whole vocabulary, by the copied tokens for them."""
        if not self._copied:
            return {}
        unknown = dict.fromkeys(i for i in self._whole.encode(text) if i not in self._numbers)
        return dict(zip(range(len(self._kept), self.size), unknown))

    def _decode(self, ids: Iterable[int], unknown: Mapping[int, int]) -> str:
        written = (i for i in ids if i == UNK or i >= len(SPECIAL_TOKENS))
        known = [unknown.get(i) if i == UNK or i >= len(self._kept) else self._kept[i] for i in written]
        texts = (
            self._whole.decode_raw(i for i in group if i is not None) if found else " \ufffd" * len(list(group))
            for found, group in groupby(known, lambda i: i is not None)
        )
        return "".join(texts).removeprefix(" ")

    def readable(self, ids: Iterable[int]) -> list[str]:
        """Return each token in readable form; see `Subwords`."""
        return [text.replace("Ġ<unk-", "▁<unk-") for text in super().readable(ids)]

    def _is_control(self, number: int) -> bool:
        return super()._is_control(number) or number >= len(self._kept)

    def _letters(self, number: int) -> str:
        is_unknown = number == UNK or number >= len(self._kept)
        return "Ġ\ufffd" if is_unknown else super()._letters(number)

    def save(self, path: Path) -> None:
        """Write the whole vocabulary and the ids that are kept; see `Subwords`."""
        with atomic_write(path) as file:
            json.dump({"whole": self._whole.to_json(), "kept": self._kept, "copied": self._copied}, file)

    @classmethod
    def load(cls, path: Path) -> "LimitedVocabulary":
        """Return the vocabulary saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
        """
        with explain_damage(path, "the vocabulary"):
            values = load_json(path)
            whole = Vocabulary(Tokenizer.from_str(values["whole"]))
            return cls(whole, values["kept"], values.get("copied", 0))

    def _readable(self, number: int) -> str:
        return self._whole.readable([self._kept[number]])[0]


_COUNTED: Final = 2048  # texts encoded together to count their tokens


def _pipeline(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    chunks = pre_tokenizers.Split(Regex(_CHUNK), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([chunks, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@contextmanager
def explain_damage(path: Path, part: str, expected: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn errors raised while reading `path`, a file of a model folder, into a `ModelFolderError`.

    Args:
        path: the file.
        part: what it contains, in words, such as "the vocabulary".
        expected: error types that are raised as they are.
    """
    try:
        yield
    except expected:
        raise
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: {part} is missing; copy the model folder again") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFolderError(f"{path}: {part} cannot be read: {reason_of(error)}") from None
    except Exception as error:  # the tokenizers library raises bare Exception for any fault in the file
        raise ModelFolderError(f"{path}: {part} is damaged ({error}); copy the model folder again") from None


def check_unicode(texts: Sequence[str]) -> None:
    """Raise a `DataError` if a text holds half a surrogate pair, which is no character and has no UTF-8 form."""
    for number, text in enumerate(texts, start=1):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(f"text {number} of {len(texts)} is not valid Unicode: {text!r}") from None


def byte_joins(character: str) -> bool | None:
    """Return whether a character of byte-level BPE is part of a word; None for the later bytes of a character.

    The first byte of a character decides. All characters are parts of words, except ASCII other than letters and
    digits, Latin-1 punctuation, general punctuation, symbols, and the Chinese and Japanese scripts (U+3000 to U+9FFF).
    """
    byte = _BYTE_OF[character]
    if byte < 0x80:
        return chr(byte).isalnum()
    if byte < 0xC0:
        return None
    return byte not in (0xC2, *range(0xE2, 0xEA))


def _byte_alphabet() -> dict[str, int]:
    """Return the byte for each character of byte-level BPE; printable bytes are themselves, others from U+0100 on."""
    printable = [byte for byte in range(BYTES) if chr(byte).isprintable() and byte not in (0x20, 0xA0)]
    others = [byte for byte in range(BYTES) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(BYTES + index): byte for index, byte in enumerate(others)}


_BYTE_OF: Final = _byte_alphabet()

BYTE_LETTERS: Final = tuple(_BYTE_OF)
"""The characters of byte-level BPE, one for each byte."""
