"""Read what servers reply, whatever it is: a text and its tokens, or nothing that can be used."""

import json
import math
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import httpx

_MOST_BYTES: Final = 8 << 20
"""Of a reply; a longer one is a fault of the server."""

_MOST_TOKENS: Final = 1 << 30
"""Of a request; a server that counts more has not counted."""

_LONGEST_WAIT: Final = 600.0
"""Seconds that a server may ask to wait."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server replied."""

    text: str
    finish: str  # why it ends: "stop", "length", "content_filter"
    refusal: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a request, as the server counted them."""

    prompt: int
    answer: int


async def read_body(answer: "httpx.Response") -> bytes:
    """Return the body of a reply; nothing of one without end."""
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > _MOST_BYTES:
            return b""
    return bytes(content)


def parse_reply(content: bytes) -> tuple[Reply, Usage | None] | None:
    """Return a reply and its tokens, None if the server did not count them; None if it is no reply at all."""
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
    """Return the text of a message, which may come in parts; others than text, such as thoughts, are left out.

    Raises:
        TypeError: if it is no content.
        LookupError: likewise.
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
    """Return the tokens that a reply tells; None if it tells none, in whatever form."""
    counts = value if isinstance(value, dict) else {}
    prompt, answer = (_count(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return None if prompt is None or answer is None else Usage(prompt, answer)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None


def retry_after(value: str) -> float:
    """Return the seconds of a header Retry-After, which has seconds or a date; 0 if it has neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return min(max(0.0, seconds), _LONGEST_WAIT) if math.isfinite(seconds) else 0.0
