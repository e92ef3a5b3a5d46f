"""Words and phrases that are banned or required, and beginnings that are given: by characters, not by pieces.

A phrase can be written in several divisions into pieces, and a given beginning may end within a piece. So these
automata read the spelling of symbols character by character.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.special_tokens import EOS, UNK
from postedit.core.token_spelling import Spelling
from postedit.search.automata import Machine, Permit

_ANYTHING: Final = Permit(frozenset(), forbidden=True)
_NO_END: Final = Permit(frozenset([EOS]), forbidden=True)


@dataclass(frozen=True, slots=True)
class Reading:
    """What matters of a text that is read up to here.

    Args:
        inside: its last character is of the inside of words.
        spaced: it is empty or ends with white space.
        begun: beginnings of phrases, whole phrases among them, that it ends with.
    """

    inside: bool = False
    spaced: bool = True
    begun: frozenset[str] = frozenset()


class Phrases:
    """Finds phrases as whole words: before and after one there is no character that would make its word longer.

    Args:
        spelling: of the symbols.
        phrases: as they are spelt, without white space around.
    """

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        self.spelling, self.phrases = spelling, frozenset(phrases)
        self._beginnings = frozenset(phrase[:end] for phrase in self.phrases for end in range(1, len(phrase) + 1))
        self._open = frozenset(phrase for phrase in self.phrases if self._ends_in_word(phrase))

    def read(self, reading: Reading, text: str) -> tuple[Reading, frozenset[str]]:
        """Return the reading after `text`, and the phrases that are found: those whose end has been passed."""
        inside, spaced, begun = reading.inside, reading.spaced, reading.begun
        found: set[str] = set()
        for character in text:
            word = self.spelling.in_word(character, inside)
            if character == " " and spaced:
                continue
            found |= {phrase for phrase in begun & self.phrases if not (word and phrase in self._open)}
            longer = {beginning + character for beginning in begun}
            if not (inside and word):
                longer.add(character)
            begun = frozenset(longer) & self._beginnings
            inside, spaced = word, character == " "
        return Reading(inside, spaced, begun), frozenset(found)

    def whole(self, reading: Reading) -> frozenset[str]:
        """Return the phrases that the text ends with."""
        return reading.begun & self.phrases

    def joined(self, reading: Reading, text: str) -> bool:
        """Return whether a text that followed at once would make the last word longer."""
        return reading.inside and self.spelling.in_word(text[0], before=True)

    def _ends_in_word(self, phrase: str) -> bool:
        inside = False
        for character in phrase:
            inside = self.spelling.in_word(character, inside)
        return inside


class Banned(Machine[Reading]):
    """No output has a banned phrase as whole words.

    A phrase counts as soon as a symbol ends with it: else a search that has written it could only make its last word
    longer, by anything. So a longer word that begins with it is written by symbols that go on beyond it, or not at all.
    """

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        super().__init__()
        self._phrases = Phrases(spelling, phrases)
        pattern = re.compile("|".join(re.escape(phrase) for phrase in self._phrases.phrases))
        self._holding = [symbol for symbol, text in enumerate(spelling.texts) if pattern.search(text)]

    def step(self, state: Reading, symbol: int) -> Reading:
        """Read the symbol."""
        return self._phrases.read(state, self._phrases.spelling.texts[symbol])[0]

    def permit(self, state: Reading) -> Permit:
        """Forbid what ends a phrase."""
        spelling, suspects = self._phrases.spelling, set(self._holding)
        for phrase in self._phrases.phrases:
            for begun in state.begun:
                if phrase.startswith(begun) and phrase != begun:
                    for rest in {phrase[len(begun) :], f" {phrase[len(begun) :]}"}:
                        suspects.update(spelling.beyond(rest), spelling.within(rest))
        return Permit(frozenset(symbol for symbol in suspects if self._ends_one(state, symbol)), forbidden=True)

    def _ends_one(self, state: Reading, symbol: int) -> bool:
        after, found = self._phrases.read(state, self._phrases.spelling.texts[symbol])
        return bool(found or self._phrases.whole(after))


@dataclass(frozen=True, slots=True)
class Missing:
    """How far an output is with what is required of it: the phrases that are not in it, and its reading."""

    phrases: frozenset[str]
    reading: Reading = Reading()


class Required(Machine[Missing]):
    """An output does not end before all of its required phrases are in it, as whole words, in any order."""

    def __init__(self, spelling: Spelling, phrases: Iterable[str]) -> None:
        super().__init__()
        self._phrases = Phrases(spelling, phrases)

    @staticmethod
    def count(spelling: Spelling, phrases: Iterable[str]) -> int:
        """Return how many symbols the phrases have, at least."""
        return sum(len(spelling.shortest(f" {phrase}") or ()) for phrase in phrases)

    def step(self, state: Missing, symbol: int) -> Missing:
        """Read the symbol."""
        reading, found = self._phrases.read(state.reading, self._phrases.spelling.texts[symbol])
        return Missing(state.phrases - found, reading)

    def permit(self, state: Missing) -> Permit:
        """Forbid the end while something is missing."""
        return _NO_END if self._missing(state) else _ANYTHING

    def way(self, state: Missing) -> Sequence[int]:
        """Return the rest of the phrase that is nearest to its end, and then all the others."""
        way: list[int] = []
        for phrase in sorted(self._missing(state), key=lambda phrase: (len(self._rest(state, phrase)), phrase)):
            way += self._shortest(f" {phrase}") if way else self._rest(state, phrase)
        return way

    def proposals(self, state: Missing) -> Sequence[int]:
        """Return the next symbol of every missing phrase."""
        return list(dict.fromkeys(self._rest(state, phrase)[0] for phrase in sorted(self._missing(state))))

    def _missing(self, state: Missing) -> frozenset[str]:
        return state.phrases - self._phrases.whole(state.reading)

    def _rest(self, state: Missing, phrase: str) -> list[int]:
        """Return the fewest symbols that complete the phrase, begun or not, and take nothing off that is complete."""
        begun = max((len(start) for start in state.reading.begun if phrase.startswith(start)), default=0)
        rest, way = phrase[begun:], self._shortest(f" {phrase}")
        complete = self._phrases.whole(state.reading) & state.phrases
        if not self._phrases.joined(state.reading, rest) or (begun and not complete):
            at_once = self._phrases.spelling.shortest(rest)
            return way if at_once is None else min(way, at_once, key=len)
        return way

    def _shortest(self, text: str) -> list[int]:
        found = self._phrases.spelling.shortest(text)
        assert found is not None, f"{text} cannot be spelt"
        return found


class Beginning(Machine[str]):
    """An output begins with a given text, which may end within a symbol. A state is what is left of it."""

    def __init__(self, spelling: Spelling) -> None:
        super().__init__()
        self._spelling = spelling

    def step(self, state: str, symbol: int) -> str:
        """Take the symbol off; one that does not fit takes nothing off."""
        text = self._spelling.texts[symbol]
        if state.startswith(text):
            return state[len(text) :]
        return "" if text.startswith(state) else state

    def permit(self, state: str) -> Permit:
        """Allow what the rest begins with, or what begins with the rest."""
        if not state:
            return _ANYTHING
        return Permit(frozenset(self._spelling.within(state) + self._spelling.beyond(state)), forbidden=False)

    def way(self, state: str) -> Sequence[int]:
        """Return the fewest symbols for the rest."""
        found = self._spelling.shortest(state)
        assert found is not None, f"{state} cannot be spelt"
        return found


class NoUnknown(Machine[None]):
    """The symbol for what is unknown is never written."""

    def step(self, state: None, symbol: int) -> None:
        """Stay in the only state."""

    def permit(self, state: None) -> Permit:
        """Forbid the symbol."""
        return Permit(frozenset([UNK]), forbidden=True)
