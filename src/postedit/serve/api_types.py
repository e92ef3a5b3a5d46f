"""Values of requests, checked so far that no database and no file refuses them; and responses of many parts."""

import logging
import re
import unicodedata
from collections.abc import AsyncIterator, Iterator
from typing import IO, Annotated, Final
from urllib.parse import quote

from fastapi import Path
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from postedit.core.errors import DataError, OutputError

_log = logging.getLogger(__name__)

_LARGEST: Final = 2**31 - 1  # integer of a database
_LARGEST_NUMBER: Final = 2**53 - 1  # that JavaScript has, too


def _check_text(text: str) -> str:
    """Return text that databases and files can hold."""
    if "\0" in text:
        raise ValueError("has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has lone surrogates, which are no text") from None
    return text


PlainText = Annotated[str, AfterValidator(_check_text)]
"""Text without NUL characters and lone surrogates."""


_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Categories of Unicode: control and format characters, which move or hide others, and ends of lines."""

_JOINERS: Final = "\u200c\u200d"
"""Which the words of some languages need, such as Persian and Hindi."""


_BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols without ink."""

_VIRAMA: Final = 9
"""The combining class of signs that a joiner behind them shapes."""


def _check_name(text: str) -> str:
    """Return a name without blanks around it."""
    name = text.strip()
    _check_seen(name.translate(dict.fromkeys(map(ord, _JOINERS))))
    if not any(unicodedata.category(one)[0] not in "ZM" and one not in _JOINERS + _BLANKS for one in name):
        raise ValueError("is blank; give one that people can see")
    return name


def _check_user_name(name: str) -> str:
    """Return the name of a user, which is to look like no other one: joiners are where they change its look alone."""
    kept = [one for at, one in enumerate(name) if not _shapes(name[:at], one, name[at + 1 :])]
    _check_seen("".join(kept))
    return name


def _shapes(before: str, joiner: str, after: str) -> bool:
    """Return whether a character is a joiner that changes how the letters around it look, as in Persian and Hindi."""
    if joiner not in _JOINERS or not before or not after or not unicodedata.category(after[0]).startswith("L"):
        return False
    if unicodedata.combining(before[-1]) == _VIRAMA:
        return True
    return joiner == _JOINERS[0] and _has_form(before[-1], "INITIAL") and _has_form(after[0], "FINAL")


def _has_form(letter: str, form: str) -> bool:
    """Return whether a letter looks otherwise at a place of a word of Arabic script."""
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
"""A name that people can see; blanks around it are left out."""

UserName = Annotated[Name, AfterValidator(_check_user_name)]
"""The name of a user."""


def user_name(text: str) -> str:
    """Return the name of a user as requests give it.

    Raises:
        DataError: if it is none.
    """
    try:
        return TypeAdapter(UserName).validate_python(text)
    except ValidationError as error:
        raise DataError(f"the name {text!r} {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


_LANGUAGE: Final = r"^([A-Za-z]{2,3}([\-_][A-Za-z0-9]+)*)?$"
"""In JavaScript, too; the form for new projects in the workbench has the same."""


def _check_language(code: str) -> str:
    if re.fullmatch(_LANGUAGE, code) is None:
        raise ValueError(f"{code!r} is no code of a language, such as en, de or zh-TW")
    return code


Language = Annotated[
    PlainText,
    AfterValidator(_check_language),
    Field(
        max_length=35,
        description="code of a language, as en or pt-BR; empty: any",
        json_schema_extra={"pattern": _LANGUAGE},
    ),
]

Search = Annotated[PlainText, Field(max_length=1000, description="text that is looked for, in capitals or not")]

Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,32}$", description="an id, as the service gives it")]
SegmentNumber = Annotated[int, Path(ge=1, le=_LARGEST, description="number of a segment in its file, from 1")]
EntryNumber = Annotated[int, Path(ge=1, le=_LARGEST_NUMBER, description="number of a correction")]

Small = Annotated[int, Field(ge=0, le=_LARGEST)]
"""A whole number that is not negative, and that a column of the database can hold."""

Large = Annotated[int, Field(ge=0, le=_LARGEST_NUMBER)]
"""A whole number that is not negative."""


class Body(BaseModel):
    """A body of a request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


def event_response(stream: AsyncIterator[str]) -> StreamingResponse:
    """Return a response with server-sent events, which nothing between may keep back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_until_away(stream), media_type="text/event-stream", headers=headers)


async def _until_away(stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield events until the database goes away: the client connects anew, and asks for those that it misses."""
    try:
        async for event in stream:
            yield event
    except OutputError as error:
        _log.warning("a stream of events ends: %s", error)


def download(stream: IO[bytes], name: str, media_type: str) -> StreamingResponse:
    """Return a response with the bytes of a stream, to be saved under a name."""

    def parts() -> Iterator[bytes]:
        with stream:
            yield from iter(lambda: stream.read(2**20), b"")

    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return StreamingResponse(parts(), media_type=media_type, headers={"Content-Disposition": disposition})
