"""The triplets of a memory that are nearest to a segment."""

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from rapidfuzz.distance import Levenshtein

from postedit.text.words import compared_words

_MOST_COMPARED: Final = 20
"""Most triplets, those that share the rarest words with a segment, for which the edit distance is computed."""

_MOST_POSTINGS: Final = 2000
"""Words in more triplets are looked up only if no rarer word is known, and then only in so many of the latest ones."""


class Near(NamedTuple):
    """A triplet, given by its number, and the similarity of its source and mt: 1 if they are equal, 0 if no word is."""

    number: int
    similarity: float


class NearestTriplets:
    """An index of triplets by the words of source and mt."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[list[str], list[str]]] = {}
        self._words: dict[str, str] = {}  # one shared string for each word, freed when no triplet has the word
        self._postings: defaultdict[str, dict[int, None]] = defaultdict(dict)  # numbers, in the order of addition

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, number: int, src: str, mt: str) -> None:
        """Add a triplet with a number."""
        self._texts[number] = self._shared(src), self._shared(mt)
        for key in self._keys(number):
            self._postings[key][number] = None

    def remove(self, number: int) -> None:
        """Remove a triplet, as if it had never been added."""
        for key in self._keys(number):
            del self._postings[key][number]
            if not self._postings[key]:
                del self._postings[key]
        for word in {word for side in self._texts.pop(number) for word in side}:
            if f"src {word}" not in self._postings and f"mt {word}" not in self._postings:
                del self._words[word]

    def find(self, src: str, mt: str, most: int, least: float) -> list[Near]:
        """Return at most `most` triplets with a similarity of at least `least`, the nearest first.

        The similarity of two texts is 1 minus their edit distance in words, divided by the number of words of the
        longer one; that of triplets is the mean over source and mt. Of equally similar triplets, the latest is first.
        """
        words = compared_words(src), compared_words(mt)
        shared: defaultdict[int, float] = defaultdict(float)  # weight of the words in common
        keys = dict.fromkeys(_keys_of(*words))  # in order, so that sums are the same in every process
        known = [self._postings[key] for key in keys if key in self._postings]
        for numbers in [one for one in known if len(one) <= _MOST_POSTINGS] or known:
            weight = math.log1p(len(self._texts) / len(numbers))
            for number in islice(reversed(numbers), _MOST_POSTINGS):
                shared[number] += weight
        ranked = sorted(shared, key=lambda number: (-shared[number], -number))[:_MOST_COMPARED]
        found = [Near(number, self._similarity(words, number)) for number in ranked]
        found.sort(key=lambda one: (-one.similarity, -one.number))
        return [one for one in found[:most] if one.similarity >= least]

    def _similarity(self, words: tuple[list[str], list[str]], number: int) -> float:
        sides = zip(words, self._texts[number], strict=True)
        return sum(Levenshtein.normalized_similarity(*side) for side in sides) / 2

    def _shared(self, text: str) -> list[str]:
        return [self._words.setdefault(word, word) for word in compared_words(text)]

    def _keys(self, number: int) -> Iterator[str]:
        return iter(dict.fromkeys(_keys_of(*self._texts[number])))


def _keys_of(src: list[str], mt: list[str]) -> Iterator[str]:
    yield from (f"src {word}" for word in src)
    yield from (f"mt {word}" for word in mt)
