"""Authentication and authorisation: who makes a request, and what they may do."""

import asyncio
import hmac
import json
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, NamedTuple, TypeVar

from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.types import Scope as ASGIScope

from postedit.serve.http_errors import HttpError
from postedit.serve.service import Service, ServiceDep, service_of
from postedit.serve.store import Store
from postedit.serve.store_base import Row
from postedit.serve.store_people import Role, Scope

T = TypeVar("T")

COOKIE: Final = "postedit_session"
CSRF_HEADER: Final = "X-CSRF-Token"

ReadOrScope = Scope | str
"""A scope, or "read", which every member of a project has."""

_OF_ROLE: Final[Mapping[Role, frozenset[str]]] = {
    "reader": frozenset({"read"}),
    "translator": frozenset({"read", "edit", "learn", "files"}),
    "manager": frozenset({"read", "edit", "learn", "files", "manage"}),
}
_WITHOUT_PROJECT: Final = frozenset({"edit", "metrics"})
"""Scopes that a key limited to projects also has in requests without a project."""

_FIGURES_ALONE: Final = frozenset({"metrics"})
"""Scopes of a key that may read metrics of the service, but nothing of any project."""

_FRESH_SECONDS: Final = 5.0
"""Seconds for which it counts who was found to make a request: while its body arrives, rights may end."""

_SHORT: Final = 10_000
"""Characters of texts below which work with them takes a second at most."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_TRIES: Final = 5
"""Wrong passwords for one user from one address, after which that address has to wait for this user."""

_MOST_OF_ADDRESS: Final = 20
"""Wrong passwords from one address, for any users."""

_MOST_OF_NAME: Final = 100
"""Wrong passwords for one user, from any addresses."""

_FORGOTTEN_SECONDS: Final = 60.0
"""Seconds in which one failure is forgotten; as this is `_LONGEST_WAIT`, the count of one address stays bounded."""

_LONGEST_WAIT: Final = 60.0  # seconds
_REMEMBERED: Final = 30_000  # users and addresses whose failures are kept


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request.

    Args:
        name: user name, shown as author of corrections and in the audit log.
        client: identifies the caller in logs: the id of a key or user, or "local".
        user: user id; None: the only user of a service without sign-in.
        admin: whether the user may do everything.
        roles: the user's roles, by project id.
        scopes: scopes of the key; None: the request has no key.
        projects: ids of the projects that the key is limited to; None: all projects.
        csrf: the session's token against forged requests; empty: no session.
    """

    name: str
    client: str
    user: str | None = None
    admin: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict)
    scopes: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    csrf: str = ""

    def may(self, scope: ReadOrScope, project: str | None = None) -> bool:
        """Return whether a scope is granted, in a project or, if `project` is None, outside projects."""
        if self.scopes is not None and scope not in self.scopes and (scope != "read" or not self.reads):
            return False
        if (
            self.projects is not None
            and project not in self.projects
            and (project is not None or scope not in _WITHOUT_PROJECT)
        ):
            return False
        if self.admin:
            return True
        if project is None:
            return scope == "edit"
        role = self.roles.get(project)
        return role is not None and scope in _OF_ROLE[role]

    @property
    def reads(self) -> bool:
        """Whether the caller may read projects at all: everybody may, except keys with the scope `metrics` only."""
        return self.scopes != _FIGURES_ALONE

    def require(self, scope: ReadOrScope, project: str | None = None) -> None:
        """Check that a scope is granted; to callers who may not see a project, it seems not to exist.

        Raises:
            HttpError: 404 if the caller may not see the project, else 403 if the scope is not granted.
        """
        if self.may(scope, project):
            return
        if project is not None and not replace(self, scopes=None).may("read", project):
            raise HttpError(404, f"there is no project {project!r}")
        where = "" if project is None else f" in project {project!r}"
        if self.scopes is not None and replace(self, scopes=None, projects=None).may(scope, project):
            if scope in self.scopes:
                raise HttpError(403, "this key is limited to some projects, and this is not within one of them")
            raise HttpError(403, f"this requires the right {scope!r}{where}, which this key does not have")
        if project is None and scope != "edit" and not self.admin:
            raise HttpError(403, f"only administrators may do this, and {self.name} is not one")
        raise HttpError(403, f"this requires the right {scope!r}{where}, which {self.name} does not have")

    def role(self, project: str) -> Role:
        """Return the caller's role in a project that they may see; administrators count as managers."""
        return "manager" if self.admin else self.roles[project]

    @property
    def share_holder(self) -> str:
        """Whose share of queues and uploads the caller uses: that of a user, who can make any number of keys.

        Each key of an administrator has its own, since administrators make keys for the programs of others.
        """
        return self.client if self.user is None or self.admin else f"user {self.user}"

    @property
    def visible(self) -> list[str] | None:
        """Ids of the projects that the caller may see; None: all."""
        if not self.reads:
            return []
        if self.admin:
            return None if self.projects is None else sorted(self.projects)
        return sorted(project for project in self.roles if self.may("read", project))


LOCAL: Final = Caller("local", "local", admin=True)
"""The only user of a service without sign-in, which only its own machine can reach."""


@dataclass(slots=True)
class SignInTry:
    """An attempt to sign in; the caller sets `has_failed` if the password is wrong."""

    has_failed: bool = False


class _Failures(NamedTuple):
    """The number of failures not forgotten at a moment, and the time until which the next attempt must wait."""

    number: float
    moment: float
    until: float

    def left(self, moment: float) -> float:
        """Return how many failures have not been forgotten at a moment; fractions count."""
        return max(0.0, self.number - (moment - self.moment) / _FORGOTTEN_SECONDS)


_NO_FAILURES: Final = _Failures(0.0, 0.0, 0.0)


_Tried = tuple[str | None, str | None]
"""A user name and an address whose failures are counted together; None: any."""


class Throttle:
    """Delays clients that fail too often to sign in; each process counts by itself.

    Failures are counted per user name and address; per address, with a higher limit, as many people may share one; and
    per user name, with a much higher limit, so that nobody can lock others out by failing in their name.

    Attempts that are being checked count towards the same limits, so that parallel attempts gain nothing over
    successive ones. A successful attempt does not reset the failures, which are forgotten one by one as time passes
    (`_FORGOTTEN_SECONDS` each).
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[_Tried, _Failures] = OrderedDict()
        self._checked: Counter[_Tried] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def trying(self, name: str, address: str) -> Iterator[SignInTry]:
        """Yield an attempt to sign in, whose `has_failed` the caller sets if the password is wrong.

        Raises:
            HttpError: 429 if the client has to wait first.
        """
        most: dict[_Tried, int] = {(name, address): _MOST_TRIES, (None, address): _MOST_OF_ADDRESS}
        most[name, None] = _MOST_OF_NAME
        self._begin(most)
        found = SignInTry()
        try:
            yield found
        finally:
            self._end(most, has_failed=found.has_failed)

    def _begin(self, most: Mapping[_Tried, int]) -> None:
        moment = time.monotonic()
        with self._lock:
            wait = max(self._wait(key, allowed, moment) for key, allowed in most.items())
            if wait <= 0:
                self._checked.update(most.keys())
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise HttpError(429, f"too many wrong passwords; wait {seconds} s", headers={"Retry-After": seconds})

    def _wait(self, key: _Tried, allowed: int, moment: float) -> float:
        """Return the seconds before another attempt is checked; 0: now."""
        failed = self._failures.get(key, _NO_FAILURES)
        if failed.until > moment:
            return failed.until - moment
        return float(self._checked[key] >= max(1.0, allowed - failed.left(moment)))

    def _end(self, most: Mapping[_Tried, int], *, has_failed: bool) -> None:
        moment = time.monotonic()
        with self._lock:
            self._checked.subtract(most.keys())
            self._checked = +self._checked
            for key, allowed in most.items() if has_failed else ():
                count = self._failures.pop(key, _NO_FAILURES).left(moment) + 1
                wait = min(_LONGEST_WAIT, 2.0 ** (count - allowed)) if count > allowed - 1 else 0.0
                self._failures[key] = _Failures(count, moment, moment + wait)
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)


class KeyRates:
    """Limits the requests of each key by a token bucket; each process counts by itself."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted
        self._lock = threading.Lock()

    def spend(self, key: str, rate: float) -> None:
        """Take a token from the bucket of a key, which is filled with `rate` tokens a second; 0: no limit.

        Raises:
            HttpError: 429 if the bucket is empty.
        """
        if rate <= 0:
            return
        most, moment = max(1.0, 2 * rate), time.monotonic()
        with self._lock:
            tokens, counted = self._left.get(key, (most, moment))
            tokens = min(most, tokens + rate * (moment - counted))
            self._left[key] = (max(0.0, tokens - 1) if tokens >= 1 else tokens, moment)
        if tokens < 1:
            wait = str(math.ceil((1 - tokens) / rate))
            message = f"this key may make {rate:g} requests a second; wait {wait} s"
            raise HttpError(429, message, headers={"Retry-After": wait})


THROTTLE: Final = Throttle()
KEY_RATES: Final = KeyRates()


async def caller(request: Request, service: ServiceDep) -> Caller:
    """Return who makes a request; used by `CallerDep`, and by the middleware before the body is read.

    If a long body has been read since, the rights are looked up again, as they may have ended meanwhile.

    Raises:
        HttpError: 401 if there is no valid key or session, 403 if the session's CSRF token is missing or wrong, 429 if
            the key exceeds its rate, 504 if the database does not answer in time.
    """
    if not service.config.auth_required:
        return LOCAL  # without a thread, which would take longer than everything else before an edit
    known = caller_known(request.scope)
    if known is not None and time.monotonic() - request.state.caller_since <= _FRESH_SECONDS:
        return known
    seconds = service.config.limits.timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            return await to_thread.run_sync(caller_with, "", request, service, abandon_on_cancel=True)
    except TimeoutError:
        raise HttpError(504, f"the database has not answered in {seconds:g} s; try again later") from None


def caller_known(scope: ASGIScope) -> Caller | None:
    """Return who makes a request if that is known already, else None."""
    found: Caller | None = scope.get("state", {}).get("caller")
    return found


def caller_with(key: str, request: Request, service: Service) -> Caller:
    """Return who makes a request; `key` is a key from elsewhere than the header, or empty. See `caller`."""
    if not service.config.auth_required:
        return LOCAL
    is_first, moment = caller_known(request.scope) is None, time.monotonic()
    found: Caller = _found(key, request, service, counts=is_first)
    request.state.caller, request.state.caller_since = found, moment
    return found


def _found(key: str, request: Request, service: Service, *, counts: bool) -> Caller:
    if secret := _key_of(request) or key:
        return _of_key(service, secret, counts=counts)
    cookie = request.cookies.get(COOKIE)
    if cookie:
        found = _of_session(service, cookie)
        if found is not None:
            given = request.headers.get(CSRF_HEADER, "")
            if request.method not in _SAFE and not hmac.compare_digest(given.encode(), found.csrf.encode()):
                message = f"the header {CSRF_HEADER} must have the token that GET /v1/session gives"
                raise HttpError(403, message, "csrf")
            return found
    raise HttpError(
        401,
        "sign in, or send a key: Authorization: Bearer KEY",
        headers={"WWW-Authenticate": "Bearer"},
    )


_KEY: Final = HTTPBearer(scheme_name="key", description="as POST /v1/keys gives it", auto_error=False)
_SESSION: Final = APIKeyCookie(
    name=COOKIE,
    scheme_name="session",
    description=f"POST /v1/session sets it; requests that change something need its token, too, in {CSRF_HEADER}",
    auto_error=False,
)


async def _described(
    request: Request,
    service: ServiceDep,
    _key: Annotated[object, Security(_KEY)],
    _session: Annotated[object, Security(_SESSION)],
) -> Caller:
    """Return `caller`; the other parameters tell OpenAPI which credentials it reads."""
    return await caller(request, service)


CallerDep = Annotated[Caller, Depends(_described)]


def may_still(scope: ReadOrScope, request: Request, project: str) -> bool:
    """Return whether the sender of a request, such as that of a long event stream, still has a scope in a project."""
    service = service_of(request)
    if not service.config.auth_required:
        return True
    secret = _key_of(request)
    try:
        if secret:
            found: Caller | None = _of_key(service, secret, counts=False)
        else:
            found = _of_session(service, request.cookies.get(COOKIE, ""))
    except HttpError:
        return False
    return found is not None and found.may(scope, project)


def _key_of(request: Request) -> str:
    """Return the key in the Authorization header of a request; empty if there is none."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _of_key(service: Service, secret: str, *, counts: bool = True) -> Caller:
    found = service.store.people.owner_of(secret)
    if found is None:
        raise HttpError(401, "this key is not known; it may have been deleted", headers={"WWW-Authenticate": "Bearer"})
    key, user = found
    if counts:
        KEY_RATES.spend(key["id"], key["rate"])
    limits = json.loads(key["projects"])
    return Caller(
        user["name"],
        f"key {key['id']}",
        user["id"],
        bool(user["admin"]),
        service.store.people.roles(user["id"]),
        frozenset(json.loads(key["scopes"])),
        None if limits is None else frozenset(limits),
    )


def _of_session(service: Service, cookie: str) -> Caller | None:
    found = service.store.people.session(cookie)
    if found is None:
        return None
    user: dict[str, Any] = found.user
    roles = service.store.people.roles(user["id"])
    return Caller(user["name"], f"user {user['id']}", user["id"], bool(user["admin"]), roles, csrf=found.csrf)


@dataclass(frozen=True, slots=True)
class Access:
    """The store as seen by a caller: projects, files and jobs, with checks of the caller's rights."""

    service: Service
    caller: Caller

    @property
    def store(self) -> Store:
        """The store."""
        return self.service.store

    async def at_length(self, work: Callable[[], T]) -> T:
        """Return the result of work with the database that may take long; see `LongWork`."""
        return await self.service.long_work.run(work, self._whose_work)

    async def with_texts(self, work: Callable[[], T], characters: int) -> T:
        """Return the result of work with texts of some length; with short ones, it does not wait for that with others.

        See `LongWork`.
        """
        if characters < _SHORT:
            return await to_thread.run_sync(work)
        return await self.service.text_work.run(work, self._whose_work)

    @property
    def _whose_work(self) -> str:
        return "" if self.caller.user is None else self.caller.share_holder

    def project(self, project: str, scope: ReadOrScope) -> str:
        """Return the id of a project, checked to exist and to grant the caller a scope; else raise 404 or 403."""
        self.caller.require(scope, project)
        if self.caller.admin:  # the projects of others are those they are members of, which exist
            self.store.projects.row(project)
        return project

    def file(self, file: str, scope: ReadOrScope) -> Row:
        """Return a file in whose project the caller has a scope; see `project`."""
        return self._part(self.store.files.row(file), f"file {file!r}", scope)

    def job(self, job: str, scope: ReadOrScope) -> Row:
        """Return a job in whose project the caller has a scope; see `project`."""
        return self._part(self.store.jobs.get(job), f"job {job!r}", scope)

    def _part(self, row: Row, what: str, scope: ReadOrScope) -> Row:
        if not self.caller.may("read", row["project"]):
            raise HttpError(404, f"there is no {what}")
        self.caller.require(scope, row["project"])
        return row


async def access(caller: CallerDep, service: ServiceDep) -> Access:
    """Return the access of the caller of a request; used by `AccessDep`."""
    return Access(service, caller)


AccessDep = Annotated[Access, Depends(access)]


async def access_now(request: Request, service: Service) -> Access:
    """Return the access of the sender of a request, for routes that have read its body themselves; see `caller`."""
    return Access(service, await caller(request, service))
