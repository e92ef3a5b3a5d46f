"""Authentication and authorisation: who makes a request, and what they may do."""

import asyncio
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, TypeVar

from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.types import Scope as ASGIScope

from postedit.serve.account_limits import KEY_RATES
from postedit.serve.http_errors import HttpError
from postedit.serve.service import Service, ServiceDep, service_of
from postedit.serve.store import Store
from postedit.serve.store_base import Row, no_project
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

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods of requests that change nothing."""


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
            raise HttpError(404, no_project(project))
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
            if request.method not in SAFE_METHODS and not hmac.compare_digest(given.encode(), found.csrf.encode()):
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


def _of_key(service: Service, secret: str, *, counts: bool) -> Caller:
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
