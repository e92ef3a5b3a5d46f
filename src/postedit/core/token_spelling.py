"""The spelling of the tokens of a vocabulary, which lets search recognise words in its output."""

import math
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
        return self.follow(text, self.next_tokens(text), 0)

    def next_tokens(self, text: str) -> list[int | None]:
        """Return for each position in `text` the next token of the shortest way to its end, None where there is none.

        For a text of N characters, this takes N steps, so search does it once for a text, and not for each rest of it.
        """
        counts: list[float] = [math.inf] * len(text) + [0]
        tokens: list[int | None] = [None] * len(text)
        for start in reversed(range(len(text))):
            for end in range(start + 1, min(start + self._longest, len(text)) + 1):
                if counts[end] + 1 < counts[start] and (found := self._tokens.get(text[start:end])):
                    counts[start], tokens[start] = counts[end] + 1, found[0]
        return tokens

    def follow(self, text: str, tokens: Sequence[int | None], start: int) -> list[int] | None:
        """Return the tokens on the way from a position to the end of `text`, given its `next_tokens`."""
        found: list[int] = []
        while start < len(text):
            token = tokens[start]
            if token is None:
                return None
            found.append(token)
            start += len(self.texts[token])
        return found

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
