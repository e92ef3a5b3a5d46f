"""Ids of the words of triplets, and texts as arrays of ids."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from postedit.phrase.source_alignment import Texts

BEGIN, END_OF_TEXT = 1, 2
"""Ids of the words for the beginning and the end of a text; id 0 is no word."""

_RESERVED: Final = ("", "\n<", "\n>")  # not words of any text, as those have no line feed


class WordIds:
    """A two-way mapping between words and ids, which grows while triplets are read."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        """Give `words` the ids from 3 on, after the reserved ones."""
        self.words = [*_RESERVED, *words]
        self._ids = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        """Return the number of ids, which is above all of them."""
        return len(self.words)

    @property
    def own(self) -> list[str]:
        """The words without the reserved ones."""
        return self.words[len(_RESERVED) :]

    def add(self, words: Iterable[str]) -> list[int]:
        """Return the ids of words; new ones get the next ids."""
        ids = []
        for word in words:
            number = self._ids.setdefault(word, len(self.words))
            if number == len(self.words):
                self.words.append(word)
            ids.append(number)
        return ids

    def find(self, words: Iterable[str], others: dict[str, int]) -> list[int]:
        """Return the ids of words; unknown ones get ids above all others, which are kept in `others` and not here."""
        get, above = self._ids.get, len(self.words)
        return [get(word) or others.setdefault(word, above + len(others)) for word in words]


class TextsBuilder:
    """Collects texts as ids, with four bytes per word."""

    def __init__(self, *, bounded: bool) -> None:
        """Start without texts; if `bounded`, each text gets words for its beginning and end."""
        self._bounded = bounded
        self._ids, self._starts = array("i"), array("q", [0])

    def append(self, ids: Sequence[int]) -> None:
        """Add a text."""
        self._ids.extend([BEGIN, *ids, END_OF_TEXT] if self._bounded else ids)
        self._starts.append(len(self._ids))

    def texts(self) -> Texts:
        """Return the texts."""
        return Texts(np.array(self._ids, np.int32), np.array(self._starts, np.int64))
