"""Options for translation files: which units are edited, and what is written beside a new target."""

import math
import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from postedit.core.config import Config
from postedit.text.language_tags import LanguagePair

if TYPE_CHECKING:
    from postedit.files.units import Unit

Origin = Literal["machine", "fuzzy", "memory", "human"]
"""Origin of a target: machine translation, a match below 100 %, an exact match, or a person."""


class UnitState(IntEnum):
    """Progress of the translation of a unit, in the terms of XLIFF 2; and a state of those that a reviewer rejected."""

    INITIAL = 0  # not translated, or to be reviewed
    REJECTED = 1
    TRANSLATED = 2
    REVIEWED = 3
    FINAL = 4


OriginName = Literal["unknown", "machine", "fuzzy", "memory", "human"]
MACHINE_NAMES: Final = re.compile(
    r"\b(?:n?mt|machine[ _-]?translat(?:ion|ed)|google|deepl|microsoft translator|bing|amazon translate|modernmt"
    r"|systran|promt|yandex|kantanmt|globalese|language weaver|chatgpt|gpt-\S+|postedit)\b",
    re.IGNORECASE,
)
"""Names that show machine translation where a person or tool is named: "MT!" of Trados, engines, and postedit."""

StateName = Literal["unknown", "rejected", "initial", "translated", "reviewed", "final"]

NOT_EDITED: Final = {
    "locked": "locked, approved, or not to be translated",
    "no source": "no source text",
    "no target": "no target yet, or only a copy of the source (files.translate=true translates, with a model that can)",
    "state": "reviewed or final, or of another state that is not chosen (files.states)",
    "no language": "no target yet, and the file does not say in which language (add trgLang to <xliff>)",
    "origin": "written by a person, or of another origin that is not chosen (files.origins)",
    "match": "the score of the match is outside files.min_match and files.max_match",
}
"""Reasons not to edit a unit, in the order in which they apply."""

SUFFIXES: Final = frozenset([".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff", ".txlf", ".tmx", ".po", ".pot"])
"""Suffixes of translation files, in lower case; .pot is also the suffix of PowerPoint templates."""


class FilesConfig(Config):
    """Options that decide which units of translation files are edited, and what is written beside a new target."""

    origins: tuple[OriginName, ...] = Field(
        default=("unknown", "machine", "fuzzy", "memory"),
        strict=False,
        description="origins of targets that are edited, such as machine,fuzzy; also human; unknown: the file "
        "does not say",
    )
    states: tuple[StateName, ...] = Field(
        default=("unknown", "rejected", "initial", "translated"),
        strict=False,
        description="states of targets that are edited, such as initial,translated; also reviewed, final; rejected: "
        "by a reviewer",
    )
    min_match: float = Field(default=0.0, ge=0, description="lowest score of a match that is edited, in percent")
    max_match: float | None = Field(
        default=None,
        ge=0,
        description="highest score of a match that is edited, in percent; above 100 for matches in context",
    )
    languages: LanguagePair = Field(
        default="", description="source and target language to edit in TMX files, such as en:de; the model's if empty"
    )
    check_languages: bool = Field(default=True, description="refuse files in other languages than the model's")
    translate: bool = Field(default=False, description="translate units without a target, if the model can")
    keep_former: bool = Field(default=True, description="keep the former target beside the new one")
    notes: bool = Field(default=False, description="write the edits and their confidence into a note for translators")

    @field_validator("origins", "states", mode="before")
    @classmethod
    def _of_names(cls, value: Any) -> Any:
        return [name.strip() for name in value.split(",")] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_matches(self) -> Self:
        if self.max_match is not None and self.max_match < self.min_match:
            raise ValueError(
                f"max_match ({self.max_match:g}) is below min_match ({self.min_match:g}), so no match would be edited"
            )
        return self

    def reason_not_to_edit(self, unit: "Unit") -> str | None:
        """Return the key in `NOT_EDITED` of the first reason why a unit is not edited, or None."""
        if unit.locked:
            return "locked"
        if not unit.source.text.strip():
            return "no source"
        if not unit.mt:
            return "no target" if not self.translate else None if unit.can_have_target else "no language"
        if state_name(unit.state) not in self.states:
            return "state"
        is_open = unit.state in (UnitState.REJECTED, UnitState.INITIAL)  # its author, or a reviewer, wants it changed
        is_draft = unit.origin == "human" and is_open
        if (unit.origin or "unknown") not in self.origins and not is_draft:
            return "origin"
        high = math.inf if self.max_match is None else self.max_match
        return "match" if unit.score is not None and not self.min_match <= unit.score <= high else None


def state_name(state: UnitState | None) -> StateName:
    """Return the name of a state in `files.states`; "unknown" if the file does not say it."""
    return "unknown" if state is None else state.name.lower()  # type: ignore[return-value]
