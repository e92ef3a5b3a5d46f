"""The index of corrections, to which triplets can be added and from which they can be removed one by one.

A triplet is added by inserting the places of its words into the sorted order, and removed by taking them out of it. The
texts of a removed triplet stay in memory until the index is built anew, but no lookup finds them.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.source_alignment import single_text
from postedit.phrase.triplet_index import DEPTH, ROW, Sorted, TripletIndex, aligned_cells, sort_places

_SEPARATOR: Final = -1
"""Follows each text, so that its places are sorted independently of the texts after it."""

_ONE_BY_ONE: Final = 30
"""Up to this many triplets are inserted one by one; if more are added at once, all places are sorted again."""


class AlignedTriplet(NamedTuple):
    """A triplet to be indexed; its texts have words for beginning and end.

    Args:
        asked: the words of mt by which phrases are looked up, Int32[n].
        mt: the words of mt, Int32[n].
        pe: the words of pe, Int32[m].
        links: the place in mt of the counterpart of each word of pe, or UNLINKED, Int32[m].
        sources: the source word of each word of mt, Int32[n].
        source: the key of all words of the source, see `pair_table.key_of`.
    """

    asked: Any
    mt: Any
    pe: Any
    links: Any
    sources: Any
    source: int


class GrowingArray:
    """An array to which rows are appended in place.

    Args:
        values: the first rows.
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self._buffer, self._size = values, len(values)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        """All rows; not valid after the next `extend`."""
        return self._buffer[: self._size]

    def truncate(self, size: int) -> None:
        """Keep only the first `size` rows."""
        self._size = size

    def extend(self, values: Any) -> None:
        """Append rows."""
        if not len(values):
            return  # nothing to write: the initial rows may be read-only
        size = self._size + len(values)
        if size > len(self._buffer):
            larger = np.empty((2 * size, *self._buffer.shape[1:]), self._buffer.dtype)
            larger[: self._size] = self.values
            self._buffer = larger
        self._buffer[self._size : size] = values
        self._size = size


class _SortedPlaces:
    """Words of texts, and the places of those that were not removed, sorted by the words that begin there."""

    def __init__(self) -> None:
        self._words = GrowingArray(np.empty(0, np.int32))
        self._order = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self._words)

    def append(self, texts: Sequence[NDArray[np.int32]]) -> None:
        """Add texts."""
        ranges = []
        for text in texts:
            ranges.append((len(self), len(self) + len(text)))
            self._words.extend(np.append(text, np.int32(_SEPARATOR)))
        if len(texts) > _ONE_BY_ONE:
            present = np.zeros(len(self), bool)
            present[self._order] = True
            for start, end in ranges:
                present[start:end] = True
            order = sort_places(self._words.values + 1, int(self._words.values.max()) + 2).order
            self._order = order[present[order]]
            return
        words = self._words.values
        for start, end in ranges:
            places = sorted(range(start, end), key=lambda place: tuple(words[place : min(place + DEPTH, end)]))
            new = np.array(places, np.int32)
            self._order = np.insert(self._order, _insertion_points(words, self._order, new), new)

    def remove(self, start: int, end: int) -> None:
        """Remove the places from `start` to `end` (exclusive)."""
        self._order = self._order[(self._order < start) | (self._order >= end)]

    def truncate(self, end: int) -> None:
        """Remove all words from place `end` on."""
        self._words.truncate(end)
        self._order = self._order[self._order < end]

    @property
    def sorted(self) -> Sorted:
        """The words and their sorted places, as a suffix array without `first`."""
        return Sorted(self._words.values, self._order, np.empty(0, np.int64))


@compiled
def _insertion_points(words: Any, order: Any, places: Any) -> Any:
    """Return the index in `order` before which each of the places Int32[K] has to be inserted, Int64[K]."""
    points = np.empty(places.size, np.int64)
    for number in range(places.size):
        low, high = 0, order.size
        while low < high:
            middle = (low + high) >> 1
            if _follows(words, places[number], order[middle]):
                low = middle + 1
            else:
                high = middle
        points[number] = low
    return points


@compiled
def _follows(words: Any, place: Any, other: Any) -> Any:
    """Return whether the words from one place on sort after those from another, up to the ends of their texts."""
    for depth in range(DEPTH):
        if words[place + depth] != words[other + depth] or words[place + depth] == _SEPARATOR:
            return words[place + depth] > words[other + depth]
    return False


class CorrectionIndex:
    """Triplets that can be added and removed.

    Args:
        whole: see `TripletIndex`.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._numbers = GrowingArray(np.empty(0, np.int64))  # of the triplets, ascending
        self._removed: set[int] = set()  # rows
        self._mt, self._pe = _SortedPlaces(), GrowingArray(np.empty(0, np.int32))
        self._cells = GrowingArray(np.empty((0, 5), np.int32))
        self._mt_starts, self._pe_starts = (GrowingArray(np.zeros(1, np.int64)) for _ in range(2))
        self._links = GrowingArray(np.empty(0, np.int32))
        self._sources = GrowingArray(np.empty(0, np.int64))
        self._bags, self._bag_starts = GrowingArray(np.empty(0, np.int32)), GrowingArray(np.zeros(1, np.int64))
        self._counts = GrowingArray(np.empty(0, np.int32))

    def add(self, triplets: Sequence[tuple[int, AlignedTriplet]]) -> None:
        """Add triplets with their numbers, which must ascend and be above all earlier numbers."""
        for number, one in triplets:
            cells = _cells(one)
            cells[:, ROW] = len(self._numbers)
            self._numbers.extend([number])
            self._sources.extend([one.source])
            self._bags.extend(bag := np.unique(one.mt))
            self._bag_starts.extend([len(self._bags)])
            self._counts.extend(np.zeros(max(0, int(bag[-1]) + 1 - len(self._counts)), np.int32))
            self._counts.values[bag] += 1
            self._cells.extend(cells)
            self._cells.extend(np.full((1, 5), UNLINKED, np.int32))  # of the separator
            self._links.extend(np.append(one.links, np.int32(UNLINKED)))
            self._pe.extend(np.append(one.pe, np.int32(_SEPARATOR)))
            self._mt_starts.extend([len(self._cells)])
            self._pe_starts.extend([len(self._links)])
        self._mt.append([one.asked for _, one in triplets])

    def remove(self, number: int) -> None:
        """Remove the triplet with a number; do nothing if there is none."""
        row = self._row(number)
        if row < len(self._numbers) and self._numbers.values[row] == number:
            self._removed.add(row)
            self._counts.values[self._bag(row)] -= 1
            self._mt.remove(*(int(start) for start in self._mt_starts.values[row : row + 2]))

    def truncate(self, number: int) -> None:
        """Remove all triplets from this number on, with their texts."""
        row = self._row(number)
        for other in range(row, len(self._numbers)):
            if other not in self._removed:
                self._counts.values[self._bag(other)] -= 1
        self._numbers.truncate(row)
        self._sources.truncate(row)
        self._bags.truncate(int(self._bag_starts.values[row]))
        self._bag_starts.truncate(row + 1)
        self._removed = {other for other in self._removed if other < row}
        for side, starts, others in (
            (self._mt, self._mt_starts, self._cells),
            (self._pe, self._pe_starts, self._links),
        ):
            end = int(starts.values[row])
            side.truncate(end)
            others.truncate(end)
            starts.truncate(row + 1)

    def _row(self, number: int) -> int:
        """Return the first row whose number is at least `number`."""
        return int(np.searchsorted(self._numbers.values, number))

    def _bag(self, row: int) -> NDArray[np.int32]:
        """Return the distinct words of the mt of a row."""
        return self._bags.values[slice(*self._bag_starts.values[row : row + 2])]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of all triplets, Int64[S]."""
        return self._numbers.values

    @property
    def sources(self) -> NDArray[np.int64]:
        """The keys of the sources, Int64[S]."""
        return self._sources.values

    @property
    def bags(self) -> NDArray[np.int32]:
        """The distinct words of each mt, sorted, one text after the other, Int32[B]."""
        return self._bags.values

    @property
    def bag_starts(self) -> NDArray[np.int64]:
        """Where the distinct words of each mt begin, Int64[S+1]."""
        return self._bag_starts.values

    @property
    def counts(self) -> NDArray[np.int32]:
        """The number of triplets in the index whose mt has a word, by word id, Int32[W]; higher ids are in none."""
        return self._counts.values

    @property
    def ranks(self) -> NDArray[np.int64]:
        """For each triplet, the number of triplets up to it that were not removed, Int64[S]."""
        present = np.ones(len(self._numbers), np.int64)
        present[list(self._removed)] = 0
        return np.cumsum(present)

    @property
    def index(self) -> TripletIndex:
        """The index as it is now; not valid after the next change."""
        return TripletIndex(
            self._mt.sorted,
            Sorted(self._pe.values, np.empty(0, np.int32), np.empty(0, np.int64)),  # only places of mt are looked up
            self._cells.values,
            self._mt_starts.values,
            self._pe_starts.values,
            self._links.values,
            self._whole,
        )


def _cells(triplet: AlignedTriplet) -> NDArray[np.int32]:
    mt, pe = single_text(triplet.mt), single_text(triplet.pe)
    found: NDArray[np.int32] = aligned_cells(mt, pe, triplet.links, triplet.sources)
    return found


def single_index(triplet: AlignedTriplet) -> TripletIndex:
    """Return an index of one triplet in which no phrase can be looked up."""
    nothing, none = np.empty(0, np.int32), np.zeros(1, np.int64)
    mt, pe = (Sorted(words, nothing, np.empty(0, np.int64)) for words in (triplet.asked, triplet.pe))
    return TripletIndex(mt, pe, _cells(triplet), none, none, triplet.links)


NO_CORRECTIONS: Final = CorrectionIndex()
"""The index of no corrections."""
