"""Text files whose lines survive an interruption of the work that writes them, so that it can be continued."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock, Timeout

from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write, check_writable, explain_os_errors, load_json, save_json, sha256_of
from postedit.core.output_paths import is_compressed, is_stream, link_target
from postedit.data.compression import find_file
from postedit.data.lines import encode_lines, read_lines

Record = TypeVar("Record")

_BLOCK: Final = 1 << 20  # bytes read at a time


class PartialFile:
    """Writes lines to `OUT.partial`, which is renamed to OUT once complete, or compressed if OUT has such a suffix.

    `OUT.partial.json` records the job; only the same job may continue after the lines that an earlier run left.
    `OUT.lock` keeps other processes from writing to the same file. If OUT is a symbolic link, these files are placed
    beside its target.

    Args:
        path: OUT, the path of the complete file.
        job: everything that determines the lines, by name; values for JSON.
        resume: whether to continue after lines that are there already, if any.

    Raises:
        OutputError: if the file cannot be written; if another process writes to it; if there are lines of another job;
            or if there are lines and `resume` is False.
    """

    def __init__(self, path: Path, job: Mapping[str, Any], *, resume: bool = False) -> None:
        check_partial(path, resume=resume)
        self._path, self._partial = path, beside_target(path, ".partial")
        self._note = beside_target(path, ".partial.json")
        self._lock = lock_output(path)
        if _has_lines(self._partial):
            check_job(self._note, job, self._partial)
        save_json(self._note, job)
        with explain_os_errors(self._partial):
            # Unbuffered, so that closing the file after a failed write does not try to write the rest.
            self._file = self._partial.open("ab+", buffering=0)
            self.done = _cut_torn_line(self._file)

    @property
    def kept(self) -> str:
        """Where the lines of an unfinished run are kept, as the end of a sentence; empty for a stream."""
        return f", kept in {self._partial}"

    def records(self, read: Callable[[Any], Record]) -> list[Record]:
        """Return what `read` makes of the value in each line written so far; see `read_records`."""
        return list(read_records(self._partial, read)) if self.done else []

    def write(self, lines: Sequence[str]) -> None:
        """Write further lines to disk: all or none, so that lines edited together are edited together again on resume.

        Raises:
            OutputError: if writing fails, for instance because the disk is full.
        """
        rest, start = memoryview(encode_lines(lines)), os.fstat(self._file.fileno()).st_size
        try:
            with explain_os_errors(self._partial):
                while rest:
                    rest = rest[self._file.write(rest) :]
                os.fsync(self._file.fileno())
            self.done += len(lines)
        except BaseException:  # Ctrl-C or a full disk
            self._file.truncate(start)
            raise

    @property
    def path(self) -> Path:
        """The path of the partial file, which holds the lines until they are complete."""
        return self._partial

    def discard(self) -> None:
        """Remove the lines, which are no longer needed."""
        with explain_os_errors(self._partial):
            self._file.close()
            self._partial.unlink()
            self._end()

    def finish(self) -> None:
        """Move the complete lines to OUT: rename the partial file, or compress it."""
        with explain_os_errors(self._path):
            self._file.close()
            if is_compressed(self._path):
                with self._partial.open("rb") as lines, atomic_write(self._path, "wb") as file:
                    shutil.copyfileobj(lines, file)
                self._partial.unlink()
            else:
                self._partial.replace(link_target(self._path))
            self._end()

    def _end(self) -> None:
        self._note.unlink(missing_ok=True)
        unlock_output(self._lock)


def check_job(note: Path, job: Mapping[str, Any], partial: Path) -> None:
    """Check that `note`, written when the unfinished work `partial` began, records the same `job`.

    Raises:
        OutputError: if it records a different job, or is missing or damaged.
    """
    before = read_note(note)
    if before is None:
        raise OutputError(
            f"{partial}: cannot be continued, because {note.name}, which records what these lines are made from, is "
            "missing or damaged; delete them to restart"
        )
    differing = [name for name in {**before, **job} if before.get(name) != job.get(name)]
    if differing:
        raise OutputError(
            f"{partial}: these lines were made with another {', another '.join(differing)}; repeat the command that "
            "made them, or delete them to restart"
        )


def recorded_job(path: Path) -> Mapping[str, Any]:
    """Return the job of an unfinished run that writes `path`; empty if there is no such run or it cannot be read."""
    return read_note(beside_target(path, ".partial.json")) or {}


def read_note(note: Path) -> dict[str, Any] | None:
    """Return the job that a note records; None if the note is missing or damaged."""
    try:
        job = load_json(note)
    except (OSError, ValueError):
        return None
    return job if isinstance(job, dict) else None


def read_records(path: Path, read: Callable[[Any], Record]) -> Iterator[Record]:
    """Yield what `read` makes of the JSON value in each line of unfinished work.

    Raises:
        DataError: naming a line that is damaged, or was written by another version.
    """
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = read(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DataError(
                f"{path}: line {number:,} is damaged, or was written by another version of postedit; delete the file "
                "to restart"
            ) from None
        yield record


def file_fingerprint(path: Path) -> dict[str, Any]:
    """Return the size (in bytes) and SHA-256 digest of a file, to be recorded in a job.

    Raises:
        DataError: if `path` is a stream, which cannot be read a second time.
    """
    path = find_file(path)
    if is_stream(path):
        raise DataError(f"{path}: is a stream, and is read more than once here; save it to a file, and name that")
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


def check_partial(path: Path, *, resume: bool, known: Mapping[str, Any] | None = None) -> None:
    """Check, before long work, that its output `path` can be written, and that no unfinished work would be lost.

    With `known`, those entries of the job that are known by now, also check that they agree with the unfinished work.

    Raises:
        OutputError: if one of these does not hold, or if another process writes to `path`.
    """
    check_writable(path)
    if is_stream(path):
        return
    partial = beside_target(path, ".partial")
    check_writable(partial)
    if beside_target(path, ".lock").exists():
        lock_output(path).release()
    if not resume and _has_lines(partial):
        raise OutputError(
            f"{partial}: has lines of an unfinished run; add --resume to continue after them, or delete it to restart"
        )
    if known is not None and _has_lines(partial):
        check_job(beside_target(path, ".partial.json"), {**recorded_job(path), **known}, partial)


def _has_lines(partial: Path) -> bool:
    """Return whether an earlier run wrote any lines, which could be lost."""
    return partial.exists() and partial.stat().st_size > 0


def beside_target(path: Path, ending: str) -> Path:
    """Return the path of a file beside the target of `path`, so that it is on the same disk and shared by all links."""
    path = link_target(path)
    return path.with_name(path.name + ending)


def lock_output(path: Path) -> FileLock:
    """Keep other processes from writing to `path`; the lock is released when this process ends, in whatever way.

    Raises:
        OutputError: if another process holds the lock.
    """
    place = beside_target(path, ".lock")
    # One lock per process: a traceback may still hold a reference to work that was interrupted in this process.
    lock = FileLock(place, timeout=0, thread_local=False, is_singleton=True)
    with explain_os_errors(place):
        try:
            lock.acquire()
        except Timeout:
            holder = place.read_text(encoding="utf-8").strip() or "number unknown"
            raise OutputError(
                f"{path}: another process ({holder}) is writing to it; wait until it ends, or write to another file"
            ) from None
        place.write_text(f"{os.getpid()}\n", encoding="utf-8")
    return lock


def unlock_output(lock: FileLock) -> None:
    """Release a lock, and remove its file."""
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release(force=True)


def _cut_torn_line(file: Any) -> int:
    """Cut off what follows the last line feed of a file opened for appending; return the number of lines left."""
    file.seek(0)
    lines = position = end = 0
    while block := file.read(_BLOCK):
        count = block.count(b"\n")
        if count:
            lines += count
            end = position + block.rindex(b"\n") + 1
        position += len(block)
    file.truncate(end)
    return lines
