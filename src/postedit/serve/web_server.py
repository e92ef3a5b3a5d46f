"""The web server, which binds its address before models load, and answers all accepted requests before it stops."""

import asyncio
import errno
import logging
import math
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import FrameType
from typing import ClassVar, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from postedit.core.errors import OutputError, PosteditError
from postedit.core.files import reason_of
from postedit.serve.app import create_app
from postedit.serve.http_errors import HttpError
from postedit.serve.service import Service, service_of_app, unless_stopping
from postedit.serve.settings import ServeConfig

_log = logging.getLogger(__name__)

_KEEP_ALIVE: Final = 75
"""Seconds for which an idle connection stays open: longer than common proxies reuse idle connections."""

_WAITING: Final = 2048
"""Maximum number of connections that wait to be accepted."""

_ACCEPTED_AT_ONCE: Final = 16
"""Connections accepted in one turn of the event loop; after some turns, those too many are closed again."""

_OPEN_FILES: Final = 2**16
"""Limit of open files that the service asks for; each connection is one, and the usual limit is 1,024."""

_OTHER_FILES: Final = 256
"""Open files that connections leave to the database, to uploads and to model processes."""

_TOLD_SECONDS: Final = 60.0
"""Time between two lines of the log about too many connections."""

_IPV4_MAPPED: Final = "::ffff:"
"""What precedes the addresses of IPv4 clients on a socket that listens on IPv6 and IPv4 ("::")."""

_HEAD_BYTES: Final = 2**16
"""Approximate limit of the request line and headers, and of the bytes between two parts of a body."""

_REQUEST_SECONDS: Final = 30.0
"""Time for the head of a request to arrive, and between two parts of a body."""

_STOP_SECONDS: Final = 2.0
"""Time for the rest of a request that is being received when the service stops."""

_INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""

_GRACE: Final = 5.0
"""Seconds after the last deadline of a request until open connections are closed."""


def run_service(config: ServeConfig, announce: Callable[[str], None]) -> None:
    """Run the service until a signal ends it; `announce` gets its URL once requests are accepted.

    SIGTERM and SIGINT stop it: /readyz turns 503, and accepted requests are answered; a second signal stops it at once.
    SIGHUP loads all models again.

    Raises:
        OutputError: if the service cannot listen on the address.
        PosteditError: if a model cannot be loaded, or the database cannot be used.
    """
    _allow_files()
    listening = _listen(config.host, config.port)
    with listening:
        asyncio.run(_serve(create_app(config), listening, announce))


def _allow_files() -> None:
    """Raise the limit of open files of this process, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _most_connections() -> int:
    """Return how many connections may be open; without a file to open, everything else fails."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else max(files // 2, files - _OTHER_FILES)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With IPPROTO_TCP given, asyncio sets TCP_NODELAY, without which answers take 40 ms more.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise _cannot_listen(host, port, error) from None
    return listening


def _cannot_listen(host: str, port: int, error: OSError) -> OutputError:
    hint = "; give another --port (0: any free one)" if port else ""
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        hint = "; give an address of this machine with --host"
    return OutputError(f"{host}:{port}: the service cannot listen there: {reason_of(error)}{hint}")


async def _serve(app: FastAPI, listening: socket.socket, announce: Callable[[str], None]) -> None:
    service = service_of_app(app)
    config = uvicorn.Config(
        app,
        http=_Connection,
        lifespan="off",  # `_loading` runs it, so that its errors are shown as plain messages
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(service.config.proxies),
        forwarded_allow_ips=list(service.config.proxies),
        backlog=_ACCEPTED_AT_ONCE,  # asyncio also logs that many lines a second if it cannot open a file for one
        timeout_keep_alive=_KEEP_ALIVE,
    )
    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    server = _Server(config, service, partial(announce, address))
    async with _loading(app, service):
        reload = _Reload(service)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload.start)
        try:
            listening.listen(_WAITING)
        except OSError as error:  # another service was bound to the same address, and was faster
            raise _cannot_listen(host, port, error) from None
        await server.serve(sockets=[listening])


@asynccontextmanager
async def _loading(app: FastAPI, service: Service) -> AsyncIterator[None]:
    """Run the lifespan of an application; while it starts, SIGTERM and SIGINT end this process at once.

    No request has been accepted by then, and nothing else would end threads that are compiling.
    """
    loop, signals = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        loop.add_signal_handler(number, _give_up, service, number)

    def restore() -> None:
        for number in signals:
            if loop.remove_signal_handler(number):
                signal.signal(number, before[number])

    try:
        async with app.router.lifespan_context(app):
            await asyncio.sleep(0)  # for a signal that has just come
            restore()
            yield
    finally:
        restore()


def _give_up(service: Service, number: signal.Signals) -> None:
    try:
        service.engine.kill()
        _log.warning("stopped before the models were loaded")
        logging.shutdown()
    finally:
        os._exit(_INTERRUPTED if number == signal.SIGINT else 0)  # as when the service runs


class _Connection(HttpToolsProtocol):
    """A connection that is closed if the head of a request does not end, or the rest of a request does not arrive.

    It is closed at once if too many others are open.

    httptools takes half the time of h11, which matters when many requests are refused, but it buffers without limit
    until a header ends; hence the limit here. The middleware limits the size of bodies.
    """

    _unread = 0  # bytes since the last head, or part of a body, was complete
    _end: asyncio.TimerHandle | None = None  # while a request is being received
    _stops = False
    _told: ClassVar[float] = -math.inf  # when the log last said that there are too many

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        if self.client is not None:  # as `proxies` and people name it, also if the service listens on IPv6
            self.client = self.client[0].removeprefix(_IPV4_MAPPED), self.client[1]
        self._await(_REQUEST_SECONDS)
        if len(self.connections) > (most := _most_connections()):
            self._tell(most)
            transport.close()

    def _tell(self, most: int) -> None:
        moment = time.monotonic()
        if moment - _Connection._told >= _TOLD_SECONDS:
            _Connection._told = moment
            _log.warning(
                "%d connections are open, and others are closed at once, as this process may not open more files "
                "(ulimit -n; LimitNOFILE of systemd)",
                most,
            )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, as the connection is closed."""
        self._await(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; answer 400 if the head of a request is too large."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Wait for the head of a request."""
        self._await(_REQUEST_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start answering a request, and wait for its body."""
        self._unread = 0
        self._await(_REQUEST_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, and wait for the next."""
        self._unread = 0
        self._await(_REQUEST_SECONDS)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop waiting, as the request is complete."""
        self._await(None)
        super().on_message_complete()

    def shutdown(self) -> None:
        """Close the connection once the request received, or being received, is answered."""
        super().shutdown()
        if self._end is not None:
            self._await(_STOP_SECONDS)
            self._stops = True

    def _await(self, seconds: float | None) -> None:
        """Give the client some seconds to send the next part of a request; None: it need not send anything."""
        if seconds is not None and self._stops:
            return
        if self._end is not None:
            self._end.cancel()
        self._end = None if seconds is None else self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._end = None
        if self.flow.read_paused and not self._stops:  # the service has not read what the client has sent
            self._await(_REQUEST_SECONDS)
        else:
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that tells when it accepts requests, and tells the service that it is about to stop, before it does."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._announce, self._loop = service, announce, asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept requests, and then say so: by now, signals stop the server in order."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_WAITING)  # after asyncio, for which as many may wait as are accepted at once
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after `drain_seconds`, which load balancers need to notice; at the second signal, stop at once."""
        if self._service.stopping.is_set():
            self.force_exit = self.should_exit = True
            return
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._service.stopping.set()
        self._loop.call_later(self._service.config.drain_seconds, self._end)

    def _end(self) -> None:
        self.config.timeout_graceful_shutdown = math.ceil(self._service.engine.seconds_to_answer() + _GRACE)
        self.should_exit = True


class _Reload:
    """Loads all models again, one after the other; only one such run at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start a run, unless one is in progress."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        for name in self._service.config.models:
            try:
                facts = await unless_stopping(self._service, self._service.engine.reload(name))
                _log.info("model %s was loaded again: %s", name, facts.fingerprint)
            except PosteditError as error:
                _log.error("model %s stays as it is: %s", name, error)
            except HttpError:  # the service stops
                return
