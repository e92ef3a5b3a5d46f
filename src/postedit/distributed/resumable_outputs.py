"""Output files that grow side by side, survive any interruption, and get their names once all are complete."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final

from postedit.core.checksums import damaged_files, read_checksums, record_checksums
from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write, check_writable, explain_os_errors, load_json, save_json
from postedit.core.output_paths import is_stream, link_target
from postedit.data.resumable_file import beside_target, lock_output, unlock_output
from postedit.distributed.chunks import Chunk

SAVE_SECONDS: Final = 2.0
"""Interval between writes of the journal: a balance between work lost in an interruption and time for an fsync."""


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The names of the files of a job: PREFIX.SIDE, PREFIX.json and PREFIX.sha256, and their unfinished forms."""

    prefix: Path
    sides: Sequence[str]
    extras: Sequence[str] = ()  # names, after PREFIX, of further files beside them

    @property
    def manifest(self) -> Path:
        """The file that is written once all others are complete; it is current if the files are `whole`."""
        return self.named("json")

    @property
    def checksums(self) -> Path:
        """The file with the digests of the others."""
        return self.named("sha256")

    @property
    def journal(self) -> Path:
        """The file that records the progress of an unfinished run."""
        return self.named("partial.json")

    @property
    def all(self) -> list[Path]:
        """All files that exist during a run or after it."""
        sides = [path for side in self.sides for path in (self.named(side), self.partial(side))]
        extras = map(self.named, self.extras)
        return [*sides, *extras, self.manifest, self.checksums, self.journal, self.named("lock")]

    def named(self, name: str) -> Path:
        """Return PREFIX.NAME."""
        return self.prefix.with_name(f"{self.prefix.name}.{name}")

    def partial(self, side: str) -> Path:
        """Return the unfinished file of a side: PREFIX.SIDE.partial, or beside the target if PREFIX.SIDE is a link."""
        return beside_target(self.named(side), ".partial")

    def whole(self) -> bool:
        """Return whether all finished files match their recorded digests, so that they are from the same run."""
        try:
            digests = read_checksums(self.checksums)
        except DataError:
            return False
        return {self.manifest, *map(self.named, self.sides)} <= set(digests) and not damaged_files(digests)

    def check(self, *, resume: bool) -> None:
        """Check before long work that the files can be written and that no earlier work would be lost.

        Raises:
            OutputError: if they cannot be written, work would be lost, or another process writes to them.
        """
        for name in (*self.sides, *self.extras, "json", "sha256"):
            check_writable(self.named(name))
        if streams := [str(path) for side in self.sides if is_stream(path := self.named(side))]:
            problem = "is a device or a pipe, which keeps no lines"
            raise OutputError(f"{', '.join(streams)}: {problem}; remove it, or choose another prefix of the output")
        if len({self.partial(side).resolve() for side in self.sides}) < len(self.sides):
            names = ", ".join(str(self.named(side)) for side in self.sides)
            raise OutputError(f"{names}: two of them are links to one file; give each a file of its own")
        if self.named("lock").exists():
            lock_output(self.prefix).release()
        if not resume and self.journal.exists():
            raise OutputError(
                f"{self.journal}: belongs to an unfinished run; add --resume to continue it, or delete it to restart"
            )


@dataclass(frozen=True, slots=True)
class OutputState:
    """How far the files have been written; replaced as a whole, so that no interruption leaves it half changed."""

    lengths: Mapping[str, int]  # bytes of each file, by side
    chunks: int = 0  # finished chunks of the input
    lines: int = 0  # finished lines of the input
    counts: Mapping[str, int] = field(default_factory=dict)  # the sum of the counts of these chunks
    whole: bool = False  # whether only the renaming of the files is left


class ResumableOutputs:
    """Writes chunks to PREFIX.SIDE.partial, with a journal beside them, and renames the files when all are complete.

    The journal records what the output is made from, the number of finished chunks, and the length of each file after
    them. Bytes beyond that length belong to an interrupted chunk and are cut off on resumption.

    Args:
        files: names of the files.
        settings: everything that determines the output, by name; values for JSON.
        resume: continue an unfinished run, if there is one.
        save_seconds: interval between writes of the journal; 0 writes it after every chunk.

    Raises:
        OutputError: if files cannot be written, or another process writes to them, or an unfinished run has other
            settings or `resume` is False.
    """

    def __init__(
        self,
        files: OutputFiles,
        settings: Mapping[str, Any],
        *,
        resume: bool = False,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        files.check(resume=resume)
        self._lock = lock_output(files.prefix)
        self._files, self._settings, self._save_seconds = files, dict(settings), save_seconds
        self._open_files: dict[str, IO[bytes]] = {}
        try:
            self.done = self._read_journal() if files.journal.exists() else OutputState(dict.fromkeys(files.sides, 0))
            self.saved = self.done  # as recorded in the journal
            self._open_files = {} if self.done.whole else {side: self._open(side) for side in files.sides}
            self.save()
        except BaseException:
            self.close()
            raise

    def write(self, chunk: Chunk) -> None:
        """Append the lines of the next chunk.

        Raises:
            OutputError: if that fails, for instance because the disk is full. The methods below raise it too.
        """
        before = self.done
        assert chunk.number == before.chunks, "chunks come in order"
        for side, file in self._open_files.items():
            with explain_os_errors(self._files.partial(side)):
                rest = memoryview(chunk.sides[side])
                while rest:
                    rest = rest[file.write(rest) :]
        lengths = {side: length + len(chunk.sides[side]) for side, length in before.lengths.items()}
        counts = dict(Counter(before.counts) + Counter(chunk.counts))
        self.done = OutputState(lengths, before.chunks + 1, before.lines + chunk.size, counts)
        if time.monotonic() - self._saved_at >= self._save_seconds:
            self.save()

    def finish(self, manifest: Mapping[str, Any], extras: Mapping[str, str] | None = None) -> None:
        """Rename all files, then write extra texts, by name, and the manifest; deleting the journal completes the run.

        The manifest and digests of an earlier run stay until they are replaced: if the disk fails before any file has
        been replaced, the output of that run is as whole as before.
        """
        self.done = replace(self.done, whole=True)
        self.save()
        self._close_files()
        for side in self.done.lengths:
            partial, final = self._files.partial(side), self._files.named(side)
            with explain_os_errors(final):
                if partial.exists():  # otherwise it was renamed before an interruption
                    partial.replace(link_target(final))
        for name, text in (extras or {}).items():
            with atomic_write(self._files.named(name)) as file:
                file.write(text)
        save_json(self._files.manifest, manifest)
        written = [self._files.manifest, *map(self._files.named, [*self.done.lengths, *(extras or {})])]
        record_checksums(self._files.checksums, written)
        with explain_os_errors(self._files.journal):
            self._files.journal.unlink()
        unlock_output(self._lock)

    def discard(self) -> None:
        """Delete the unfinished files and the journal."""
        self._close_files()
        for path in (*map(self._files.partial, self.done.lengths), self._files.journal):
            with explain_os_errors(path):
                path.unlink(missing_ok=True)
        unlock_output(self._lock)

    def close(self) -> None:
        """Close the files as they are and release their lock; the run can be resumed later."""
        self._close_files()
        if self._lock.is_locked:
            unlock_output(self._lock)

    def _close_files(self) -> None:
        for file in self._open_files.values():
            file.close()

    def save(self) -> None:
        """Flush the files to disk, then record their lengths in the journal."""
        for side, file in self._open_files.items():
            if not file.closed:
                with explain_os_errors(self._files.partial(side)):
                    os.fsync(file.fileno())
        save_json(self._files.journal, {"job": self._settings, **asdict(self.done)})
        self.saved, self._saved_at = self.done, time.monotonic()

    def _open(self, side: str) -> IO[bytes]:
        """Open a file at the end of its last finished chunk."""
        path, length = self._files.partial(side), self.done.lengths[side]
        with explain_os_errors(path):
            # Unbuffered, so that closing it after a failed write has nothing left to write.
            file = path.open("r+b" if path.exists() else "w+b", buffering=0)
            if file.seek(0, os.SEEK_END) < length:
                file.close()
                problem = f"is shorter than {self._files.journal} records, so the run cannot be resumed"
                raise OutputError(f"{path}: {problem}; delete the journal to restart")
            file.truncate(length)
            file.seek(length)
        return file

    def _read_journal(self) -> OutputState:
        journal = self._files.journal
        try:
            state = load_json(journal)
            settings = dict(state.pop("job"))
            done = OutputState(**state)
            if set(done.lengths) != set(self._files.sides):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise OutputError(f"{journal}: is damaged, so the run cannot be resumed; delete it to restart") from None
        names = {**settings, **self._settings}
        if differing := [name for name in names if settings.get(name) != self._settings.get(name)]:
            problem = f"the unfinished run has another {', another '.join(differing)}"
            raise OutputError(f"{journal}: {problem}; repeat its command, or delete this file to restart")
        return done
