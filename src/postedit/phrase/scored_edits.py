"""Candidate edits of a sentence with their scores: those that training proposes, and those that corrections propose.

Corrections are few, recent and deliberate, so they have an index and weights of their own. An edit that they propose
gets their score if that is higher than its score by training, and what they decided in the same context counts for all
edits. An edit that the last correction in the same context did not make is not proposed there. A segment that was
corrected before becomes what its last correction made of it.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.correction_evidence import evidence_of, known_phrases
from postedit.phrase.edit_candidates import (
    CORRECTED,
    CORRECTED_THERE,
    CORRECTIONS,
    COUNT,
    DOUBT,
    END,
    FEATURES,
    LEFT,
    LEFT_THERE,
    PLACE,
    PROVEN,
    START,
    Candidates,
    candidates_of,
)
from postedit.phrase.lattice import path_words
from postedit.phrase.ngram_model import text_log_probability
from postedit.phrase.pair_table import key_of
from postedit.phrase.triplet_index import LONGEST, ROW, look, makes_change

REPEATED: Final = 6.0
"""Score of the change that the last correction of the same segment made: log-odds of being right."""

CONTEXT_WORDS: Final = 2
"""Number of adjacent words that a change must share with corrections for their decisions to count as in context."""


class Knowledge(NamedTuple):
    """All that is needed to propose and score edits."""

    trained: Any  # TripletIndex
    corrections: Any  # TripletIndex
    ranks: Any  # Int64[S], the number of corrections up to each that were not removed
    sources: Any  # Int64[S], the keys of their sources
    numbers: Any  # Int64[S], their numbers in the memory
    bags: Any  # Int32[B], the distinct words of each mt, sorted
    bag_starts: Any  # Int64[S+1]
    counts: Any  # Int32[W], by word: how many corrections, of those not removed, have it in mt
    correction_weights: Any  # Float64[F+E], of the features of edits that corrections propose, and of their evidence
    lexicon: Any
    translations: Any
    language: Any  # NgramModel


@compiled
def scored_candidates(sentence: Any, knowledge: Any, weights: Any, sample: Any, scratch: Any) -> Any:
    """Return the candidate edits of a sentence, and their scores Float64[C].

    Args:
        sentence: the sentence.
        knowledge: what edits are proposed and scored by.
        weights: the weights of the language model and of the features of edits, Float64[1+F].
        sample: the maximum number of places of a phrase to look at in each index.
        scratch: buffers.
    """
    lexicon, translations = knowledge.lexicon, knowledge.translations
    trained = candidates_of(sentence, knowledge.trained, lexicon, translations, sample, True, scratch)
    if knowledge.corrections.mt.order.size == 0:
        return trained, trained.features @ weights[1:]
    places, phrases = np.empty(sample, np.int64), known_phrases(knowledge.corrections.mt, sentence.asked)
    again = repeated(sentence, knowledge, phrases)
    if again >= 0:
        return _repetition(sentence.mt, knowledge, again, weights[0])
    trained = _decided(sentence, knowledge.corrections, phrases, trained, places)
    corrected, evidence = corrected_candidates(sentence, knowledge, phrases, places, scratch)
    scores = corrected.features @ knowledge.correction_weights[: len(FEATURES)]
    scores += evidence @ knowledge.correction_weights[len(FEATURES) :]
    _rate_language(sentence.mt, knowledge.language, weights[0], corrected, scores)
    return _united(sentence.mt.size, trained, trained.features @ weights[1:], corrected, scores)


@compiled
def corrected_candidates(sentence: Any, knowledge: Any, known: Any, places: Any, scratch: Any) -> Any:
    """Return the candidate edits that corrections propose, and the evidence for them; see `evidence_of`."""
    index, lexicon, translations = knowledge.corrections, knowledge.lexicon, knowledge.translations
    found = candidates_of(sentence, index, lexicon, translations, places.size, False, scratch)
    found = _decided(sentence, index, known, found, places)
    return found, evidence_of(sentence, knowledge, known, found, places)


@compiled
def repeated(sentence: Any, knowledge: Any, known: Any) -> Any:
    """Return the place where mt of the last correction of the same source and mt begins, or -1; see `_decided`.

    All corrections whose mt begins with the same words are looked at, not a sample: a template may have many.
    """
    low, high = known[0, min(LONGEST, sentence.mt.size)]
    source, last = key_of(sentence.src), np.int64(-1)
    for at in knowledge.corrections.mt.order[low:high]:
        if at > last and is_same_segment(sentence, knowledge, source, at):
            last = np.int64(at)
    return last


@compiled
def is_same_segment(sentence: Any, knowledge: Any, source: Any, at: Any) -> Any:
    """Return whether the correction with mt at place `at` has the mt of a sentence, and a source with this key."""
    index = knowledge.corrections
    if knowledge.sources[index.cells[at, ROW]] != source:
        return False
    words = index.mt.words[at : at + sentence.mt.size]
    return words.size == sentence.mt.size and np.array_equal(words, sentence.asked)


@compiled
def _repetition(mt: Any, knowledge: Any, at: Any, weight: Any) -> Any:
    """Return as the only candidate the change that a correction of the same segment made, if any, and its score."""
    index = knowledge.corrections
    words = corrected_words(index, index.cells[at, ROW])
    changes = 0 if np.array_equal(words, mt[1:-1]) else 1
    spans, features = np.zeros((changes, 4), np.int32), np.zeros((changes, len(FEATURES)), np.float64)
    if changes:
        spans[0, START], spans[0, END], spans[0, COUNT] = 1, mt.size - 1, words.size
        features[0, CORRECTED_THERE] = np.log(2.0)
        features[0, CORRECTIONS] = REPEATED
    first = np.searchsorted(spans[:, START], np.arange(mt.size + 1)).astype(np.int64)
    candidates = Candidates(words, spans, features, first)
    scores = features[:, CORRECTIONS].copy()
    _rate_language(mt, knowledge.language, weight, candidates, scores)
    features[:, CORRECTIONS] = scores
    return candidates, scores


@compiled
def corrected_words(index: Any, row: Any) -> Any:
    """Return the words of pe of a correction, without those for beginning and end, and without the separator."""
    return index.pe.words[index.pe_starts[row] + 1 : index.pe_starts[row + 1] - 2].copy()


@compiled
def _decided(sentence: Any, index: Any, known: Any, candidates: Any, places: Any) -> Any:
    """Return the candidates that corrections do not refuse, with the features of their decisions.

    Args:
        sentence: the sentence.
        index: the index of corrections.
        known: see `known_phrases`.
        candidates: the candidates of the sentence.
        places: a buffer for the places that are looked at.
    """
    kept = np.ones(candidates.spans.shape[0], np.bool_)
    for one in range(kept.size):
        kept[one] = not _add_decisions(sentence, index, known, candidates, one, places)
    spans = candidates.spans[kept]
    first = np.searchsorted(spans[:, START], np.arange(sentence.mt.size + 1)).astype(np.int64)
    return Candidates(candidates.words, spans, candidates.features[kept], first)


@compiled
def _add_decisions(sentence: Any, index: Any, known: Any, candidates: Any, one: Any, places: Any) -> Any:
    """Add to a candidate how often corrections made its change, or did not, in the widest context they share with it.

    Return whether it is refused: the context has LONGEST words, or all words of mt, and the last correction with it did
    not make the change.
    """
    begin, end = candidates.spans[one, START], candidates.spans[one, END]
    new = candidates.words[candidates.spans[one, PLACE] : candidates.spans[one, PLACE] + candidates.spans[one, COUNT]]
    row, margin = candidates.features[one], 1 if begin == end else 0  # insertions have context on both sides
    for length in range(min(LONGEST, sentence.mt.size), max(0, end - begin - 1), -1):
        made, others, last, agrees = 0, 0, -1, False
        for start in range(max(0, end + margin - length), min(begin - margin, sentence.mt.size - length) + 1):
            low, high = known[start, length]
            taken = look(index.mt.order[low:high], False, places)
            times = 0
            for at in places[:taken]:
                makes = makes_change(index, at + begin - start, end - begin, new)
                times += makes
                if at + begin - start > last:
                    last, agrees = at + begin - start, makes
            if taken and (times > made or made + others == 0):
                made, others = times, taken - times
        if last >= 0:
            wide = length - (end - begin) >= CONTEXT_WORDS
            row[CORRECTED_THERE if wide else CORRECTED] = np.log(1.0 + made)
            row[LEFT_THERE if wide else LEFT] = np.log(1.0 + others)
            if made:
                row[PROVEN if wide and made > 1 and others == 0 else DOUBT] = 1.0
            return length == min(LONGEST, sentence.mt.size) and not agrees
    return False


@compiled
def _rate_language(mt: Any, language: Any, weight: Any, candidates: Any, scores: Any) -> None:
    """Subtract from scores what search will add for the language model, as that has not learnt from corrections."""
    if weight == 0.0 or scores.size == 0:
        return
    before = text_log_probability(language, mt)
    for one in range(scores.size):
        after = text_log_probability(language, path_words(mt, candidates, np.array([one])))
        scores[one] -= weight * (after - before)


@compiled
def _united(n: Any, trained: Any, scores: Any, corrected: Any, correction_scores: Any) -> Any:
    """Return all candidates with their scores; an edit that both propose is kept once, with its higher score."""
    old, count = trained.spans.shape[0], corrected.spans.shape[0]
    kept = np.ones(old + count, np.bool_)
    for one in range(count):
        start, end, place, size = corrected.spans[one]
        row = corrected.features[one]
        for other in range(trained.first[start], trained.first[start + 1]):
            if trained.spans[other, END] == end and trained.spans[other, COUNT] == size:
                at = trained.spans[other, PLACE]
                if np.array_equal(trained.words[at : at + size], corrected.words[place : place + size]):
                    kept[other if correction_scores[one] > scores[other] else old + one] = False
        made, made_there, doubt = row[CORRECTED], row[CORRECTED_THERE], row[DOUBT]
        row[:] = 0.0
        row[CORRECTED], row[CORRECTED_THERE], row[DOUBT] = made, made_there, doubt
        row[CORRECTIONS] = correction_scores[one]
    spans = np.concatenate((trained.spans, corrected.spans))
    spans[old:, PLACE] += trained.words.size
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.argsort(spans[chosen, START], kind="mergesort")]
    first = np.searchsorted(spans[chosen, START], np.arange(n + 1)).astype(np.int64)
    words = np.concatenate((trained.words, corrected.words))
    features = np.concatenate((trained.features, corrected.features))[chosen]
    united = Candidates(words, spans[chosen], features, first)
    return united, np.concatenate((scores, correction_scores))[chosen]
