"""Output files that grow side by side, survive any interruption, and take their names when all of them are whole."""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final

from postedit.core.errors import OutputError
from postedit.core.files import atomic_write, check_writable, explain_os_errors
from postedit.synthesis.chunk import Chunk

_SAVE_SECONDS: Final = 2.0
"""Time between two notes of how far the files are: what an interruption can cost, against the price of waiting for
the disk after each chunk."""


@dataclass(frozen=True, slots=True)
class Done:
    """How far the files are. A value that is replaced as a whole, so that no interruption finds half of it changed.

    Args:
        lengths: bytes of each file, by side.
        chunks: chunks of the input that are done.
        lines: lines of the input that are done.
        counts: what these chunks counted, added up.
        whole: whether nothing is left to do but to give the files their names.
    """

    lengths: Mapping[str, int]
    chunks: int = 0
    lines: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False


class Outputs:
    """PREFIX.src and the like: called PREFIX.src.partial until all are whole, with the journal PREFIX.partial.json.

    The journal says what the lines are made from, how many chunks are done, and how long each file was then. What
    stands after that in a file is of a chunk that was cut short, and is cut off when the work goes on.

    Args:
        prefix: what the names of all files start with.
        sides: the files there are.
        job: what determines the lines, by name; values for JSON.
        resume: go on after the chunks that are done, if any.
        save_seconds: time between two writings of the journal; with 0 it is written after every chunk.

    Raises:
        OutputError: if the files cannot be written; if there are chunks of another job; or if there are any and
            `resume` is False.
    """

    def __init__(
        self,
        prefix: Path,
        sides: Sequence[str],
        job: Mapping[str, Any],
        *,
        resume: bool = False,
        save_seconds: float = _SAVE_SECONDS,
    ) -> None:
        check_outputs(prefix, sides, resume=resume)
        self._prefix, self._job, self._save_seconds = prefix, dict(job), save_seconds
        self._journal = _journal(prefix)
        self.done = self._read_journal(sides) if self._journal.exists() else Done(dict.fromkeys(sides, 0))
        self.saved = self.done  # as far as the journal knows
        self._files = {} if self.done.whole else {side: self._open(side) for side in sides}
        self.save()

    @property
    def kept(self) -> str:
        """Where the lines of an unfinished run are, as the end of a sentence."""
        return f", kept in {self._prefix}.*.partial"

    def write(self, chunk: Chunk) -> None:
        """Add the lines of the next chunk.

        Raises:
            OutputError: if that fails, for instance because the disk is full.
        """
        before = self.done
        assert chunk.number == before.chunks, "chunks come in order"
        for side, file in self._files.items():
            with explain_os_errors(_partial(self._prefix, side)):
                rest = memoryview(chunk.sides[side])
                while rest:
                    rest = rest[file.write(rest) :]
        self.done = Done(
            {side: length + len(chunk.sides[side]) for side, length in before.lengths.items()},
            before.chunks + 1,
            before.lines + chunk.read,
            dict(Counter(before.counts) + Counter(chunk.counts)),
        )
        if time.monotonic() - self._saved_at >= self._save_seconds:
            self.save()

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Give all files their names; `PREFIX.json`, with `manifest`, appears last and says that they are whole.

        Raises:
            OutputError: if that fails.
        """
        self.done = replace(self.done, whole=True)
        self.save()
        self.close()
        manifest_path = _final(self._prefix, "json")
        with explain_os_errors(manifest_path):
            manifest_path.unlink(missing_ok=True)  # an older one would speak of files that are replaced now
        for side in self.done.lengths:
            partial, final = _partial(self._prefix, side), _final(self._prefix, side)
            with explain_os_errors(final):
                if partial.exists():  # else it got its name before an interruption
                    partial.replace(final)
        with atomic_write(manifest_path) as file:
            json.dump(manifest, file, indent=2, ensure_ascii=False)
            file.write("\n")
        with explain_os_errors(self._journal):
            self._journal.unlink()

    def discard(self) -> None:
        """Delete what is unfinished: nobody wants to go on with it.

        Raises:
            OutputError: if that fails.
        """
        self.close()
        for path in (*(_partial(self._prefix, side) for side in self.done.lengths), self._journal):
            with explain_os_errors(path):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files as they are, so that the work can go on later."""
        for file in self._files.values():
            file.close()

    def save(self) -> None:
        """Note in the journal how far the files are, once that is on the disk.

        Raises:
            OutputError: if that fails.
        """
        for side, file in self._files.items():
            if not file.closed:
                with explain_os_errors(_partial(self._prefix, side)):
                    os.fsync(file.fileno())
        with atomic_write(self._journal) as journal:
            json.dump({"job": self._job, **asdict(self.done)}, journal, indent=2, ensure_ascii=False)
        self.saved, self._saved_at = self.done, time.monotonic()

    def _open(self, side: str) -> IO[bytes]:
        """Open a file where the last whole chunk ends."""
        path, length = _partial(self._prefix, side), self.done.lengths[side]
        with explain_os_errors(path):
            # Unbuffered, so that closing it after a failed write has nothing left to write.
            file = path.open("r+b" if path.exists() else "w+b", buffering=0)
            if file.seek(0, os.SEEK_END) < length:
                file.close()
                raise OutputError(
                    f"{path}: is shorter than {self._journal} says, so the work cannot be gone on with; delete the "
                    "latter to start anew"
                )
            file.truncate(length)
            file.seek(length)
        return file

    def _read_journal(self, sides: Sequence[str]) -> Done:
        try:
            state = json.loads(self._journal.read_text(encoding="utf-8"))
            job = dict(state.pop("job"))
            done = Done(**state)
            if set(done.lengths) != set(sides):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise OutputError(
                f"{self._journal}: is damaged, so the work cannot be gone on with; delete it to start anew"
            ) from None
        differing = [name for name in {**job, **self._job} if job.get(name) != self._job.get(name)]
        if differing:
            raise OutputError(
                f"{self._journal}: the unfinished run was made with another {', another '.join(differing)}; repeat "
                "the command that began it, or delete this file to start anew"
            )
        return done


def check_outputs(prefix: Path, sides: Sequence[str], *, resume: bool) -> None:
    """Find out before long work whether the files can be written after it, and no earlier work would be lost.

    Raises:
        OutputError: if not.
    """
    for name in (*sides, "json"):
        check_writable(_final(prefix, name))
    journal = _journal(prefix)
    if not resume and journal.exists():
        raise OutputError(
            f"{journal}: is of an unfinished run; add --resume to go on with it, or delete it to start anew"
        )


def output_files(prefix: Path, sides: Sequence[str]) -> list[Path]:
    """Return the names of all files there are while the work goes on, and after it."""
    grown = [name(prefix, side) for side in sides for name in (_final, _partial)]
    return [*grown, _final(prefix, "json"), _journal(prefix)]


def _final(prefix: Path, name: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{name}")


def _partial(prefix: Path, side: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{side}.partial")


def _journal(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.partial.json")
