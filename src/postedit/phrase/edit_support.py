"""How often triplets made an edit, and which triplets: the counts behind its features, for reasons of edits.

The search for candidates looks up all phrases of a sentence and keeps only features of the places that it finds. Here
the same lookups are repeated for one edit, and the places are kept.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.edit_candidates import LONGEST_TARGET, Sentence, log_odds, unchanged
from postedit.phrase.pair_table import key_of
from postedit.phrase.scored_edits import Knowledge, corrected_words, is_same_segment
from postedit.phrase.triplet_index import KEPT, LONGEST, ROW, cuts_change, gone_on, look, target_of


class EditSupport(NamedTuple):
    """How often a phrase had an edit at the places where an index has it."""

    start: Any  # the first word of the phrase in the sentence
    length: Any  # its number of words
    made: Any  # number of places where it had the edit
    kept: Any  # number of places where it was kept
    looked: Any  # number of places that were looked at
    places: Any  # Int64[made], the places where it had the edit, in the order of the lookup


@compiled
def edit_support(sentence: Any, index: Any, span: Any, new: Any, sample: Any, spread: Any, widest: Any) -> Any:
    """Return the support of an edit: the words `span` (start, end) of mt became the words `new` Int32[m].

    It is the support of one phrase with the edit: with `widest`, of the widest one, as for the feature "phrase in
    context"; otherwise of the one with the highest log-odds, as for "best phrase". There are no places if the index
    does not know the edit. For `sample` and `spread`, see `edit_candidates.candidates_of`.
    """
    begin, end = span
    places, made = np.empty(sample, np.int64), np.empty(sample, np.int64)
    highest = -np.inf
    best = EditSupport(np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), made[:0].copy())
    for start in range(max(0, end - LONGEST), begin + 1):
        low, high = np.int64(0), np.int64(0)
        for length in range(1, min(LONGEST, sentence.mt.size - start) + 1):
            low, high = gone_on(index.mt, low, high, length - 1, sentence.asked[start + length - 1])
            if low == high:
                break
            looked = look(index.mt.order[low:high], spread, places)
            count = kept = 0
            for at in places[:looked] if start + length >= end else places[:0]:
                if index.cells[at, KEPT] >= length:
                    kept += 1
                    continue
                target = target_of(index, at, length)
                if target.length < 0 or target.length > LONGEST_TARGET:
                    continue
                if cuts_change(index, at, sentence.asked, start, length):
                    continue
                front, back = unchanged(sentence.mt, start, length, index.pe.words, target)
                if front == length == target.length:
                    kept += 1
                elif start + front == begin and start + length - back == end:
                    words = index.pe.words[target.start + front : target.start + target.length - back]
                    if np.array_equal(words, new):
                        made[count] = at
                        count += 1
            odds = log_odds(count, looked)
            if count and _is_better(length, odds, best.length, highest, widest):
                highest = odds
                best = EditSupport(
                    np.int64(start), np.int64(length), np.int64(count), np.int64(kept), looked, made[:count].copy()
                )
    return best


@compiled
def _is_better(length: Any, odds: Any, other_length: Any, other_odds: Any, widest: Any) -> Any:
    """Return whether a phrase is preferred to another one; see `edit_support`."""
    if widest:
        return length > other_length or (length == other_length and odds > other_odds)
    return odds > other_odds or (odds == other_odds and length > other_length)


class RepeatedSegment(NamedTuple):
    """Corrections of the same source and mt.

    Args:
        pe: the words of pe of the last one, Int32[m].
        rows: the rows of those with the same pe, the last one first.
        left: how many left mt as it is.
        otherwise: the number of all others, which changed mt in another way.
    """

    pe: NDArray[np.int32]
    rows: list[int]
    left: int
    otherwise: int


def repeated_segment(sentence: Sentence, knowledge: Knowledge) -> RepeatedSegment | None:
    """Return the corrections of the same segment, as `scored_edits` finds them; None if there are none."""
    index = knowledge.corrections
    if not len(index.mt.order):
        return None
    low = high = np.int64(0)
    for depth, word in enumerate(sentence.asked[:LONGEST]):
        low, high = gone_on(index.mt, low, high, depth, word)
        if low == high:
            return None
    source, looked = key_of(sentence.src), np.sort(index.mt.order[low:high])[::-1]
    looked = looked[knowledge.sources[index.cells[looked, ROW]] == source]  # a template may have many corrections
    rows = [int(index.cells[at, ROW]) for at in looked if is_same_segment(sentence, knowledge, source, at)]
    if not rows:
        return None
    made = [corrected_words(index, row) for row in rows]
    same = [np.array_equal(pe, made[0]) for pe in made]
    left = sum(np.array_equal(pe, sentence.mt[1:-1]) for pe in made)
    otherwise = len(rows) - left - sum(same)
    return RepeatedSegment(made[0], [row for row, is_same in zip(rows, same, strict=True) if is_same], left, otherwise)
