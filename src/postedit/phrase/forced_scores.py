"""Scores of given outputs, by the best candidate edits that turn mt into them."""

from typing import Any, Final

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.decoder import sentence_of
from postedit.phrase.edit_candidates import (
    BEST,
    CHANGED,
    COUNT,
    EDITS,
    END,
    FEATURES,
    IN_CONTEXT,
    LENGTH,
    PHRASE,
    PLACE,
    SOURCE_AGREES,
    START,
    new_scratch,
)
from postedit.phrase.ngram_model import text_log_probability
from postedit.phrase.scored_edits import scored_candidates

_UNSEEN_ODDS: Final = -5.0  # log-odds of an edit that is not a candidate: below those of any candidate
_IMPOSSIBLE: Final = -1e18
_KEEP, _CHANGE, _INSERT, _DELETE = -1, -2, -3, -4
"""Steps that are not candidates: keep a word, or substitute, insert or delete one without evidence."""


@compiled
def score_outputs(mt: Any, joined: Any, src: Any, outputs: Any, knowledge: Any, weights: Any, sample: Any) -> Any:
    """Return the scores Float64[S] of outputs, one for each text of `mt`, and their features Float64[S,1+F].

    For the other arguments, see `edit_texts`. The best edits are found by dynamic programming over the words of both
    texts; words without a candidate are edited one by one.
    """
    rows = mt.starts.size - 1
    scores, features = np.empty(rows, np.float64), np.zeros((rows, weights.size), np.float64)
    scratch = new_scratch()
    unseen = np.zeros((3, len(FEATURES)), np.float64)
    unseen[:, EDITS] = unseen[:, CHANGED] = 1.0
    unseen[1, LENGTH], unseen[2, LENGTH] = 1.0, -1.0
    unseen[:, PHRASE] = unseen[:, IN_CONTEXT] = unseen[:, BEST] = unseen[:, SOURCE_AGREES] = _UNSEEN_ODDS
    for row in range(rows):
        sentence = sentence_of(mt, joined, src, knowledge.translations, row)
        output = outputs.words[outputs.starts[row] : outputs.starts[row + 1]]
        candidates, values = scored_candidates(sentence, knowledge, weights, sample, scratch)
        edits = _best_edits(sentence.mt, output, candidates, values, unseen @ weights[1:])
        features[row, 0] = text_log_probability(knowledge.language, output)
        for one in edits:
            features[row, 1:] += candidates.features[one] if one >= 0 else unseen[-2 - one]
        scores[row] = features[row] @ weights
    return scores, features


@compiled
def _best_edits(mt: Any, output: Any, candidates: Any, values: Any, unseen: Any) -> Any:
    """Return the steps of the best path from `mt` to `output`, last step first, without those that keep a word."""
    n, m = mt.size, output.size
    # The last index is the last step, as in search: 0 a kept word, 1 a replacement, 2 an insertion.
    best = np.full((n + 1, m + 1, 3), _IMPOSSIBLE, np.float64)
    step, before = np.empty((n + 1, m + 1, 3), np.int32), np.zeros((n + 1, m + 1, 3), np.int8)
    best[0, 0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            for ended in range(3):
                score = best[i, j, ended]
                if score == _IMPOSSIBLE:
                    continue
                if i < n and j < m and mt[i] == output[j]:
                    _reach(best, step, before, i + 1, j + 1, 0, score, _KEEP, ended)
                elif i < n and j < m:
                    _reach(best, step, before, i + 1, j + 1, 0, score + unseen[0], _CHANGE, ended)
                if j < m:
                    _reach(best, step, before, i, j + 1, ended, score + unseen[1], _INSERT, ended)
                if i < n:
                    _reach(best, step, before, i + 1, j, 0, score + unseen[2], _DELETE, ended)
                if i == n or ended == 2:
                    continue
                for one in range(candidates.first[i], candidates.first[i + 1]):
                    end, count = candidates.spans[one, END], candidates.spans[one, COUNT]
                    if (ended and end == i) or j + count > m:
                        continue
                    new = candidates.words[candidates.spans[one, PLACE] : candidates.spans[one, PLACE] + count]
                    if np.array_equal(new, output[j : j + count]):
                        now = 2 if end == i else 1
                        _reach(best, step, before, end, j + count, now, score + values[one], one, ended)
    steps = np.empty(n + m, np.int32)
    taken, i, j, ended = 0, n, m, int(np.argmax(best[n, m]))
    while i or j:
        one, previous = step[i, j, ended], before[i, j, ended]
        if one >= 0:
            i, j = int(candidates.spans[one, START]), j - int(candidates.spans[one, COUNT])
        else:
            i, j = i - (one != _INSERT), j - (one != _DELETE)
        if one != _KEEP:
            steps[taken], taken = one, taken + 1
        ended = int(previous)
    return steps[:taken]


@compiled
def _reach(
    best: Any, step: Any, before: Any, i: Any, j: Any, ended: Any, score: Any, taken: Any, previous: Any
) -> None:
    """Record a path to a cell if it is the best so far."""
    if score > best[i, j, ended]:
        best[i, j, ended], step[i, j, ended], before[i, j, ended] = score, taken, previous
