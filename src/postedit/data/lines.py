r"""Lines of text files: UTF-8, divided by "\n" alone (U+2028, U+0085, form feeds and the like are text).

Files may be compressed, and are found under their plain names then, too: `train.src` is read from `train.src.gz`.
The path `-` is standard input.
"""

import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from postedit.core.errors import DataError, nearest
from postedit.core.output_paths import STANDARD_STREAM
from postedit.data.compression import find_file, raw_lines
from postedit.data.text_paths import explain_far_errors, is_far, is_parquet


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be used, and why, in words."""

    problem: str


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, of a pipe, or for `-` of standard input, without their line feeds.

    Raises:
        DataError: if the file is missing, cannot be read, has no lines, is not UTF-8 (with the line and byte), or is
            compressed and truncated.
    """
    if path == STANDARD_STREAM:
        yield from decode_lines(sys.stdin.buffer, "stdin")
        return
    problem = path_problem(path)
    if problem:
        raise DataError(problem)
    yield from decode_lines(raw_lines(path), str(path))


def read_aligned(first: Path, *others: Path) -> dict[Path, list[str]]:
    """Return the lines of files that go together line by line; one that is named twice is read once.

    Raises:
        DataError: if a file cannot be read, or has not as many lines as the first.
    """
    texts = {path: list(read_lines(path)) for path in dict.fromkeys((first, *others))}
    for path, lines in texts.items():
        check_aligned(first, len(texts[first]), path, len(lines))
    return texts


def check_aligned(one: Path | str, lines: int, other: Path | str, other_lines: int) -> None:
    """See to it that two texts, called `one` and `other`, have as many lines.

    Raises:
        DataError: if not.
    """
    if lines != other_lines:
        raise DataError(f"{one} has {lines:,} lines and {other} has {other_lines:,}; they must match one to one")


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield each of `lines` as text without its line feed; a byte-order mark at the start is dropped.

    Args:
        lines: encoded in UTF-8.
        name: the file or stream that error messages name.

    Raises:
        DataError: if there are no lines, or a line is not UTF-8.
    """
    empty = True
    for line in scan_lines(lines, name):
        if isinstance(line, BadLine):
            raise DataError(line.problem)
        empty = False
        yield line
    if empty:
        raise DataError(f"{name}: is empty")


def scan_lines(lines: Iterable[bytes], name: str) -> Iterator[str | BadLine]:
    """Yield the same as `decode_lines`, but a `BadLine` in place of each line that is not UTF-8."""
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        try:
            yield line.removesuffix(b"\n").decode()
        except UnicodeDecodeError as error:
            found = f"byte {error.start + 1} (0x{line[error.start]:02X})"
            yield BadLine(f"{name}, line {number}: {found} of the line is not UTF-8; save the file as UTF-8")


def path_problem(path: Path) -> str | None:
    """Return what keeps `path`, or the compressed file of that name, from being read, or None."""
    if is_parquet(path.name):
        return f"{path}: is a Parquet file; name the column to read, as in {path.name}#pe"
    if is_far(path):
        return _far_problem(path)
    path = find_file(path)
    if path.is_dir():
        return f"{path}: is a folder, not a file"
    if not path.exists():
        if path.is_symlink():
            return f"{path}: is a link to {path.readlink()}, which does not exist"
        if not path.parent.is_dir():
            return f"{path}: no such file; its folder {path.parent} does not exist either"
        return f"{path}: no such file{nearest(path.name, (other.name for other in path.parent.iterdir()))}"
    if not os.access(path, os.R_OK):
        return f"{path}: you have no permission to read it"
    return f"{path}: is empty" if path.is_file() and path.stat().st_size == 0 else None


def _far_problem(path: Path) -> str | None:
    try:
        with explain_far_errors(path):
            path = find_file(path)
            if not path.exists():
                return f"{path}: no such file"
            if not path.is_file():
                return f"{path}: is a folder, not a file"
            return f"{path}: is empty" if path.stat().st_size == 0 else None
    except DataError as error:
        return str(error)
