"""Answers of the doors for tools that speak to other services, as OpenAPI describes them; see `api_answers`."""

from typing import Literal

from pydantic import BaseModel, Field, RootModel


class ChatUsage(BaseModel):
    """Tokens of a chat, counted as the limits of the service count them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReply(BaseModel):
    """The message that answers."""

    role: Literal["assistant"]
    content: str = Field(description="the corrected translation alone; of several strings, as they were given")
    refusal: None


class ChatChoice(BaseModel):
    """The one answer to a chat."""

    index: Literal[0]
    message: ChatReply
    logprobs: None
    finish_reason: Literal["stop"]


class ChatAnswer(BaseModel):
    """An answer in the form of OpenAI's API; with `stream`, chunks of it as server-sent events."""

    id: str
    created: int = Field(description="seconds since 1970")
    model: str
    object: Literal["chat.completion"]
    choices: list[ChatChoice]
    usage: ChatUsage


class DetectedLanguage(BaseModel):
    """What language a text may be in."""

    language: str
    confidence: float = Field(description="per cent")


class DetectedLanguages(RootModel[list[DetectedLanguage]]):
    """What languages a text may be in, the likeliest first."""


class Translated(BaseModel):
    """Corrected translations in the form of LibreTranslate: lists where `q` is one."""

    translatedText: str | list[str]  # noqa: N815 (the names are those of LibreTranslate)
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] = Field(  # noqa: N815
        default_factory=list[DetectedLanguage], description="of the source, if it was `auto`"
    )


class LanguageOut(BaseModel):
    """A language, and those that it is translated to."""

    code: str
    name: str
    targets: list[str]


class Languages(RootModel[list[LanguageOut]]):
    """The languages of the models."""
