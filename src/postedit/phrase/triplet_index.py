"""The index of triplets: all places of a phrase of mt, and what the phrase became in pe at each place.

Nothing is counted in advance: phrase pairs are extracted when a phrase is looked up (Callison-Burch et al. 2005, Lopez
2007), from a sample of its places. So memory grows with the triplets and not with their phrases, and a triplet is added
or removed by adding or removing the places of its words.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.source_alignment import Texts

LONGEST: Final = 7
"""Number of words of the longest phrases, including their context."""

DEPTH: Final = 8  # number of words by which places are sorted: a power of 2, at least LONGEST

ROW, SOURCE, FIRST, LAST, KEPT = range(5)
"""Columns of `TripletIndex.cells`: the triplet, the source word, the first and the last place in pe of the word's
counterparts (or UNLINKED), and how many words from here on were kept in a row."""


class Sorted(NamedTuple):
    """The places of all words, sorted by the words that begin there: a suffix array."""

    words: Any  # Int32[W]
    order: Any  # Int32[W], places
    first: Any  # Int64[words+1], where in `order` the places of each word begin; empty: find them by bisection


class TripletIndex(NamedTuple):
    """Indexed triplets: W words of mt in S texts, each text with words for its beginning and end."""

    mt: Sorted  # of the words for lookup, which may be joined with source words
    pe: Sorted
    cells: Any  # Int32[W,5], see ROW
    mt_starts: Any  # Int64[S+1]
    pe_starts: Any  # Int64[S+1]
    links: Any  # Int32[words of pe], place in mt of the counterpart of each word, in its text
    whole: Any = False  # whether a part of a change does not count where a sentence has all its words


class PhraseTarget(NamedTuple):
    """What a phrase of mt became: `length` words of pe from place `start` on; `length` is -1 if that is no phrase."""

    start: Any
    length: Any


def sort_places(words: NDArray[np.int32], count: int) -> Sorted:
    """Return the places of `words`, whose ids are below `count`, sorted by the DEPTH words that begin there.

    Ranks by one word give ranks by two words, these give ranks by four, and so on (prefix doubling, Manber and Myers
    1993).
    """
    rank = words.astype(np.int64)
    order = np.argsort(rank, kind="stable")
    step = 1
    while step < DEPTH and words.size:
        following = np.zeros(words.size, np.int64)
        following[:-step] = rank[step:] + 1
        keys = rank * (int(rank.max()) + 2) + following
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        rank = np.empty(words.size, np.int64)
        rank[order] = np.cumsum(np.concatenate([[0], ordered[1:] != ordered[:-1]]))
        step *= 2
    first = np.zeros(count + 1, np.int64)
    first[1:] = np.cumsum(np.bincount(words, minlength=count))
    return Sorted(words, order.astype(np.int32), first)


def build_index(
    asked: NDArray[np.int32], mt: Texts, pe: Texts, links: NDArray[np.int32], sources: NDArray[np.int32], count: int
) -> TripletIndex:
    """Return the index of aligned triplets.

    Args:
        asked: the words of mt by which phrases are looked up, Int32[W]: those of `mt`, or joined with source words.
        mt: the words of mt.
        pe: the words of pe.
        links: the place in mt of the counterpart of each word of pe, or UNLINKED.
        sources: the source word of each word of mt.
        count: a number above all word ids.
    """
    cells = aligned_cells(mt, pe, links, sources)
    above = max(count, int(asked.max(initial=0)) + 1)
    return TripletIndex(sort_places(asked, above), sort_places(pe.words, count), cells, mt.starts, pe.starts, links)


@compiled
def aligned_cells(mt: Any, pe: Any, links: Any, sources: Any) -> Any:
    """Return the `cells` of an index of texts; see `build_index`."""
    cells = np.empty((mt.words.size, 5), np.int32)
    for row in range(mt.starts.size - 1):
        start, end = mt.starts[row], mt.starts[row + 1]
        for at in range(start, end):
            cells[at, ROW], cells[at, SOURCE] = row, sources[at]
            cells[at, FIRST], cells[at, LAST] = UNLINKED, UNLINKED
        first = pe.starts[row]
        for j in range(pe.starts[row + 1] - first):
            if links[first + j] >= 0:
                at = start + links[first + j]
                cells[at, FIRST] = j if cells[at, FIRST] < 0 else cells[at, FIRST]
                cells[at, LAST] = j
        for at in range(end - 1, start - 1, -1):
            j = cells[at, FIRST]
            kept = j >= 0 and cells[at, LAST] == j and mt.words[at] == pe.words[first + j]
            follows = kept and at + 1 < end and cells[at + 1, FIRST] == j + 1
            cells[at, KEPT] = 1 + (cells[at + 1, KEPT] if follows else 0) if kept else 0
    return cells


@compiled
def narrowed(places: Any, low: Any, high: Any, depth: Any, word: Any) -> Any:
    """Return the bounds of the part of `places.order[low:high]`, which share `depth` words, where `word` comes next."""
    first = _first_not_below(places, low, high, depth, word)
    return first, _first_not_below(places, first, high, depth, word + 1)


@compiled
def _first_not_below(places: Any, low: Any, high: Any, depth: Any, word: Any) -> Any:
    while low < high:
        middle = (low + high) >> 1
        at = places.order[middle] + depth
        if (places.words[at] if at < places.words.size else -1) < word:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def gone_on(places: Any, low: Any, high: Any, depth: Any, word: Any) -> Any:
    """Return the bounds of the part of `places.order[low:high]`, which share `depth` words, where `word` comes next.

    If `depth` is 0, all places are meant, and `low` and `high` are ignored. Unknown words, such as -1, have no places.
    """
    if depth == 0 and places.first.size == 0:
        low, high = 0, places.order.size
    if word < 0 or 0 < places.first.size <= word + 1:
        return np.int64(0), np.int64(0)
    if depth == 0 and places.first.size:
        return np.int64(places.first[word]), np.int64(places.first[word + 1])
    if low < high:
        low, high = narrowed(places, low, high, depth, word)
    return np.int64(low), np.int64(high)


@compiled
def look(order: Any, spread: Any, places: Any) -> Any:
    """Write as many places of `order` into the buffer `places` as it can hold, and return their number.

    With `spread`, they are spread evenly over `order`; otherwise they are those of the latest texts, the latest first.
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
def target_of(index: Any, at: Any, length: Any) -> Any:
    """Return what the `length` words of mt from place `at` on became: the tightest consistent phrase of pe.

    Phrases are consistent if some word is linked, and no word of either is linked to a word outside the other (Och and
    Ney 2004). Unlinked words of pe belong to a phrase only if they are between linked ones.
    """
    first, last = np.int64(1) << 40, np.int64(-1)
    for place in range(at, at + length):
        if index.cells[place, FIRST] >= 0:
            first = min(first, np.int64(index.cells[place, FIRST]))
            last = max(last, np.int64(index.cells[place, LAST]))
    row = index.cells[at, ROW]
    start = index.pe_starts[row] + first
    if last < 0:
        return PhraseTarget(start, -1)
    begin = at - index.mt_starts[row]
    for place in range(start, start + last - first + 1):
        link = index.links[place]
        if link != UNLINKED and not begin <= link < begin + length:
            return PhraseTarget(start, -1)
    return PhraseTarget(start, last - first + 1)


@compiled
def cuts_change(index: Any, at: Any, asked: Any, start: Any, length: Any) -> Any:
    """Return whether a phrase of a sentence has only a part of a change that its words had at place `at` of an index.

    Only an index of whole changes tells. The phrase ends between two changed words of which one has no counterpart, as
    both were replaced together, and a longer phrase of the sentence has all of them. `asked` Int32[n] are the words of
    the sentence, and `start` and `length` the phrase.
    """
    if not index.whole:
        return False
    cells, low, high = index.cells, 0, length
    while cells[at + low, KEPT] == 0 and high - low <= LONGEST and start + low > 0:
        if cells[at + low - 1, KEPT] > 0 or asked[start + low - 1] != index.mt.words[at + low - 1]:
            break
        low -= 1
    while cells[at + high - 1, KEPT] == 0 and high - low <= LONGEST and start + high < asked.size:
        if cells[at + high, KEPT] > 0 or asked[start + high] != index.mt.words[at + high]:
            break
        high += 1
    if high - low > LONGEST:
        return False
    before = low < 0 and min(cells[at - 1, FIRST], cells[at, FIRST]) < 0
    return before or (high > length and min(cells[at + length - 1, FIRST], cells[at + length, FIRST]) < 0)


@compiled
def makes_change(index: Any, at: Any, length: Any, new: Any) -> Any:
    """Return whether the `length` words of mt from place `at` on became the words `new` Int32[m].

    What they became is all between the counterparts of the adjacent words of mt or, if these have none in order, the
    tightest consistent phrase.
    """
    left, right = index.cells[at - 1, LAST], index.cells[at + length, FIRST]
    row = index.cells[at, ROW]
    if 0 <= left < right:
        start, count = index.pe_starts[row] + left + 1, right - left - 1
    else:
        target = target_of(index, at, length)
        start, count = target.start, target.length
    return count == new.size and np.array_equal(index.pe.words[start : start + count], new)
