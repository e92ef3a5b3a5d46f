"""Candidate edits of a sentence, with the evidence for and against each.

Every phrase of mt, up to LONGEST words, is looked up in the index. What it became elsewhere, without the words that
stayed at both ends, gives a candidate: some words of mt and the words that replace them. The words that stayed are its
context. So phrase pairs that make the same change, in wider and narrower contexts, give one candidate, and places
where the phrase was kept are evidence against it.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.lexicon import lexical_scores
from postedit.phrase.pair_table import extended, lookup, pair
from postedit.phrase.source_alignment import NO_WORD
from postedit.phrase.triplet_index import KEPT, LONGEST, SOURCE, cuts_change, gone_on, look, target_of

FEATURES: Final = (
    "edits",  # 1: a constant for each edit
    "words changed",  # the number of words of its longer side
    "length",  # the number of words added; negative if words are removed
    "phrase",  # log-odds of the change for its shortest phrase
    "phrase in context",  # log-odds of the change for its longest phrase
    "phrase inverse",  # log-probability of the longest phrase given what it became; 0 for corrections
    "best phrase",  # highest log-odds of the change among all its phrases
    "lexical",  # log-probability of the new words given the old ones
    "lexical inverse",  # log-probability of the old words given the new ones
    "seen changed",  # logarithm of the number of times that the longest phrase had the change
    "seen changed anywhere",  # likewise for the shortest phrase
    "seen kept",  # logarithm of 1 + the number of times that the longest phrase stayed as it is
    "context",  # the number of words of context in the longest phrase
    "phrases",  # logarithm of the number of phrases of the sentence that had the change
    "source agrees",  # log-odds of the change for the longest phrase, among places with the same source words
    "source fit",  # log-probability of the new words given the source, less that of the old words
    "corrected",  # logarithm of 1 + corrections that made the change, in the widest context known to them
    "corrected in context",  # likewise, if that context has `scored_edits.CONTEXT_WORDS` words beside the change
    "not corrected",  # logarithm of 1 + corrections that did not make the change there
    "not corrected in context",  # likewise, if that context has as many words beside the change
    "doubt",  # 1 if corrections made the change, but "beyond doubt" is 0
    "beyond doubt",  # 1 if corrections made it at least twice, and without exception, in such a wide context
    "corrections",  # score of the edit by corrections, if that is the one used
)
"""Features of an edit; all logarithms are natural."""

(
    EDITS, CHANGED, LENGTH, PHRASE, IN_CONTEXT, INVERSE, BEST, LEXICAL, LEXICAL_INVERSE, SEEN, SEEN_ANYWHERE,
    SEEN_KEPT, CONTEXT, PHRASES, SOURCE_AGREES, SOURCE_FIT, CORRECTED, CORRECTED_THERE, LEFT, LEFT_THERE, DOUBT,
    PROVEN, CORRECTIONS,
) = range(len(FEATURES))  # fmt: skip

START, END, PLACE, COUNT = range(4)
"""Columns of `Candidates.spans`."""

_MOST: Final = 2048  # maximum number of candidates; only sentences of hundreds of words have more
LONGEST_TARGET: Final = LONGEST + 3  # maximum number of words that a phrase may become
_DISCOUNT: Final = 0.5  # subtracted from each count: a single occurrence proves less than a full count
_LEAST_ODDS: Final = -2.5  # candidates whose best log-odds are lower are dropped
_LEAST_FIT: Final = 1e-3  # probability of a word that no source word explains


class Candidates(NamedTuple):
    """Candidate edits, sorted by their start.

    Each replaces words `start` to `end` (exclusive) of mt with `count` new words, which begin at `place` in `words`.
    `first` has, for each word of mt and for the end, the number of the first candidate that starts there or later.
    """

    words: Any  # Int32[W], the new words of all
    spans: Any  # Int32[C,4]: start, end, place, count
    features: Any  # Float64[C,F], see FEATURES
    first: Any  # Int64[words of mt + 1]


class Sentence(NamedTuple):
    """A text to edit: its words, with those for beginning and end, those for lookup, and the words of its source."""

    mt: Any  # Int32[n]
    asked: Any  # Int32[n], the words by which phrases are looked up, -1 if not in the index
    sources: Any  # Int32[n], the source word of each word, or NO_WORD
    src: Any  # Int32[m]


class Scratch(NamedTuple):
    """Buffers for the candidates of a sentence, reused for one sentence after another."""

    words: Any  # Int32[W], new words
    spans: Any  # Int32[C,4]
    features: Any  # Float64[C,F]
    hashes: Any  # Int64[C], of spans and new words
    slots: Any  # Int32[4C], a hash table of candidates
    narrowest: Any  # Int64[C], number of words of the shortest phrase
    widest: Any  # Int64[C,3], start and number of words of the longest phrase, and how often it had the change
    counts: Any  # Int64[C], occurrences for the present phrase; 0 between phrases
    agreeing: Any  # Int64[C], occurrences with the same source words, likewise
    touched: Any  # Int64[C], the candidates that the present phrase has


@compiled
def new_scratch() -> Any:
    """Return new buffers."""
    return Scratch(
        np.empty(_MOST * LONGEST_TARGET, np.int32),
        np.empty((_MOST, 4), np.int32),
        np.empty((_MOST, len(FEATURES)), np.float64),
        np.empty(_MOST, np.int64),
        np.empty(4 * _MOST, np.int32),
        np.empty(_MOST, np.int64),
        np.empty((_MOST, 3), np.int64),
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST, np.int64),
        np.empty(_MOST, np.int64),
    )


@compiled
def candidates_of(
    sentence: Any, index: Any, lexicon: Any, translations: Any, sample: Any, spread: Any, scratch: Any
) -> Any:
    """Return the candidate edits of a sentence that an index knows.

    Args:
        sentence: the sentence.
        index: the index.
        lexicon: lexical probabilities.
        translations: word translation probabilities.
        sample: the maximum number of places of a phrase to look at.
        spread: whether these are spread evenly over all triplets; otherwise they are in the latest ones.
        scratch: buffers.
    """
    n = sentence.mt.size
    new, spans, features, counts, agreeing = (
        scratch.words,
        scratch.spans,
        scratch.features,
        scratch.counts,
        scratch.agreeing,
    )
    narrowest, widest, touched = scratch.narrowest, scratch.widest, scratch.touched
    scratch.slots[:] = -1
    places = np.empty(sample, np.int64)
    found = used = 0
    for start in range(n):
        low, high = np.int64(0), np.int64(0)
        for length in range(1, min(LONGEST, n - start) + 1):
            kept = same_source = changes = 0
            low, high = gone_on(index.mt, low, high, length - 1, sentence.asked[start + length - 1])
            if low == high:
                break
            total = look(index.mt.order[low:high], spread, places)
            for at in places[:total]:
                if index.cells[at, KEPT] >= length:
                    kept += 1
                    continue
                target = target_of(index, at, length)
                if target.length < 0 or target.length > LONGEST_TARGET:
                    continue
                if cuts_change(index, at, sentence.asked, start, length):
                    continue
                front, back = unchanged(sentence.mt, start, length, index.pe.words, target)
                if front == length == target.length:  # kept, but not in a row
                    kept += 1
                    continue
                begin, end = start + front, start + length - back
                words = index.pe.words[target.start + front : target.start + target.length - back]
                if begin == end and (begin == 0 or begin == n):
                    continue  # an insertion outside the words for beginning and end
                one = _number(begin, end, words, scratch.hashes, scratch.slots, found)
                if one == found:
                    if found == _MOST:
                        continue
                    found += 1
                    spans[one, START], spans[one, END] = begin, end
                    spans[one, PLACE], spans[one, COUNT] = used, words.size
                    new[used : used + words.size] = words
                    used += words.size
                    features[one], narrowest[one], widest[one] = 0.0, LONGEST + 1, 0
                if counts[one] == 0:
                    touched[changes] = one
                    changes += 1
                counts[one] += 1
                agreeing[one] += _same_sources(index.cells, at, sentence.sources, start, length)
            for at in places[: total if changes else 0]:
                same_source += _same_sources(index.cells, at, sentence.sources, start, length)
            for number in range(changes):
                one = touched[number]
                row, count = features[one], counts[one]
                odds = log_odds(count, total)
                row[BEST] = max(odds, row[BEST]) if row[PHRASES] else odds
                row[PHRASES] += 1
                if length < narrowest[one]:
                    narrowest[one] = length
                    row[PHRASE], row[SEEN_ANYWHERE] = odds, np.log(count)
                if length > widest[one, 1] or (length == widest[one, 1] and odds > row[IN_CONTEXT]):
                    widest[one, 0], widest[one, 1], widest[one, 2] = start, length, count * (high - low) // total
                    row[IN_CONTEXT], row[SEEN], row[SEEN_KEPT] = odds, np.log(count), np.log(1 + kept)
                    row[SOURCE_AGREES] = log_odds(agreeing[one], same_source)
                counts[one] = agreeing[one] = 0
    return _completed(sentence, index, lexicon, translations, new[:used].copy(), found, scratch)


@compiled
def _same_sources(cells: Any, at: Any, sources: Any, start: Any, length: Any) -> Any:
    """Return 1 if the words from place `at` on come from the same source words as those of a sentence, else 0."""
    for offset in range(length):
        if cells[at + offset, SOURCE] != sources[start + offset]:
            return 0
    return 1


@compiled
def unchanged(mt: Any, start: Any, length: Any, pe: Any, target: Any) -> Any:
    """Return how many words at the beginning and at the end of a phrase its target keeps."""
    shorter, front, back = min(length, target.length), 0, 0
    while front < shorter and mt[start + front] == pe[target.start + front]:
        front += 1
    while back < shorter - front and mt[start + length - 1 - back] == pe[target.start + target.length - 1 - back]:
        back += 1
    return front, back


@compiled
def _number(begin: Any, end: Any, words: Any, hashes: Any, slots: Any, found: Any) -> Any:
    """Return the number of a candidate, `found` if it is new; a new one gets its hash and slot, if there is room."""
    value = extended(extended(np.int64(0), begin), end)
    for word in words:
        value = extended(value, word)
    slot = value & (slots.size - 1)
    while slots[slot] >= 0 and hashes[slots[slot]] != value:
        slot = (slot + 1) & (slots.size - 1)
    if slots[slot] < 0:
        if found < hashes.size:
            slots[slot], hashes[found] = found, value
        return found
    return np.int64(slots[slot])


@compiled
def log_odds(count: Any, total: Any) -> Any:
    """Return the discounted log-odds of an event that happened `count` times out of `total`."""
    return np.log((count - _DISCOUNT if count else _DISCOUNT) / (total - count + 1.0))


@compiled
def _completed(sentence: Any, index: Any, lexicon: Any, translations: Any, words: Any, found: Any, scratch: Any) -> Any:
    """Return the candidates that are likely enough, with all features, sorted by their start."""
    likely = np.flatnonzero(scratch.features[:found, BEST] >= _LEAST_ODDS)
    likely = likely[np.argsort(scratch.spans[likely, START], kind="mergesort")]
    kept_spans, kept_features = scratch.spans[likely], scratch.features[likely]
    for number in range(likely.size):
        span, row = kept_spans[number], kept_features[number]
        old = sentence.mt[span[START] : span[END]]
        new = words[span[PLACE] : span[PLACE] + span[COUNT]]
        start, length, count = scratch.widest[likely[number]]
        row[EDITS] = 1.0
        row[CHANGED] = max(old.size, new.size)
        row[LENGTH] = new.size - old.size
        row[CONTEXT] = length - old.size
        row[PHRASES] = np.log(row[PHRASES])
        row[LEXICAL], row[LEXICAL_INVERSE] = lexical_scores(lexicon, old, new)
        if index.pe.order.size:
            row[INVERSE] = _inverse(sentence.mt, start, start + length, span, new, index.pe, count)
        row[SOURCE_FIT] = _fit(translations, sentence.src, new) - _fit(translations, sentence.src, old)
    first = np.searchsorted(kept_spans[:, START], np.arange(sentence.mt.size + 1))
    return Candidates(words, kept_spans, kept_features, first.astype(np.int64))


@compiled
def _inverse(mt: Any, start: Any, end: Any, span: Any, new: Any, pe: Any, count: Any) -> Any:
    """Return the log-probability of a phrase of mt, from `start` to `end`, given the phrase of pe that it becomes.

    `count` is how often the former became the latter, possibly extrapolated from a sample.
    """
    low, high, depth = np.int64(0), np.int64(0), 0
    for words in (mt[start : span[START]], new, mt[span[END] : end]):
        for word in words[: max(0, LONGEST - depth)]:
            low, high = gone_on(pe, low, high, depth, word)
            depth += 1
    return np.log(min(1.0, (max(count, 1) - _DISCOUNT) / max(high - low, 1))) if depth else 0.0


@compiled
def _fit(translations: Any, src: Any, words: Any) -> Any:
    """Return the log-probability of words, each given the source word, or none, that explains it best."""
    total = 0.0
    for word in words:
        best = _LEAST_FIT
        for i in range(-1, src.size):
            key = pair(NO_WORD if i < 0 else src[i], word)
            best = max(best, lookup(translations.keys, translations.probabilities, key, np.float32(0.0)))
        total += np.log(best)
    return total
