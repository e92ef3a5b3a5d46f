"""Corrections of segments, and decisions of post-editors on proposed edits."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from postedit.core.errors import DataError


class Decision(NamedTuple):
    """A decision on a proposed edit, which puts `text` in place of characters `start` to `end` (exclusive) of mt."""

    start: int
    end: int
    text: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """A triplet and where it comes from.

    Args:
        src: source.
        mt: machine translation of the source, which the post-editor started from.
        pe: text that the post-editor left; the same as mt if nothing was changed.
        decisions: decisions on the edits that were proposed, if any were.
        author: name of the post-editor.
        project: customer or project that the correction belongs to; see `CorrectionMemory.delete`.
        file: file that contains the segment.
        unit: identifier of the segment in the file.
        made: time of the correction, with a time zone; None: the time at which it is added to a memory.

    Raises:
        DataError: if a text is not a string, or has a lone surrogate or a NUL character, which databases cannot hold;
            src, mt or pe is blank; a decision is not valid or not on a span of mt; or the time has no time zone.
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
            _check_text(name, getattr(self, name))
        _check_decisions(self.mt, self.decisions)
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


def _check_decisions(mt: str, decisions: object) -> None:
    if not isinstance(decisions, tuple):
        raise DataError(f"the decisions of a correction are a tuple of `Decision`, not {decisions!r:.80}")
    for number, one in enumerate(decisions):
        if not isinstance(one, Decision) or not type(one.start) is type(one.end) is int:
            raise DataError(f"decisions.{number}: must be a `Decision` on characters of mt, not {one!r:.80}")
        if not 0 <= one.start <= one.end <= len(mt):
            raise DataError(
                f"decisions.{number}: characters {one.start} to {one.end} are not a span of mt, which has {len(mt)}"
            )
        _check_text(f"decisions.{number}", one.text)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise DataError(f"a correction needs its {name} as text, not {text!r:.80}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"a correction has lone surrogates in its {name}, which are not text") from None
    if "\0" in text:
        raise DataError(f"a correction has a NUL character in its {name}; remove it")


def decisions_as_json(decisions: Sequence[Decision]) -> str:
    """Return decisions as the text that is stored in a database; empty if there are none."""
    return json.dumps(decisions, ensure_ascii=False) if decisions else ""


def decisions_of_json(text: str, mt: str) -> tuple[Decision, ...]:
    """Return the decisions on mt that `decisions_as_json` wrote.

    Invalid decisions, which earlier versions could store, are left out.
    """
    found = []
    for one in json.loads(text) if text else ():
        with suppress(TypeError, DataError):
            decision = Decision(*one)
            _check_decisions(mt, (decision,))
            found.append(decision)
    return tuple(found)


def check_author(author: object) -> None:
    """Raise a DataError if an author is not text that a memory can hold."""
    _check_text("author", author)
