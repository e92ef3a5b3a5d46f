"""From a profile and a text to the tables that noise is drawn from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.synthesis.lexicon import make_lexicon
from postedit.synthesis.noise_kernel import Tables
from postedit.synthesis.pools import by_length
from postedit.synthesis.profile import Move, Profile

_LARGEST_LEXICON: Final = 200_000
"""Words of the text that can be put in, the most frequent ones: bounds the memory of every process."""

_RARE: Final = 0.01
"""The share of real sentences, of the lengths that the text lacks most, that need not be matched."""

_PRIOR: Final = 5.0
"""Times that every word is taken to have been seen with an average number of edits, before its own are counted."""


@dataclass(frozen=True, slots=True)
class TextSample:
    """What is looked at of a text before work starts.

    Args:
        words: its words, with counts.
        lengths: how many lines have each number of words.
    """

    words: Mapping[str, int]
    lengths: Mapping[int, int]

    @classmethod
    def of(cls, lines: Iterable[str]) -> "TextSample":
        """Count the words of some lines."""
        words: Counter[str] = Counter()
        lengths: Counter[int] = Counter()
        for line in lines:
            found = line.split()
            words.update(found)
            lengths[len(found)] += 1
        return cls(words, lengths)


def matched_tables(profile: Profile, sample: TextSample, *, thin: bool) -> Tables:
    """Return tables that make text like that of the profile.

    Args:
        profile: of real triplets.
        sample: of the text that noise is made in.
        thin: leave out lines, so that lengths are distributed as in the profile.

    Raises:
        DataError: if `thin` would leave nothing.
    """
    substitutes: Counter[str] = Counter()
    for others in profile.substituted.values():
        substitutes.update(others)
    seen = [*profile.seen, *profile.deleted, *substitutes]
    lexicon, numbers = make_lexicon([*seen, *_most_frequent(sample)])
    unigrams = Counter({word: sample.words[word] for word in _most_frequent(sample)}) or Counter(profile.seen)
    totals = {word: sum(others.values()) for word, others in profile.substituted.items()}
    return Tables(
        lexicon,
        _weights(profile.inserted, profile.seen, numbers),
        _weights(totals, profile.seen, numbers),
        *_others(profile.substituted, numbers),
        _trust(profile.substituted, numbers),
        profile.inflected,
        *_drawn(substitutes or unigrams, numbers),
        *_drawn(profile.deleted or unigrams, numbers),
        _repeated(profile.moves),
        *by_length(profile),
        1.0,
        _shares(profile, sample) if thin else np.ones(1),
    )


def plain_tables(sample: TextSample) -> Tables:
    """Return tables for edits of any word, of all kinds alike often, `scale` times a word (paper 004, 5.2)."""
    lexicon, numbers = make_lexicon(_most_frequent(sample))
    words = _drawn({word: sample.words[word] for word in numbers}, numbers)
    alike = np.ones(lexicon.size + 1)
    return Tables(
        lexicon,
        alike,
        alike,
        *_others({}, numbers),
        np.zeros(lexicon.size + 1),
        0.0,
        *words,
        *words,
        np.empty((0, 2), np.int32),
        np.empty((0, 5), np.int32),
        np.empty((0, 2), np.int64),
        0.1,
        np.ones(1),
    )


def _most_frequent(sample: TextSample) -> list[str]:
    return [word for word, _ in Counter(sample.words).most_common(_LARGEST_LEXICON)]


def _weights(counts: Mapping[str, int], seen: Mapping[str, int], numbers: Mapping[str, int]) -> NDArray[np.float64]:
    """Return how likely each word is to be edited so, and at last a word that was never seen."""
    average = sum(counts.values()) / max(1, sum(seen.values()))
    weights = np.full(len(numbers) + 1, max(average, 1e-9))
    for word, count in seen.items():
        weights[numbers[word]] = (counts.get(word, 0) + _PRIOR * average + 1e-9) / (count + _PRIOR)
    return weights


def _others(
    substituted: Mapping[str, Mapping[str, int]], numbers: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the substitutes of each word: where they end, which they are, and their counts added up word by word."""
    by_number = {numbers[word]: others for word, others in substituted.items()}
    ends = np.zeros(len(numbers) + 2, np.int64)
    for number, others in by_number.items():
        ends[number + 1] = len(others)
    np.cumsum(ends, out=ends)
    words, sums = np.empty(ends[-1], np.int32), np.empty(ends[-1])
    for number, others in by_number.items():
        first, last = ends[number], ends[number + 1]
        words[first:last], sums[first:last] = _drawn(others, numbers)
    return ends, words, sums


def _trust(substituted: Mapping[str, Mapping[str, int]], numbers: Mapping[str, int]) -> NDArray[np.float64]:
    """Return for each word how likely its next substitute is one that was seen (Witten and Bell 1991, method C)."""
    trust = np.zeros(len(numbers) + 1)
    for word, others in substituted.items():
        total = sum(others.values())
        trust[numbers[word]] = total / (total + len(others))
    return trust


def _drawn(counts: Mapping[str, int], numbers: Mapping[str, int]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return words and their counts added up, frequent ones last, so that nothing depends on the order of a file."""
    order = sorted(counts, key=lambda word: (counts[word], word))
    sums = np.cumsum([counts[word] for word in order], dtype=np.float64)
    return np.array([numbers[word] for word in order], np.int32), sums


def _repeated(moves: Mapping[Move, int]) -> NDArray[np.int32]:
    """Return Int32[moves,2], each as often as it is counted."""
    return np.repeat(np.array(list(moves), np.int32).reshape(-1, 2), list(moves.values()), axis=0)


def _shares(profile: Profile, sample: TextSample) -> NDArray[np.float64]:
    """Return which share of the lines of each length to use, so that their lengths are distributed as in the profile.

    As many as possible, but for the rarest hundredth of the real lengths, which would decide alone.

    Raises:
        DataError: if the text has hardly a line of the real lengths.
    """
    longest = max(s.length for s in profile.sentences)
    real, text = np.zeros(longest + 2), np.zeros(longest + 2)
    for s, count in profile.sentences.items():
        real[s.length] += count
    for length, count in sample.lengths.items():
        text[min(length, longest + 1)] += count
    ratio = np.divide(real / real.sum(), text / text.sum(), out=np.zeros_like(real), where=text > 0)
    order = np.argsort(ratio)[::-1]
    rare = np.cumsum(real[order]) / real.sum() <= _RARE
    limit = ratio[order[~rare][0]]
    if limit == 0:
        raise DataError(
            f'synth.lengths = "real": the text has hardly a line as long as real post-edits ({longest} words at most); '
            'use "all", or a text of sentences'
        )
    shares: NDArray[np.float64] = np.minimum(1.0, ratio / limit)
    return shares
