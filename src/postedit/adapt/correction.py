"""What a post-editor did with a segment."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from postedit.core.errors import DataError


class Decision(NamedTuple):
    """A decision on a proposed edit: `text` in place of characters `start` to `end` (exclusive) of mt."""

    start: int
    end: int
    text: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """A triplet with where it comes from.

    Args:
        src: the source.
        mt: its machine translation, which the post-editor began with.
        pe: what the post-editor left; the same as mt if it was kept.
        decisions: on the edits that were proposed, if any were.
        author: who made it.
        project: the customer or project that it belongs to; see `CorrectionMemory.delete`.
        file: the file of the segment.
        unit: what the file calls the segment.
        made: when, with a time zone; None: when it is added to a memory.

    Raises:
        DataError: if a text is blank or has a NUL character, which databases cannot hold.
    """

    src: str
    mt: str
    pe: str
    decisions: tuple[Decision, ...] = field(default=(), kw_only=True)
    author: str = field(default="", kw_only=True)
    project: str = field(default="", kw_only=True)
    file: str = field(default="", kw_only=True)
    unit: str = field(default="", kw_only=True)
    made: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for side in ("src", "mt", "pe"):
            if not isinstance(text := getattr(self, side), str):
                raise DataError(f"a correction needs {side} as text, not {text!r:.80}")
            if not text.strip():
                raise DataError(f"a correction needs {side}, which is blank")
        for name in ("src", "mt", "pe", "author", "project", "file", "unit"):
            text = getattr(self, name)
            try:
                text.encode()
            except UnicodeEncodeError:
                raise DataError(f"a correction has lone surrogates in its {name}, which are no text") from None
            if "\0" in text:
                raise DataError(f"a correction has a NUL character in its {name}; remove it")
        if self.made is not None and self.made.tzinfo is None:
            raise DataError("the time of a correction needs a time zone")
        if self.made is not None:
            try:
                self.made.astimezone(UTC)
            except OverflowError:
                raise DataError(
                    f"the time of a correction, {self.made.isoformat()}, is outside the years 1 to 9999 in UTC"
                ) from None


def check_decisions(mt: str, decisions: Sequence[Decision]) -> None:
    """Check that decisions are on spans of mt.

    Raises:
        DataError: naming the first that is not.
    """
    for number, one in enumerate(decisions):
        if not 0 <= one.start <= one.end <= len(mt):
            raise DataError(
                f"decisions.{number}: characters {one.start} to {one.end} are no span of mt, which has {len(mt)}"
            )


def decisions_as_json(decisions: Sequence[Decision]) -> str:
    """Return decisions as they are kept in a database."""
    return json.dumps(decisions, ensure_ascii=False) if decisions else ""


def decisions_of_json(text: str) -> tuple[Decision, ...]:
    """Return the decisions that `decisions_as_json` wrote."""
    return tuple(Decision(*one) for one in json.loads(text)) if text else ()
