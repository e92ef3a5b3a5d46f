"""Options of editing translation files: which units are edited, and what an edit leaves in the file."""

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from postedit.core.config import Config

if TYPE_CHECKING:
    from postedit.files.units import Unit

Origin = Literal["machine", "fuzzy", "memory", "human"]
"""Where a target comes from: machine translation, a match below 100 %, an exact match, or a person."""


class UnitState(IntEnum):
    """How far the translation of a unit has come, in the words of XLIFF 2."""

    INITIAL = 0  # not translated, or to be reviewed
    TRANSLATED = 1
    REVIEWED = 2
    FINAL = 3


StateName = Literal["unknown", "initial", "translated", "reviewed", "final"]

NOT_EDITED: Final = {
    "locked": "locked, approved, or not to be translated",
    "no source": "no source text",
    "no target": "no target yet (files.translate=true translates, with a model that can)",
    "state": "reviewed or final (files.states)",
    "origin": "written by a person (files.origins)",
    "match": "the score of the match is outside files.min_match and files.max_match",
}
"""Why a unit is not edited, in the order in which reasons apply."""


class FilesConfig(Config):
    """Which units of translation files are edited, and what an edit leaves."""

    origins: tuple[Origin, ...] = Field(
        ("machine", "fuzzy"),
        strict=False,
        description="targets of these origins are edited unless they are reviewed, final or locked",
    )
    states: tuple[StateName, ...] = Field(
        ("unknown", "initial", "translated"),
        strict=False,
        description="targets in these states are edited, whatever their origin; unknown: the file does not say",
    )
    min_match: float | None = Field(
        None, ge=0, le=100, description="lowest score of a match that is edited, in percent"
    )
    max_match: float | None = Field(
        None, ge=0, le=100, description="highest score of a match that is edited, in percent"
    )
    languages: str = Field(
        "", pattern="^$|^[^:]+:[^:]+$", description="source and target to edit of TMX, as en:de; the model's if empty"
    )
    check_languages: bool = Field(True, description="refuse files of other languages than the model's")
    translate: bool = Field(False, description="translate units without a target, if the model can")
    keep_former: bool = Field(True, description="keep the former target beside the new one")
    notes: bool = Field(False, description="write the edits and their confidence into a note for translators")

    def reason_not_to_edit(self, unit: "Unit") -> str | None:
        """Return the key in `NOT_EDITED` of the first reason why a unit is not edited, or None."""
        if unit.locked:
            return "locked"
        if not unit.source.text.strip():
            return "no source"
        if unit.target is None or not unit.target.text.strip():
            return None if self.translate else "no target"
        chosen = _name(unit.state) in self.states
        is_approved = unit.state is not None and unit.state >= UnitState.REVIEWED
        if not chosen and (is_approved or unit.origin not in self.origins):
            return "state"
        if unit.origin == "human" and "human" not in self.origins and unit.state is not UnitState.INITIAL:
            return "origin"
        low, high = self.min_match or 0, 100 if self.max_match is None else self.max_match
        return "match" if unit.score is not None and not low <= unit.score <= high else None


def _name(state: UnitState | None) -> StateName:
    return "unknown" if state is None else state.name.lower()  # type: ignore[return-value]
