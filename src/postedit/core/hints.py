"""Hints: what the prompt of a language model may show beside src and mt, each part within a budget of tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from pydantic import Field

from postedit.core.config import Config
from postedit.core.errors import nearest

HintName = Literal["examples", "glossary", "errors"]
"""Similar corrections, terms of the source, or mt with its errors tagged; each is a stream of a batch."""

HINTS: Final[tuple[HintName, ...]] = get_args(HintName)


_BRACES: Final = re.compile(r"\{(?P<literal>\{\s*[\w-]+\s*\})\}|\{\s*(?P<name>[^\W\d][\w-]*)\s*\}")
"""A word in two pairs of braces, or a name in one pair, with or without spaces inside; JSON in braces is neither."""


def unknown_field(text: str, known: Sequence[str]) -> str | None:
    """Return an error message about the first name in braces that is not a known field; None if all are known."""
    for found in _BRACES.finditer(text):
        if found["name"] and found.group() not in {f"{{{name}}}" for name in known}:
            name = found["name"].lower().replace("-", "_")
            meant = f'; did you mean "{name}"?' if name in known else nearest(name, known)
            return (
                f"{found.group()} is not a field{meant} (known here: {', '.join(known)}); write {{{found.group()}}} if "
                "the prompt should have it as it stands"
            )
    return None


def split_fields(text: str) -> tuple[list[str], list[str]]:
    """Return the texts before, between and after the fields of a prompt, and the names of the fields.

    `{{name}}` is not a field: the texts have `{name}` in its place.
    """
    parts, names, end = [""], list[str](), 0
    for found in _BRACES.finditer(text):
        parts[-1] += text[end : found.start()] + (found["literal"] or "")
        end = found.end()
        if found["name"]:
            names.append(found["name"])
            parts.append("")
    parts[-1] += text[end:]
    return parts, names


class HintConfig(Config):
    """How much of each hint a prompt shows; a hint with no content, or none that fits its budget, is left out."""

    examples: int = Field(4, ge=1, le=50, description="most similar corrections that are shown")
    least_similarity: float = Field(0.3, ge=0, le=1, description="lowest similarity of a correction that is shown")
    examples_tokens: int = Field(300, ge=1, description="largest number of tokens of all corrections, heading included")
    glossary_tokens: int = Field(100, ge=1, description="largest number of tokens of all terms, heading included")
    errors_tokens: int = Field(150, ge=1, description="largest number of tokens of the tagged mt, heading included")

    def budget(self, name: HintName) -> int:
        """Return the largest number of tokens that a hint may have."""
        return {
            "examples": self.examples_tokens,
            "glossary": self.glossary_tokens,
            "errors": self.errors_tokens,
        }[name]


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints in the prompt of a model, in order, and their options."""

    names: tuple[HintName, ...] = ()
    config: HintConfig = field(default_factory=HintConfig)

    @property
    def tokens(self) -> int:
        """The largest number of tokens of all hints together."""
        return sum(map(self.config.budget, self.names))


NO_HINTS: Final = Hints()
"""The hints of a model that reads only src and mt."""
