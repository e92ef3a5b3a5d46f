"""Connections, and the end of the web server."""

import asyncio
import math
import resource
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from postedit.core.errors import OutputError
from postedit.serve import web_server
from postedit.serve.web_server import _GRACE, _HEAD_BYTES, _Connection, _Server


def test_connections_stay_open_as_long_as_accepted_requests_may_take() -> None:
    async def end() -> int | None:
        engine = SimpleNamespace(seconds_to_answer=lambda: 99.5)
        service: Any = SimpleNamespace(engine=engine, stopping=asyncio.Event(), config=SimpleNamespace(drain_seconds=0))
        server = _Server(uvicorn.Config("app"), service, lambda: None)
        server.handle_exit(15, None)
        while not server.should_exit:
            await asyncio.sleep(0.01)
        assert service.stopping.is_set()
        return server.config.timeout_graceful_shutdown

    assert asyncio.run(end()) == 100 + _GRACE


@pytest.mark.parametrize(
    ("host", "port", "hint"),
    [
        ("192.0.2.1", 0, r"give an address of this machine with --host"),  # RFC 5737: of no machine
        ("no.such.invalid", 0, r"give an address of this machine with --host"),
        ("127.0.0.1", None, r"give another --port \(0: any free one\)"),
    ],
)
def test_an_address_that_cannot_be_used_is_told(host: str, port: int | None, hint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if port is None else port
        with pytest.raises(OutputError, match=f"{host}:{port}: the service cannot listen there: .+; {hint}"):
            web_server._listen(host, port)


def test_a_signal_that_comes_with_the_address_ends_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def loading(*_: object) -> AsyncIterator[None]:
        yield

    def stop(address: str) -> None:
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL  # it would end these tests
        signal.raise_signal(signal.SIGTERM)

    engine = SimpleNamespace(seconds_to_answer=lambda: 0.0)
    config = SimpleNamespace(proxies=(), drain_seconds=0)
    service = SimpleNamespace(engine=engine, stopping=asyncio.Event(), config=config)
    monkeypatch.setattr(web_server, "_loading", loading)
    monkeypatch.setattr(web_server, "service_of_app", lambda app: service)
    with web_server._listen("127.0.0.1", 0) as listening:
        asyncio.run(web_server._serve(FastAPI(), listening, stop))
    assert service.stopping.is_set()


def test_of_two_services_that_start_at_once_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def loading(*_: object) -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(web_server, "_loading", loading)
    monkeypatch.setattr(web_server, "service_of_app", lambda app: SimpleNamespace(config=SimpleNamespace(proxies=())))
    with web_server._listen("127.0.0.1", 0) as first:
        host, port = first.getsockname()
        with web_server._listen(host, port) as second:  # both are bound, as neither listens yet
            first.listen()
            with pytest.raises(OutputError, match=f"{host}:{port}: the service cannot listen there: .*--port"):
                asyncio.run(web_server._serve(FastAPI(), second, pytest.fail))


async def _app(scope: Any, receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    body = str(size).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def _answers(*parts: bytes, pause: float = 0.0, stops_after: int | None = None) -> bytes:
    """Return all that is answered to some bytes, sent with pauses; the service stops after some parts, if asked to."""
    config = uvicorn.Config(_app, http=_Connection, log_config=None, lifespan="off")
    config.load()
    loop, state = asyncio.get_running_loop(), uvicorn.server.ServerState()
    server = await loop.create_server(lambda: _Connection(config, state, {}, loop), "127.0.0.1", 0)
    async with server, asyncio.timeout(300):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            for number, part in enumerate(parts, 1):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)
                if number == stops_after:
                    while not all(one.cycle for one in state.connections) or not state.connections:
                        await asyncio.sleep(0.01)
                    for one in state.connections:
                        one.shutdown()
            return await reader.read()
        except ConnectionError:  # it was closed while there was more to send
            return b""
        finally:
            writer.close()


_POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
_MEBIBYTE = b"a" * 2**20


@pytest.mark.parametrize(
    "parts",
    [
        [b"GET /" + _MEBIBYTE, _MEBIBYTE],
        [_POST, b"X: " + _MEBIBYTE, _MEBIBYTE],
        [_POST, *(b"X: y\r\n" * 1000 for _ in range(30))],
        [_POST, b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ", _MEBIBYTE, _MEBIBYTE],
    ],
    ids=["path", "header", "headers", "trailer"],
)
def test_a_head_without_end_is_not_kept(parts: list[bytes]) -> None:
    assert b"200 OK" not in asyncio.run(_answers(*parts))


def test_bodies_and_requests_in_turn_may_be_longer_than_a_head() -> None:
    body = _MEBIBYTE[: 3 * _HEAD_BYTES]
    whole = _POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    last = _POST + b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    answers = asyncio.run(_answers(*[whole] * 3, last))
    assert answers.count(b"200 OK") == 4
    assert answers.count(str(len(body)).encode()) == 3


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_ipv4_clients_of_a_service_on_ipv6_have_their_addresses() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])
        await _app(scope, receive, send)

    async def ask() -> None:
        config = uvicorn.Config(
            app, http=_Connection, log_config=None, lifespan="off", forwarded_allow_ips=["127.0.0.1"]
        )
        config.load()
        loop, state = asyncio.get_running_loop(), uvicorn.server.ServerState()
        with web_server._listen("::", 0) as listening:
            server = await loop.create_server(lambda: _Connection(config, state, {}, loop), sock=listening)
            async with server, asyncio.timeout(300):
                for header in (b"", b"X-Forwarded-For: 192.0.2.7\r\n"):
                    reader, writer = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
                    writer.write(_POST + header + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
                    assert b"200 OK" in await reader.read()
                    writer.close()

    seen: list[str] = []
    asyncio.run(ask())
    assert seen == ["127.0.0.1", "192.0.2.7"]


def test_connections_leave_files_to_the_rest(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def answers(count: int) -> list[bytes]:
        config = uvicorn.Config(_app, http=_Connection, log_config=None, lifespan="off")
        config.load()
        loop, state = asyncio.get_running_loop(), uvicorn.server.ServerState()
        server = await loop.create_server(lambda: _Connection(config, state, {}, loop), "127.0.0.1", 0)
        found: list[bytes] = []
        async with server, asyncio.timeout(300):
            place = server.sockets[0].getsockname()
            opened = [await asyncio.open_connection(*place) for _ in range(count)]
            while len(state.connections) > 2:
                await asyncio.sleep(0.01)
            for reader, writer in opened:
                writer.write(_POST + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
                try:
                    found.append(await reader.read())
                except ConnectionError:
                    found.append(b"")
                writer.close()
        return found

    monkeypatch.setattr(_Connection, "_told", -math.inf)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (4, 4))
    found = asyncio.run(answers(5))
    assert [b"200 OK" in one for one in found] == [True, True, False, False, False]
    assert caplog.text.count("2 connections are open,") == 1


@pytest.mark.parametrize(
    ("soft", "hard", "wanted"),
    [
        (1024, 4096, (4096, 4096)),
        (1024, 2**20, (2**16, 2**20)),
        (1024, resource.RLIM_INFINITY, (2**16, resource.RLIM_INFINITY)),
        (2**17, 2**20, None),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None),
    ],
)
def test_the_service_asks_for_more_open_files(
    soft: int, hard: int, wanted: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    web_server._allow_files()
    assert asked == [wanted] * (wanted is not None)
    assert web_server._most_connections() > 700


_HALF_BODY = _POST + b"Content-Length: 10\r\n\r\n12345"


@pytest.mark.parametrize(
    "parts",
    [[], [_POST], [_HALF_BODY], [_POST + b"Content-Length: 0\r\n\r\n", b"GET / HT"]],
    ids=["nothing", "head", "body", "second head"],
)
def test_a_request_that_is_never_finished_is_given_up(parts: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_REQUEST_SECONDS", 1.0)
    assert asyncio.run(_answers(*parts)).count(b"200 OK") == max(0, len(parts) - 1)


@pytest.mark.slow
def test_a_body_may_come_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_REQUEST_SECONDS", 3.0)
    head = _POST + b"Connection: close\r\nContent-Length: 8\r\n\r\n"
    assert b"200 OK" in asyncio.run(_answers(head, *[b"x"] * 8, pause=0.5))


def test_a_service_that_stops_awaits_the_rest_of_a_request_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_STOP_SECONDS", 0.3)
    assert asyncio.run(_answers(_HALF_BODY, b"6", b"7", stops_after=2)) == b""
    monkeypatch.setattr(web_server, "_STOP_SECONDS", 20.0)
    assert b"200 OK" in asyncio.run(_answers(_HALF_BODY, b"67890", stops_after=1)), "what comes at once is answered"
