"""Chunks of aligned lines, the unit of distributed work, and the files they are read from."""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self

from postedit.core.errors import DataError
from postedit.data.blocks import blocks_of
from postedit.data.compression import raw_lines
from postedit.data.lines import BadLine, encode_lines, path_problem, returns_warning, scan_lines

_BLOCK: Final = 1 << 14  # lines checked at a time
_RETURNS: Final = (b"\r\n", b"\r")  # the last line of a file may lack its line feed


@dataclass(frozen=True, slots=True)
class Chunk:
    """Aligned lines of several sides, kept as UTF-8 and decoded on demand."""

    number: int  # index of the chunk in the input, from 0
    first_line: int  # index of its first line in the input, from 0
    size: int  # number of its lines in the input; a stage may drop some of them from the sides
    sides: Mapping[str, bytes]  # all with the same number of lines; every line ends with a line feed
    counts: Mapping[str, int] = field(default_factory=dict)  # statistics to be summed over all chunks, by name

    def __str__(self) -> str:
        """Return the lines that it covers in the input, in words."""
        return f"lines {self.first_line + 1:,} to {self.first_line + self.size:,}"

    def lines(self, side: str) -> list[str]:
        """Return the lines of a side, decoded."""
        return self.sides[side].decode().split("\n")[:-1]

    def with_lines(self, lines: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Self:
        """Return a copy with these sides replaced or added, by lines without line feeds, and with these counts."""
        encoded = {side: encode_lines(texts) for side, texts in lines.items()}
        return replace(self, sides={**self.sides, **encoded}, counts=dict(counts))


Stage = Callable[[Chunk], Chunk]
"""A pure function of a chunk that can be pickled: neither the process nor the order of calls changes its result.

A stage that needs a model loads it at its first call in each process.
"""


class ChunkSource(Protocol):
    """An input divided into chunks, the same ones at each reading."""

    @property
    def total(self) -> int:
        """The number of lines in the input."""

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """The SHA-256 digest of each part of the input, in hexadecimal, by name."""

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the input for the user, as sentences."""

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on, reading no further than the chunk that is yielded."""


@dataclass(frozen=True, slots=True)
class AlignedFiles:
    """A chunk source of line-aligned text files; create it with `open_aligned`, which checks the files."""

    paths: Mapping[str, Path]  # the file of each side
    chunk_lines: int  # lines per chunk; the last chunk may have fewer
    total: int
    fingerprints: Mapping[str, str]
    warnings: Sequence[str] = ()

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on; a file must not have become shorter since it was opened."""
        with ExitStack() as stack:
            skipped, readers = first * self.chunk_lines, {}
            for side, path in self.paths.items():
                readers[side] = _bare_lines(stack.enter_context(closing(raw_lines(path))))
                next(islice(readers[side], skipped, skipped), None)
            for number in count(first):
                start = number * self.chunk_lines
                size = min(self.chunk_lines, self.total - start)
                if size <= 0:
                    return
                sides = {}
                for side, reader in readers.items():
                    taken = list(islice(reader, size))
                    if len(taken) < size:
                        raise DataError(f"{self.paths[side]}: became shorter during the run; run the command again")
                    sides[side] = _joined(taken)
                yield Chunk(number, start, size, sides)


def open_aligned(paths: Mapping[str, Path], chunk_lines: int) -> AlignedFiles:
    """Check and fingerprint line-aligned files in one pass over each, and return them as a chunk source.

    Raises:
        DataError: if a file is missing, empty or not UTF-8 (with the line), or the files differ in length.
    """
    problems = [problem for path in paths.values() if (problem := path_problem(path))]
    if problems:
        raise DataError("\n".join(problems))
    read = {side: _scanned(path) for side, path in paths.items()}
    if len({one.lines for one in read.values()}) > 1:
        found = ", ".join(f"{path} has {read[side].lines:,}" for side, path in paths.items())
        raise DataError(f"the files differ in their number of lines: {found}; line n of each must belong together")
    total = next(one.lines for one in read.values())
    warnings = [returns_warning(path, read[side].returns) for side, path in paths.items() if read[side].returns]
    return AlignedFiles(paths, chunk_lines, total, {side: one.digest for side, one in read.items()}, warnings)


class _Scan(NamedTuple):
    """The results of one pass over a file."""

    lines: int
    returns: int  # number of Windows line ends
    digest: str  # SHA-256 of the lines as they are read


def _scanned(path: Path) -> _Scan:
    """Read a file once, and return what was found.

    Raises:
        DataError: if the file is empty or not UTF-8.
    """
    total, returns, digest = 0, 0, hashlib.sha256()
    with closing(raw_lines(path)) as lines:
        for block in blocks_of(lines, _BLOCK):
            text = _joined(list(_bare_lines(iter(block), is_start=not total)))
            try:
                text.decode()
            except UnicodeDecodeError:
                bad = next(line for line in scan_lines(block, str(path), total + 1) if isinstance(line, BadLine))
                raise DataError(bad.problem) from None
            digest.update(text)
            total += len(block)
            returns += sum(line.endswith(_RETURNS) for line in block)
    if not total:
        raise DataError(f"{path}: is empty")
    return _Scan(total, returns, digest.hexdigest())


def _bare_lines(lines: Iterator[bytes], *, is_start: bool = True) -> Iterator[bytes]:
    """Drop the CR of Windows line ends, and the byte-order mark that some editors put at the start of a file."""
    for line in lines:
        if is_start:
            line, is_start = line.removeprefix(BOM_UTF8), False
        yield line[: line.rindex(b"\r")] + b"\n" if line.endswith(_RETURNS) else line


def _joined(lines: list[bytes]) -> bytes:
    """Return the lines as one block; the last line of a file may lack its line feed."""
    block = b"".join(lines)
    return block if block.endswith(b"\n") else block + b"\n"
