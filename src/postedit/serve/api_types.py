"""Values of requests, checked so far that no database and no file refuses them."""

from typing import Annotated, Final

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
