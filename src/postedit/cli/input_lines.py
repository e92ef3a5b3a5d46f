"""Lines to edit, from files, whose lines are counted before work begins, or from streams, which are read only once."""

from collections.abc import Iterator
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any

import typer

from postedit.core.errors import DataError
from postedit.core.output_paths import STANDARD_STREAM, is_stream
from postedit.data.lines import check_aligned, decode_lines, read_lines, standard_input
from postedit.data.resumable_file import file_fingerprint
from postedit.jobs.editing import Pair


def can_be_read_again(*paths: Path | None) -> bool:
    """Return whether all inputs are regular files. Streams, such as standard input (None), can be read only once."""
    return all(path is not None and not is_stream(path) for path in paths)


def input_fingerprint(path: Path | None) -> dict[str, Any] | None:
    """Return the fingerprint of an input; None for standard input and other streams."""
    return file_fingerprint(path) if path is not None and can_be_read_again(path) else None


def count_lines(src: Path, mt: Path | None) -> int | None:
    """Check the files by reading them, and return the number of lines that each has; None if one is a stream.

    Raises:
        DataError: if a file cannot be read or is not UTF-8, or the files differ in their number of lines.
    """
    counts = {
        path: sum(1 for _ in read_lines(path)) for path in (src, mt) if path is not None and can_be_read_again(path)
    }
    if len(counts) == 2 and mt is not None:
        check_aligned(src, counts[src], mt, counts[mt])
    return None if src not in counts or (mt is not None and mt not in counts) else counts[src]


def file_pairs(src: Path, mt: Path | None) -> Iterator[Pair]:
    """Yield pairs of lines of two files or streams, or of src and empty mt; raise DataError if one is shorter."""
    _describe_terminal_input("source lines", src, mt)
    sources = read_lines(src)
    if mt is None:
        yield from map(Pair, sources, repeat(""))
        return
    counted = can_be_read_again(src, mt)
    pairs = zip_longest(sources, read_lines(mt))
    for number, (source, translation) in enumerate(pairs, start=1):
        if source is None or translation is None:
            shorter, longer = (src, mt) if source is None else (mt, src)
            why = "the input changed during the work" if counted else "they must match one to one"
            raise DataError(f"{shorter} ends after line {number - 1:,} and {longer} goes on; {why}")
        yield Pair(source, translation)


def stdin_pairs() -> Iterator[Pair]:
    """Yield the lines `src<TAB>mt` of standard input; raise DataError at a line that does not have exactly one tab."""
    _describe_terminal_input("lines of source, tab, translation", STANDARD_STREAM)
    for number, line in enumerate(decode_lines(standard_input(), "stdin"), start=1):
        sides = line.split("\t")
        if len(sides) != 2:
            raise DataError(f"stdin, line {number}: must be src<TAB>mt with one tab, but has {len(sides) - 1}")
        yield Pair(*sides)


def _describe_terminal_input(what: str, *paths: Path | None) -> None:
    """Print to stderr what to type, if one of the paths is standard input and that is a terminal."""
    if STANDARD_STREAM in paths and standard_input().isatty():
        typer.echo(f"Reading {what} from this terminal; Ctrl-D ends them (postedit edit --help: files)", err=True)
