"""ASGI middleware for all requests: ids, logs and metrics, limits, and checks of where requests come from."""

import logging
import math
import re
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postedit.core.errors import PosteditError
from postedit.serve.accounts import COOKIE, LOCAL, SAFE_METHODS, Caller, caller_known
from postedit.serve.engine import TOO_BUSY
from postedit.serve.http_errors import FAILED, HttpError, error_response, response_to
from postedit.serve.service_logs import FIELDS, request_id, trace_of
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import LOOPBACK, LimitsConfig, ServeConfig

_log = logging.getLogger(__name__)

_SANE_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")

_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response, unless a route sets its own; as ASGI bytes, since overloads need fast refusals."""

_METHODS: Final = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
"""Methods that metrics name; others, as clients may send any word, count as "other"."""

_UPLOADS: Final = re.compile(r"/v1/(?:jobs|projects/[^/]+/files)")
"""Paths to which files are uploaded, as parts of a form."""

_IMPORTS: Final = re.compile(r"/v1/projects/[^/]+/corrections/import")
"""Paths to which files are uploaded, as the body itself."""

_SIGN_IN: Final = "/v1/session"
_OPEN: Final = frozenset({_SIGN_IN, "/translate", "/detect"})
"""Paths of requests whose body may have the credentials."""

BYTES_BEFORE_SIGN_IN: Final = 2**16
"""Limit of a body that is read before its sender is known."""

_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}

_FORWARDED: Final = ("forwarded", "x-forwarded-")
"""Prefixes of the headers that proxies add."""

_EDITING: Final = frozenset({"/v1/edit", "/v1/chat/completions", "/translate"})
"""Paths of requests that wait for a model."""

_THROUGH_PROXY: Final = (
    "this request comes through a proxy, and nobody signs in to this service; name the proxy under proxies in its "
    "settings, so that it asks for a key or a sign-in"
)

_CLIENTS: Final = 10_000
"""Clients whose requests are counted; the least recently seen ones are forgotten."""

_KNOWN_SECONDS: Final = 60.0
"""Time for which requests with a key or session found valid may get 429 without another look at the database."""

_UPLOAD_PAUSE: Final = 5.0
"""Seconds after which an upload refused because of `limits.uploads` may be tried again."""


class RequestLog:
    """Gives each request an id, and records it in the log and the metrics when its response begins.

    The id is taken from the header X-Request-ID if it is well-formed, and is also sent with the response.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, *, log_requests: bool) -> None:
        self._app, self._metrics, self._log_requests = app, metrics, log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        asked = Headers(scope=scope).get("x-request-id", "")
        identity = asked if _SANE_ID.fullmatch(asked) else secrets.token_hex(16)
        scope.setdefault("state", {})["request_id"] = identity
        token = request_id.set(identity)
        started, answered = time.monotonic(), False

        async def sending(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                given = [*message["headers"]]
                own = {name for name, _ in given}
                rest = (one for one in _HEADERS if one[0] not in own)
                message = {**message, "headers": [*given, (b"x-request-id", identity.encode()), *rest]}
                answered = True
                self._note(scope, message["status"], time.monotonic() - started)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if answered:  # the response stays incomplete: the server closes the connection, which clients notice
                cause = error.__cause__ if isinstance(error.__cause__, PosteditError) else None
                _log.error("an answer was cut short: %s", cause or trace_of(error))
                return None
            _log.error("a request failed", extra={FIELDS: {"trace": trace_of(error)}})
            await error_response(500, FAILED, identity)(scope, receive, sending)
        finally:
            request_id.reset(token)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        refused = scope["path"] if scope["path"] in _EDITING else "none"  # before its route was found
        route = getattr(scope.get("route"), "path", refused)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, route, status).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if self._log_requests:
            client = scope.get("client")
            fields = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(1000 * seconds, 1),
                "client": client[0] if client else "",
            }
            if (who := caller_known(scope)) is not None:
                fields |= {"user": who.name, "by": who.client}
            _log.info("request", extra={FIELDS: fields})


class Gatekeeper:
    """Refuses requests that are too large or too many, for other hosts, or from pages of other sites.

    A page of another site cannot read responses, but its requests would be carried out; and its host name may resolve
    to this machine (DNS rebinding). So requests that change something must come from pages of this service or from no
    page at all, and if the service is local, the Host header must name this machine. Nobody signs in to a local
    service, so requests that a proxy forwards to it are refused. Requests with a key, where keys count, are exempt
    from the check of pages: a browser sends no key to another site without a preflight request.

    The sender of a request that may have a body is identified, by `identify`, before the body is read: nobody else can
    fill the disk with uploads, or count as demand for the models.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: ServeConfig,
        seconds_until_free: Callable[[str], float],
        identify: Callable[[Request], Awaitable[Caller]],
    ) -> None:
        self._app, self._limits, self._seconds_until_free = app, config.limits, seconds_until_free
        self._auth_required, self._identify = config.auth_required, identify
        self._hosts = _hosts(config)
        self._rates = _Rates(config.limits)
        self._known: OrderedDict[str, tuple[float, str]] = OrderedDict()  # credentials: when last valid, and whose
        self._uploads: Counter[str] = Counter()  # that are being received, by share holder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        limit = self._body_limit(scope, headers)
        try:
            self._check(scope, headers, limit)
            await self._admit(scope, self._credentials(scope, headers))
            sender = self._uploader(scope, headers)
        except (HttpError, PosteditError) as error:
            return await (await response_to(error, Request(scope)))(scope, receive, send)
        if scope["method"] == "HEAD":  # answered as GET; the server omits the body
            scope = {**scope, "method": "GET"}
        self._uploads.update(sender)
        try:
            return await self._app(scope, limited(receive, limit), send)
        finally:
            self._uploads -= Counter(sender)

    async def _admit(self, scope: Scope, credentials: str) -> None:
        """Identify the sender, and refuse requests for busy models; refusals to known senders skip the database."""
        moment, client = self._known.get(credentials, (-math.inf, LOCAL.share_holder))
        is_new = bool(credentials) and time.monotonic() - moment > _KNOWN_SECONDS
        if is_new:
            client = await self._identify_by(scope, credentials)
        if scope["path"] in _EDITING and (credentials or not self._auth_required):
            _check_wait(self._seconds_until_free(client), TOO_BUSY)
        if credentials and not is_new:
            await self._identify_by(scope, credentials)

    async def _identify_by(self, scope: Scope, credentials: str) -> str:
        """Identify the sender of a request by credentials, and return its share holder."""
        self._known.pop(credentials, None)
        client = (await self._identify(Request(scope))).share_holder
        self._known[credentials] = time.monotonic(), client
        if len(self._known) > _CLIENTS:
            self._known.popitem(last=False)
        return client

    def _uploader(self, scope: Scope, headers: Headers) -> list[str]:
        """Return the share holder of an upload, alone in a list; an empty list if a request is none.

        Nobody who signs in may hold all places: uploads may be sent as slowly as one likes.

        Raises:
            HttpError: 429 if no place is free for it.
        """
        if not _is_upload(scope, headers):
            return []
        most, who = self._limits.uploads, caller_known(scope)
        if self._uploads.total() >= most:
            _check_wait(_UPLOAD_PAUSE, "too many files are received at a time; try again later")
        if who is None:
            return [""]
        if self._uploads[who.share_holder] >= max(1, math.floor(most * self._limits.client_share)):
            _check_wait(_UPLOAD_PAUSE, "you are sending too many files at a time; try again later")
        return [who.share_holder]

    def _credentials(self, scope: Scope, headers: Headers) -> str:
        """Return the key or cookie of a request that may have a body; empty if there is nothing to check yet."""
        if not self._auth_required or scope["method"] in SAFE_METHODS or scope["path"] == _SIGN_IN:
            return ""
        if _has_key(headers):
            return headers["authorization"]
        return "" if scope["path"] in _OPEN else HTTPConnection(scope).cookies.get(COOKIE, "")

    def _check(self, scope: Scope, headers: Headers, limit: int) -> None:
        if self._hosts and (name := _host_name(headers.get("host", ""))) not in self._hosts:
            raise HttpError(421, f"this service has no host name {name!r}; add the name to hosts in its settings")
        if not self._auth_required and any(name.startswith(_FORWARDED) for name in headers):
            raise HttpError(403, _THROUGH_PROXY)
        has_key = self._auth_required and _has_key(headers)
        if scope["method"] not in SAFE_METHODS and not has_key and _is_cross_site(headers):
            raise HttpError(403, "requests from pages of other sites are refused", "cross_site")
        if self._auth_required and not has_key and _needs_sign_in(scope):  # refused before its body is read
            raise HttpError(401, "sign in, or send a key: Authorization: Bearer KEY", None, _CHALLENGE)
        if (coding := headers.get("content-encoding", "").strip().lower()) not in ("", "identity"):
            raise HttpError(415, f"the body is encoded as {coding[:20]!r} (Content-Encoding); send it as it is")
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > limit:
            raise HttpError(413, _too_large(limit))
        client = scope.get("client")
        _check_wait(self._rates.wait(client[0] if client else ""), "too many requests; send fewer a second")

    def _body_limit(self, scope: Scope, headers: Headers) -> int:
        if self._auth_required and scope["path"] in _OPEN and (scope["path"] == _SIGN_IN or _is_nobody(scope, headers)):
            return min(self._limits.body_bytes, BYTES_BEFORE_SIGN_IN)
        return self._limits.file_bytes if _is_upload(scope, headers) else self._limits.body_bytes


class _Rates:
    """Limits the requests of each client, by a token bucket."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._rate, self._burst = limits.requests_per_second, limits.burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when that was

    def wait(self, client: str) -> float:
        """Count a request, and return 0 if it is accepted, else the seconds after which the next one is."""
        if not self._rate:
            return 0.0
        now = time.monotonic()
        left, then = self._left.pop(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._rate)
        accepted = left >= 1.0
        self._left[client] = (left - accepted, now)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if accepted else (1.0 - left) / self._rate


def _check_wait(seconds: float, message: str) -> None:
    if seconds > 0:
        raise HttpError(429, message, None, {"Retry-After": str(math.ceil(seconds))})


def limited(receive: Receive, limit: int) -> Receive:
    """Return a `receive` that raises 413 once a body exceeds a limit, also for bodies without Content-Length."""
    received = 0

    async def receiving() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return receiving


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit:,} bytes; send less at a time"


def _hosts(config: ServeConfig) -> Collection[str]:
    """Return the host names under which requests are accepted; empty: any name."""
    return {*LOOPBACK, config.host.lower(), *config.hosts} if config.local or config.hosts else ()


def _host_name(host: str) -> str:
    """Return the name of a Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return host


def _needs_sign_in(scope: Scope) -> bool:
    """Return whether a request would change something, but has no session cookie."""
    is_open = scope["method"] in SAFE_METHODS or scope["path"] in _OPEN
    return not is_open and COOKIE not in HTTPConnection(scope).cookies


def _is_upload(scope: Scope, headers: Headers) -> bool:
    """Return whether a request uploads a file, which is kept on disk while it is received."""
    is_form = headers.get("content-type", "").startswith("multipart/")
    paths = (_UPLOADS, _IMPORTS) if is_form else (_IMPORTS,)
    return scope["method"] == "POST" and any(one.fullmatch(scope["path"]) for one in paths)


def _has_key(headers: Headers) -> bool:
    return headers.get("authorization", "").lower().startswith("bearer ")


def _is_nobody(scope: Scope, headers: Headers) -> bool:
    """Return whether a request has neither a key nor a session cookie, valid or not."""
    return not _has_key(headers) and COOKIE not in HTTPConnection(scope).cookies


def _is_cross_site(headers: Headers) -> bool:
    """Return whether a request comes from a page of another site."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host")
    except ValueError:  # pages of this service never send an invalid origin
        return True
