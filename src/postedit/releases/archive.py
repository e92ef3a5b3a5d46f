"""Release files: model folders as compressed tar files, always the same file for the same folder.

Unpacking does not trust them: links, paths that lead out of the folder, and files that grow too large are refused.
"""

import lzma
import re
import tarfile
from pathlib import Path
from typing import IO, Final, cast

from postedit.core.checksums import lasting_files
from postedit.core.errors import DataError
from postedit.core.files import atomic_write

LARGEST: Final = 1 << 29
"""The most bytes that a release may have when unpacked; the largest models have a tenth of it."""

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*/){0,2}[A-Za-z0-9_][A-Za-z0-9._-]*")
_LONGEST: Final = 100  # characters of a name
_CHUNK: Final = 1 << 20


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a folder, except hidden ones, to `archive`, whose name must end in .tar.xz.

    Raises:
        OutputError: if the archive cannot be written.
    """
    with atomic_write(archive, "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for path in lasting_files(folder):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)


def unpack(archive: Path, folder: Path, largest: int = LARGEST, *, name: str | None = None) -> None:
    """Write the files of a release to an empty folder.

    Args:
        archive: a .tar.xz file.
        folder: folder that receives the files.
        largest: the most bytes that the unpacked archive may have.
        name: name of the archive in messages; by default its path.

    Raises:
        DataError: if the archive is damaged or too large, or holds other than plain files with plain names, each once.
        OSError: if the files cannot be written.
    """
    name = name or str(archive)
    try:
        with lzma.open(archive) as packed:
            bounded = cast(IO[bytes], _Bounded(packed, largest))
            with tarfile.open(fileobj=bounded, mode="r|") as tar:
                for member in tar:
                    _write(tar, member, folder)
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeError, ValueError) as error:
        if isinstance(error, DataError):
            raise DataError(f"{name}: {error}") from None
        raise DataError(f"{name}: is damaged, or no release file ({error}); get it again") from None


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    # The holes of a sparse file take no space in the archive, but would be written out.
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise DataError(f"holds {member.name!a}, which is not a plain file; it is not unpacked")
    if not _NAME.fullmatch(member.name) or max(map(len, member.name.split("/"))) > _LONGEST:
        raise DataError(f"holds a file named {member.name!a}, a name that no file of a model has; it is not unpacked")
    path = folder / member.name
    if path.exists() or any(parent.is_file() for parent in path.parents):  # "a" and "a/b"
        raise DataError(f"holds {member.name!a} twice; it is not unpacked")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None
    with path.open("xb") as out:
        while part := content.read(_CHUNK):
            out.write(part)


class _Bounded:
    """A stream that fails after `most` bytes, before they fill memory or disk."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._left, self._most = stream, most, most

    def read(self, size: int) -> bytes:
        """Return the next bytes, `size` at most; raise a DataError if the stream is too long."""
        part = self._stream.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise DataError(f"holds more than {self._most:,} bytes, which no release does; it is not unpacked")
        return part
