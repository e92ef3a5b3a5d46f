"""Corrections that are most similar to a segment: found by BM25, ranked by edit distance."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeVar

from rapidfuzz.distance import Levenshtein

from postedit.text.hint_texts import Example
from postedit.text.words import compared_words

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

_K1: Final = 1.2  # BM25 (Robertson and Zaragoza 2009): how soon further occurrences of a word count no more
_B: Final = 0.75  # and how much long texts are held back

_COMPARED: Final = 20
"""Corrections with the best BM25, of which the edit distance is computed."""

_COMMON: Final = 2000
"""Corrections with a word beyond which the word is only looked up if no rarer one is known, in the latest of them."""


class SimilarityIndex:
    """An index of corrections by their words, each with a number; later ones have higher numbers.

    Translations that were left as they are are not in it: in training as in use, examples show what is changed.
    """

    def __init__(self) -> None:
        self._corrections: dict[int, Example] = {}
        self._postings: defaultdict[str, dict[int, int]] = defaultdict(dict)  # by word: number, occurrences
        self._same: defaultdict[tuple[str, str], dict[int, None]] = defaultdict(dict)  # by source and mt: numbers
        self._sizes: dict[int, int] = {}
        self._words = 0

    def __len__(self) -> int:
        return len(self._corrections)

    def add(self, number: int, correction: Example) -> None:
        """Add a correction under a number of its own, if it changes mt."""
        if correction.mt == correction.pe:
            return
        self._corrections[number] = correction
        self._same[correction.src, correction.mt][number] = None
        counts = Counter(_words(correction.src, correction.mt))
        for word, times in counts.items():
            self._postings[word][number] = times
        self._sizes[number] = counts.total()
        self._words += counts.total()

    def remove(self, number: int) -> None:
        """Remove the correction with a number, if it changed mt."""
        correction = self._corrections.pop(number, None)
        if correction is None:
            return
        _drop(self._same, (correction.src, correction.mt), number)
        for word in set(_words(correction.src, correction.mt)):
            _drop(self._postings, word, number)
        self._words -= self._sizes.pop(number)

    def clear(self) -> None:
        """Remove all corrections."""
        for number in list(self._corrections):
            self.remove(number)

    def find(self, src: str, mt: str, most: int, least: float, *, other_src: bool = False) -> list[Example]:
        """Return at most `most` corrections with a similarity of at least `least`, the most similar first.

        Similarity is the mean of those of source and mt: 1 minus the edit distance of words over the words of the
        longer text. Of equal ones, the latest comes first. With `other_src`, those of the very same src are left out,
        whatever their mt and pe: they would give the answer away in training.
        """
        if not most or not self._corrections:
            return []
        scores = self._scores(set(_words(src, mt)))
        same = islice(reversed(self._same.get((src, mt), {})), _COMPARED)
        ranked = dict.fromkeys([*same, *sorted(scores, key=lambda number: (-scores[number], -number))])
        own = compared_words(src) if other_src else None
        allowed = (one for one in ranked if own is None or compared_words(self._corrections[one].src) != own)
        near = [(self._similarity(src, mt, number), number) for number in islice(allowed, _COMPARED)]
        near.sort(reverse=True)
        return [self._corrections[number] for similarity, number in near[:most] if similarity >= least]

    def _scores(self, words: set[str]) -> dict[int, float]:
        """Return BM25 of each correction that has one of some words: of those that are not common, if one is known."""
        scores: defaultdict[int, float] = defaultdict(float)
        count, mean = len(self._corrections), self._words / len(self._corrections)
        in_order = sorted(words)  # so that sums are the same in every process
        known = [self._postings[word] for word in in_order if word in self._postings]
        for found in [numbers for numbers in known if len(numbers) <= _COMMON] or known:
            rarity = math.log1p((count - len(found) + 0.5) / (len(found) + 0.5))
            for number in islice(reversed(found), _COMMON):
                times = found[number]
                held_back = _K1 * (1.0 - _B + _B * self._sizes[number] / mean)
                scores[number] += rarity * times * (_K1 + 1.0) / (times + held_back)
        return scores

    def _similarity(self, src: str, mt: str, number: int) -> float:
        known = self._corrections[number]
        pairs = ((src, known.src), (mt, known.mt))
        return sum(Levenshtein.normalized_similarity(*map(compared_words, pair)) for pair in pairs) / 2


def _drop(numbers: dict[KeyT, dict[int, ValueT]], key: KeyT, number: int) -> None:
    """Remove a number from those of a key, and the key with the last of them."""
    del numbers[key][number]
    if not numbers[key]:
        del numbers[key]


def _words(src: str, mt: str) -> Iterator[str]:
    yield from (f"src {word}" for word in compared_words(src.lower()))
    yield from (f"mt {word}" for word in compared_words(mt.lower()))
