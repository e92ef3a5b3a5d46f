"""The compiled loop over sentences: candidates, their scores, the search, and the gain of each edit of an output."""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.edit_candidates import COUNT, END, FEATURES, PLACE, START, Sentence, new_scratch
from postedit.phrase.lattice import path_words, search_lattice
from postedit.phrase.ngram_model import text_log_probability
from postedit.phrase.scored_edits import scored_candidates
from postedit.phrase.source_alignment import joined_ids, source_words

ALL_FEATURES: Final = ("language model", *FEATURES)
"""Features of an output: its log-probability under the language model, and the sums over its edits."""


class SearchLimits(NamedTuple):
    """Limits of a search, as whole numbers."""

    outputs: Any  # maximum number of outputs per sentence
    paths: Any  # maximum number of paths that go on from each word; 0: all
    sample: Any  # maximum number of places of a phrase to look at


class Outputs(NamedTuple):
    """The outputs of sentences, best first.

    The outputs of a sentence are adjacent, and so are the edits of an output and the words of an edit.
    """

    first: Any  # Int64[S+1], the first output of each sentence
    scores: Any  # Float64[H]
    features: Any  # Float64[H,1+F], see ALL_FEATURES
    first_edit: Any  # Int64[H+1], the first edit of each output
    spans: Any  # Int32[E,2], the words of mt that an edit replaces, not counting the word for the beginning
    gains: Any  # Float64[E], how much the score drops without the edit
    evidence: Any  # Float64[E,F], the features of each edit
    first_word: Any  # Int64[E+1], the first new word of each edit
    words: Any  # Int32[W], the new words of all edits


@compiled
def edit_texts(mt: Any, joined: Any, src: Any, knowledge: Any, weights: Any, limits: Any) -> Any:
    """Return the best outputs of sentences.

    Args:
        mt: the texts, with words for beginning and end.
        joined: the ids of words joined with source words, by which phrases are then looked up; may be empty.
        src: the sources of the texts.
        knowledge: the `Knowledge` by which edits are proposed and scored.
        weights: the weights of the features, Float64[1+F].
        limits: the limits of the search.
    """
    rows = mt.starts.size - 1
    first = np.zeros(rows + 1, np.int64)
    scores, features = np.empty(rows, np.float64), np.empty((rows, weights.size), np.float64)
    first_edit, spans = np.zeros(rows + 1, np.int64), np.empty((rows, 2), np.int32)
    gains, evidence = np.empty(rows, np.float64), np.empty((rows, weights.size - 1), np.float64)
    first_word, words = np.zeros(rows + 1, np.int64), np.empty(rows, np.int32)
    outputs = edits = used = 0
    scratch = new_scratch()
    for row in range(rows):
        sentence = sentence_of(mt, joined, src, knowledge.translations, row)
        candidates, values = scored_candidates(sentence, knowledge, weights, limits.sample, scratch)
        paths = search_lattice(
            sentence.mt, candidates, values, knowledge.language, weights[0], limits.outputs, limits.paths
        )
        for number in range(paths.scores.size):
            if outputs == scores.size:
                scores, features, first_edit = _doubled(scores), _doubled_rows(features), _doubled(first_edit)
            taken = paths.edits[number, : paths.counts[number]]
            scores[outputs], features[outputs], features[outputs, 0] = paths.scores[number], 0.0, paths.language[number]
            for place in range(taken.size):
                one = taken[place]
                if edits == gains.size:
                    spans, gains, first_word = _doubled_rows(spans), _doubled(gains), _doubled(first_word)
                    evidence = _doubled_rows(evidence)
                count, start = candidates.spans[one, COUNT], candidates.spans[one, PLACE]
                while used + count > words.size:
                    words = _doubled(words)
                words[used : used + count] = candidates.words[start : start + count]
                features[outputs, 1:] += candidates.features[one]
                spans[edits, 0], spans[edits, 1] = candidates.spans[one, START] - 1, candidates.spans[one, END] - 1
                without = path_words(sentence.mt, candidates, _others(taken, place))
                lost = paths.language[number] - text_log_probability(knowledge.language, without)
                gains[edits], evidence[edits] = values[one] + weights[0] * lost, candidates.features[one]
                used, edits = used + count, edits + 1
                first_word[edits] = used
            outputs += 1
            first_edit[outputs] = edits
        first[row + 1] = outputs
    return Outputs(
        first,
        scores[:outputs],
        features[:outputs],
        first_edit[: outputs + 1],
        spans[:edits],
        gains[:edits],
        evidence[:edits],
        first_word[: edits + 1],
        words[:used],
    )


@compiled
def sentence_of(mt: Any, joined: Any, src: Any, translations: Any, row: Any) -> Any:
    """Return the sentence in row `row` of the texts; see `edit_texts`."""
    words = mt.words[mt.starts[row] : mt.starts[row + 1]]
    source = src.words[src.starts[row] : src.starts[row + 1]]
    sources = source_words(translations, source, words)
    return Sentence(words, joined_ids(joined, words, sources), sources, source)


@compiled
def _others(taken: Any, place: Any) -> Any:
    others = np.empty(taken.size - 1, taken.dtype)
    others[:place], others[place:] = taken[:place], taken[place + 1 :]
    return others


@compiled
def _doubled(values: Any) -> Any:
    larger = np.empty(2 * values.size + 2, values.dtype)
    larger[: values.size] = values
    return larger


@compiled
def _doubled_rows(values: Any) -> Any:
    larger = np.empty((2 * values.shape[0] + 2, values.shape[1]), values.dtype)
    larger[: values.shape[0]] = values
    return larger
