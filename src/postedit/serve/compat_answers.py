"""Response models of the routes compatible with other services, for OpenAPI only; see `api_answers`."""

from typing import Literal

from pydantic import BaseModel, Field, RootModel


class ChatUsage(BaseModel):
    """Number of tokens of a chat, estimated as for the limits of the service."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReply(BaseModel):
    """The message of the assistant."""

    role: Literal["assistant"]
    content: str = Field(description="only the corrected translation; for `strings`, a JSON list of them")
    refusal: None


class ChatChoice(BaseModel):
    """The one answer to a chat."""

    index: Literal[0]
    message: ChatReply
    logprobs: None
    finish_reason: Literal["stop"]


class ChatAnswer(BaseModel):
    """A chat completion as in OpenAI's API; with `stream`, it is sent in chunks as server-sent events."""

    id: str
    created: int = Field(description="time in seconds since 1970")
    model: str
    object: Literal["chat.completion"]
    choices: list[ChatChoice]
    usage: ChatUsage


class DetectedLanguage(BaseModel):
    """A language that a text may be in."""

    language: str
    confidence: float = Field(description="per cent")


class DetectedLanguages(RootModel[list[DetectedLanguage]]):
    """Languages that a text may be in, the most probable first."""


class Translated(BaseModel):
    """Corrected translations as in LibreTranslate's API; lists if `q` is a list."""

    translatedText: str | list[str]  # noqa: N815 (the names are those of LibreTranslate)
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] = Field(  # noqa: N815
        default_factory=list[DetectedLanguage], description="languages of the source, if it was `auto`"
    )


class LanguageOut(BaseModel):
    """A source language, and the languages that it can be translated to."""

    code: str
    name: str
    targets: list[str]


class Languages(RootModel[list[LanguageOut]]):
    """The source languages of the models."""
