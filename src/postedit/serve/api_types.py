"""Types of request values, checked so that no database or file refuses them later; and streaming responses."""

import logging
import re
import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import IO, Annotated, Any, Final, TypeVar
from urllib.parse import quote

from fastapi import Path
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from postedit.core.errors import DataError, OutputError
from postedit.text.words import JOINERS

_log = logging.getLogger(__name__)

T = TypeVar("T")

ListOf = Annotated[list[T], Field(fail_fast=True)]
"""A list of any length, of which only the first wrong entry is reported: a body may have millions."""

_MOST_FIELDS: Final = 100
"""Fields of an object in a body; each unknown one is reported, and a body may have hundreds of thousands."""

_LARGEST: Final = 2**31 - 1  # of a database integer column
_LARGEST_NUMBER: Final = 2**53 - 1  # that JavaScript represents exactly


def _check_text(text: str) -> str:
    """Return a text, checked to be one that databases and files can hold."""
    if "\0" in text:
        raise ValueError("has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has lone surrogates, which are not text") from None
    return text


PlainText = Annotated[str, AfterValidator(_check_text)]
"""Text without NUL characters or lone surrogates."""


_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode categories of invisible characters: control and format characters, and line and paragraph separators."""

_BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that are rendered blank."""

_VIRAMA: Final = 9
"""Unicode combining class of viramas; a joiner after a virama changes how it is rendered."""


def _check_name(text: str) -> str:
    """Return a name without surrounding white space, checked to be visible."""
    name = text.strip()
    _check_seen(name.translate(dict.fromkeys(map(ord, JOINERS))))
    if not any(unicodedata.category(one)[0] not in "ZM" and one not in JOINERS + _BLANKS for one in name):
        raise ValueError("is blank; give one that people can see")
    return name


def _check_user_name(name: str) -> str:
    """Return a user name, checked to look like no other: joiners are allowed only where they change its look.

    Letters and their marks are composed (NFC), since the same name may be typed in either form.
    """
    name = unicodedata.normalize("NFC", name)
    kept = [one for at, one in enumerate(name) if not _shapes(name[:at], one, name[at + 1 :])]
    _check_seen("".join(kept))
    return name


def _shapes(before: str, joiner: str, after: str) -> bool:
    """Return whether a character is a joiner that changes how the letters around it are rendered."""
    if joiner not in JOINERS or not before or not after or not unicodedata.category(after[0]).startswith("L"):
        return False
    if unicodedata.combining(before[-1]) == _VIRAMA:
        return True
    return joiner == JOINERS[0] and _has_form(before[-1], "INITIAL") and _has_form(after[0], "FINAL")


def _has_form(letter: str, form: str) -> bool:
    """Return whether a letter has a positional form of Arabic script, such as "INITIAL" or "FINAL"."""
    try:
        unicodedata.lookup(f"{unicodedata.name(letter)} {form} FORM")
    except (KeyError, ValueError):
        return False
    return True


def _check_seen(name: str) -> None:
    unseen = next((one for one in name if unicodedata.category(one) in _UNSEEN), None)
    if unseen is not None:
        raise ValueError(f"has the character U+{ord(unseen):04X}, which nobody sees; remove it")


Name = Annotated[
    PlainText, AfterValidator(_check_name), Field(max_length=200, json_schema_extra={"minLength": 1, "pattern": r"\S"})
]
"""A name with visible characters; surrounding white space is removed."""

UserName = Annotated[Name, AfterValidator(_check_user_name)]
"""The name of a user."""


def user_name(text: str) -> str:
    """Return a user name, checked and normalised as in requests.

    Raises:
        DataError: if it is not a valid user name.
    """
    try:
        return TypeAdapter(UserName).validate_python(text)
    except ValidationError as error:
        raise DataError(f"the name {text!r} {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


_LANGUAGE: Final = r"^([A-Za-z]{2,3}([\-_][A-Za-z0-9]+)*)?$"
"""A regular expression valid in Python and JavaScript; the workbench form for new projects uses the same one."""


def _check_language(code: str) -> str:
    if re.fullmatch(_LANGUAGE, code) is None:
        raise ValueError(f"{code!r} is not a language code, such as en, de or zh-TW")
    return code


Language = Annotated[
    PlainText,
    AfterValidator(_check_language),
    Field(
        max_length=35,
        description="language code, such as en or pt-BR; empty: any",
        json_schema_extra={"pattern": _LANGUAGE},
    ),
]

Search = Annotated[PlainText, Field(max_length=1000, description="text to look for, whatever its case")]

Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,32}$", description="an id, as the service gives it")]
SegmentNumber = Annotated[int, Path(ge=1, le=_LARGEST, description="number of a segment in its file, from 1")]
EntryNumber = Annotated[int, Path(ge=1, le=_LARGEST_NUMBER, description="number of a correction")]

Small = Annotated[int, Field(ge=0, le=_LARGEST)]
"""A non-negative integer that a database integer column can hold."""

Large = Annotated[int, Field(ge=0, le=_LARGEST_NUMBER)]
"""A non-negative integer that JavaScript represents exactly."""


class Body(BaseModel):
    """Base class of request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_count(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and len(values) > _MOST_FIELDS:
            raise ValueError(f"has {len(values):,} fields, of which {len(cls.model_fields)} are known; send only these")
        return values


def event_response(stream: AsyncIterator[str]) -> StreamingResponse:
    """Return a response with server-sent events, with headers that keep caches and proxies from holding them."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_until_away(stream), media_type="text/event-stream", headers=headers)


async def _until_away(stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield events until the database is unreachable; the client then reconnects, and asks for those it missed."""
    try:
        async for event in stream:
            yield event
    except OutputError as error:
        _log.warning("a stream of events ends: %s", error)


def download(stream: IO[bytes], name: str, media_type: str) -> StreamingResponse:
    """Return a response that downloads the bytes of a stream, to be saved under a name; the stream is closed."""

    def parts() -> Iterator[bytes]:
        with stream:
            yield from iter(lambda: stream.read(2**20), b"")

    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return StreamingResponse(parts(), media_type=media_type, headers={"Content-Disposition": disposition})
