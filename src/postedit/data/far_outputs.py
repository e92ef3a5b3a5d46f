"""Outputs in places that only fsspec reaches: written here, and sent there once they are complete.

Object stores cannot append to a file, which unfinished work that goes on with `--resume` needs. Until everything is
complete, it is in the folder `NAME.DIGEST.unsent` of the current folder; the digest is that of the URL.
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

_DIGITS: Final = 8  # of a digest: enough to tell apart what one folder holds


def unsent(path: Path) -> Path:
    """Return the local path that is written in place of `path`, which is `path` itself if it is no URL."""
    if not is_far(path):
        return path
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:_DIGITS]
    return Path(f"{path.name}.{digest}.unsent", path.name)


@contextmanager
def sent(path: Path) -> Iterator[list[str]]:
    """Send what is written beside `unsent(path)` to `path` when the block ends without an error.

    The list is empty until then, and has the URLs that were written at the end. Work that fails stays, if any was done.

    Raises:
        OutputError: at once if nothing can be written there; or if it cannot be sent, and then it stays.
    """
    done: list[str] = []
    if not is_far(path):
        yield done
        return
    _try(path)
    folder = unsent(path).parent
    with explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
    try:
        yield done
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # if it is empty
        raise
    for file in lasting_files(folder):
        goal = path.parent / file.relative_to(folder).as_posix()
        with _explained(goal, f"; it is complete in {folder}: copy it from there"):
            _files_of(goal).put_file(str(file), _name_of(goal))
        done.append(str(goal))
    shutil.rmtree(folder)


def _try(path: Path) -> None:
    """Write a file beside `path` and remove it: rights that are missing are found before hours of work."""
    trial = path.with_name(f".{path.name}.{os.getpid()}.trial")
    with _explained(path, ""):
        _files_of(trial).pipe_file(_name_of(trial), b"")
        _files_of(trial).rm_file(_name_of(trial))


@contextmanager
def _explained(path: Path, what_now: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # every file system of fsspec raises errors of its own
        raise OutputError(f"{path}: cannot be written: {error or type(error).__name__}{what_now}") from None


def _files_of(path: Path) -> Any:
    """Return the file system of a URL."""
    return cast(Any, path).fs


def _name_of(path: Path) -> str:
    """Return the name of a URL in its file system."""
    return str(cast(Any, path).path)
