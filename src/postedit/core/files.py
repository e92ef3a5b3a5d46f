"""Writing files so that a reader sees the old content or the new, never a part; and saying why a write failed."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from postedit.core.errors import OutputError


@contextmanager
def atomic_write(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the name `path` only when the block ends without an error.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    encoding = None if "b" in mode else "utf-8"
    newline = None if "b" in mode else "\n"
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with explain_os_errors(path):
        try:
            with temporary.open(mode, encoding=encoding, newline=newline) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which takes the name `path` (replacing what is there) when the block ends well.

    Raises:
        OutputError: if it cannot be written, or the disk is full.
    """
    with explain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
        try:
            temporary.chmod(0o755)
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    _fsync(file)
            if path.exists():
                old = path.with_name(f".{path.name}.{os.getpid()}.old")
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


def check_writable(path: Path) -> None:
    """Find out before long work whether `path` can be written after it.

    Raises:
        OutputError: if it is a folder, or its folder is missing or cannot be written.
    """
    folder = path.parent
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if not folder.is_dir():
        raise OutputError(f"{path}: its folder {folder} does not exist; create it first")
    with explain_os_errors(path):
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists():
            with path.open("ab"):
                pass


def prefix_problem(prefix: str | Path) -> str | None:
    """Return why there can be no files whose names begin with `prefix`, or None."""
    name = str(prefix)
    if Path(name).name in ("", "..") or name.endswith(os.sep) or "\0" in name:
        return 'must be what the names of files begin with, such as "made" or "folder/made"'
    try:
        Path(name).expanduser()
    except RuntimeError:
        return "begins with the home folder of somebody who is not known here"
    return None


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn a failure of the system while writing `path` into a sentence.

    Raises:
        OutputError: in place of any OSError.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """Return in words why the system refused something, and what to do."""
    reasons = {
        errno.ENOSPC: "the disk is full; free some space and run again",
        errno.EDQUOT: "your disk quota is used up; free some space and run again",
        errno.EFBIG: "the file is larger than this system allows here",
        errno.EACCES: "permission denied; choose a place you may write to",
        errno.EROFS: "the file system is read-only; choose another place",
    }
    return reasons.get(error.errno or 0) or error.strerror or str(error)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
