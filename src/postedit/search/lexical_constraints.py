"""Banned and required words and phrases, and prefixes, as automata that read the characters of tokens.

They read characters because a phrase can be divided into tokens in several ways, and a prefix may end within a token.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.special_tokens import EOS, UNK
from postedit.core.token_spelling import Spelling
from postedit.search.automata import Automaton, TokenSet

_ANYTHING: Final = TokenSet(frozenset(), forbidden=True)
_NO_END: Final = TokenSet(frozenset([EOS]), forbidden=True)


@dataclass(frozen=True, slots=True)
class PhraseState:
    """What `Phrases` remembers of the text that it has read so far."""

    inside: bool = False  # whether the last character is part of a word
    spaced: bool = True  # whether the text is empty or ends with white space
    begun: frozenset[str] = frozenset()  # prefixes of phrases (or whole phrases) that the text ends with


class Phrases:
    """A search for phrases as whole words: the characters around a phrase must not lengthen its first or last word."""

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        self.spelling, self.phrases = spelling, frozenset(phrases)
        self._prefixes = frozenset(phrase[:end] for phrase in self.phrases for end in range(1, len(phrase) + 1))
        self._open = frozenset(phrase for phrase in self.phrases if self._ends_in_word(phrase))

    def read(self, reading: PhraseState, text: str) -> tuple[PhraseState, frozenset[str]]:
        """Return the state after `text`, and the phrases found, which are those whose end is certain by then."""
        inside, spaced, begun = reading.inside, reading.spaced, reading.begun
        found: set[str] = set()
        for character in text:
            word = self.spelling.in_word(character, inside)
            if character == " " and spaced:
                continue
            found |= {phrase for phrase in begun & self.phrases if not (word and phrase in self._open)}
            longer = {prefix + character for prefix in begun}
            if not (inside and word):
                longer.add(character)
            begun = frozenset(longer) & self._prefixes
            inside, spaced = word, character == " "
        return PhraseState(inside, spaced, begun), frozenset(found)

    def whole(self, reading: PhraseState) -> frozenset[str]:
        """Return the phrases that the text read ends with, though further characters could lengthen their last word."""
        return reading.begun & self.phrases

    def joined(self, reading: PhraseState, text: str) -> bool:
        """Return whether `text`, written directly after the text read, would lengthen the last word of the latter."""
        return reading.inside and self.spelling.in_word(text[0], before=True)

    def _ends_in_word(self, phrase: str) -> bool:
        inside = False
        for character in phrase:
            inside = self.spelling.in_word(character, inside)
        return inside


@dataclass(frozen=True, slots=True)
class BannedPhrases:
    """The phrases that an output must not contain, and how far the output has spelt them."""

    phrases: frozenset[str]
    reading: PhraseState = PhraseState()


class Banned(Automaton[BannedPhrases]):
    """A constraint by which no output contains one of its banned phrases as whole words.

    A token that completes a phrase is forbidden at once; if it were written, search could only continue by lengthening
    the last word with anything that fits. So a longer word that begins with the phrase can be written only with a token
    that extends beyond the phrase.
    """

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        super().__init__()
        self._phrases = Phrases(spelling, phrases)
        pattern = re.compile("|".join(re.escape(phrase) for phrase in self._phrases.phrases))
        self._holding = [token for token, text in enumerate(spelling.texts) if pattern.search(text)]

    def step(self, state: BannedPhrases, token: int) -> BannedPhrases:
        """Read the token."""
        return BannedPhrases(state.phrases, self._phrases.read(state.reading, self._phrases.spelling.texts[token])[0])

    def permit(self, state: BannedPhrases) -> TokenSet:
        """Forbid the tokens that complete a phrase."""
        if not state.phrases:
            return _ANYTHING
        spelling, suspects = self._phrases.spelling, set(self._holding)
        for phrase in state.phrases:
            for begun in state.reading.begun:
                if phrase.startswith(begun) and phrase != begun:
                    for rest in {phrase[len(begun) :], f" {phrase[len(begun) :]}"}:
                        suspects.update(spelling.beyond(rest), spelling.within(rest))
        ending = set()
        for token in suspects:
            after, found = self._phrases.read(state.reading, spelling.texts[token])
            if state.phrases & (found | self._phrases.whole(after)):
                ending.add(token)
        return TokenSet(frozenset(ending), forbidden=True)


@dataclass(frozen=True, slots=True)
class MissingPhrases:
    """The required phrases that an output does not contain yet, and how far it has spelt them."""

    phrases: frozenset[str]
    reading: PhraseState = PhraseState()


class Required(Automaton[MissingPhrases]):
    """A goal by which an output ends only when it contains all its required phrases as whole words, in any order."""

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        super().__init__()
        self._phrases = Phrases(spelling, phrases)
        self._next_tokens = {
            text: spelling.next_tokens(text) for text in (f" {phrase}" for phrase in self._phrases.phrases)
        }

    @staticmethod
    def count(spelling: Spelling, phrases: Iterable[str]) -> int:
        """Return the least number of tokens that spell the phrases."""
        return sum(len(spelling.shortest(f" {phrase}") or ()) for phrase in phrases)

    def step(self, state: MissingPhrases, token: int) -> MissingPhrases:
        """Read the token."""
        reading, found = self._phrases.read(state.reading, self._phrases.spelling.texts[token])
        return MissingPhrases(state.phrases - found, reading)

    def permit(self, state: MissingPhrases) -> TokenSet:
        """Forbid EOS while a phrase is missing."""
        return _NO_END if self._missing(state) else _ANYTHING

    def completion(self, state: MissingPhrases) -> Sequence[int]:
        """Return the rest of the phrase that is nearest to completion, and then all other missing phrases."""
        tokens: list[int] = []
        for phrase in sorted(self._missing(state), key=lambda phrase: (len(self._rest(state, phrase)), phrase)):
            tokens += self._spelt(phrase) if tokens else self._rest(state, phrase)
        return tokens

    def proposals(self, state: MissingPhrases) -> Sequence[int]:
        """Return the next token of every missing phrase."""
        return list(dict.fromkeys(self._rest(state, phrase)[0] for phrase in sorted(self._missing(state))))

    def _missing(self, state: MissingPhrases) -> frozenset[str]:
        return state.phrases - self._phrases.whole(state.reading)

    def _rest(self, state: MissingPhrases, phrase: str) -> list[int]:
        """Return the fewest tokens that complete a phrase, begun or not, without breaking one that is complete."""
        begun = max((len(start) for start in state.reading.begun if phrase.startswith(start)), default=0)
        complete = self._phrases.whole(state.reading) & state.phrases
        way = self._spelt(phrase)
        if not self._phrases.joined(state.reading, phrase[begun:]) or (begun and not complete):
            at_once = self._follow(phrase, 1 + begun)
            return way if at_once is None else min(way, at_once, key=len)
        return way

    def _spelt(self, phrase: str) -> list[int]:
        """Return the fewest tokens that spell a phrase as a new word."""
        found = self._follow(phrase, 0)
        assert found is not None, f"{phrase} cannot be spelt"
        return found

    def _follow(self, phrase: str, start: int) -> list[int] | None:
        """Return the fewest tokens that spell a phrase and the space before it, from a position in them."""
        return self._phrases.spelling.follow(f" {phrase}", self._next_tokens[f" {phrase}"], start)


class Beginning(Automaton[str]):
    """A constraint by which an output begins with a given text, which may end within a token.

    The state is the text still to be written.
    """

    def __init__(self, spelling: Spelling) -> None:
        super().__init__()
        self._spelling = spelling
        self._next_tokens: dict[str, list[int | None]] = {}  # `next_tokens` of each whole text

    def step(self, state: str, token: int) -> str:
        """Remove the text of the token from the front; a token that does not fit changes nothing."""
        text = self._spelling.texts[token]
        if state.startswith(text):
            return state[len(text) :]
        return "" if text.startswith(state) else state

    def permit(self, state: str) -> TokenSet:
        """Allow the tokens that the remaining text begins with, and those that begin with all of it."""
        if not state:
            return _ANYTHING
        return TokenSet(frozenset(self._spelling.within(state) + self._spelling.beyond(state)), forbidden=False)

    def completion(self, state: str) -> Sequence[int]:
        """Return the fewest tokens that spell the remaining text."""
        text = next((text for text in self._next_tokens if text.endswith(state)), state)
        if text not in self._next_tokens:
            self._next_tokens[text] = self._spelling.next_tokens(text)
        tokens = self._spelling.follow(text, self._next_tokens[text], len(text) - len(state))
        assert tokens is not None, f"{state} cannot be spelt"
        return tokens


class NoUnknown(Automaton[None]):
    """A constraint by which UNK is never written."""

    def step(self, state: None, token: int) -> None:
        """Stay in the only state."""

    def permit(self, state: None) -> TokenSet:
        """Forbid UNK."""
        return TokenSet(frozenset([UNK]), forbidden=True)
