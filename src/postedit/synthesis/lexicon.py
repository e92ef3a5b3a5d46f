"""A fixed list of words for compiled code: to be looked up, and sorted, so that words that begin alike adjoin."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled

SAME_START: Final = 3
"""Characters, at least, that two forms of one word begin with ..."""

ENDING: Final = 3
"""... and characters, at most, of each that may follow what they begin with: the longest usual inflections."""


class Lexicon(NamedTuple):
    """Words in the order of their bytes; the number of a word is its place.

    Args:
        data: UInt8, the words one after the other.
        ends: Int64[words + 1], where each ends; the first is 0.
        hashes: UInt64[words].
        slots: Int32, a hash table of numbers, -1 where it is empty. Its size is a power of two.
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]

    @property
    def size(self) -> int:
        """How many words there are."""
        return len(self.hashes)


def make_lexicon(words: Iterable[str]) -> tuple[Lexicon, dict[str, int]]:
    """Return the lexicon of some words, and the number of each."""
    encoded = sorted({word.encode("utf-8", "surrogatepass") for word in words})
    data = np.frombuffer(b"".join(encoded), np.uint8)
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=ends[1:])
    hashes, slots = _table(data, ends, len(encoded))
    numbers = {word.decode("utf-8", "surrogatepass"): number for number, word in enumerate(encoded)}
    return Lexicon(data, ends, hashes, slots), numbers


@compiled
def hash_word(data, start, stop):  # type: ignore[no-untyped-def]
    """Return a hash of 64 bits by which words are told apart.

    The chance that any two of a million words have the same is less than one in ten million.
    """
    value = np.uint64(14695981039346656037)  # FNV-1a
    for place in range(start, stop):
        value = (value ^ np.uint64(data[place])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(32))


@compiled
def _table(data, ends, count):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int32)
    hashes = np.empty(count, np.uint64)
    for number in range(count):
        hashes[number] = hash_word(data, ends[number], ends[number + 1])
        slot = hashes[number] & np.uint64(size - 1)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        slots[slot] = number
    return hashes, slots


@compiled
def find_word(lexicon, value):  # type: ignore[no-untyped-def]
    """Return the number of the word with this hash, or -1."""
    mask = np.uint64(lexicon.slots.size - 1)
    slot = value & mask
    while True:
        number = lexicon.slots[slot]
        if number < 0 or lexicon.hashes[number] == value:
            return number
        slot = (slot + np.uint64(1)) & mask


@compiled
def find_prefix(lexicon, data, start, stop, above):  # type: ignore[no-untyped-def]
    """Return the first word that does not sort before data[start:stop]; with `above`, nor begins with it."""
    low, high = 0, lexicon.hashes.size
    while low < high:
        middle = (low + high) // 2
        if _before(lexicon, middle, data, start, stop, above):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _before(lexicon, number, data, start, stop, above):  # type: ignore[no-untyped-def]
    place, end = lexicon.ends[number], lexicon.ends[number + 1]
    for k in range(start, stop):
        if place == end:
            return True
        if lexicon.data[place] != data[k]:
            return lexicon.data[place] < data[k]
        place += 1
    return above
