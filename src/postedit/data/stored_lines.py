"""Text lines that stay on disk, for texts larger than memory."""

import hashlib
import os
import tempfile
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Final, overload

from postedit.core.errors import DataError
from postedit.core.files import explain_os_errors
from postedit.core.output_paths import STANDARD_STREAM, is_stream
from postedit.data.blocks import blocks_of
from postedit.data.compression import find_file, is_plain, raw_lines
from postedit.data.lines import BadLine, check_aligned, path_problem, scan_lines, standard_input
from postedit.data.text_paths import column_of, is_far

_STEP: Final = 256  # lines between two recorded file positions


class StoredLines(Sequence[str]):
    """The lines of a file, read from disk whenever they are accessed.

    The text is read once at the start; that of a stream, URL, compressed file or Parquet column is thereby copied to a
    temporary file. Memory holds 8 bytes per 256 lines.

    Args:
        path: path of the text, as for `postedit.data.lines.read_lines`.

    Raises:
        DataError: in the same cases as `read_lines`.
    """

    def __init__(self, path: Path) -> None:
        from_stdin = path == STANDARD_STREAM
        if not from_stdin and (problem := path_problem(path)):
            raise DataError(problem)
        self._name, self._size = "stdin" if from_stdin else str(path), 0
        self._positions, self._file = array("q", [0]), self._open(path)
        copies, digest, position = self._file.writable(), hashlib.sha256(), 0
        with closing(iter(standard_input()) if from_stdin else raw_lines(path)) as lines:  # type: ignore[type-var]
            for block in blocks_of(lines, _STEP):
                joined = b"".join(block)
                if not self._size and joined.startswith(BOM_UTF8):
                    self._positions[0] = len(BOM_UTF8)
                self._check(block, joined)
                digest.update(joined)
                if copies:
                    with explain_os_errors(Path(tempfile.gettempdir())):
                        self._file.write(joined)
                self._size += len(block)
                position += len(joined)
                self._positions.append(position)
        if not self._size:
            raise DataError(f"{self._name}: is empty")
        if copies:
            with explain_os_errors(Path(tempfile.gettempdir())):
                self._file.flush()
        self.sha256 = digest.hexdigest()
        """Hexadecimal SHA-256 digest of the uncompressed text."""

    def __len__(self) -> int:
        """Return the number of lines."""
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a line, or the lines of a slice, which are read into memory."""
        if not isinstance(place, slice):
            return self._between(range(self._size)[place], range(self._size)[place] + 1)[0]
        first, last, step = place.indices(self._size)
        if step < 1:
            return [self[row] for row in range(first, last, step)]
        return self._between(first, max(first, last))[::step]

    def __iter__(self) -> Iterator[str]:
        """Yield all lines."""
        for first in range(0, self._size, _STEP):
            yield from self._between(first, min(first + _STEP, self._size))

    def _between(self, first: int, last: int) -> list[str]:
        """Return lines `first` to `last`, exclusive."""
        start, end = first // _STEP, -(-last // _STEP)
        if start >= end:
            return []
        position = self._positions[start]
        text = os.pread(self._file.fileno(), self._positions[end] - position, position)
        lines = text.removesuffix(b"\n").split(b"\n")
        if len(lines) != min(end * _STEP, self._size) - start * _STEP:
            raise DataError(f"{self._name}: was changed during the run; run the command again")
        return [line.decode(errors="replace") for line in lines[first - start * _STEP : last - start * _STEP]]

    def _check(self, block: list[bytes], joined: bytes) -> None:
        """Raise a DataError that names the first line of a block which is not UTF-8, if there is one."""
        try:
            joined.decode()
        except UnicodeDecodeError:
            scanned = scan_lines(block, self._name, self._size + 1)
            raise DataError(next(line.problem for line in scanned if isinstance(line, BadLine))) from None

    @staticmethod
    def _open(path: Path) -> IO[Any]:
        """Return the file, opened, if it can be read repeatedly as it is, else an empty temporary file."""
        if path != STANDARD_STREAM and not is_far(path) and column_of(path) is None:
            found = find_file(path)
            if not is_stream(found) and is_plain(found):
                return found.open("rb")
        with explain_os_errors(Path(tempfile.gettempdir())):
            return tempfile.TemporaryFile()


def store_aligned(first: Path, *others: Path) -> dict[Path, StoredLines]:
    """Return the lines of line-aligned files, by path; a file that is named twice is read once.

    Raises:
        DataError: if a file cannot be read, or the numbers of lines differ.
    """
    texts = {path: StoredLines(path) for path in dict.fromkeys((first, *others))}
    for path, lines in texts.items():
        check_aligned(first, len(texts[first]), path, len(lines))
    return texts
