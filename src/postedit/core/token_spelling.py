"""How the symbols of a vocabulary are spelt: what search needs to know to tell words in what it writes."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property


class Spelling:
    """The texts of symbols, and which characters make words.

    Characters are those of the vocabulary's own alphabet, such as one for each byte; white space is written " ".

    Args:
        texts: by symbol; empty for those that are no text.
        joins: whether a character is of the inside of words; None if that depends on the character before it, of
            which it is the continuation.
    """

    def __init__(self, texts: Sequence[str], joins: Callable[[str], bool | None]) -> None:
        self.texts, self._joins = tuple(texts), joins

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.texts)

    def in_word(self, character: str, before: bool) -> bool:
        """Return whether a character is of the inside of a word, given whether the one before it is."""
        joins = character != " " and self._joins(character)
        return before if joins is None else joins

    def spell(self, symbols: Sequence[int]) -> str:
        """Return the text of symbols."""
        return "".join(self.texts[symbol] for symbol in symbols)

    def within(self, text: str) -> list[int]:
        """Return the symbols that `text` begins with; those with the same text are all there."""
        ends = range(1, min(len(text), self._longest) + 1)
        return [symbol for end in ends for symbol in self._symbols.get(text[:end], ())]

    def beyond(self, text: str) -> list[int]:
        """Return the symbols that begin with `text` and go beyond it."""
        found = []
        for place in range(bisect_left(self._sorted, text), len(self._sorted)):
            if not self._sorted[place].startswith(text):
                break
            if self._sorted[place] != text:
                found += self._symbols[self._sorted[place]]
        return found

    def shortest(self, text: str) -> list[int] | None:
        """Return the fewest symbols that spell `text`, or None if none do."""
        ways: list[list[int] | None] = [[]]
        for end in range(1, len(text) + 1):
            best = None
            for start in range(max(0, end - self._longest), end):
                symbols, way = self._symbols.get(text[start:end]), ways[start]
                if symbols and way is not None and (best is None or len(way) + 1 < len(best)):
                    best = [*way, symbols[0]]
            ways.append(best)
        return ways[-1]

    @cached_property
    def _symbols(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for symbol, text in enumerate(self.texts):
            if text:
                found.setdefault(text, []).append(symbol)
        return found

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._symbols)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._symbols), default=0)
