"""Where edited lines go: to stdout, or into a file that survives an interruption."""

import sys
from collections.abc import Sequence
from typing import Protocol

from postedit.data.resumable_file import encode_lines


class Sink(Protocol):
    """Takes lines in order."""

    @property
    def done(self) -> int:
        """How many lines it has, those of earlier runs included."""
        ...

    @property
    def kept(self) -> str:
        """Where the lines of an unfinished run are, as the end of a sentence; empty if they were passed on."""
        ...

    def write(self, lines: Sequence[str]) -> None:
        """Take further lines and pass them on at once."""
        ...

    def finish(self) -> None:
        """All lines are written."""
        ...


class Stdout:
    """Lines to standard output."""

    kept: str = ""

    def __init__(self) -> None:
        self.done = 0

    def write(self, lines: Sequence[str]) -> None:
        """Write lines, and flush."""
        sys.stdout.buffer.write(encode_lines(lines))
        sys.stdout.buffer.flush()
        self.done += len(lines)

    def finish(self) -> None:
        """Nothing is left to do."""
