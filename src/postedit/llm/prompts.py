"""Prompts: TOML files with the texts that are sent to a model, and the values that fill their fields.

A prompt has a name, a version, the form of its answers, and two texts with fields in braces: {direction},
{target_language}, {terms}, {examples} and {segments}. All fields are filled in one pass, so braces within their values
have no meaning; `{{name}}` stands for `{name}`. The text of a segment appears only within JSON strings, from which it
cannot escape (see `text.hint_texts`).
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from postedit.core.config import Config, load_config, read_toml
from postedit.core.errors import RecipeError, nearest
from postedit.core.hints import split_fields, unknown_field
from postedit.text.hint_texts import EXAMPLES_TITLE, TERMS_TITLE, Example, TermHint, json_line, section
from postedit.text.language_tags import base_language

AnswerForm = Literal["corrections", "errors"]
"""Parts of an answer about each segment: its correction; or its errors, followed by the correction."""

_FIELDS: Final = ("direction", "target_language", "terms", "examples", "segments")
_NAME: Final = re.compile(r"[\w. -]+")

_NAMES: Final = {
    "am": "Amharic", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer", "ko": "Korean", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "mr": "Marathi", "my": "Burmese", "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


class PromptConfig(Config):
    """The contents of a prompt file."""

    name: str = Field(min_length=1, description="name of the prompt, shown in signatures")
    version: int = Field(ge=1, description="version of the prompt, shown in signatures")
    answer: AnswerForm = Field("corrections", description='"corrections", or "errors": errors before the correction')
    system: str = Field("", description="message of the system")
    user: str = Field(description="message of the user; has the field {segments}")

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):  # the name is shown in signatures, on the screen and in tables
            raise ValueError("must be letters, digits, '-', '_', '.' and spaces")
        return value

    @model_validator(mode="after")
    def _check_fields(self) -> "PromptConfig":
        if self._fields("user").count("segments") != 1 or "segments" in self._fields("system"):
            raise ValueError("the message of the user must have the field {segments} once, and that of the system not")
        if fault := unknown_field(f"{self.system}\n{self.user}", _FIELDS):
            raise ValueError(fault)
        return self

    def shows(self, name: str) -> bool:
        """Return whether the message of the system or of the user has the field `name`."""
        return name in self._fields("system") + self._fields("user")

    def _fields(self, role: Literal["system", "user"]) -> list[str]:
        return split_fields(getattr(self, role))[1]


@dataclass(frozen=True)
class Question:
    """A segment to ask about, with the hints shown beside it.

    Args:
        src: source.
        mt: machine translation of the source.
        examples: corrections of similar segments, the most similar first.
        terms: glossary entries whose terms the source contains.
    """

    src: str
    mt: str
    examples: tuple[Example, ...] = ()
    terms: tuple[TermHint, ...] = ()

    def line(self, identifier: str) -> str:
        """Return the segment as a line of the prompt."""
        return json_line({"id": identifier, "source": self.src, "translation": self.mt})

    @cached_property
    def values(self) -> list[Any]:
        """All texts on which the answer depends, as values for JSON."""
        return [self.src, self.mt, [one.line() for one in self.examples], [one.line() for one in self.terms]]


@dataclass(frozen=True)
class Prompt:
    """A prompt for a language pair."""

    config: PromptConfig
    languages: tuple[str, str] = ("", "")

    @classmethod
    def load(cls, name: str, languages: tuple[str, str] = ("", "")) -> "Prompt":
        """Load a prompt: one that comes with postedit, by its name, or a TOML file.

        Raises:
            RecipeError: if there is no such prompt, or the file is not a valid prompt.
        """
        own = resources.files(__package__) / "prompts"
        known = sorted(entry.name.removesuffix(".toml") for entry in own.iterdir() if entry.name.endswith(".toml"))
        if name in known:
            with resources.as_file(own / f"{name}.toml") as path:
                values = read_toml(path, "prompt")
        elif name.endswith(".toml"):
            values = read_toml(Path(name), "prompt")
        else:
            raise RecipeError(
                f"llm.prompt: there is no prompt {name}{nearest(name, known)} (known here: {', '.join(known)}; others "
                "are TOML files)"
            )
        return cls(load_config(PromptConfig, values, name), languages)

    @cached_property
    def signature(self) -> str:
        """Name, version and a digest of the texts, shown beside scores of outputs."""
        digest = hashlib.sha256(json.dumps(self.config.model_dump(), sort_keys=True).encode()).hexdigest()
        return f"{self.config.name}.v{self.config.version}.{digest[:8]}"

    def messages(
        self, segments: Sequence[str], examples: Sequence[str] = (), terms: Sequence[str] = ()
    ) -> list[dict[str, str]]:
        """Return the messages of a request; the arguments are lines made by `Question`, `Example` and `TermHint`."""
        source, target = map(_named, self.languages)
        fields = {
            "direction": f" from {source} to {target}" if source and target else "",
            "target_language": target or "language of the translation",
            "segments": "\n".join(segments),
            "examples": section(EXAMPLES_TITLE, examples),
            "terms": section(TERMS_TITLE, terms),
        }
        texts = {"system": self.config.system, "user": self.config.user}
        return [{"role": role, "content": _filled(text, fields)} for role, text in texts.items() if text.strip()]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an answer."""
        text = {"type": "string"}
        error = _object({"span": text, "category": text, "severity": text})
        errors = {"errors": {"type": "array", "items": error}} if self.config.answer == "errors" else {}
        item = _object({"id": text, **errors, "correction": text})
        return _object({"segments": {"type": "array", "items": item}})


def _named(tag: str) -> str:
    """Return the English name of a language, and its tag if that has more subtags, as in "Chinese (zh-TW)"."""
    name = _NAMES.get(base_language(tag))
    if name is None:
        return tag
    return name if base_language(tag) == tag.lower() else f"{name} ({tag})"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _filled(text: str, fields: Mapping[str, str]) -> str:
    parts, names = split_fields(text)
    return "".join(part + (fields[name] if name else "") for part, name in zip_longest(parts, names)).strip()
