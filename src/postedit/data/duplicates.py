"""Find duplicates among millions of texts: hash keys, and an external merge sort that bounds memory."""

import hashlib
import io
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import OutputError
from postedit.core.files import atomic_write

_ASCII_NO_LETTERS: Final = bytes(code for code in range(128) if not chr(code).isalpha())


_RUN_ROWS: Final = 2**20  # rows sorted in memory at a time; 16 MiB with two columns
_BLOCK_ROWS: Final = 2**18  # approximate number of rows in a block that is yielded

_Run: TypeAlias = Callable[[], NDArray[np.uint64]]
"""Returns sorted rows as UInt64[columns, rows]."""


def near_duplicate_key(text: str) -> str:
    """Return a key that near-duplicates share: the lower-cased text without numbers, punctuation, symbols and spaces.

    If nothing is left, the key is the text itself.
    """
    letters = (
        text.lower().encode("utf-8", "surrogatepass").translate(None, _ASCII_NO_LETTERS).decode("utf-8", "replace")
    )
    if not letters.isalpha():  # delete numbers, punctuation, symbols, spaces and control characters
        letters = letters.translate({ord(one): None for one in set(letters) if unicodedata.category(one)[0] in "NPSZC"})
    return letters or text


def text_hash(text: str) -> int:
    """Return a 64-bit hash of a text that is the same on every machine.

    Among ten million distinct texts, the probability of any collision is three in a million.
    """
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def save_rows(file: IO[bytes], rows: NDArray[np.uint64]) -> None:
    """Write an array for `np.load`; unlike with `np.save`, the OSError of a failed write gives the reason."""
    buffer = io.BytesIO()
    np.save(buffer, rows)
    file.write(buffer.getbuffer())


class SortedRows:
    """Rows of integers in lexicographic order, by external merge sort: beyond a million, rows are kept on disk.

    Args:
        folder: an existing folder for temporary files.
        name: prefix of the names of these files.
        files: number of files that an earlier process has written there (see `write`) and whose rows belong to these;
            further files of this name are overwritten.

    Raises:
        OutputError: if one of these files is missing.
    """

    def __init__(self, folder: Path, name: str, files: int = 0) -> None:
        self._folder, self._name = folder, name
        self._files = [self._file(number) for number in range(files)]
        if missing := next((path for path in self._files if not path.exists()), None):
            raise OutputError(f"{missing}: is missing, so the work cannot be continued; begin it anew")
        self._new: list[NDArray[np.uint64]] = []
        self._new_rows = 0

    def add(self, rows: NDArray[np.uint64]) -> None:
        """Add rows, UInt64[rows, columns]; raise an OutputError if they cannot be written to disk."""
        self._new.append(rows)
        self._new_rows += len(rows)
        if self._new_rows >= _RUN_ROWS:
            self.write()

    def write(self) -> int:
        """Write all rows to disk, and return the number of files; raise an OutputError if they cannot be written."""
        if self._new:
            path = self._file(len(self._files))
            with atomic_write(path, "wb") as file:
                save_rows(file, self._newest())
            self._files.append(path)
            self._new, self._new_rows = [], 0
        return len(self._files)

    def blocks(self) -> Iterator[NDArray[np.uint64]]:
        """Yield all rows in order, as UInt64[rows, columns]; rows with the same first column are in the same block."""
        # A run is mapped anew for each read: the pages of a permanent mapping would count as memory of this process.
        runs: list[_Run] = [partial(np.load, path, mmap_mode="r") for path in self._files]
        if self._new:
            newest = self._newest()
            runs.append(lambda: newest)
        starts = [0] * len(runs)
        for bound in _bounds(runs):
            parts = [_until(run(), start, bound) for run, start in zip(runs, starts)]
            starts = [start + part.shape[1] for start, part in zip(starts, parts)]
            block = np.concatenate(parts, axis=1)
            if block.shape[1]:
                yield _sorted(block).T

    def _file(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:04d}.npy"

    def _newest(self) -> NDArray[np.uint64]:
        return _sorted(np.concatenate(self._new).T)


def _sorted(columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(columns[:, np.lexsort(columns[::-1])])


def _until(run: NDArray[np.uint64], start: int, bound: np.uint64 | None) -> NDArray[np.uint64]:
    """Return a copy of the columns of a sorted run from `start` to the first one whose first number reaches `bound`."""
    end = run.shape[1] if bound is None else int(np.searchsorted(run[0], bound))
    return np.array(run[:, start:end])


def _bounds(runs: list[_Run]) -> list[np.uint64 | None]:
    """Return the upper bounds (exclusive) of the blocks into which sorted runs are divided; the last is None (none)."""
    if not runs:
        return []
    step = max(1, _BLOCK_ROWS // (2 * len(runs)))
    sample = np.sort(np.concatenate([np.array(run()[0, step::step]) for run in runs]))
    return [*np.unique(sample[1::2]), None]


def count_distinct(keys: SortedRows) -> int:
    """Return the number of distinct values in the first column."""
    return sum(int(np.count_nonzero(np.diff(rows[:, 0]))) + 1 for rows in keys.blocks())


def find_repeats(places: SortedRows, repeats: SortedRows) -> None:
    """Add a row (place, first place) to `repeats` for each row (key, place) of `places` whose key occurred before."""
    for rows in places.blocks():
        keys = rows[:, 0]
        again = np.concatenate([[False], keys[1:] == keys[:-1]])
        first = np.maximum.accumulate(np.where(again, 0, np.arange(len(keys))))
        repeats.add(np.stack([rows[again, 1], rows[first[again], 1]], 1))
