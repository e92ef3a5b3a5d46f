"""Scripts of characters: to which a letter belongs, and which are written without spaces between words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces, such as Han, Kana and Thai, as ranges for a regular expression."""

_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_RUN: Final = re.compile(f"[{UNSPACED}]{{5}}")  # where text is divided into words, few words are as long


def has_unspaced(text: str) -> bool:
    """Return whether a text has characters of a script without spaces."""
    return _UNSPACED.search(text) is not None


def has_unspaced_run(*texts: str) -> bool:
    """Return whether one of the texts has running text in a script without spaces, where a "word" may be a sentence.

    Text in such a script that is divided into words has none, as few words have five letters.
    """
    return any(map(_RUN.search, texts))


@lru_cache(maxsize=1 << 14)
def letter_script(letter: str) -> str:
    """Return the script of a letter, by the first word of its Unicode name, such as "LATIN"; empty if it has none."""
    return unicodedata.name(letter, "").split(" ")[0].split("-")[0]


def letters_by_script(texts: Iterable[str]) -> Counter[str]:
    """Return the number of letters in each script; see `letter_script`."""
    return Counter(letter_script(letter) for text in texts for letter in text if letter.isalpha())
