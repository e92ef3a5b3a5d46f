"""Write files atomically, so that a reader sees the old content or the new, never a part; explain failures in words."""

import errno
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from postedit.core.errors import OutputError
from postedit.core.output_paths import encode_output, is_stream, link_target, open_stream

_LARGEST_TEXT: Final = 1 << 26
"""Largest size of a text, JSON or TOML file in bytes; the largest vocabularies have a third of it, and a parsed file
takes ten times as much memory."""

_ALL: Final = 0o666  # all permissions to read and write, of which the umask takes some

_WRITER: Final = re.compile(r"([0-9]+)-[0-9]+")
"""Part of the name of a temporary file: the id of the process that writes it, and a number, unique in that process."""

_NUMBERS: Final = count()


@contextmanager
def atomic_write(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the name `path` only when the block ends without an error.

    A file that is replaced passes on its permissions; if `path` is a symbolic link, its target is replaced. Files whose
    names end in .gz, .xz or .zst are compressed. Streams (see `postedit.core.output_paths`) are written to directly.
    `mode` is "w" for UTF-8 text with line feeds, "wb" for bytes.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    with explain_os_errors(path):
        if is_stream(path):
            with open_stream(path) as stream, encode_output(stream, path, mode) as file:
                yield file
            return
        target = link_target(path)
        temporary = temporary_path(target)
        try:
            with _created(temporary, target) as raw:
                # A new file has no permissions to take over, and some file systems do not support setting them.
                with suppress(OSError):
                    shutil.copymode(target, temporary)
                with encode_output(raw, path, mode) as file:
                    yield file
                raw.flush()
                os.fsync(raw.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _created(path: Path, target: Path) -> BinaryIO:
    """Create a file that nobody may open, not even while it is empty, who may not open the one that it will replace.

    In a folder that others can write too, the name may be theirs by now: a file or link of that name is not opened.
    """
    try:
        permissions = stat.S_IMODE(target.stat().st_mode) & _ALL
    except OSError:
        permissions = _ALL
    return cast(BinaryIO, open(path, "xb", opener=partial(os.open, mode=permissions)))


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the name `path` when the block ends without an error.

    It replaces any folder of that name; if `path` is a symbolic link, its target is replaced.

    Raises:
        OutputError: if `path` is a file, the folder cannot be written, or the disk is full.
    """
    with explain_os_errors(path):
        path = link_target(path)
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path}: is a file; remove it, or name another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_path(path)
        temporary.mkdir()
        try:
            temporary.chmod(0o755)
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    _fsync(file)
            if path.exists():
                old = temporary_path(path, "old")
                path.replace(old)
                try:
                    temporary.replace(path)
                except OSError:
                    old.replace(path)
                    raise
                shutil.rmtree(old)
            else:
                temporary.replace(path)
            _fsync(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def temporary_path(path: Path, kind: str = "tmp") -> Path:
    """Return an unused name, in the folder of `path`, for a file or folder that is renamed to `path` when complete.

    Remnants that killed processes of this machine have left under such names are removed, unless another process has
    their id by now, as the first process of a container always has.
    """
    begin = f".{path.name}.{zlib.crc32(platform.node().encode()):08x}-"
    for left in path.parent.glob(f"{glob.escape(begin)}*.{kind}"):
        found = _WRITER.fullmatch(left.name.removeprefix(begin).removesuffix(f".{kind}"))
        if found and not _is_running(int(found[1])):
            _remove(left)
    names = (path.with_name(f"{begin}{os.getpid()}-{number}.{kind}") for number in _NUMBERS)
    return next(name for name in names if not os.path.lexists(name))


def is_temporary(path: Path, of: Path) -> bool:
    """Return whether `path` is a temporary file or folder, in use or left over, that would be renamed to `of`."""
    return path.name.startswith(f".{of.name}.") and path.suffix == ".tmp"


def check_writable(path: Path) -> None:
    """Check, before long work, that `path` can be written.

    Raises:
        OutputError: if it is a folder, its parent folder is missing or not writable, or the file or stream itself is
            not writable.
    """
    if is_stream(path):
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path}: cannot be written: permission denied; choose a place that you may use")
        return
    target = link_target(path)
    folder = target.parent
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if not folder.is_dir():
        problem = "is a file; give another folder" if folder.exists() else "does not exist; create it first"
        raise OutputError(f"{path}: its folder {folder} {problem}")
    with explain_os_errors(path):
        with tempfile.TemporaryFile(dir=folder):
            pass
        if target.exists():
            with target.open("ab"):
                pass


def prefix_problem(prefix: str | Path) -> str | None:
    """Return the reason why `prefix` cannot begin the names of files, or None if it can."""
    name = str(prefix)
    if Path(name).name in ("", "..") or name.endswith(os.sep) or "\0" in name:
        return 'must be what the names of files begin with, such as "made" or "folder/made"'
    return _unknown_home(name)


def with_home(path: str | Path) -> Path:
    """Return a path with the home folder in place of `~` or `~user`; unchanged if that folder is not known.

    A user without an entry in the password database, as in some containers, has no home folder if HOME is not set.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def with_known_home(path: str | Path, instead: str) -> Path:
    """Return a path to write with the home folder in place of `~` or `~user`.

    Args:
        path: the path.
        instead: what to do if that folder is not known.

    Raises:
        OutputError: if that folder is not known; otherwise a folder named `~` would be made.
    """
    if problem := _unknown_home(path):
        raise OutputError(f"{path}: {problem}; {instead}")
    return with_home(path)


def _unknown_home(path: str | Path) -> str | None:
    try:
        Path(path).expanduser()
    except RuntimeError:
        return "begins with the home folder of somebody who is not known here"
    return None


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn system errors that occur while writing `path` into readable messages.

    Raises:
        OutputError: in place of any OSError except BrokenPipeError, which means that the reader of a stream closed it.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """Return the cause of an error in words; for common system errors, also what to do about it."""
    reasons = {
        errno.ENOSPC: "the disk is full; free some space and run again",
        errno.EDQUOT: "your disk quota is used up; free some space and run again",
        errno.EFBIG: "the file is larger than this system allows here",
        errno.EACCES: "permission denied; choose a place that you may use",
        errno.EROFS: "the file system is read-only; choose another place",
        errno.EEXIST: "there is a file of this name; remove it, or choose another name",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
        errno.EIO: "the disk, or the connection to it, has failed; check both, and run again",
        errno.ESTALE: "the file server has lost it; connect the shared folder again",
    }
    if not isinstance(error, OSError):
        return str(error)
    return reasons.get(error.errno or 0) or error.strerror or str(error)


def load_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file that fits easily into memory, such as a recipe or a vocabulary.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is larger than 64 MiB, or not in this encoding.
    """
    with path.open("rb") as file:
        content = file.read(_LARGEST_TEXT + 1)
    if len(content) > _LARGEST_TEXT:
        raise ValueError(f"it is larger than {_LARGEST_TEXT >> 20} MiB")
    return content.decode(encoding)


def load_json(path: Path) -> Any:
    """Return the value in a JSON file that fits easily into memory.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is larger than 64 MiB, not UTF-8, not JSON, or nested too deeply.
    """
    try:
        return json.loads(load_text(path))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def save_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` as JSON, atomically.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    with atomic_write(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, for another user
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
