"""Evidence from corrections for an edit: that they made the same change lately, or in a segment like this one.

It is found at the places of the words that the edit replaces, or of the words on both sides of an insertion, where
corrections made the same change. Such evidence counts because texts repeat themselves within documents and products.
"""

from typing import Any, Final

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.edit_candidates import DOUBT
from postedit.phrase.triplet_index import LONGEST, ROW, gone_on, look, makes_change

EVIDENCE: Final = (
    # logarithm of 1 + RECENT / n, if the n-th last correction was the last that made the change; times `likely_same`
    # unless corrections made the change at all those places
    "lately made",
    "like made",  # share of words in common with the most similar segment in which the change was made
)
"""Evidence for edits whose feature "doubt" is 1; 0 if there is none, and for all other edits."""

_LATELY, _LIKE = range(len(EVIDENCE))

RECENT: Final = 32
"""Number of latest corrections within which the age of a correction makes much difference."""

_FAMILIAR: Final = 0.6
"""Share of the words of a segment, weighted by rarity, that the latest corrections must have for the segment to count
fully as of the same text. The median share is 0.4 in help pages, and 0.2 in software manuals after help pages."""

_STEEPNESS: Final = 4
"""Exponent by which the likelihood falls for smaller shares."""


@compiled
def known_phrases(places: Any, asked: Any) -> Any:
    """Return the bounds of the places of the phrase of each start and length, Int64[n,LONGEST+1,2]; (0, 0) if none."""
    known = np.zeros((asked.size, LONGEST + 1, 2), np.int64)
    for start in range(asked.size):
        low, high = np.int64(0), np.int64(0)
        for length in range(1, min(LONGEST, asked.size - start) + 1):
            low, high = gone_on(places, low, high, length - 1, asked[start + length - 1])
            if low == high:
                break
            known[start, length] = low, high
    return known


@compiled
def evidence_of(sentence: Any, knowledge: Any, known: Any, candidates: Any, places: Any) -> Any:
    """Return the evidence for candidate edits, Float64[C,E]; see EVIDENCE.

    Args:
        sentence: the sentence.
        knowledge: the `Knowledge` by which edits are proposed.
        known: see `known_phrases`.
        candidates: the candidates of the sentence that corrections propose.
        places: a buffer for the places that are looked at, which are the latest ones.
    """
    index = knowledge.corrections
    found = np.zeros((candidates.spans.shape[0], len(EVIDENCE)), np.float64)
    # The words of mt, not those for lookup: joined with source words, all words not in the index have the same id.
    own, likeness = np.unique(sentence.mt), np.full(knowledge.bag_starts.size - 1, -1.0)
    same = -1.0
    for one in range(found.shape[0]):
        if candidates.features[one, DOUBT] == 0.0:
            continue
        begin, end, place, count = candidates.spans[one]
        new, margin = candidates.words[place : place + count], 1 if begin == end else 0
        low, high = known[begin - margin, end - begin + 2 * margin]
        row, made, looked = found[one], 0, look(index.mt.order[low:high], False, places)
        for at in places[:looked]:
            if not makes_change(index, at + margin, end - begin, new):
                continue
            made += 1
            other = index.cells[at, ROW]
            since = knowledge.ranks[-1] - knowledge.ranks[other] + 1
            if likeness[other] < 0.0:
                bag = knowledge.bags[knowledge.bag_starts[other] : knowledge.bag_starts[other + 1]]
                likeness[other] = _likeness(own, bag)
            row[_LATELY] = max(row[_LATELY], np.log(1.0 + RECENT / since))
            row[_LIKE] = max(row[_LIKE], likeness[other])
        if made < looked:  # the change was not made each time, so it may not apply to another text
            same = likely_same(sentence, knowledge) if same < 0.0 else same
            row[_LATELY] *= same
    return found


@compiled
def likely_same(sentence: Any, knowledge: Any) -> Any:
    """Return how likely a segment is of the same text as the last RECENT corrections, from 0 to 1.

    Recent corrections are evidence within the same document or product. They would seem to be as strong evidence in
    text of another domain, which has the same punctuation and frequent words; but it lacks the rarer words.
    """
    ranks, total, shared = knowledge.ranks, 0.0, 0.0
    first = np.searchsorted(ranks, ranks[-1] - RECENT + 1)
    for at in range(1, sentence.mt.size - 1):
        word = sentence.mt[at]
        count = knowledge.counts[word] if word < knowledge.counts.size else 0
        # RECENT more corrections without the word are assumed: if all of a few have it, it need not be frequent.
        rarity = np.log((ranks[-1] + RECENT) / (count + 0.5))
        total += rarity
        for other in range(ranks.size - 1, first - 1, -1):
            if ranks[other] == (ranks[other - 1] if other else 0):  # this correction was removed
                continue
            bag = knowledge.bags[knowledge.bag_starts[other] : knowledge.bag_starts[other + 1]]
            place = np.searchsorted(bag, word)
            if place < bag.size and bag[place] == word:
                shared += rarity
                break
    return min(1.0, shared / (_FAMILIAR * total)) ** _STEEPNESS if total > 0.0 else 0.0


@compiled
def _likeness(words: Any, others: Any) -> Any:
    """Return the share of words that two sorted sets have in common: intersection over union."""
    i = j = common = 0
    while i < words.size and j < others.size:
        if words[i] == others[j]:
            common += 1
            i, j = i + 1, j + 1
        elif words[i] < others[j]:
            i += 1
        else:
            j += 1
    return common / (words.size + others.size - common)
