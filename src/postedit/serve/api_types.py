"""Values of requests, checked so far that no database and no file refuses them; and responses of many parts."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import IO, Annotated, Final
from urllib.parse import quote

from fastapi import Path
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from postedit.core.errors import OutputError

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

Name = Annotated[PlainText, Field(min_length=1, max_length=200, pattern=r"\S")]
"""A name with at least one visible character."""

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
