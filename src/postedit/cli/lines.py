"""Where the lines to edit come from: two files, or stdin."""

import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from postedit.core.errors import DataError
from postedit.data.lines import check_aligned, decode_lines, read_lines


class Pair(NamedTuple):
    """One line of input; mt is empty where none is given."""

    src: str
    mt: str


def count_lines(src: Path, mt: Path | None) -> int:
    """Return the number of lines in each file, all of which are read to find out that they can be.

    Raises:
        DataError: if a file cannot be read or is not UTF-8, or they have not as many lines.
    """
    lines = sum(1 for _ in read_lines(src))
    if mt is not None:
        check_aligned(src, lines, mt, sum(1 for _ in read_lines(mt)))
    return lines


def file_pairs(src: Path, mt: Path | None) -> Iterator[Pair]:
    """Yield the lines of two files side by side, or of one."""
    return map(Pair, read_lines(src), repeat("") if mt is None else read_lines(mt))


def stdin_pairs() -> Iterator[Pair]:
    """Yield the lines `src<TAB>mt` of standard input.

    Raises:
        DataError: at a line that is not UTF-8, or has not one tab.
    """
    for number, line in enumerate(decode_lines(sys.stdin.buffer, "stdin"), start=1):
        sides = line.split("\t")
        if len(sides) != 2:
            raise DataError(f"stdin, line {number}: must be src<TAB>mt with one tab, but has {len(sides) - 1}")
        yield Pair(*sides)


def chunked(pairs: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    """Divide pairs into lists of `size`. What was read before an error in the input comes before that error."""
    chunk: list[Pair] = []
    try:
        for pair in pairs:
            chunk.append(pair)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except DataError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
