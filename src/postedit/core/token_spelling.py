"""The spelling of the tokens of a vocabulary, which lets search recognise words in its output."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property


class Spelling:
    """The texts of tokens, and the characters that words consist of.

    Characters are those of the vocabulary's own alphabet, for example one for each byte; white space is written " ".

    Args:
        texts: text of each token, by id; empty if the token does not stand for text.
        joins: returns whether a character is part of a word, or None if it continues the character before it.
    """

    def __init__(self, texts: Sequence[str], joins: Callable[[str], bool | None]) -> None:
        self.texts, self._joins = tuple(texts), joins

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.texts)

    def in_word(self, character: str, before: bool) -> bool:
        """Return whether a character is part of a word, given whether the character `before` it is."""
        joins = character != " " and self._joins(character)
        return before if joins is None else joins

    def spell(self, tokens: Sequence[int]) -> str:
        """Return the text that tokens spell."""
        return "".join(self.texts[token] for token in tokens)

    def within(self, text: str) -> list[int]:
        """Return all tokens whose text is the beginning, or the whole, of `text`."""
        ends = range(1, min(len(text), self._longest) + 1)
        return [token for end in ends for token in self._tokens.get(text[:end], ())]

    def beyond(self, text: str) -> list[int]:
        """Return the tokens whose text begins with `text` and is longer."""
        found = []
        for index in range(bisect_left(self._sorted, text), len(self._sorted)):
            if not self._sorted[index].startswith(text):
                break
            if self._sorted[index] != text:
                found += self._tokens[self._sorted[index]]
        return found

    def shortest(self, text: str) -> list[int] | None:
        """Return the shortest sequence of tokens that spells `text`, or None if there is none."""
        ways: list[list[int] | None] = [[]]
        for end in range(1, len(text) + 1):
            best = None
            for start in range(max(0, end - self._longest), end):
                tokens, way = self._tokens.get(text[start:end]), ways[start]
                if tokens and way is not None and (best is None or len(way) + 1 < len(best)):
                    best = [*way, tokens[0]]
            ways.append(best)
        return ways[-1]

    @cached_property
    def _tokens(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for token, text in enumerate(self.texts):
            if text:
                found.setdefault(text, []).append(token)
        return found

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._tokens)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._tokens), default=0)
