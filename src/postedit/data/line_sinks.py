"""Sinks that write output lines as soon as they are made: to a stream, or to a file that can be continued."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

from postedit.core.errors import OutputError
from postedit.core.files import explain_os_errors
from postedit.core.output_paths import STANDARD_STREAM, encode_output, is_stream, open_stream
from postedit.data.lines import encode_lines
from postedit.data.resumable_file import PartialFile, Record


class StreamSink:
    """Writes lines to a stream at once: to standard output, a device, or a FIFO.

    Raises:
        OutputError: if the stream cannot be opened or written.
    """

    kept: str = ""

    def __init__(self, path: Path = STANDARD_STREAM) -> None:
        self.done = 0
        self._path, self._opened = path, ExitStack()
        with explain_os_errors(path):
            stream = self._opened.enter_context(open_stream(path))
            self._file = self._opened.enter_context(encode_output(stream, path, "wb"))

    def records(self, read: Callable[[Any], Record]) -> list[Record]:
        """Return an empty list, as a stream keeps no lines of an earlier run."""
        return []

    def write(self, lines: Sequence[str]) -> None:
        """Write further lines, and flush the stream."""
        with explain_os_errors(self._path):
            self._file.write(encode_lines(lines))
            self._file.flush()
        self.done += len(lines)

    def finish(self) -> None:
        """Flush the stream, and close it unless it is standard output or standard error."""
        with explain_os_errors(self._path):
            self._opened.close()


LineSink: TypeAlias = StreamSink | PartialFile
"""A sink that takes lines in order and writes them at once."""


def open_sink(path: Path | None, job: Mapping[str, Any], *, resume: bool = False) -> LineSink:
    """Return the sink for the lines of `path`: a file that survives an interruption, or a stream.

    Args:
        path: path of the output; standard output if None.
        job: what determines the lines; see `PartialFile`.
        resume: whether to continue after the lines that an unfinished run left.

    Raises:
        OutputError: if the output cannot be written; if another process writes to it; if there are unfinished lines of
            another job, or any unfinished lines without `resume`; or if `resume` is given for a stream.
    """
    if path is None:
        return StreamSink()
    if not is_stream(path):
        return PartialFile(path, job, resume=resume)
    if resume:
        raise OutputError(f"{path}: is a stream, which keeps no lines of an unfinished run; leave out --resume")
    return StreamSink(path)
