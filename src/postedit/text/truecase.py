"""Truecasing: write the first word of a sentence in its usual case, and restore its capital afterwards."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from postedit.core.files import atomic_write, load_json
from postedit.text.vocabulary import explain_damage
from postedit.text.words import STOPS, capitalise

# Unlike in Moses, without the colon, after which truecasing would turn German nouns into verbs.
_SENTENCE_END: Final = frozenset(f".!?{STOPS}")
_OPENING: Final = frozenset("([\"'„“‘«»¿¡")


class Truecaser:
    """Lowers the first letter of a sentence's first word if that word is usually written in lower case.

    It does so only where capitalising restores the word, so truecasing can be undone.

    Args:
        lower: words that usually start with a lower-case letter.
    """

    def __init__(self, lower: Iterable[str]) -> None:
        self._lower = frozenset(lower)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Truecaser) and self._lower == other._lower

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]]) -> "Truecaser":
        """Learn from tokenised sentences, read one at a time, with the counts of the Moses truecaser."""
        from sacremoses import MosesTruecaser  # slow to import

        moses = MosesTruecaser()
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for words in sentences:
            for lowered, word, weight in moses.learn_truecase_weights(words):
                counts[lowered][word] += weight
        best = (forms.most_common(1)[0][0] for forms in counts.values())
        return cls(word for word in best if word[:1].islower())

    def truecase(self, words: Sequence[str]) -> list[str]:
        """Return `words` with the first word of each sentence in its usual case."""
        return [self._natural(word) if start else word for word, start in zip(words, sentence_starts(words))]

    def save(self, path: Path) -> None:
        """Write the word list as JSON.

        Raises:
            OutputError: if it cannot be written.
        """
        with atomic_write(path) as file:
            json.dump({"lower": sorted(self._lower)}, file, ensure_ascii=False, indent=0)

    @classmethod
    def load(cls, path: Path) -> "Truecaser":
        """Return the truecaser saved at `path`.

        Raises:
            ModelFolderError: if the file is missing or damaged.
        """
        with explain_damage(path, "the truecasing model"):
            words = load_json(path)["lower"]
            if not all(isinstance(word, str) for word in words):
                raise TypeError("not a list of words")
            return cls(words)

    def _natural(self, word: str) -> str:
        lowered = word[:1].lower() + word[1:]
        return lowered if lowered in self._lower and capitalise(lowered) == word else word


def sentence_starts(words: Sequence[str]) -> list[bool]:
    """Return, for each word, whether it starts a sentence; opening quotes and brackets before it are skipped."""
    result = []
    start = True
    for word in words:
        result.append(start and word not in _OPENING)
        start = word in _SENTENCE_END or (start and word in _OPENING)
    return result
