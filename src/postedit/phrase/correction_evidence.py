"""Evidence of corrections for an edit: that its words were changed so lately, or in a segment like this one.

The evidence is in the places of the words that the edit replaces, or of those on both sides of an insertion, where
corrections made the same change. Texts repeat themselves within documents and products.
"""

from typing import Any, Final

import numpy as np

from postedit.compiled import compiled
from postedit.phrase.edit_candidates import DOUBT
from postedit.phrase.triplet_index import LONGEST, ROW, gone_on, look, makes_change

EVIDENCE: Final = (
    # logarithm of 1 + RECENT divided by the corrections since the last one that made the change; times `likely_same`
    # unless it was made in all those places
    "lately made",
    "like made",  # share of words in common with the segment most like this one in which it was made
)
"""Evidence for edits that are in doubt; 0 where there is none, and for other edits."""

_LATELY, _LIKE = range(len(EVIDENCE))

RECENT: Final = 32
"""Corrections within which it matters much how long ago one was."""

_FAMILIAR: Final = 0.6
"""Share of the words of a segment, weighted by rarity, from which on it is taken to be of the same text as the last
corrections, which have them, too. In help pages the median is 0.4, in software manuals after help pages 0.2."""

_STEEPNESS: Final = 4
"""Power of that share below."""


@compiled
def known_phrases(places: Any, asked: Any) -> Any:
    """Return where the places of the phrase of each start and length begin and end, Int64[n,LONGEST+1,2]."""
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
        knowledge: what edits are proposed by.
        known: see `known_phrases`.
        candidates: of the sentence, which corrections propose.
        places: a buffer for the places that are looked at, the latest ones.
    """
    index = knowledge.corrections
    found = np.zeros((candidates.spans.shape[0], len(EVIDENCE)), np.float64)
    # The words themselves: of those joined with source words, all that are not in the index have one id.
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
        if made < looked:  # it was not made each time, so it need not hold in other text
            same = likely_same(sentence, knowledge) if same < 0.0 else same
            row[_LATELY] *= same
    return found


@compiled
def likely_same(sentence: Any, knowledge: Any) -> Any:
    """Return how likely a segment is of the same text as the last RECENT corrections, from 0 to 1.

    What was corrected lately is evidence in the same document or product. In text of another domain it would be as
    strong, since marks and frequent words are everywhere; what that text does not have are the rarer words.
    """
    ranks, total, shared = knowledge.ranks, 0.0, 0.0
    first = np.searchsorted(ranks, ranks[-1] - RECENT + 1)
    for at in range(1, sentence.mt.size - 1):
        word = sentence.mt[at]
        count = knowledge.counts[word] if word < knowledge.counts.size else 0
        # As if RECENT others had none of them: of few corrections, words that all have are not frequent words.
        rarity = np.log((ranks[-1] + RECENT) / (count + 0.5))
        total += rarity
        for other in range(ranks.size - 1, first - 1, -1):
            if ranks[other] == (ranks[other - 1] if other else 0):  # it was removed
                continue
            bag = knowledge.bags[knowledge.bag_starts[other] : knowledge.bag_starts[other + 1]]
            place = np.searchsorted(bag, word)
            if place < bag.size and bag[place] == word:
                shared += rarity
                break
    return min(1.0, shared / (_FAMILIAR * total)) ** _STEEPNESS if total > 0.0 else 0.0


@compiled
def _likeness(words: Any, others: Any) -> Any:
    """Return the share of words that two sorted sets have in common."""
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
