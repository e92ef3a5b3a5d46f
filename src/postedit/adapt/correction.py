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
        DataError: if a text is none, is blank or has a NUL character, which databases cannot hold, or the time has no
            time zone.
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
            if not isinstance(text := getattr(self, name), str):
                raise DataError(f"a correction needs its {name} as text, not {text!r:.80}")
            try:
                text.encode()
            except UnicodeEncodeError:
                raise DataError(f"a correction has lone surrogates in its {name}, which are no text") from None
            if "\0" in text:
                raise DataError(f"a correction has a NUL character in its {name}; remove it")
        if self.made is not None:
            _check_time(self.made)


def _check_time(made: datetime) -> None:
    if not isinstance(made, datetime):
        raise DataError(f"the time of a correction is a datetime with a time zone, not {made!r:.80}")
    if made.tzinfo is None:
        raise DataError("the time of a correction needs a time zone")
    try:
        made.astimezone(UTC)
    except OverflowError:
        raise DataError(
            f"the time of a correction, {made.isoformat()}, is outside the years 1 to 9999 in UTC"
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
