"""Words: divide lines into them, locate them in the line, and join them again."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final, Literal

from postedit.core.scripts import UNSPACED
from postedit.text.language_tags import base_language

SEPARATORS: Final = " \t\r\n"
"""The characters that separate words of tokenised text. All others, such as NBSP and U+3000, belong to words. CR is one
of them so that files with CR LF have the same words as those with LF."""

TokenizerName = Literal["none", "moses"]
SplitterName = Literal["none", "moses", "characters"]

_SIGNS: Final = "\u0e33\u0eb3" + "".join(
    char
    for char in map(chr, (*range(0xE00, 0xF00), *range(0x1000, 0x10A0), *range(0x1780, 0x1800)))
    if unicodedata.category(char)[0] == "M"
)
"""Vowel signs, tone marks and the like of Thai, Lao, Burmese and Khmer, which stand on the letter before them."""

UNSPACED_CHARACTER: Final = rf"[{UNSPACED}](?:[{_SIGNS}]|(?<=[\u1039\u17d2])[{UNSPACED}])*"
"""A regular expression for a character, as readers see it, of scripts without spaces: a letter with its signs, and with
the letters that U+1039 in Burmese and U+17D2 in Khmer put below it."""

MARKS: Final = "".join(char for char in map(chr, range(0x300, 0x2100)) if unicodedata.category(char)[0] == "M")
"""Combining marks, such as the vowel signs of Devanagari, which \\w does not match."""

JOINERS: Final = "\u200c\u200d"
"""Zero-width non-joiner and joiner, which belong to a word that goes on after them, as in Persian and Nepali."""

STOPS: Final = "؟۔।॥։።፧។៕။"
PAUSES: Final = "،؛՝፣፤၊"
"""Marks that end and that divide sentences in Arabic, Urdu, Hindi, Armenian, Amharic, Khmer and Burmese."""

_LETTER: Final = rf"[^\W{UNSPACED}]"
SPACED_WORD: Final = rf"{_LETTER}(?:{_LETTER}|[{MARKS}]|[{JOINERS}](?={_LETTER}|[{MARKS}]))*"
"""A regular expression for a run of letters (with marks and joiners) and digits in scripts with spaces."""

_EMOJI_PARTS: Final = "\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # styles, skin tones, regions of flags
CHARACTER_PARTS: Final = rf"(?:[{MARKS}{_EMOJI_PARTS}\u3099\u309a\U000e0100-\U000e01ef]|\u200d\S)*"
"""A regular expression for what belongs to the character before it: combining marks, also of Kana, variants of Han
characters, and further parts of emoji."""

_NO_SPACE: Final = re.compile(rf" (?=[{MARKS}{_EMOJI_PARTS}{JOINERS}{STOPS}{PAUSES}])|(?<=[{JOINERS}]) ")
"""Spaces of Moses's detokeniser that divide words: the tokeniser makes words of many marks, joiners and parts of emoji,
and of the punctuation of many scripts, and the detokeniser writes spaces between them and their word."""

_WHOLE: Final = {
    **dict.fromkeys(
        ("tr", "az", "crh"),  # 12,5'i and PDF’yi; %50
        r"(?:(?:%|(?<![\d.,]))\d++(?:[.,]\d++)*+|(?<!\w)\w++)(?:['’]\w++)+|%\d++(?:[.,]\d++)*+",
    ),
    **dict.fromkeys(("uk", "be", "uz"), r"(?<!\w)\w++(?:['’ʼʻ‘]\w++)+"),
    **dict.fromkeys(("he", "yi"), r"(?<![א-ת])[א-ת]++(?:['׳״][א-ת]++|־\w++|\"[א-ת](?![א-ת]))+"),
}
"""By language, words with a mark within at which Moses would divide them, and write spaces when it joins them.

Words match only from their beginnings; otherwise the time would be quadratic in their lengths.
"""

_MARKED: Final = rf"(?<!\w)\w++(?:[{MARKS}]++\w*+)++"
"""Words with combining marks, such as those of Yoruba: Moses divides them at most marks, and there is no way to tell
whether a space followed such a mark. In scripts without spaces, all words up to the next space."""

_TIGHT_QUOTES: Final = frozenset(["ar", "be", "bg", "el", "fa", "hy", "ka", "ru", "uk", "ur"])
"""Languages that quote «thus», where Moses writes « thus » as in French."""

_MOST_WHOLE: Final = 999  # in a line, for which sacremoses has placeholders

_FLAG: Final = re.compile("([\U0001f1e6-\U0001f1ff]) ([\U0001f1e6-\U0001f1ff])")  # the two letters of a country

_SPACED: Final = re.compile(SPACED_WORD)
_COMPARED: Final = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and its place in the raw line: characters `start` to `end` (exclusive).

    The text may differ from these characters: tokenisers drop control characters, truecasing lowers the first letter.
    """

    text: str
    start: int
    end: int


class _PatternSplitter:
    """Divides text into the matches of a pattern."""

    _pattern: ClassVar[re.Pattern[str]]

    def words(self, line: str) -> list[str]:
        """Return the words of `line`."""
        return self._pattern.findall(line)

    def spans(self, line: str) -> list[Word]:
        """Return the words with their places in `line`."""
        return [Word(match.group(), *match.span()) for match in self._pattern.finditer(line)]


class PlainSplitter(_PatternSplitter):
    """Divides text that is already tokenised: words are separated by spaces."""

    _pattern = re.compile(f"[^{SEPARATORS}]+")

    def gaps(self, words: Sequence[str]) -> list[str]:
        """Return the spacing between adjacent words, which are single spaces."""
        return [" "] * (len(words) - 1)

    def join(self, words: Sequence[str]) -> str:
        """Return the words joined by single spaces."""
        return " ".join(words)


class MosesSplitter:
    """Divides raw text with the Moses tokeniser and detokeniser for one language, without XML escapes.

    Args:
        language: a code such as "en" or "pt-BR"; the English rules are used for languages that Moses does not know.
    """

    def __init__(self, language: str) -> None:
        from sacremoses import MosesDetokenizer, MosesTokenizer  # slow: it compiles its rules

        language = base_language(language)
        self._whole = f"{_WHOLE[language]}|{_MARKED}" if language in _WHOLE else _MARKED
        self._has_tight_quotes = language in _TIGHT_QUOTES
        self._tokenizer = MosesTokenizer(lang=language)
        self._detokenizer = MosesDetokenizer(lang=language)

    def words(self, line: str) -> list[str]:
        """Return the Moses tokens of `line`."""
        is_kept = 0 < sum(1 for _ in re.finditer(self._whole, line)) <= _MOST_WHOLE
        tokens: list[str] = self._tokenizer.tokenize(
            line, escape=False, protected_patterns=[self._whole] if is_kept else None
        )
        return tokens

    def spans(self, line: str) -> list[Word] | None:
        """Return the tokens with their places in `line`, or None if the tokeniser rewrote the text."""
        return align(self.words(line), line)

    def gaps(self, words: Sequence[str]) -> list[str] | None:
        """Return the spacing that the detokeniser writes between adjacent words; None if it rewrites a word."""
        text = self.join(words)
        places = align(words, text)
        return None if places is None else [text[left.end : right.start] for left, right in pairwise(places)]

    def join(self, words: Sequence[str]) -> str:
        """Return the words detokenised."""
        text: str = self._detokenizer.detokenize(list(words), unescape=False)
        if self._has_tight_quotes:
            text = text.replace("« ", "«").replace(" »", "»")
        return text if text.isascii() else _FLAG.sub(r"\1\2", _NO_SPACE.sub("", text))


class CharacterSplitter(_PatternSplitter):
    """Divides raw text in scripts without spaces, in which each character is a word (a letter with its signs).

    Words in other scripts are runs of letters (with combining marks and zero-width joiners) and digits; every other
    visible character is a word too.
    """

    _pattern = re.compile(rf"{SPACED_WORD}|{UNSPACED_CHARACTER}|\S")

    def gaps(self, words: Sequence[str]) -> list[str]:
        """Return the spacing between adjacent words: a space if both are of scripts with spaces, else none."""
        spaced = [_SPACED.fullmatch(word) is not None for word in words]
        return [" " if left and right else "" for left, right in pairwise(spaced)]

    def join(self, words: Sequence[str]) -> str:
        """Return the words joined by their usual spacing."""
        gaps = [*self.gaps(words), ""]
        return "".join(word + gap for word, gap in zip(words, gaps))


def compared_words(text: str) -> list[str]:
    """Return the words by which texts are compared, split at white space, and into characters in unspaced scripts."""
    return _COMPARED.findall(text)


Splitter = PlainSplitter | MosesSplitter | CharacterSplitter


@functools.cache
def splitter(tokenizer: SplitterName, language: str | None) -> Splitter:
    """Return the splitter called `tokenizer`; it is cached, as a Moses splitter is slow to create."""
    if tokenizer == "moses":
        return MosesSplitter(language or "en")
    return CharacterSplitter() if tokenizer == "characters" else PlainSplitter()


def align(words: Sequence[str], line: str) -> list[Word] | None:
    """Return `words` with their places in `line`, or None unless they are exactly its visible text, in order.

    White space may occur between words; control characters, which Moses drops, may occur anywhere.
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


def capitalise(word: str, language: str = "") -> str:
    """Return `word` with a capital first letter, if there is one that can begin words (Georgian letters have none)."""
    if word[:1] == "i" and dots_capital_i(language):
        return f"İ{word[1:]}"
    first = word[:1].title()
    begins = len(first) == 1 and unicodedata.category(first) in ("Lu", "Lt") and not "\u1c90" <= first <= "\u1cbf"
    return first + word[1:] if begins else word


def dots_capital_i(language: str) -> bool:
    """Return whether the capitals of i and ı are İ and I in a language, given by its code, as in Turkish."""
    return base_language(language) in ("tr", "tur", "az", "aze", "crh", "gag")


def character_joins(character: str) -> bool:
    """Return whether a character is part of a word: whether it is a letter, mark or digit.

    Characters of the Chinese and Japanese scripts (U+3000 to U+9FFF) are not; see `text.vocabulary.byte_joins`.
    """
    category = unicodedata.category(character)
    return (category[0] in "LM" or category == "Nd") and not "\u3000" <= character < "\ua000"
