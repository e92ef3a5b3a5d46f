"""Output paths: files, links to them, compressed files, and streams.

Files are replaced atomically (`postedit.core.files`); streams are written to directly. A stream is `-` or `/dev/stdout`
for standard output, an open file descriptor (`/dev/fd/N`), a device, or a FIFO.
"""

import gzip
import io
import lzma
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from postedit.core.errors import OutputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd  # the module that Python 3.14 has in its standard library

STANDARD_STREAM: Final = Path("-")  # standard output as a path to write, standard input as a path to read

_DESCRIPTOR: Final = re.compile(r"/dev/(?P<name>stdin|stdout|stderr)|/(?:dev|proc/self)/fd/(?P<number>\d+)")
_NUMBERS: Final = {"stdin": 0, "stdout": 1, "stderr": 2}

_MOST_LINKS: Final = 40  # symbolic links followed before a path counts as a loop, as in Linux

_COMPRESSORS: Final[Mapping[str, Callable[[BinaryIO], Any]]] = {
    ".gz": lambda file: gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0),  # no time stamp: reproducible
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 (its caller closes it)
    ".zst": lambda file: zstd.ZstdFile(file, "wb"),
}

COMPRESSED_SUFFIXES: Final = tuple(_COMPRESSORS)  # suffixes of compressed files: gzip, xz and Zstandard


def is_compressed(path: Path) -> bool:
    """Return whether the file name has the suffix of a compressed file."""
    return path.suffix in _COMPRESSORS


def is_standard_input(path: Path) -> bool:
    """Return whether a path to read names standard input: `-`, `/dev/stdin`, `/dev/fd/0`, or a link to one."""
    return path == STANDARD_STREAM or _descriptor(link_target(path)) == 0


def is_stream(path: Path) -> bool:
    """Return whether `path` is written to as a stream, which is not replaced and cannot be read back."""
    path = link_target(path)
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def link_target(path: Path) -> Path:
    """Return the target of `path` if it is a symbolic link, else `path`.

    Names of open file descriptors, such as /dev/stdout, are not followed.

    Raises:
        OutputError: if the links form a loop.
    """
    target = path
    for _ in range(_MOST_LINKS):
        if _descriptor(target) is not None or not target.is_symlink():
            return target
        target = target.parent / target.readlink()
    raise OutputError(f"{path}: cannot be written: its symbolic links form a loop; remove it, or name another file")


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths name the same file, directly or through links; False for streams."""
    if is_stream(one) or is_stream(other):
        return False
    try:
        return one.samefile(other)
    except OSError:  # one does not exist yet
        return one.resolve() == other.resolve()


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a stream for writing bytes; a FIFO blocks until it has a reader. Standard streams are not closed."""
    number = _descriptor(link_target(path))
    standard = {1: sys.stdout, 2: sys.stderr}.get(-1 if number is None else number)
    if standard is not None:
        standard.flush()
        yield standard.buffer
        standard.buffer.flush()
        return
    # A device or a pipe must be neither created nor truncated.
    descriptor = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    file = open(descriptor, "wb")  # noqa: PTH123, SIM115 (a descriptor; closed below)
    try:
        yield file
    except BaseException:
        with suppress(OSError):  # closing writes what is buffered, and fails again if writing has failed
            file.close()
        raise
    file.close()


@contextmanager
def encode_output(file: BinaryIO, path: Path, mode: str) -> Iterator[IO[Any]]:
    """Wrap the binary `file` for writing text (mode "w") or bytes ("wb"), compressed if `path` has such a suffix."""
    with ExitStack() as stack:
        if is_compressed(path):
            file = cast(BinaryIO, stack.enter_context(closing(_COMPRESSORS[path.suffix](file))))
        if "b" in mode:
            yield file
            return
        # File names in the text may have bytes that are not UTF-8, which are written as escapes, as in JSON.
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()  # the caller closes the file


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file descriptor that a path names, or None."""
    if path == STANDARD_STREAM:
        return 1
    match = _DESCRIPTOR.fullmatch(str(path))
    if match is None:
        return None
    return _NUMBERS[match["name"]] if match["name"] else int(match["number"])
