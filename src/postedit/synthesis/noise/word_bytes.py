"""Words of UTF-8 text in compiled code: looking them up in a lexicon, splitting lines into words, and writing lines."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled

COMMON_START: Final = 3  # initial characters that two inflected forms of a word share at least
LONGEST_ENDING: Final = 3  # most characters after the shared ones: the longest common inflections

_LINE_FEED: Final = 10
_SPACE: Final = 32


class Lexicon(NamedTuple):
    """Words sorted by their bytes, so that words with a common prefix are neighbours; a word's id is its position."""

    data: NDArray[np.uint8]  # the concatenated words
    ends: NDArray[np.int64]  # [words + 1], the offset where each word ends; the first is 0
    hashes: NDArray[np.uint64]  # [words]
    slots: NDArray[np.int32]  # a hash table of ids, -1 where empty; its size is a power of two

    @property
    def size(self) -> int:
        """The number of words."""
        return len(self.hashes)


def make_lexicon(words: Iterable[str]) -> tuple[Lexicon, dict[str, int]]:
    """Return a lexicon of the words, and the id of each word."""
    encoded = sorted({word.encode("utf-8", "surrogatepass") for word in words})
    data = np.frombuffer(bytearray().join(encoded), np.uint8)  # writable like unpickled copies: the same type to numba
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=ends[1:])
    hashes, slots = _hash_table(data, ends, len(encoded))
    ids = {word.decode("utf-8", "surrogatepass"): number for number, word in enumerate(encoded)}
    return Lexicon(data, ends, hashes, slots), ids


@compiled
def _hash_word(data, start, stop):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash that identifies a word.

    The chance that any two of a million words collide is below one in ten million.
    """
    value = np.uint64(14695981039346656037)  # FNV-1a
    for place in range(start, stop):
        value = (value ^ np.uint64(data[place])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(32))


@compiled
def _hash_table(data, ends, count):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int32)
    hashes = np.empty(count, np.uint64)
    for number in range(count):
        hashes[number] = _hash_word(data, ends[number], ends[number + 1])
        slot = hashes[number] & np.uint64(size - 1)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        slots[slot] = number
    return hashes, slots


@compiled
def _find_word(lexicon, value):  # type: ignore[no-untyped-def]
    mask = np.uint64(lexicon.slots.size - 1)
    slot = value & mask
    while True:
        number = lexicon.slots[slot]
        if number < 0 or lexicon.hashes[number] == value:
            return number
        slot = (slot + np.uint64(1)) & mask


@compiled
def find_prefix(lexicon, data, start, stop, after):  # type: ignore[no-untyped-def]
    """Return the id of the first word not sorted before data[start:stop]; if `after`, skip words that begin with it."""
    low, high = 0, lexicon.hashes.size
    while low < high:
        middle = (low + high) // 2
        if _sorts_before(lexicon, middle, data, start, stop, after):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _sorts_before(lexicon, number, data, start, stop, if_prefix):  # type: ignore[no-untyped-def]
    place, end = lexicon.ends[number], lexicon.ends[number + 1]
    for k in range(start, stop):
        if place == end:
            return True
        if lexicon.data[place] != data[k]:
            return lexicon.data[place] < data[k]
        place += 1
    return if_prefix


class WordBuffer(NamedTuple):
    """The words of one line, in arrays that are reused from line to line.

    Words that are not in the lexicon get ids from its size on; equal words get the same id.
    """

    data: Any  # UInt8, all lines
    starts: Any  # Int64, the offset of each word in `data`
    stops: Any  # Int64, the offset after its last byte
    ids: Any  # Int32, the id of each word
    hashes: Any  # UInt64, the hash of each word


@compiled
def new_word_buffer(data, max_words):  # type: ignore[no-untyped-def]
    """Return a buffer for the lines of `data`, with up to `max_words` words each."""
    starts, stops = np.empty(max_words, np.int64), np.empty(max_words, np.int64)
    return WordBuffer(data, starts, stops, np.empty(max_words, np.int32), np.empty(max_words, np.uint64))


@compiled
def line_end(data, start):  # type: ignore[no-untyped-def]
    """Return the offset of the line feed that ends the line at `start`."""
    stop = start
    while data[stop] != _LINE_FEED:
        stop += 1
    return stop


@compiled
def is_blank(data, start, stop):  # type: ignore[no-untyped-def]
    """Return whether data[start:stop] has no words."""
    place = start
    while place < stop:
        space = _space_width(data, place, stop)
        if space == 0:
            return False
        place += space
    return True


@compiled
def split_words(line, start, stop, lexicon):  # type: ignore[no-untyped-def]
    """Fill the buffer `line` with the words of data[start:stop]; return their number, or its size + 1 if too many."""
    data, n, place = line.data, 0, start
    while place < stop:
        space = _space_width(data, place, stop)
        if space:
            place += space
            continue
        if n == line.starts.size:
            return n + 1
        first = place
        while place < stop and _space_width(data, place, stop) == 0:
            place += 1
        line.starts[n], line.stops[n] = first, place
        value = _hash_word(data, first, place)
        number = _find_word(lexicon, value)
        line.hashes[n] = value
        if number < 0:
            number = lexicon.hashes.size + n
            for k in range(n):
                if line.hashes[k] == value:
                    number = line.ids[k]
                    break
        line.ids[n] = number
        n += 1
    return n


@compiled
def _space_width(data, place, stop):  # type: ignore[no-untyped-def]
    """Return the width in bytes of the white space character (as for `str.split`) at `place`; 0 if there is none."""
    byte = data[place]
    if byte < 128:
        return 1 if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31 else 0
    if byte == 0xC2 and place + 1 < stop:
        return 2 if data[place + 1] == 0x85 or data[place + 1] == 0xA0 else 0
    if place + 2 >= stop or not (byte == 0xE1 or byte == 0xE2 or byte == 0xE3):
        return 0
    second, third = data[place + 1], data[place + 2]
    if byte == 0xE2 and second == 0x80:
        return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    wide = (
        (byte == 0xE1 and second == 0x9A and third == 0x80)
        or (byte == 0xE2 and second == 0x81 and third == 0x9F)
        or (byte == 0xE3 and second == 0x80 and third == 0x80)
    )
    return 3 if wide else 0


@compiled
def count_characters(data, start, stop):  # type: ignore[no-untyped-def]
    """Return the number of characters in data[start:stop], which is UTF-8."""
    count = 0
    for place in range(start, stop):
        if data[place] & 0xC0 != 0x80:
            count += 1
    return count


@compiled
def append_words(refs, size, line, n, start, stop, lexicon, out, used):  # type: ignore[no-untyped-def]
    """Append a line of `size` words to the `used` bytes of an output buffer `out`, UInt8.

    `refs`, Int64, has the index of each word in `line`, or -1 minus its id in the lexicon; `line` holds the `n` words
    of data[start:stop]. Words that are neighbours there keep the spacing between them; other words are separated by
    single spaces. The spacing before the first and after the last word of `line` is kept too. Return `out`, or a larger
    buffer in its place, and the number of bytes in use.
    """
    out, used = append_bytes(line.data, start, line.starts[0], out, used)
    for k in range(size):
        ref = refs[k]
        if k and ref > 0 and refs[k - 1] == ref - 1:
            out, used = append_bytes(line.data, line.stops[ref - 1], line.starts[ref], out, used)
        elif k:
            out = _with_capacity(out, used + 1)
            out[used] = _SPACE
            used += 1
        if ref >= 0:
            out, used = append_bytes(line.data, line.starts[ref], line.stops[ref], out, used)
        else:
            out, used = append_bytes(lexicon.data, lexicon.ends[-1 - ref], lexicon.ends[-ref], out, used)
    return append_bytes(line.data, line.stops[n - 1], stop + 1, out, used)


@compiled
def append_bytes(data, start, stop, out, used):  # type: ignore[no-untyped-def]
    """Append data[start:stop] to an output buffer; return it or a larger one, and the number of bytes in use."""
    out = _with_capacity(out, used + stop - start)
    for place in range(start, stop):
        out[used] = data[place]
        used += 1
    return out, used


@compiled
def _with_capacity(out, needed):  # type: ignore[no-untyped-def]
    if needed <= out.size:
        return out
    larger = np.empty(2 * needed, np.uint8)
    larger[: out.size] = out
    return larger


@compiled
def select_lines(data, kept):  # type: ignore[no-untyped-def]
    """Return the lines of `data`, UInt8, for which `kept`, Bool[lines], is true."""
    out, used, stop = np.empty(data.size, np.uint8), 0, -1
    for number in range(kept.size):
        start = stop + 1
        stop = line_end(data, start)
        if kept[number]:
            out, used = append_bytes(data, start, stop + 1, out, used)
    return out[:used]
