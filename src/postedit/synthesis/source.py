"""Where chunks come from: files whose lines belong together."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Final, Protocol

from postedit.core.errors import DataError
from postedit.data.compression import raw_lines
from postedit.data.lines import BadLine, path_problem, scan_lines
from postedit.synthesis.chunk import Chunk

_BLOCK: Final = 1 << 14  # lines looked at together
_BOM: Final = "\ufeff".encode()


class Source(Protocol):
    """Gives the chunks of an input, the same ones each time."""

    @property
    def total(self) -> int:
        """How many lines the input has."""
        ...

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """SHA-256 of the text of each side, in hexadecimal."""
        ...

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on, reading no further ahead than they reach."""
        ...


@dataclass(frozen=True, slots=True)
class AlignedFiles:
    """Line-aligned text files, one a side; `open_aligned` looks into them first.

    Args:
        paths: the file of each side.
        chunk_lines: lines of a chunk; only the last one has fewer.
        total: lines of each file.
        fingerprints: SHA-256 of the lines of each file.
    """

    paths: Mapping[str, Path]
    chunk_lines: int
    total: int
    fingerprints: Mapping[str, str]

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on.

        Raises:
            DataError: if a file has become shorter since it was looked into.
        """
        with ExitStack() as stack:
            blocks = {}
            for side, path in self.paths.items():
                lines = _skip_bom(stack.enter_context(closing(raw_lines(path))))
                next(islice(lines, first * self.chunk_lines, first * self.chunk_lines), None)
                blocks[side] = lines
            for number in count(first):
                start = number * self.chunk_lines
                size = min(self.chunk_lines, self.total - start)
                if size <= 0:
                    return
                taken = {side: list(islice(lines, size)) for side, lines in blocks.items()}
                for side, lines_taken in taken.items():
                    if len(lines_taken) < size:
                        raise DataError(f"{self.paths[side]}: has become shorter during the work; run it again")
                yield Chunk(number, start, size, {side: _joined(lines) for side, lines in taken.items()})


def open_aligned(paths: Mapping[str, Path], chunk_lines: int) -> AlignedFiles:
    """Read the files once, a block at a time, and return them as a source.

    Raises:
        DataError: if a file is missing, empty or not UTF-8 (with the line), or their numbers of lines differ.
    """
    problems = [problem for path in paths.values() if (problem := path_problem(path))]
    if problems:
        raise DataError("\n".join(problems))
    read = {side: _look_through(path) for side, path in paths.items()}
    counts = {lines for lines, _ in read.values()}
    if len(counts) > 1:
        found = ", ".join(f"{path} has {read[side][0]:,}" for side, path in paths.items())
        raise DataError(f"the numbers of lines differ: {found}; line n of each must belong together")
    return AlignedFiles(paths, chunk_lines, counts.pop(), {side: digest for side, (_, digest) in read.items()})


def _look_through(path: Path) -> tuple[int, str]:
    """Return the number of lines and their SHA-256."""
    total, digest = 0, hashlib.sha256()
    lines = _skip_bom(raw_lines(path))
    while block := list(islice(lines, _BLOCK)):
        text = _joined(block)
        _check_utf8(text, path, total)
        digest.update(text)
        total += len(block)
    return total, digest.hexdigest()


def _check_utf8(text: bytes, path: Path, before: int) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        number = before + text.count(b"\n", 0, error.start) + 1
        line = text[text.rfind(b"\n", 0, error.start) + 1 :].partition(b"\n")[0]
        (bad,) = (found for found in scan_lines([line], str(path)) if isinstance(found, BadLine))
        raise DataError(bad.problem.replace("line 1:", f"line {number:,}:", 1)) from None


def _skip_bom(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Take away the byte order mark that some editors put at the start of a file."""
    for first in lines:
        yield first.removeprefix(_BOM)
        break
    yield from lines


def _joined(lines: list[bytes]) -> bytes:
    """Return the lines as one block; the last line of a file may lack its line feed."""
    block = b"".join(lines)
    return block if block.endswith(b"\n") else block + b"\n"
