"""Routes compatible with the APIs of other services: OpenAI chat completions, and LibreTranslate."""

import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from postedit.core.editor import Segment
from postedit.core.errors import DataError
from postedit.core.wording import counted
from postedit.serve import api_models as api
from postedit.serve import compat_answers as answers
from postedit.serve.accounts import Access, Caller, CallerDep, caller, caller_known, caller_with
from postedit.serve.api_answers import answering
from postedit.serve.api_types import ListOf
from postedit.serve.backlog import token_count
from postedit.serve.chat_messages import given_mt, read_task
from postedit.serve.http_errors import HttpError, field_name
from postedit.serve.inline_markup import MarkedSegment
from postedit.serve.middleware import BYTES_BEFORE_SIGN_IN, limited
from postedit.serve.routes_edit import aside, check_count, check_texts, marked_segments
from postedit.serve.service import Service, ServiceDep, unless_gone
from postedit.text.language_tags import same_language
from postedit.text.languages import known_languages, language_identifier

router = APIRouter(tags=["compatible with other services"], responses=api.ERRORS)

_MOST: Final = 1000  # parts, messages, or texts of a request; the settings have a lower limit for segments


class _Lenient(BaseModel):
    """Base class of requests whose unknown fields, such as a temperature, are ignored."""

    model_config = ConfigDict(extra="ignore")


class ContentPart(_Lenient):
    """A part of a message; only text counts."""

    type: str = Field(examples=["text"])
    text: api.Text = ""


class ChatMessage(_Lenient):
    """A message of a chat."""

    role: str = Field(examples=["user"])
    content: api.Text | ListOf[ContentPart] | None = Field(
        None,
        description="content; for the forms of the last user message, see the documentation of this API",
        examples=['{"source": "Press the red button.", "translation": "Drücken Sie die rote Knopf."}'],
    )

    @property
    def text(self) -> str:
        """The text of the message, all parts joined; empty if there is no content."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(_Lenient):
    """Options of a streamed response."""

    include_usage: bool = False


class ChatRequest(_Lenient):
    """A chat whose last user message has what is to be corrected."""

    model: str = Field(
        max_length=300, description="MODEL, or MODEL/PROJECT with the id of a project whose corrections apply"
    )
    messages: list[ChatMessage] = Field(min_length=1, max_length=_MOST)
    stream: bool = False
    stream_options: StreamOptions | None = None


_API_KEY: Final = Field(None, max_length=200, description="a key, if it is not in the header Authorization")


class TranslateRequest(_Lenient):
    """One or several sources, with their translations to correct."""

    q: api.Text | ListOf[api.Text] = Field(description="source", examples=["Press the red button."])
    source: str = Field("auto", max_length=100, description="code of its language", examples=["en"])
    target: str = Field("", max_length=100, description="code of the language of the translation", examples=["de"])
    translation: api.Text | ListOf[api.Text] | None = Field(
        None,
        description="translation to correct, one per text; optional for models with a first stage or of src alone",
        examples=["Drücken Sie die rote Knopf."],
    )
    format: Literal["text", "html"] = Field("text", description="html: tags are kept")
    model: str | None = Field(None, max_length=200, description="model; else that of the project, or of the languages")
    project: str | None = Field(None, max_length=200, description="id of the project whose corrections apply")
    api_key: str | None = _API_KEY

    @property
    def texts(self) -> list[str]:
        """The sources, as a list also if `q` is one text."""
        return [self.q] if isinstance(self.q, str) else self.q


class DetectRequest(_Lenient):
    """A text whose language is to be detected."""

    q: api.Text = Field(examples=["Drücken Sie den roten Knopf."])
    api_key: str | None = _API_KEY


@router.post("/v1/chat/completions", **answering(answers.ChatAnswer))
async def chat(asked: ChatRequest, request: Request, service: ServiceDep, who: CallerDep) -> Any:
    """Correct a translation, in the form of OpenAI's chat completions.

    The last user message has the source and the existing translation, and may have a glossary. The answer is only the
    corrected translation. Other messages, and options such as the temperature, are ignored.
    """
    model, _, project = asked.model.partition("/")
    who.require("edit", project or None)
    message = next((one.text for one in reversed(asked.messages) if one.role == "user"), "")
    # A long glossary takes seconds.
    task = await Access(service, who).with_texts(partial(read_task, message), len(message))
    check_texts(service.config.limits, [text for one in task.segments for text in (one.src, one.mt)])
    check_count(service.config.limits, len(task.segments))
    needs_mt = service.engine.facts(model).abilities.needs_mt
    segments = task.to_edit(needs_mt=needs_mt)
    work = service.engine.edit(
        segments, model=model, project=project or None, glossary=task.glossary, client=who.share_holder
    )
    found = await unless_gone(request, work)
    text = task.answer([one.text for one in found.results], needs_mt=needs_mt)
    answer = _ChatAnswer(asked, segments, text)
    return StreamingResponse(answer.chunks(), media_type="text/event-stream") if asked.stream else answer.whole()


class _ChatAnswer:
    """A chat completion in the form of OpenAI's API."""

    def __init__(self, asked: ChatRequest, segments: Sequence[Segment], text: str) -> None:
        self._text = text
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": asked.model}
        self._with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        read, written = sum(map(token_count, segments)), token_count(Segment(self._text))
        self._usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}

    def whole(self) -> dict[str, Any]:
        """Return the answer as one object."""
        message = {"role": "assistant", "content": self._text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": self._usage}

    async def chunks(self) -> AsyncIterator[str]:
        """Yield the answer as server-sent events."""
        yield self._event({"role": "assistant", "content": ""}, None)
        yield self._event({"content": self._text}, None)
        yield self._event({}, "stop")
        if self._with_usage:
            yield _sse({**self._head, "object": "chat.completion.chunk", "choices": [], "usage": self._usage})
        yield "data: [DONE]\n\n"

    def _event(self, delta: dict[str, str], finish: str | None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _sse({**self._head, "object": "chat.completion.chunk", "choices": [choice]})


def _sse(values: dict[str, Any]) -> str:
    return f"data: {json.dumps(values, ensure_ascii=False)}\n\n"


_FORM: Final = {
    "requestBody": {
        "required": True,
        "content": {
            name: {"schema": TranslateRequest.model_json_schema()}
            for name in ("application/json", "application/x-www-form-urlencoded")
        },
    }
}


@router.post("/translate", openapi_extra=_FORM, **answering(answers.Translated))
async def translate(request: Request, service: ServiceDep) -> dict[str, Any]:
    """Correct translations, with requests as LibreTranslate takes them: JSON or a form.

    `translation`, which LibreTranslate does not have, is the text to correct; only models with a first stage,
    and models that read only the source, can work without it.
    """
    asked, who = await _of_body(TranslateRequest, request, service)
    who.require("edit", asked.project)
    given = [asked.translation] if isinstance(asked.translation, str) else asked.translation
    translations: list[str | None] = [None] * len(asked.texts) if given is None else [*given]
    if len(translations) != len(asked.texts):
        count = counted(len(asked.texts), "text")
        raise DataError(f"q has {count}, and translation {len(translations):,}; give one for each")
    check_texts(service.config.limits, [*asked.texts, *translations])
    check_count(service.config.limits, len(asked.texts))
    pairs = [Segment(src, given_mt(src, mt)) for src, mt in zip(asked.texts, translations, strict=True)]
    marked = await aside(pairs, marked_segments, pairs, "html") if asked.format == "html" else None
    segments = pairs if marked is None else [one.segment for one in marked]
    model = asked.model or await service.engine.model_of(asked.project)
    model = model or _model_for(service, asked.source, asked.target)
    work = service.engine.edit(segments, model=model, project=asked.project, client=who.share_holder)
    found = await unless_gone(request, work)
    texts = [one.text for one in found.results]
    if marked is not None:
        texts = await aside(pairs, lambda: list(map(MarkedSegment.written, marked, found.results)))
    answer: dict[str, Any] = {"translatedText": texts[0] if isinstance(asked.q, str) else texts}
    if asked.source == "auto":
        detected = [(await to_thread.run_sync(_detected, text))[0] for text in asked.texts]
        answer["detectedLanguage"] = detected[0] if isinstance(asked.q, str) else detected
    return answer


@router.get("/languages", **answering(answers.Languages))
async def languages(service: ServiceDep) -> list[dict[str, Any]]:
    """List the languages of the models, in the form of LibreTranslate; all known ones if a model does not name its own.

    As with LibreTranslate, this needs no key: clients call it before they have one, or send keys only in bodies.
    """
    pairs = {service.engine.facts(name).abilities.languages for name in service.config.models}
    if any(not all(pair) for pair in pairs):
        known = await to_thread.run_sync(known_languages)
        return [{"code": code, "name": code, "targets": list(known)} for code in known]
    sources = sorted({source for source, _ in pairs})
    return [
        {"code": one, "name": one, "targets": sorted(target for source, target in pairs if source == one)}
        for one in sources
    ]


@router.post("/detect", openapi_extra=_FORM, **answering(answers.DetectedLanguages))
async def detect(request: Request, service: ServiceDep) -> list[dict[str, Any]]:
    """Detect the language of a text, in the form of LibreTranslate: up to three codes, with confidences in per cent."""
    asked, who = await _of_body(DetectRequest, request, service)
    who.require("edit")
    check_texts(service.config.limits, [asked.q])
    return await to_thread.run_sync(_detected, asked.q)


async def _of_body(kind: type[api.ModelT], request: Request, service: Service) -> tuple[api.ModelT, Caller]:
    """Return the request in a JSON or form body, and its caller, whose key may be in the body.

    If the caller is not known before the body is read, the body is limited to `BYTES_BEFORE_SIGN_IN`.
    """
    problem, who = None, None
    try:
        who = caller_known(request.scope) or await to_thread.run_sync(caller_with, "", request, service)
    except HttpError:
        request = Request(request.scope, limited(request.receive, BYTES_BEFORE_SIGN_IN))
    try:
        values = await _values(request)
    except HttpError as error:
        values, problem = {}, error
    if who is None:
        key = values.get("api_key") if isinstance(values, dict) else None
        who = await to_thread.run_sync(caller_with, key.strip() if isinstance(key, str) else "", request, service)
    else:
        who = await caller(request, service)
    if problem is not None:
        raise problem
    try:
        return kind.model_validate(values), who
    except ValidationError as error:
        problems = [f"{field_name(one['loc'])}: {one['msg']}" for one in error.errors()]
        raise HttpError(422, "; ".join(problems[:10])) from None


async def _values(request: Request) -> Any:
    try:
        kind = request.headers.get("content-type", "")
        if kind.startswith("application/x-www-form-urlencoded"):  # `request.form` would replace invalid UTF-8
            text = (await request.body()).decode()
            return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST))
        if kind.startswith("multipart/"):
            async with request.form(max_files=0) as form:  # files would be written to disk
                return dict(form)
        return await request.json()
    except UnicodeDecodeError:
        raise HttpError(422, "the body has text that is not UTF-8; send it as UTF-8") from None
    except (ValueError, RecursionError):
        raise HttpError(422, "the body is neither JSON nor a form") from None


def _model_for(service: Service, source: str, target: str) -> str:
    """Return the name of the first model for a language pair; the default model if none names that pair."""
    for name in service.config.models:
        pair = service.engine.facts(name).abilities.languages
        if all(pair) and same_language(pair[1], target) and (source == "auto" or same_language(pair[0], source)):
            return name
    return service.config.default


def _detected(text: str) -> list[dict[str, Any]]:
    ranks = language_identifier(probabilities=True).rank(text)[:3]
    return [{"language": code, "confidence": round(100 * float(share), 1)} for code, share in ranks]
