"""Candidate edits of a sentence, with the evidence for and against each.

Every phrase of mt, up to LONGEST words, is looked up in the index. What it became elsewhere, less the words at both
ends that stayed, is a candidate: some words of mt and the words that replace them. The words that stayed are its
context. So the phrase pairs that make the same change, in wider and narrower contexts, are one candidate, and places
where the phrase was kept are evidence against it.

Corrections of post-editors count twice: as further triplets, and as what was decided in the widest context known.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.lexicon import lexical_scores
from postedit.phrase.pair_table import extended, lookup, pair
from postedit.phrase.source_alignment import NO_WORD
from postedit.phrase.triplet_index import KEPT, LONGEST, SOURCE, makes_change, narrowed, target_of

FEATURES: Final = (
    "edits",  # 1: a constant for each edit
    "words changed",  # the words of its longer side
    "length",  # words added
    "phrase",  # log-odds of the change for its shortest phrase
    "phrase in context",  # for its longest phrase
    "phrase inverse",  # log-probability of the longest phrase given what it became
    "best phrase",  # highest log-odds of all its phrases
    "lexical",  # log-probability of the new words given the old ones
    "lexical inverse",  # and of the old words given the new ones
    "seen changed",  # logarithm of the number of times that the longest phrase was changed so
    "seen changed anywhere",  # likewise for the shortest phrase
    "seen kept",  # logarithm of 1 + the number of times that the longest phrase stayed as it is
    "context",  # words of context in the longest phrase
    "phrases",  # logarithm of the number of phrases that have the change
    "source agrees",  # log-odds of the change for the longest phrase, where it came from the same source words
    "source fit",  # log-probability of the new words given the source, less that of the old words
    "corrected",  # logarithm of 1 + corrections that made the change, in the widest context that corrections have
    "corrected in context",  # likewise, if that context has CONTEXT_WORDS
    "not corrected",  # logarithm of 1 + corrections that did not make the change there
    "not corrected in context",  # likewise, if that context has CONTEXT_WORDS
    "doubt",  # 1 if corrections made the change, but not twice and without exception in a context of CONTEXT_WORDS
)
"""Features of an edit; all logarithms are natural."""

(
    EDITS, CHANGED, LENGTH, PHRASE, IN_CONTEXT, INVERSE, BEST, LEXICAL, LEXICAL_INVERSE, SEEN, SEEN_ANYWHERE,
    SEEN_KEPT, CONTEXT, PHRASES, SOURCE_AGREES, SOURCE_FIT, CORRECTED, CORRECTED_THERE, LEFT, LEFT_THERE, DOUBT,
) = range(len(FEATURES))  # fmt: skip

CONTEXT_WORDS: Final = 2
"""Words beside a change that make corrections of it decisions for the same context."""

START, END, PLACE, COUNT = range(4)
"""Columns of `Candidates.spans`."""

_MOST: Final = 2048  # candidates of a sentence; more come only from sentences of hundreds of words
_LONGEST_TARGET: Final = LONGEST + 3  # words that a phrase may become
_DISCOUNT: Final = 0.5  # taken from each count: one occurrence proves less than the whole
_LEAST_ODDS: Final = -2.5  # candidates whose best log-odds are lower are not pursued
_LEAST_FIT: Final = 1e-3  # probability of a word that no source word explains


class Candidates(NamedTuple):
    """Candidate edits, sorted by where they start.

    Each replaces words `start` to `end` (exclusive) of mt by new words, a number of them from a place in `words` on.
    `first` has for each word of mt, and one more, the number of the first candidate that starts there or later.
    """

    words: Any  # Int32[W], the new words of all
    spans: Any  # Int32[C,4]: start, end, place, number of new words
    features: Any  # Float64[C,F], see FEATURES
    first: Any  # Int64[words of mt + 1]


class Sentence(NamedTuple):
    """A text to edit: its words with those for beginning and end, those looked up, and those of the source."""

    mt: Any  # Int32[n]
    asked: Any  # Int32[n], the words by which phrases are looked up, -1 if not in the index
    sources: Any  # Int32[n], the source word of each word, or NO_WORD
    src: Any  # Int32[m]


class Scratch(NamedTuple):
    """Buffers for the candidates of one sentence after the other."""

    words: Any  # Int32[W], new words
    spans: Any  # Int32[C,4]
    features: Any  # Float64[C,F]
    hashes: Any  # Int64[C], of spans and new words
    slots: Any  # Int32[4C], a hash table of candidates
    narrowest: Any  # Int64[C], words of the shortest phrase
    widest: Any  # Int64[C,3], start and words of the longest phrase, and how often it was changed so
    counts: Any  # Int64[C], occurrences for the present phrase; 0 between phrases
    agreeing: Any  # Int64[C], those from the same source words
    touched: Any  # Int64[C], candidates of the present phrase


@compiled
def new_scratch() -> Any:
    """Return buffers."""
    return Scratch(
        np.empty(_MOST * _LONGEST_TARGET, np.int32),
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
def candidates_of(sentence: Any, parts: Any, lexicon: Any, translations: Any, sample: Any, scratch: Any) -> Any:
    """Return the candidate edits of a sentence.

    Args:
        sentence: the sentence.
        parts: the index of the triplets of training, and that of corrections.
        lexicon: lexical probabilities.
        translations: word translation probabilities.
        sample: places of a phrase that are looked at, at most, in each part: spread evenly over all triplets of
            training, and in the latest corrections.
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
    low, high = np.zeros(len(parts), np.int64), np.zeros(len(parts), np.int64)
    places, taken = np.empty((len(parts), sample), np.int64), np.zeros(len(parts), np.int64)
    corrected = np.zeros((n, LONGEST + 1, 2), np.int64)  # where the places of each phrase in corrections begin and end
    found = used = 0
    for start in range(n):
        for length in range(1, min(LONGEST, n - start) + 1):
            total = kept = same_source = changes = everywhere = 0
            for number in range(len(parts)):
                index = parts[number]
                _go_on(index.mt, low, high, number, length - 1, sentence.asked[start + length - 1])
                taken[number] = _look(index.mt.order[low[number] : high[number]], number == 0, places[number])
                everywhere += high[number] - low[number]
                total += taken[number]
                for at in places[number, : taken[number]]:
                    if index.cells[at, KEPT] >= length:
                        kept += 1
                        continue
                    target = target_of(index, at, length)
                    if target.length < 0 or target.length > _LONGEST_TARGET:
                        continue
                    front, back = _unchanged(sentence.mt, start, length, index.pe.words, target)
                    if front == length == target.length:  # kept, but not in a row
                        kept += 1
                        continue
                    begin, end = start + front, start + length - back
                    words = index.pe.words[target.start + front : target.start + target.length - back]
                    if begin == end and (begin == 0 or begin == n):
                        continue  # beyond the words for beginning and end
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
            if everywhere == 0:
                break
            corrected[start, length] = low[1], high[1]
            for number in range(len(parts) if changes else 0):
                for at in places[number, : taken[number]]:
                    same_source += _same_sources(parts[number].cells, at, sentence.sources, start, length)
            for number in range(changes):
                one = touched[number]
                row, count = features[one], counts[one]
                odds = _log_odds(count, total)
                row[BEST] = max(odds, row[BEST]) if row[PHRASES] else odds
                row[PHRASES] += 1
                if length < narrowest[one]:
                    narrowest[one] = length
                    row[PHRASE], row[SEEN_ANYWHERE] = odds, np.log(count)
                if length > widest[one, 1] or (length == widest[one, 1] and odds > row[IN_CONTEXT]):
                    widest[one, 0], widest[one, 1], widest[one, 2] = start, length, count * everywhere // total
                    row[IN_CONTEXT], row[SEEN], row[SEEN_KEPT] = odds, np.log(count), np.log(1 + kept)
                    row[SOURCE_AGREES] = _log_odds(agreeing[one], same_source)
                counts[one] = agreeing[one] = 0
    candidates = _completed(
        sentence, parts, lexicon, translations, new[:used].copy(), spans[:found], features[:found], widest
    )
    if parts[1].mt.order.size:
        for one in range(candidates.spans.shape[0]):
            _add_decisions(sentence, parts[1], corrected, candidates, one, places[1])
    return candidates


@compiled
def _go_on(places: Any, low: Any, high: Any, part: Any, depth: Any, word: Any) -> None:
    """Narrow the places of `depth` words in a part of the index to those that go on with `word`; -1 is no word."""
    if depth == 0 and places.first.size == 0:
        low[part], high[part] = 0, places.order.size
    if word < 0 or 0 < places.first.size <= word + 1:
        low[part] = high[part] = 0
    elif depth == 0 and places.first.size:
        low[part], high[part] = places.first[word], places.first[word + 1]
    elif low[part] < high[part]:
        low[part], high[part] = narrowed(places, low[part], high[part], depth, word)


@compiled
def _look(order: Any, spread: Any, places: Any) -> Any:
    """Write at most so many of the places `order` as there is room for, and return how many these are.

    They are `spread` evenly, or the last ones, latest first.
    """
    size = order.size
    taken = min(size, places.size)
    if spread:
        for each in range(taken):
            places[each] = order[each * size // taken]
    elif taken:
        later = np.partition(order, size - taken)[size - taken :]
        places[:taken] = np.sort(later)[::-1]
    return taken


@compiled
def _same_sources(cells: Any, at: Any, sources: Any, start: Any, length: Any) -> Any:
    """Return 1 if the words from place `at` on come from the same source words as those of a sentence, else 0."""
    for offset in range(length):
        if cells[at + offset, SOURCE] != sources[start + offset]:
            return 0
    return 1


@compiled
def _unchanged(mt: Any, start: Any, length: Any, pe: Any, target: Any) -> Any:
    """Return how many words at the beginning and at the end of a phrase stay as they are."""
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
def _log_odds(count: Any, total: Any) -> Any:
    """Return the discounted log-odds of what happened `count` times out of `total`."""
    return np.log((count - _DISCOUNT if count else _DISCOUNT) / (total - count + 1.0))


@compiled
def _completed(
    sentence: Any, parts: Any, lexicon: Any, translations: Any, words: Any, spans: Any, features: Any, widest: Any
) -> Any:
    """Return the candidates that are likely enough, with all features, sorted."""
    likely = np.flatnonzero(features[:, BEST] >= _LEAST_ODDS)
    likely = likely[np.argsort(spans[likely, START], kind="mergesort")]
    kept_spans, kept_features = spans[likely], features[likely]
    for number in range(likely.size):
        span, row = kept_spans[number], kept_features[number]
        old = sentence.mt[span[START] : span[END]]
        new = words[span[PLACE] : span[PLACE] + span[COUNT]]
        start, length, count = widest[likely[number]]
        row[EDITS] = 1.0
        row[CHANGED] = max(old.size, new.size)
        row[LENGTH] = new.size - old.size
        row[CONTEXT] = length - old.size
        row[PHRASES] = np.log(row[PHRASES])
        row[LEXICAL], row[LEXICAL_INVERSE] = lexical_scores(lexicon, old, new)
        row[INVERSE] = _inverse(sentence.mt, start, start + length, span, new, parts, count)
        row[SOURCE_FIT] = _fit(translations, sentence.src, new) - _fit(translations, sentence.src, old)
    first = np.searchsorted(kept_spans[:, START], np.arange(sentence.mt.size + 1))
    return Candidates(words, kept_spans, kept_features, first.astype(np.int64))


@compiled
def _add_decisions(sentence: Any, index: Any, known: Any, candidates: Any, one: Any, places: Any) -> None:
    """Add to a candidate how often corrections made its change, or did not, in the widest context that they have.

    Args:
        sentence: the sentence.
        index: the index of corrections.
        known: where the places of each phrase begin and end in it, Int64[n,LONGEST+1,2].
        candidates: of the sentence.
        one: the number of the candidate.
        places: a buffer for the places that are looked at.
    """
    begin, end = candidates.spans[one, START], candidates.spans[one, END]
    new = candidates.words[candidates.spans[one, PLACE] : candidates.spans[one, PLACE] + candidates.spans[one, COUNT]]
    row, margin = candidates.features[one], 1 if begin == end else 0  # an insertion has words on both sides
    for length in range(LONGEST, end - begin + margin, -1):
        made = others = 0
        for start in range(max(0, end + margin - length), min(begin - margin, sentence.mt.size - length) + 1):
            low, high = known[start, length]
            taken = _look(index.mt.order[low:high], False, places)
            times = 0
            for at in places[:taken]:
                times += makes_change(index, at + begin - start, end - begin, new)
            if taken and (times > made or made + others == 0):
                made, others = times, taken - times
        if made + others:
            wide = length - (end - begin) >= CONTEXT_WORDS
            row[CORRECTED_THERE if wide else CORRECTED] = np.log(1.0 + made)
            row[LEFT_THERE if wide else LEFT] = np.log(1.0 + others)
            row[DOUBT] = 1.0 if made and not (wide and made > 1 and others == 0) else 0.0
            return


@compiled
def _inverse(mt: Any, start: Any, end: Any, span: Any, new: Any, parts: Any, count: Any) -> Any:
    """Return the log-probability that words of pe, `new` in its context, come from the words of mt there.

    `count` is how often they did, perhaps estimated from a sample.
    """
    low, high = np.zeros(len(parts), np.int64), np.zeros(len(parts), np.int64)
    depth = total = 0
    for words in (mt[start : span[START]], new, mt[span[END] : end]):
        for word in words[: max(0, LONGEST - depth)]:
            for part in range(len(parts)):
                _go_on(parts[part].pe, low, high, part, depth, word)
            depth += 1
    for part in range(len(parts)):
        total += high[part] - low[part]
    return np.log(min(1.0, (max(count, 1) - _DISCOUNT) / max(total, 1))) if depth else 0.0


@compiled
def _fit(translations: Any, src: Any, words: Any) -> Any:
    """Return the log-probability of words, each given the source word that explains it best, or none."""
    total = 0.0
    for word in words:
        best = _LEAST_FIT
        for i in range(-1, src.size):
            key = pair(NO_WORD if i < 0 else src[i], word)
            best = max(best, lookup(translations.keys, translations.probabilities, key, np.float32(0.0)))
        total += np.log(best)
    return total
