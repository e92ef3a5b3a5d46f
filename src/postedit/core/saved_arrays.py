"""Arrays that describe the progress of work, saved at intervals, so that interrupted work can be continued."""

import io
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import OutputError
from postedit.core.files import atomic_write, explain_os_errors

_JOB: Final = "job"  # the name of the array that holds the job as JSON
_DAMAGED: Final = (OSError, ValueError, KeyError, EOFError, BadZipFile)


class SavedArrays:
    """A file of arrays that is replaced as a whole at each save, and exists only while the work is unfinished.

    Args:
        path: path of the file.
        job: everything that determines the arrays, by name, as JSON values.
        resume: whether to continue from the file of an earlier run, if there is one; otherwise it will be replaced.
        seconds: time between two saves.
    """

    def __init__(self, path: Path, job: Mapping[str, Any], *, resume: bool = False, seconds: float = 60.0) -> None:
        self.path, self._job, self._resume, self._seconds = path, dict(job), resume, seconds
        self._saved_at, self.is_saved = time.monotonic(), False

    def load(self) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of an unfinished run; None if there are none, or without `resume`.

        Raises:
            OutputError: if the file is damaged, or belongs to another job.
        """
        if not self._resume or not self.path.exists():
            return None
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as file:
                arrays = dict(file)
            job = json.loads(arrays.pop(_JOB).tobytes())
        except _DAMAGED:
            problem = "is damaged, so the work cannot be continued"
            raise OutputError(f"{self.path}: {problem}; delete it, or leave --resume out, to begin anew") from None
        if differing := [name for name in {**job, **self._job} if job.get(name) != self._job.get(name)]:
            raise OutputError(
                f"{self.path}: was made with another {', another '.join(differing)}; repeat the command that made it, "
                "or leave --resume out to begin anew"
            )
        self.is_saved = True
        return arrays

    def is_due(self) -> bool:
        """Return whether it is time for the next save."""
        return time.monotonic() - self._saved_at >= self._seconds

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the file; raise an OutputError if that fails."""
        job, buffer = np.frombuffer(json.dumps(self._job).encode(), np.uint8), io.BytesIO()
        np.savez(buffer, **{**arrays, _JOB: job})  # type: ignore[arg-type]
        with atomic_write(self.path, "wb") as file:
            file.write(buffer.getbuffer())
        self._saved_at, self.is_saved = time.monotonic(), True

    def discard(self) -> None:
        """Remove the file once the work is finished."""
        with explain_os_errors(self.path):
            self.path.unlink(missing_ok=True)
