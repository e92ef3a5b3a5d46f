"""Replies of servers are read with limits, also those that are compressed."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from functools import reduce

import httpx
import pytest

from postedit.llm.replies import read_body


class Stream(httpx.AsyncByteStream):
    """The bytes of a reply as they come from the server."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


def body(content: bytes, coding: str) -> bytes:
    """Return the body of a reply, which the server says is encoded as `coding`."""
    headers = {"Content-Encoding": coding} if coding else {}
    return asyncio.run(read_body(httpx.Response(200, headers=headers, stream=Stream(content))))


@pytest.mark.parametrize(
    ("content", "coding", "found"),
    [
        (b"{}", "", b"{}"),
        (b"{}", "identity", b"{}"),
        (gzip.compress(b"{}"), "GZip", b"{}"),
        (b"{}", "gzip", b""),
        (b"{}", "br", b""),
        (gzip.compress(gzip.compress(b"{}")), "gzip, gzip", b""),
    ],
)
def test_bodies_are_plain_or_gzipped(content: bytes, coding: str, found: bytes) -> None:
    assert body(content, coding) == found


@pytest.mark.parametrize("layers", [1, 2])
def test_a_small_reply_cannot_fill_the_memory(layers: int) -> None:
    content = reduce(lambda inner, _: gzip.compress(inner, 1), range(layers), bytes(2**26))
    tracemalloc.start()
    try:
        assert body(content, ", ".join(["gzip"] * layers)) == b""
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
