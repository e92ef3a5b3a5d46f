"""What the engine moves: some aligned lines; and what it moves them through: stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from postedit.data.resumable_file import encode_lines


@dataclass(frozen=True, slots=True)
class Chunk:
    """Aligned lines of several sides, as bytes of UTF-8: no more than a block is touched until somebody needs lines.

    Args:
        number: which chunk of the input it was made from, from 0 on.
        first_line: where that one starts in the input, from 0 on.
        read: lines that it has there.
        sides: the lines by side; each one ends with a line feed, and all sides have equally many.
        counts: what is to be added up over all chunks, by name.
    """

    number: int
    first_line: int
    read: int
    sides: Mapping[str, bytes]
    counts: Mapping[str, int] = field(default_factory=dict)

    def lines(self, side: str) -> list[str]:
        """Return the lines of a side as texts."""
        return self.sides[side].decode().split("\n")[:-1]

    def with_lines(self, side: str, lines: Sequence[str]) -> Self:
        """Return the same chunk with other lines on a side; each a text without line feeds."""
        return replace(self, sides={**self.sides, side: encode_lines(lines)})


Stage = Callable[[Chunk], Chunk]
"""A pure function: what it returns depends on the chunk alone, whichever process calls it, and in whatever order."""


class StageSpec(Protocol):
    """What a process needs to make its own copy of a stage; it must survive pickling."""

    def build(self) -> Stage:
        """Return the stage; called once in every process that runs it."""
        ...
