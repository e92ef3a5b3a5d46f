"""Compressed files, read as if they were plain: gzip, xz and Zstandard, known by their first bytes."""

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol, cast

from postedit.core.errors import DataError
from postedit.core.output_paths import COMPRESSED_SUFFIXES
from postedit.data.text_paths import column_of, explain_far_errors, without_column

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIXES: Final = COMPRESSED_SUFFIXES
"""Added to the name of a file that is not there under its own name."""


class _Opener(Protocol):
    def __call__(self, file: BinaryIO, /) -> io.IOBase: ...


class _Format(NamedTuple):
    name: str
    magic: bytes
    open: _Opener


_FORMATS: Final = (  # none of these beginnings is UTF-8, so no text is taken for a compressed file
    _Format("gzip", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    _Format("xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    _Format("zstd", b"\x28\xb5\x2f\xfd", zstd.ZstdFile),
)

_BUFFER: Final = 1 << 16
"""Bytes asked for at a time: files that are far away are read by them, and not line by line."""

_LONGEST_MAGIC: Final = max(len(form.magic) for form in _FORMATS)


def find_file(path: Path) -> Path:
    """Return `path`, or if there is none the compressed file of that name, such as `x.src.gz` for `x.src`.

    If it names a column of a Parquet file, that is the file.
    """
    path = without_column(path)
    if path.exists():
        return path
    return next((other for suffix in SUFFIXES if (other := path.with_name(path.name + suffix)).exists()), path)


def plain_name(name: str) -> str:
    """Return the name that a file has when it is not compressed."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def raw_lines(path: Path) -> Generator[bytes, None, None]:
    """Yield the lines of the file at `path`, or of the compressed file of that name, with their line feeds.

    Those of a column of a Parquet file are its texts.

    Raises:
        DataError: if it is compressed and cut off or damaged, with the line after which nothing can be read; if there
            is no such column; or if it is far away and cannot be reached.
    """
    column = column_of(path)
    path = find_file(path)
    with explain_far_errors(path):
        yield from _text_lines(path) if column is None else _column_lines(path, column)


def _column_lines(path: Path, column: str) -> Iterator[bytes]:
    from postedit.data.parquet import column_lines  # Arrow takes time to load, and plain text needs none of it

    return column_lines(path, column)


def _text_lines(path: Path) -> Generator[bytes, None, None]:
    with path.open("rb") as opened, io.BufferedReader(cast(io.RawIOBase, opened), _BUFFER) as file:
        head = file.peek(_LONGEST_MAGIC)
        form = next((form for form in _FORMATS if head.startswith(form.magic)), None)
        if form is None:
            yield from file
            return
        with io.BufferedReader(cast(io.RawIOBase, form.open(cast(BinaryIO, file)))) as plain:
            yield from _decompressed(cast(BinaryIO, plain), path, form.name)


def _decompressed(file: BinaryIO, path: Path, form: str) -> Iterator[bytes]:
    count = 0
    while True:
        try:
            line = file.readline()
        except EOFError:
            where = f"{path}, line {count + 1}: the {form} file is cut off here"
            raise DataError(f"{where}; copy it again, or compress it anew") from None
        except (zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile) as error:
            where = f"{path}, line {count + 1}: the {form} file is damaged here ({error})"
            raise DataError(f"{where}; copy it again, or compress it anew") from None
        if not line:
            return
        count += 1
        yield line
