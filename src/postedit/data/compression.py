"""Raw lines of text files, plain or compressed (gzip, xz, Zstandard), and of columns of Parquet files."""

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from postedit.core.errors import DataError
from postedit.core.output_paths import COMPRESSED_SUFFIXES
from postedit.data.text_paths import column_lines, column_of, explain_far_errors, without_column

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


_FORMATS: Final[Mapping[bytes, tuple[str, Callable[[BinaryIO], Any]]]] = {  # none of these prefixes is valid UTF-8
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", zstd.ZstdFile),
}
"""By first bytes of a file: the name of its format, and a function that opens it. No text begins with these bytes."""

_UNREADABLE: Final = (b"BZh", b"PK\x03\x04", b"7z\xbc\xaf", b"Rar!", b"\x04\x22\x4d\x18")
"""First bytes of packed files that are not unpacked here: bzip2, zip (and office documents), 7z, rar and lz4."""

_LONGEST: Final = 1 << 24
"""Maximum bytes of a line: a small compressed file can contain a line that does not fit into memory."""

_BUFFER: Final = 1 << 16
"""Bytes read at a time, so that a remote file is not read line by line."""


def find_file(path: Path) -> Path:
    """Return `path`, or, if it does not exist, the compressed file of that name, such as `x.src.gz` for `x.src`.

    A Parquet column is removed from the path. If there is no such file either, the path is returned all the same.
    """
    path = without_column(path)
    if path.exists():
        return path
    compressed = (path.with_name(path.name + suffix) for suffix in COMPRESSED_SUFFIXES)
    return next((other for other in compressed if other.exists()), path)


def plain_name(name: str) -> str:
    """Return a file name without the suffix of a compression format, if it has one."""
    return next((name.removesuffix(suffix) for suffix in COMPRESSED_SUFFIXES if name.endswith(suffix)), name)


def is_plain(path: Path) -> bool:
    """Return whether a local file is not compressed."""
    with path.open("rb") as file:
        head = file.read(max(map(len, _FORMATS)))
    return not any(head.startswith(magic) for magic in _FORMATS)


def seems_packed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes, which are no valid text, seems to be a packed one."""
    return head.startswith((*_UNREADABLE, *_FORMATS))


def raw_lines(path: Path) -> Generator[bytes, None, None]:
    """Yield the lines of a file, a compressed file or a Parquet column, with their line feeds.

    Raises:
        DataError: if a compressed file is truncated or damaged (the message names the line where reading failed), a
            line has more than 16 MiB, a column does not exist, or a URL cannot be read.
    """
    column = column_of(path)
    path = find_file(path)
    with explain_far_errors(path):
        yield from _text_lines(path) if column is None else column_lines(path, column)


def _text_lines(path: Path) -> Generator[bytes, None, None]:
    with path.open("rb") as opened, io.BufferedReader(cast(io.RawIOBase, opened), _BUFFER) as file:
        head = file.peek(max(map(len, _FORMATS)))
        form = next((form for magic, form in _FORMATS.items() if head.startswith(magic)), None)
        if form is None:
            yield from _lines_of(file, path, "plain")
            return
        name, decompress = form
        with io.BufferedReader(decompress(cast(BinaryIO, file))) as plain:
            yield from _lines_of(plain, path, name)


def _lines_of(file: "io.BufferedReader[Any]", path: Path, form: str) -> Iterator[bytes]:
    for number in count(1):
        try:
            line = file.readline(_LONGEST + 1)
        except (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, gzip.BadGzipFile) as error:
            what = "truncated here" if isinstance(error, EOFError) else f"damaged here ({error})"
            where = f"{path}, line {number}: the {form} file"
            raise DataError(f"{where} is {what}; copy it again, or compress it again") from None
        if not line:
            return
        if len(line) > _LONGEST:
            raise DataError(
                f"{path}, line {number}: longer than {_LONGEST >> 20} MiB; this is not text with one segment per line; "
                "give another file"
            )
        yield line
