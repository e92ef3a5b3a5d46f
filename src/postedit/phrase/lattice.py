"""Exact search for the best sets of edits, without reordering.

A path through a sentence keeps words and takes candidate edits, from left to right. Its score is the sum of the scores
of its edits plus the weighted log-probability of its words under the language model. Paths that reach the same word
with the same last words have the same future, so only the best of them go on (Viterbi): as many as the outputs that
were requested, which makes the n-best list exact too.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.edit_candidates import COUNT, END, PLACE, START
from postedit.phrase.ngram_model import log_probability
from postedit.phrase.pair_table import extended

_KEEP: Final = np.int32(-1)  # in place of a candidate: keep one word
_KEPT, _REPLACED, _INSERTED = range(3)
"""The last step of a path. An insertion is allowed only between two kept words: insertions at the ends of a replacement
could duplicate its words."""

_ROOM: Final = 1024  # initial number of paths in the buffers


class Paths(NamedTuple):
    """Outputs of a search, best first."""

    edits: Any  # Int32[K,E], candidates of each path in order, then -1
    counts: Any  # Int64[K], number of edits of each path
    scores: Any  # Float64[K]
    language: Any  # Float64[K], log-probabilities under the language model


class _Beam(NamedTuple):
    """All paths so far; those that reach the same place form a linked list, a chain."""

    before: Any  # Int32[P], the path without its last step, or -1
    step: Any  # Int32[P], the candidate taken last, or _KEEP
    score: Any  # Float64[P]
    language: Any  # Float64[P]
    context: Any  # Int32[P,order-1], the last words
    known: Any  # Int32[P], how many of the last words are set
    output: Any  # Int64[P], the key of all words of the output
    ended: Any  # Int8[P], the last step: _KEPT, _REPLACED or _INSERTED
    following: Any  # Int32[P], the next path of the chain, or -1


@compiled
def _new_beam(room: Any, order: Any) -> Any:
    return _Beam(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float64),
        np.empty(room, np.float64),
        np.empty((room, order - 1), np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int8),
        np.empty(room, np.int32),
    )


@compiled
def _enlarged(beam: Any) -> Any:
    n = beam.score.size
    larger = _new_beam(2 * n, beam.context.shape[1] + 1)
    larger.before[:n], larger.step[:n], larger.score[:n] = beam.before, beam.step, beam.score
    larger.language[:n], larger.context[:n], larger.known[:n] = beam.language, beam.context, beam.known
    larger.output[:n], larger.ended[:n], larger.following[:n] = beam.output, beam.ended, beam.following
    return larger


@compiled
def search_lattice(
    mt: Any, candidates: Any, scores: Any, model: Any, language_weight: Any, outputs: Any, limit: Any
) -> Any:
    """Return the best paths.

    Args:
        mt: the words of mt, Int32[n], with those for beginning and end.
        candidates: the candidate edits.
        scores: their scores, Float64[C].
        model: the language model.
        language_weight: the weight of its log-probabilities.
        outputs: the maximum number of paths to return; no two have the same words.
        limit: the maximum number of paths that go on from each place; 0: all, which makes the search exact.
    """
    n = mt.size
    beam = _new_beam(_ROOM, model.order)
    heads = np.full(n + 1, -1, np.int32)
    beam.before[0], beam.step[0], beam.score[0], beam.language[0] = -1, _KEEP, 0.0, 0.0
    beam.context[0, 0], beam.known[0], beam.output[0] = mt[0], 1, 0
    beam.ended[0], beam.following[0] = _KEPT, -1
    heads[1], used = 0, 1
    words = np.empty(model.order + candidates.words.size + 1, np.int32)
    for place in range(1, n):
        for inserting in (True, False):
            for path in _chain(beam, heads[place], limit):
                if inserting and beam.ended[path] != _KEPT:
                    continue
                first, last = candidates.first[place], candidates.first[place + 1]
                if beam.ended[path] == _INSERTED:
                    last = first
                for candidate in range(first if inserting else first - 1, last):
                    keep = candidate < first
                    end = place + 1 if keep else np.int64(candidates.spans[candidate, END])
                    if (end == place) != inserting:
                        continue
                    size = beam.known[path]
                    words[:size] = beam.context[path, :size]
                    output, language = beam.output[path], 0.0
                    for offset in range(1 if keep else candidates.spans[candidate, COUNT]):
                        word = mt[place] if keep else candidates.words[candidates.spans[candidate, PLACE] + offset]
                        language += log_probability(model, words[:size], word)
                        output = extended(output, word)
                        words[size] = word
                        size += 1
                    score = beam.score[path] + language_weight * language + (0.0 if keep else scores[candidate])
                    context = words[max(0, size - model.order + 1) : size]
                    ended = _KEPT if keep else _INSERTED if inserting else _REPLACED
                    at = _slot(beam, heads[end], context, output, ended, score, outputs)
                    if at == -1:
                        continue
                    if at == -2:
                        if used == beam.score.size:
                            beam = _enlarged(beam)
                        at, used = used, used + 1
                        beam.following[at], heads[end] = heads[end], at
                    beam.before[at], beam.step[at] = path, _KEEP if keep else candidate
                    beam.score[at], beam.language[at] = score, beam.language[path] + language
                    beam.context[at, : context.size], beam.known[at] = context, context.size
                    beam.output[at], beam.ended[at] = output, ended
    return _traced(beam, _chain(beam, heads[n], 0), outputs)


@compiled
def _chain(beam: Any, head: Any, limit: Any) -> Any:
    """Return the paths of a chain; if there are more than `limit` (not 0), only the best of them, best first."""
    count, path = 0, head
    while path >= 0:
        count, path = count + 1, beam.following[path]
    paths = np.empty(count, np.int32)
    path = head
    for number in range(count):
        paths[number], path = path, beam.following[path]
    if limit and count > limit:
        return paths[np.argsort(-beam.score[paths], kind="mergesort")][:limit]
    return paths


@compiled
def _slot(beam: Any, head: Any, context: Any, output: Any, ended: Any, score: Any, outputs: Any) -> Any:
    """Return the path that a new one replaces, -2 if it replaces none, or -1 if it is not among the best `outputs`."""
    same, worst, path = 0, -1, head
    while path >= 0:
        if beam.known[path] == context.size and beam.ended[path] == ended:
            equal = True
            for offset in range(context.size - 1, -1, -1):
                if beam.context[path, offset] != context[offset]:
                    equal = False
                    break
            if equal:
                if beam.output[path] == output:
                    return path if score > beam.score[path] else -1
                same += 1
                if worst < 0 or beam.score[path] < beam.score[worst]:
                    worst = path
        path = beam.following[path]
    if same < outputs:
        return -2
    return worst if score > beam.score[worst] else -1


@compiled
def _traced(beam: Any, ends: Any, outputs: Any) -> Any:
    """Return the best complete paths; no two have the same words, as all of them end with a word that was kept."""
    kept = ends[np.argsort(-beam.score[ends], kind="mergesort")][:outputs]
    count = kept.size
    counts = np.zeros(count, np.int64)
    for number in range(count):
        path = kept[number]
        while path >= 0:
            counts[number] += beam.step[path] >= 0
            path = beam.before[path]
    edits = np.full((count, max(1, counts.max()) if count else 1), -1, np.int32)
    for number in range(count):
        path, place = kept[number], counts[number]
        while path >= 0:
            if beam.step[path] >= 0:
                place -= 1
                edits[number, place] = beam.step[path]
            path = beam.before[path]
    return Paths(edits, counts, beam.score[kept], beam.language[kept])


@compiled
def path_words(mt: Any, candidates: Any, edits: Any) -> Any:
    """Return the words Int32[m] of a text after the candidates `edits` were applied to it."""
    size = mt.size
    for one in edits:
        size += candidates.spans[one, COUNT] - candidates.spans[one, END] + candidates.spans[one, START]
    words = np.empty(size, np.int32)
    read = written = 0
    for one in edits:
        start, end, place, count = candidates.spans[one]
        words[written : written + start - read] = mt[read:start]
        written += start - read
        words[written : written + count] = candidates.words[place : place + count]
        written, read = written + count, end
    words[written:] = mt[read:]
    return words
