"""Lines of text as bytes, in compiled code: their words found, and lines written."""

from typing import Any, Final, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.synthesis.lexicon import find_word, hash_word

_LINE_FEED: Final = 10
_SPACE: Final = 32


class Line(NamedTuple):
    """The words of a line, in arrays that one line after the other uses.

    Args:
        data: UInt8, all lines.
        starts: Int64, where each word begins in `data`.
        stops: Int64, the byte after its last.
        ids: Int32, its number in the lexicon; of words that are not there, the same one for the same word, from the
            size of the lexicon on.
        hashes: UInt64.
    """

    data: Any
    starts: Any
    stops: Any
    ids: Any
    hashes: Any


@compiled
def new_line(data, most_words):  # type: ignore[no-untyped-def]
    """Return room for the words of the lines of `data`, up to `most_words` of a line."""
    return Line(
        data,
        np.empty(most_words, np.int64),
        np.empty(most_words, np.int64),
        np.empty(most_words, np.int32),
        np.empty(most_words, np.uint64),
    )


@compiled
def line_end(data, start):  # type: ignore[no-untyped-def]
    """Return the place of the line feed that ends the line from `start` on."""
    stop = start
    while data[stop] != _LINE_FEED:
        stop += 1
    return stop


@compiled
def split(line, start, stop, lexicon):  # type: ignore[no-untyped-def]
    """Find the words of a line; return how many there are, which is one too many if they are more than fit."""
    data, n, place = line.data, 0, start
    while place < stop:
        space = space_at(data, place, stop)
        if space:
            place += space
            continue
        if n == line.starts.size:
            return n + 1
        first = place
        while place < stop and space_at(data, place, stop) == 0:
            place += 1
        line.starts[n], line.stops[n] = first, place
        value = hash_word(data, first, place)
        number = find_word(lexicon, value)
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
def space_at(data, place, stop):  # type: ignore[no-untyped-def]
    """Return how many bytes of white space, as `str.split` has it, are at `place`: 0, or those of one character."""
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
def characters(data, start, stop):  # type: ignore[no-untyped-def]
    """Return how many characters these bytes of UTF-8 are."""
    count = 0
    for place in range(start, stop):
        if data[place] & 0xC0 != 0x80:
            count += 1
    return count


@compiled
def write_words(refs, size, line, lexicon, out, used):  # type: ignore[no-untyped-def]
    """Add a line to what is written: its words, divided by single spaces.

    Args:
        refs: Int64, for each word its place in `line`, or -1 minus its number in the lexicon.
        size: how many there are.
        line: `Line`.
        lexicon: `Lexicon`.
        out: UInt8, what is written so far.
        used: how many bytes of it are.

    Returns:
        `out`, or a larger one in its place, and the bytes that are used now.
    """
    for k in range(size):
        ref = refs[k]
        if k:
            out = _with_room(out, used + 1)
            out[used] = _SPACE
            used += 1
        if ref >= 0:
            out, used = write_bytes(line.data, line.starts[ref], line.stops[ref], out, used)
        else:
            out, used = write_bytes(lexicon.data, lexicon.ends[-1 - ref], lexicon.ends[-ref], out, used)
    out = _with_room(out, used + 1)
    out[used] = _LINE_FEED
    return out, used + 1


@compiled
def write_bytes(data, start, stop, out, used):  # type: ignore[no-untyped-def]
    """Add bytes to what is written; else as `write_words`."""
    out = _with_room(out, used + stop - start)
    for place in range(start, stop):
        out[used] = data[place]
        used += 1
    return out, used


@compiled
def _with_room(out, needed):  # type: ignore[no-untyped-def]
    """Return `out`, or a copy of it that is larger, with room for so many bytes."""
    if needed <= out.size:
        return out
    larger = np.empty(2 * needed, np.uint8)
    larger[: out.size] = out
    return larger


@compiled
def kept_lines(data, kept):  # type: ignore[no-untyped-def]
    """Return those of the lines of `data`, UInt8, for which `kept`, Bool[lines], is true."""
    out, used, stop = np.empty(data.size, np.uint8), 0, -1
    for number in range(kept.size):
        start = stop + 1
        stop = line_end(data, start)
        if kept[number]:
            out, used = write_bytes(data, start, stop + 1, out, used)
    return out[:used]
