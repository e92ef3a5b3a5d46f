"""The tables that noise is drawn from, made from an edit profile and a sample of the text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.synthesis.noise.word_bytes import Lexicon, make_lexicon
from postedit.synthesis.triplet_counts import MAX_TER

if TYPE_CHECKING:
    from postedit.synthesis.noise.edit_profile import EditProfile  # not needed by workers

_MAX_LEXICON: Final = 200_000  # frequent words of the text that can be errors, limited to bound the memory of processes
_ENOUGH_SENTENCES: Final = 100  # fewest real sentences to draw from for each length; fewer would repeat too often
_RARE: Final = 0.01  # share of real sentences that thinning does not match: those of the lengths the text lacks most
_PRIOR: Final = 5.0  # strength of the prior of edit rates: occurrences with the average rate added to each word


class NoiseTables(NamedTuple):
    """Distributions of edits for compiled code. V is the size of the lexicon; id V stands for all other words."""

    lexicon: Lexicon
    # [V+1], relative probability of each word of pe that mt lacks it, and that mt has another word in its place
    insert_weights: NDArray[np.float64]
    substitute_weights: NDArray[np.float64]
    # observed substitutes: where those of each word end, [V+2], the first 0; their ids; and their cumulative counts
    pair_ends: NDArray[np.int64]
    pair_words: NDArray[np.int32]
    pair_sums: NDArray[np.float64]
    seen_rate: NDArray[np.float64]  # [V+1], probability that a substitute of a word is one of its observed ones
    inflection_rate: float  # probability that any other substitute is an inflected form of the word
    # all observed substitutes, and words of mt that pe lacks, with their cumulative counts
    substitute_words: NDArray[np.int32]
    substitute_sums: NDArray[np.float64]
    deletion_words: NDArray[np.int32]
    deletion_sums: NDArray[np.float64]
    moves: NDArray[np.int32]  # [moves,2], length and distance as in `ShiftedBlock`; empty: single words, any distance
    sentences: NDArray[np.int32]  # [sentences,5], length and edits by kind of real sentences, sorted by length
    length_ranges: NDArray[np.int64]  # [longest+1,2], for each length, first row of `sentences` and row after the last
    rate_scale: float  # factor for the edits of real sentences; without sentences, edits per word
    keep_rates: NDArray[np.float64]  # [lengths], share of lines to keep by length; the last one is for longer lines too


@dataclass(frozen=True, slots=True)
class TextSample:
    """Counts of the words in a sample of the text, and of its lines by their number of words."""

    words: Mapping[str, int]
    lengths: Mapping[int, int]

    @classmethod
    def of(cls, lines: Iterable[str]) -> "TextSample":
        """Return the counts of some lines."""
        words, lengths = Counter[str](), Counter[int]()
        for line in lines:
            found = line.split()
            words.update(found)
            lengths[len(found)] += 1
        return cls(words, lengths)

    @property
    def frequent(self) -> dict[str, int]:
        """The most frequent words and their counts."""
        return dict(Counter(self.words).most_common(_MAX_LEXICON))


def matched_tables(profile: "EditProfile", sample: TextSample, *, thin: bool) -> NoiseTables:
    """Return tables for noise that resembles the edits of a profile, in the text that the sample was taken from.

    With `thin`, lines are left out so that lengths are distributed as in the profile.

    Raises:
        DataError: if `thin` would leave hardly any line.
    """
    substitutes = Counter[str]()
    for others in profile.substituted.values():
        substitutes.update(others)
    frequent = sample.frequent
    lexicon, ids = make_lexicon([*profile.seen, *profile.deleted, *substitutes, *frequent])
    substituted = {word: sum(others.values()) for word, others in profile.substituted.items()}
    unigrams = frequent or profile.seen
    return NoiseTables(
        lexicon,
        _edit_weights(profile.inserted, profile.seen, ids),
        _edit_weights(substituted, profile.seen, ids),
        *_substitution_pairs(profile.substituted, ids),
        _seen_rates(profile.substituted, ids),
        profile.inflection_rate,
        *_cumulative(substitutes or unigrams, ids),
        *_cumulative(profile.deleted or unigrams, ids),
        np.repeat(np.array(list(profile.moves), np.int32).reshape(-1, 2), list(profile.moves.values()), axis=0),
        *sentences_by_length(profile),
        1.0,
        _keep_rates(profile, sample) if thin else np.ones(1),
    )


def plain_tables(sample: TextSample, rate: float = 0.1) -> NoiseTables:
    """Return tables for `rate` edits per word, all words and kinds equally likely (see Ive et al. 2019, section 5.2).

    The paper does not say how often each kind occurs, or which words are inserted: here, words of the text.
    """
    frequent = sample.frequent
    lexicon, ids = make_lexicon(frequent)
    words = _cumulative(frequent, ids)
    uniform = np.ones(lexicon.size + 1)
    return NoiseTables(
        lexicon,
        uniform,
        uniform,
        *_substitution_pairs({}, ids),
        np.zeros(lexicon.size + 1),
        0.0,
        *words,
        *words,
        np.empty((0, 2), np.int32),
        np.empty((0, 5), np.int32),
        np.empty((0, 2), np.int64),
        rate,
        np.ones(1),
    )


def sentences_by_length(profile: "EditProfile") -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return `sentences` and `length_ranges` of `NoiseTables` for a profile.

    The range of each length is widened to neighbouring lengths until it has `_ENOUGH_SENTENCES`. The range of the
    greatest length is also used for longer lines.
    """
    counted = profile.sentences.items()
    rows = sorted((s.length, s.shifts, s.substitutions, s.insertions, s.deletions, count) for s, count in counted)
    table = np.array(rows, np.int32)
    sentences = np.repeat(table[:, :5], table[:, 5], axis=0)
    lengths = sentences[:, 0]
    longest = int(lengths[-1])
    ranges = np.empty((longest + 1, 2), np.int64)
    for length in range(longest + 1):
        for width in range(longest + 1):
            first, last = np.searchsorted(lengths, [length - width, length + width + 1])
            if last - first >= min(_ENOUGH_SENTENCES, len(sentences)):
                break
        ranges[length] = first, last
    return sentences, ranges


def expected_ter_histogram(profile: "EditProfile", lengths: Mapping[int, int]) -> dict[int, float]:
    """Return the TER histogram of the real sentences, weighted so that they have the given histogram of lengths."""
    sentences, ranges = sentences_by_length(profile)
    ter = np.minimum(MAX_TER, 100 * sentences[:, 1:].sum(1) // sentences[:, 0])
    weights = np.zeros(len(ter))
    for length, count in lengths.items():
        first, last = ranges[min(length, len(ranges) - 1)]
        weights[first:last] += count / (last - first)
    histogram = np.bincount(ter, weights)
    return {value: float(weight) for value, weight in enumerate(histogram) if weight}


def _edit_weights(counts: Mapping[str, int], seen: Mapping[str, int], ids: Mapping[str, int]) -> NDArray[np.float64]:
    """Return the smoothed edit rate of each word; the last one, the average rate, is for unseen words."""
    average = sum(counts.values()) / max(1, sum(seen.values()))
    weights = np.full(len(ids) + 1, max(average, 1e-9))
    for word, count in seen.items():
        weights[ids[word]] = (counts.get(word, 0) + _PRIOR * average + 1e-9) / (count + _PRIOR)
    return weights


def _substitution_pairs(
    substituted: Mapping[str, Mapping[str, int]], ids: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return `pair_ends`, `pair_words` and `pair_sums` of `NoiseTables`."""
    by_id = {ids[word]: others for word, others in substituted.items()}
    ends = np.zeros(len(ids) + 2, np.int64)
    for number, others in by_id.items():
        ends[number + 1] = len(others)
    np.cumsum(ends, out=ends)
    words, sums = np.empty(ends[-1], np.int32), np.empty(ends[-1])
    for number, others in by_id.items():
        first, last = ends[number], ends[number + 1]
        words[first:last], sums[first:last] = _cumulative(others, ids)
    return ends, words, sums


def _seen_rates(substituted: Mapping[str, Mapping[str, int]], ids: Mapping[str, int]) -> NDArray[np.float64]:
    """Return the probability that the next substitute of a word was seen before (Witten and Bell 1991, method C)."""
    rates = np.zeros(len(ids) + 1)
    for word, others in substituted.items():
        total = sum(others.values())
        rates[ids[word]] = total / (total + len(others))
    return rates


def _cumulative(counts: Mapping[str, int], ids: Mapping[str, int]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return word ids and cumulative counts, sorted by count and word, so that the order in a file does not matter."""
    order = sorted(counts, key=lambda word: (counts[word], word))
    sums = np.cumsum([counts[word] for word in order], dtype=np.float64)
    return np.array([ids[word] for word in order], np.int32), sums


def _keep_rates(profile: "EditProfile", sample: TextSample) -> NDArray[np.float64]:
    """Return the share of lines of each length to keep, so that lengths are distributed as in the profile.

    As many lines as possible are kept. The hundredth of the real sentences whose lengths the text lacks most is not
    matched, because it alone would determine all shares.

    Raises:
        DataError: if hardly any line of the text has one of the real lengths.
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
            f'synth.lengths = "real": hardly a line of the text is as long as real post-edits ({longest} words at '
            'most); use "all", or a text of sentences'
        )
    rates: NDArray[np.float64] = np.minimum(1.0, ratio / limit)
    return rates
