"""Find the corrections that are most similar to a segment: candidates by BM25, ranked by edit distance."""

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

_K1: Final = 1.2  # BM25 (Robertson and Zaragoza 2009): how slowly the weight of repeated words saturates
_B: Final = 0.75  # and how strongly long texts are penalised

_COMPARED: Final = 20
"""Number of corrections with the highest BM25 scores for which the edit distance is computed."""

_COMMON: Final = 2000
"""A word in more corrections than this is looked up only if no rarer one is known, and only in the latest of them."""


class SimilarityIndex:
    """An index of numbered corrections by their words; later corrections must have higher numbers.

    Corrections that leave mt unchanged are not indexed: in training as in use, examples should show changes.
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
        """Add a correction under a new number, if it changes mt."""
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
        """Remove the correction with this number; do nothing if it is not indexed."""
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

        Similarity is the mean of the similarities of sources and translations, each 1 minus the word edit distance over
        the number of words of the longer text. Of equally similar corrections, the latest comes first. With
        `other_src`, corrections with the same source are left out, which would give the answer away in training.
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
        """Return BM25 scores of corrections with any of `words`; common words count only if no rarer one is known."""
        scores: defaultdict[int, float] = defaultdict(float)
        count, mean = len(self._corrections), self._words / len(self._corrections)
        in_order = sorted(words)  # sets have another order in each process, which would change the sums
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
    """Remove a number from the numbers of a key, and the key itself when it has none left."""
    del numbers[key][number]
    if not numbers[key]:
        del numbers[key]


def _words(src: str, mt: str) -> Iterator[str]:
    yield from (f"src {word}" for word in compared_words(src.lower()))
    yield from (f"mt {word}" for word in compared_words(mt.lower()))
