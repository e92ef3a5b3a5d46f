"""Routes for signing in, users and API keys."""

import logging
import unicodedata
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from postedit.serve import api_answers as api
from postedit.serve.account_limits import THROTTLE
from postedit.serve.accounts import COOKIE, AccessDep, CallerDep
from postedit.serve.api_answers import answering
from postedit.serve.api_models import ERRORS
from postedit.serve.api_types import Body, Id, Name, PlainText, UserName
from postedit.serve.http_errors import HttpError
from postedit.serve.service import Service, ServiceDep
from postedit.serve.store_base import Row
from postedit.serve.store_people import LEAST_PASSWORD, Scope

router = APIRouter(prefix="/v1", tags=["people"], responses=ERRORS)
_log = logging.getLogger(__name__)

Password = Annotated[PlainText, Field(min_length=LEAST_PASSWORD, max_length=1000)]


class SignIn(Body):
    """Name and password of a user who signs in."""

    name: PlainText = Field(max_length=200)
    password: PlainText = Field(max_length=1000)


class NewUser(Body):
    """A user to add."""

    name: UserName
    password: Password
    admin: bool = Field(False, description="whether the user may do everything")


class UserChange(Body):
    """Changes of a user; fields that are not given stay as they are."""

    password: Password | None = None
    admin: bool | None = None
    active: bool | None = Field(None, description="false: the user can no longer sign in, and keys do not work")


class NewKey(Body):
    """An API key for a program. It never has more rights than the user who makes it."""

    name: Name
    scopes: list[Scope] = Field(min_length=1, max_length=6)
    projects: list[Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,32}$")]] | None = Field(
        None, max_length=1000, description="ids of the projects that the key is limited to; null: all"
    )
    rate: float = Field(0.0, ge=0, le=1_000_000, description="requests per second; 0: no limit")


@router.post("/session", **answering(api.SessionOut))
def sign_in(asked: SignIn, request: Request, response: Response, service: ServiceDep) -> dict[str, Any]:
    """Sign in: the response sets a cookie, and has `csrf`, the X-CSRF-Token of requests that change something."""
    if not service.config.auth_required:
        return _local_user()
    user = _checked_user(service, asked, "" if request.client is None else request.client.host)
    secret, csrf = service.store.people.begin_session(user["id"])
    response.set_cookie(
        COOKIE,
        secret,
        max_age=service.store.people.session_seconds,
        secure=service.config.secure_cookies,
        httponly=True,
        samesite="strict",
    )
    roles = service.store.people.roles(user["id"])
    return _session({"id": user["id"], "name": user["name"], "admin": bool(user["admin"]), "roles": roles}, csrf)


def _session(user: dict[str, Any], csrf: str) -> dict[str, Any]:
    return {"user": user, "csrf": csrf, "auth": "password"}


def _checked_user(service: Service, asked: SignIn, address: str) -> Row:
    name = unicodedata.normalize("NFC", asked.name)  # as in `UserName`
    with THROTTLE.trying(name, address) as this:
        user = service.store.people.user_with(name, asked.password)
        this.has_failed = user is None
    if user is None:
        _log.warning("a wrong password for user %s from %s", asked.name, address)
        raise HttpError(401, "no active user has this name and password")
    _log.info("user %s signed in from %s", asked.name, address)
    return user


@router.get("/session", **answering(api.SessionOut))
def who_am_i(access: AccessDep) -> dict[str, Any]:
    """Return the session: who is signed in, and the token for X-CSRF-Token."""
    caller = access.caller
    if caller.user is None:
        return _local_user()
    user = {"id": caller.user, "name": caller.name, "admin": caller.admin, "roles": dict(caller.roles)}
    return _session(user, caller.csrf)


@router.delete("/session", status_code=204)
def sign_out(request: Request, response: Response, access: AccessDep) -> None:
    """Sign out: end the session, and delete its cookie."""
    cookie = request.cookies.get(COOKIE)
    if cookie and access.caller.csrf:
        access.store.people.end_session(cookie)
        _log.info("user %s signed out", access.caller.name)
    response.delete_cookie(COOKIE, secure=access.service.config.secure_cookies, httponly=True, samesite="strict")


def _local_user() -> dict[str, Any]:
    return {"user": {"id": None, "name": "local", "admin": True, "roles": {}}, "csrf": "", "auth": "none"}


@router.get("/users", **answering(api.UserList))
def list_users(access: AccessDep) -> dict[str, Any]:
    """Return all users; managers get only the active ones, with their roles in the projects that they manage."""
    caller = access.caller
    managed = {project for project in caller.roles if caller.may("manage", project)}
    if caller.may("admin"):
        return {"users": access.store.people.users()}
    if managed:
        return {"users": access.store.people.active(managed)}
    raise HttpError(403, f"this is for administrators and managers of projects, and {caller.name} may do neither here")


@router.post("/users", status_code=201, **answering(api.UserOut, 201))
def create_user(asked: NewUser, access: AccessDep) -> dict[str, Any]:
    """Add a user."""
    access.caller.require("admin")
    user = access.store.people.create_user(asked.name, asked.password, admin=asked.admin)
    _log.info("user %s added by %s", asked.name, access.caller.name)
    return _user_json(access, user)


@router.patch("/users/{user}", **answering(api.UserOut))
def change_user(user: Id, asked: UserChange, access: AccessDep) -> dict[str, Any]:
    """Change a user; only administrators may, except that people may change their own password."""
    given = asked.model_dump(exclude_unset=True)
    if user != access.caller.user or set(given) - {"password"} or access.caller.scopes is not None:
        access.caller.require("admin")
    access.store.people.change_user(user, **given)
    changed = (name if name == "password" else f"{name}={value}" for name, value in given.items())
    _log.info("user %s changed by %s: %s", user, access.caller.name, ", ".join(changed))
    return _user_json(access, user)


@router.get("/keys", **answering(api.KeyList))
def list_keys(access: AccessDep) -> dict[str, Any]:
    """Return the caller's keys; administrators get the keys of all users."""
    return {"keys": access.store.people.keys(None if access.caller.may("admin") else _own(access.caller))}


@router.post("/keys", status_code=201, **answering(api.NewKeyOut, 201))
def create_key(asked: NewKey, access: AccessDep) -> dict[str, Any]:
    """Create a key; only this response has its secret."""
    user = _own(access.caller)
    for project in asked.projects or ():
        access.caller.require("read", project)  # so that nothing is revealed about other projects
    key, secret = access.store.people.create_key(user, asked.name, asked.scopes, asked.projects, asked.rate)
    _log.info("key %s added by %s: %s", key, access.caller.name, ", ".join(asked.scopes))
    found = next(one for one in access.store.people.keys(user) if one["id"] == key)
    return {**found, "key": secret}


@router.delete("/keys/{key}", status_code=204)
def delete_key(key: Id, access: AccessDep) -> None:
    """Delete one of the caller's keys; administrators may delete any key."""
    access.store.people.delete_key(key, None if access.caller.may("admin") else _own(access.caller))
    _log.info("key %s deleted by %s", key, access.caller.name)


def _user_json(access: AccessDep, user: str) -> dict[str, Any]:
    found = next((one for one in access.store.people.users() if one["id"] == user), None)
    if found is None:
        raise HttpError(404, f"there is no user {user!r}")
    return found


def _own(caller: CallerDep) -> str:
    """Return the id of a caller who may manage keys: a person who signed in, or a key of the scope `admin`."""
    if caller.user is None:
        raise HttpError(422, "this service needs no keys, as only its own machine reaches it")
    if caller.scopes is not None and not caller.may("admin"):
        raise HttpError(403, "keys are managed by people who sign in, or with a key of the scope 'admin'")
    return caller.user
