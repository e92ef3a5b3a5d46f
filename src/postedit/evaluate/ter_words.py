"""Mapping of the words of many texts to ids, in compiled code."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled

_WIDE_SPACES: Final = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Characters outside ASCII at which `str.split` separates words."""

_FIRST_SLOTS: Final = 2**12  # initial size of the hash table, a power of 2


class NumberedTexts(NamedTuple):
    """Concatenated texts: the ids of their words, Int32[words], and the end of each text, Int64[texts+1], first 0."""

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]


def number_words(*sides: Sequence[str]) -> tuple[list[NumberedTexts], int]:
    """Return the texts of all sides as word ids, one id per distinct word; words are separated as by `str.split`.

    Returns:
        The texts of each side, and the number of different ids.
    """
    texts = [text for side in sides for text in side]
    joined = "\n".join(texts)
    if joined.count("\n") != max(0, len(texts) - 1):
        joined = "\n".join(text.replace("\n", " ") for text in texts)
    if not joined.isascii():
        for space in _WIDE_SPACES:
            joined = joined.replace(space, " ")
    data = np.frombuffer(joined.encode("utf-8", "surrogatepass"), np.uint8)
    ids, ends, count = _number(data, len(texts))
    numbered, first = [], 0
    for side in sides:
        limits = ends[first : first + len(side) + 1]
        numbered.append(NumberedTexts(ids[limits[0] : limits[-1]], limits - limits[0]))
        first += len(side)
    return numbered, count


@compiled
def _is_space(byte):  # type: ignore[no-untyped-def]
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@compiled
def _number(data, texts):  # type: ignore[no-untyped-def]
    """Number the words in the UTF-8 bytes `data` of `texts` lines, with a growing hash table of words.

    Returns the word ids, the end of each line in them, and the number of different ids.
    """
    size = data.size
    ids = np.empty(size // 2 + 1, np.int32)  # a word and the space after it take at least two bytes
    ends = np.zeros(texts + 1, np.int64)
    slots = np.full(_FIRST_SLOTS, -1, np.int32)
    starts = np.empty(_FIRST_SLOTS, np.int64)
    stops = np.empty(_FIRST_SLOTS, np.int64)
    hashes = np.empty(_FIRST_SLOTS, np.uint64)
    words, count, text, position = 0, 0, 0, 0
    while position < size:
        if data[position] == 10:
            text += 1
            ends[text] = words
            position += 1
            continue
        if _is_space(data[position]):
            position += 1
            continue
        start = position
        value = np.uint64(14695981039346656037)  # FNV-1a
        while position < size and not _is_space(data[position]):
            value = (value ^ np.uint64(data[position])) * np.uint64(1099511628211)
            position += 1
        value ^= value >> np.uint64(32)
        slot = value & np.uint64(slots.size - 1)
        while True:
            known = slots[slot]
            if known < 0:
                break
            if hashes[known] == value and stops[known] - starts[known] == position - start:
                same = True
                for k in range(position - start):
                    if data[starts[known] + k] != data[start + k]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
        if known < 0:
            known = count
            slots[slot], starts[count], stops[count], hashes[count] = count, start, position, value
            count += 1
            if 2 * count >= slots.size:
                slots, starts, stops, hashes = _grown(slots, starts, stops, hashes, count)
        ids[words] = known
        words += 1
    if texts:
        ends[texts] = words
    return ids[:words], ends, count


@compiled
def _grown(slots, starts, stops, hashes, count):  # type: ignore[no-untyped-def]
    """Return the hash table with twice as many slots."""
    size = 2 * slots.size
    new_slots = np.full(size, -1, np.int32)
    new_starts, new_stops, new_hashes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint64)
    new_starts[:count], new_stops[:count], new_hashes[:count] = starts[:count], stops[:count], hashes[:count]
    for number in range(count):
        slot = new_hashes[number] & np.uint64(size - 1)
        while new_slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        new_slots[slot] = number
    return new_slots, new_starts, new_stops, new_hashes
