"""Raw lines of text files, plain or compressed (gzip, xz, Zstandard), and of columns of Parquet files."""

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
from postedit.data.text_paths import column_lines, column_of, explain_far_errors, without_column

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIXES: Final = COMPRESSED_SUFFIXES
"""Tried after the name of a file that does not exist."""


class _Opener(Protocol):
    def __call__(self, file: BinaryIO, /) -> io.IOBase: ...


class _Format(NamedTuple):
    name: str
    magic: bytes
    open: _Opener


_FORMATS: Final = (  # none of these prefixes is valid UTF-8, so no text is taken for a compressed file
    _Format("gzip", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    _Format("xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    _Format("zstd", b"\x28\xb5\x2f\xfd", zstd.ZstdFile),
)

_BUFFER: Final = 1 << 16
"""Bytes read at a time, so that a remote file is not read line by line."""

_LONGEST_MAGIC: Final = max(len(form.magic) for form in _FORMATS)


def find_file(path: Path) -> Path:
    """Return `path`, or if it does not exist the compressed file of that name, such as `x.src.gz` for `x.src`.

    A column of a Parquet file is removed from the path.
    """
    path = without_column(path)
    if path.exists():
        return path
    return next((other for suffix in SUFFIXES if (other := path.with_name(path.name + suffix)).exists()), path)


def plain_name(name: str) -> str:
    """Return the name of a file without the suffix of a compression format."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def raw_lines(path: Path) -> Generator[bytes, None, None]:
    """Yield the lines of a file, a compressed file or a Parquet column, with their line feeds.

    Raises:
        DataError: if a compressed file is truncated or damaged (names the line where reading failed), a column does
            not exist, or a URL cannot be read.
    """
    column = column_of(path)
    path = find_file(path)
    with explain_far_errors(path):
        yield from _text_lines(path) if column is None else column_lines(path, column)


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
            where = f"{path}, line {count + 1}: the {form} file is truncated here"
            raise DataError(f"{where}; copy it again, or compress it again") from None
        except (zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile) as error:
            where = f"{path}, line {count + 1}: the {form} file is damaged here ({error})"
            raise DataError(f"{where}; copy it again, or compress it again") from None
        if not line:
            return
        count += 1
        yield line
