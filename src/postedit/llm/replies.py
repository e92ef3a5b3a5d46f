"""Parse replies of servers, however malformed: a text and its token counts, or nothing usable."""

import json
import math
import time
import zlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import httpx

_MOST_BYTES: Final = 8 << 20
"""Most bytes of a reply; a longer one is a fault of the server."""

CODING: Final = "gzip"
"""The only encoding of replies that requests accept."""

_GZIP: Final = 16  # added to the window size in zlib: the header is that of gzip

_MOST_TOKENS: Final = 1 << 30
"""Most tokens of a request; a larger count from a server is not credible."""

_LONGEST_WAIT: Final = 600.0
"""Most seconds of a wait that a server asks for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of a reply, and how it ended."""

    text: str
    finish: str  # reason for the end of the text: "stop", "length", "content_filter"
    refusal: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens of a request, as counted by the server."""

    prompt: int
    answer: int


async def read_body(answer: "httpx.Response") -> bytes:
    """Return the body of a reply; empty if it is too long, or encoded in a way that no request accepts.

    httpx itself would decompress without limit, in as many layers as the server names: from a few hundred bytes, it
    fills the memory.
    """
    content = bytearray()
    async for part in answer.aiter_raw():
        content += part
        if len(content) > _MOST_BYTES:
            return b""
    coding = answer.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return bytes(content)
    return _unzipped(bytes(content)) if coding == CODING else b""


def _unzipped(content: bytes) -> bytes:
    """Return gzipped bytes as they were before; empty if they are damaged or too many."""
    try:
        plain = zlib.decompressobj(zlib.MAX_WBITS | _GZIP).decompress(content, _MOST_BYTES + 1)
    except zlib.error:
        return b""
    return plain if len(plain) <= _MOST_BYTES else b""


def parse_reply(content: bytes) -> tuple[Reply, Usage | None] | None:
    """Return a reply and its token counts (None if the server sent none); None if `content` is not a reply."""
    try:
        value = json.loads(content)
        choice = value["choices"][0]
        message = choice["message"]
        text, refusal = _text_of(message.get("content")), message.get("refusal")
        usage = _usage(value.get("usage"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return Reply(text, str(choice.get("finish_reason") or ""), bool(refusal)), usage


def _text_of(content: Any) -> str:
    """Return the text of a message, which may come in parts; parts other than text, such as thoughts, are left out.

    Raises:
        TypeError: if it is not the content of a message.
        LookupError: if it has parts but none of them is text.
    """
    if isinstance(content, list):
        texts = [_text_of(part["text"]) for part in content if part["type"] == "text"]
        if content and not texts:
            raise LookupError
        return "".join(texts)
    if not isinstance(content or "", str):
        raise TypeError
    return content or ""


def _usage(value: Any) -> Usage | None:
    """Return the token counts of a reply; None if they are missing or malformed."""
    counts = value if isinstance(value, dict) else {}
    prompt, answer = (_count(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return None if prompt is None or answer is None else Usage(prompt, answer)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None


def retry_after(value: str) -> float:
    """Return the seconds to wait by a Retry-After header, which has seconds or a date; 0 if it has neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return min(max(0.0, seconds), _LONGEST_WAIT) if math.isfinite(seconds) else 0.0
