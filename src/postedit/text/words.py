"""Words: how a line is divided into them, where they stand in it, and how they are joined again."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, Protocol

TokenizerName = Literal["none", "moses"]

# The only characters that divide words of text that is "already tokenised". Every other one, NBSP and U+3000
# included, belongs to a word. Carriage returns count so that the words of CRLF files are those of LF files.
_DIVIDED: Final = re.compile(r"[^ \t\r\n]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and the characters `start` to `end` (exclusive) of the raw line that it stands for.

    The text may differ from those characters: tokenisers drop control characters, truecasing lowers the first.
    """

    text: str
    start: int
    end: int


class Splitter(Protocol):
    """Divides lines into words and says what stands between words that are joined."""

    def words(self, line: str) -> list[str]:
        """Return the words of `line`."""
        ...

    def spans(self, line: str) -> list[Word] | None:
        """Return the words with their places in `line`, or None if they cannot be found there."""
        ...

    def gaps(self, words: Sequence[str]) -> list[str] | None:
        """Return what to write between each two neighbours (one less than `words`), or None if that is not known."""
        ...

    def join(self, words: Sequence[str]) -> str:
        """Return the words as running text."""
        ...


class PlainSplitter:
    """For text that is already tokenised: words are what stands between spaces."""

    def words(self, line: str) -> list[str]:
        """Return the words of `line`."""
        return _DIVIDED.findall(line)

    def spans(self, line: str) -> list[Word]:
        """Return the words with their places in `line`."""
        return [Word(match.group(), match.start(), match.end()) for match in _DIVIDED.finditer(line)]

    def gaps(self, words: Sequence[str]) -> list[str]:
        """Return one space for each two neighbours."""
        return [" "] * (len(words) - 1)

    def join(self, words: Sequence[str]) -> str:
        """Return the words with single spaces between."""
        return " ".join(words)


class MosesSplitter:
    """For raw text: the Moses tokeniser and detokeniser of one language, without XML escapes.

    Args:
        language: the code Moses knows the language by, such as "en"; unknown ones get the English rules.
    """

    def __init__(self, language: str) -> None:
        # Only those who need it wait for the library to compile its rules.
        from sacremoses import MosesDetokenizer, MosesTokenizer

        self._tokenizer = MosesTokenizer(lang=language)
        self._detokenizer = MosesDetokenizer(lang=language)

    def words(self, line: str) -> list[str]:
        """Return the Moses tokens of `line`."""
        tokens: list[str] = self._tokenizer.tokenize(line, escape=False)
        return tokens

    def spans(self, line: str) -> list[Word] | None:
        """Return the tokens with their places in `line`, or None if the tokeniser rewrote the text."""
        return align(self.words(line), line)

    def gaps(self, words: Sequence[str]) -> list[str] | None:
        """Return what the detokeniser writes between neighbours, or None if it rewrites a word."""
        text = self.join(words)
        places = align(words, text)
        if places is None:
            return None
        return [text[left.end : right.start] for left, right in pairwise(places)]

    def join(self, words: Sequence[str]) -> str:
        """Return the words detokenised."""
        text: str = self._detokenizer.detokenize(list(words), unescape=False)
        return text


@functools.cache
def splitter(tokenizer: TokenizerName, language: str | None) -> Splitter:
    """Return the splitter called `tokenizer`; a Moses one takes a while to make, so it is kept."""
    return MosesSplitter(language or "en") if tokenizer == "moses" else PlainSplitter()


def align(words: Sequence[str], line: str) -> list[Word] | None:
    """Return the places of `words` in `line`, in order, or None if they are not all of its visible text.

    Between words there may be white space, and anywhere there may be control characters, which Moses drops.
    """
    result: list[Word] = []
    position = 0
    for word in words:
        start = position = _next_visible(line, position)
        for character in word:
            while position < len(line) and line[position] != character and line[position] < " ":
                position += 1
            if position == len(line) or line[position] != character:
                return None
            position += 1
        result.append(Word(word, start, position))
    return result if _next_visible(line, position) == len(line) else None


def _next_visible(line: str, position: int) -> int:
    while position < len(line) and (line[position].isspace() or line[position] < " "):
        position += 1
    return position
