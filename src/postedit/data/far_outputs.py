"""Outputs to URLs, which only fsspec can write: written to a local folder, and sent once they are complete.

Object stores cannot append to a file, as is needed to continue unfinished work with `--resume`. Until everything is
complete, it is kept in `NAME.DIGEST.unsent` in the current folder, where DIGEST is a digest of the URL.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

from postedit.core.checksums import lasting_files
from postedit.core.errors import OutputError
from postedit.core.files import explain_os_errors
from postedit.data.text_paths import is_far

_DIGITS: Final = 8  # digits of a digest that are used: enough to tell apart the outputs in one folder


def unsent(path: Path) -> Path:
    """Return the local path that is written in place of `path`; this is `path` itself unless it is a URL."""
    if not is_far(path):
        return path
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:_DIGITS]
    return Path(f"{path.name}.{digest}.unsent", path.name)


@contextmanager
def sent(path: Path) -> Iterator[list[str]]:
    """Send the files written beside `unsent(path)` to the place of `path` when the block ends without an error.

    Yields an empty list, which is filled with the URLs written at the end. If the block fails, the files written so far
    stay in the local folder; nothing happens if `path` is not a URL.

    Raises:
        OutputError: at the start, if nothing can be written there; at the end, if sending fails (the files then stay).
    """
    done: list[str] = []
    if not is_far(path):
        yield done
        return
    _check_far_writable(path)
    folder = unsent(path).parent
    with explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
    try:
        yield done
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # succeeds only if it is empty
        raise
    for file in lasting_files(folder):
        goal = path.parent / file.relative_to(folder).as_posix()
        with _explain_write_errors(goal, f"; it is complete in {folder}: copy it from there"):
            _files_of(goal).put_file(str(file), _name_of(goal))
        done.append(str(goal))
    shutil.rmtree(folder)


def _check_far_writable(path: Path) -> None:
    """Write a file beside `path` and remove it, so that missing permissions are found before hours of work."""
    trial = path.with_name(f".{path.name}.{os.getpid()}.trial")
    with _explain_write_errors(path, ""):
        _files_of(trial).pipe_file(_name_of(trial), b"")
        _files_of(trial).rm_file(_name_of(trial))


@contextmanager
def _explain_write_errors(path: Path, what_now: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # every file system of fsspec raises errors of its own
        raise OutputError(f"{path}: cannot be written: {error or type(error).__name__}{what_now}") from None


def _files_of(path: Path) -> Any:
    """Return the file system of a URL."""
    return cast(Any, path).fs


def _name_of(path: Path) -> str:
    """Return the path of a URL within its file system."""
    return str(cast(Any, path).path)
