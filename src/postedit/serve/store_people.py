"""People in the database: users and their roles in projects, API keys, and browser sessions."""

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal, NamedTuple

import sqlalchemy as sql
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from postedit.core.errors import DataError
from postedit.serve.schema import keys, members, projects, sessions, users
from postedit.serve.store_base import (
    Database,
    NotFoundError,
    Row,
    as_json,
    insert_new,
    new_id,
    no_project,
    now,
    one_row,
    rows_of,
)

Role = Literal["reader", "translator", "manager"]
Scope = Literal["edit", "learn", "files", "manage", "metrics", "admin"]

LEAST_PASSWORD: Final = 10
"""Minimum number of characters of a password."""

_LONGEST_PASSWORD: Final = 1000
_KEY_PREFIX: Final = "postedit_"  # so that scanners for leaked secrets recognise keys
_HASHER: Final = PasswordHasher()
_HASHES: Final = threading.Semaphore(2)
"""Limits how many hashes are computed at a time, since each takes 64 MB."""

_NO_HASH: Final = _HASHER.hash("")
"""Verified if there is no such user, so that the response time does not show this."""

_ADMINISTRATORS: Final = sql.select(users.c.id).where(users.c.admin.is_(True), users.c.active.is_(True))

_CLOCKS_DIFFER: Final = 300
"""Seconds by which the clocks of machines that share a database may differ, at most."""


class KeyOwner(NamedTuple):
    """An API key, and its user, whose rights limit those of the key."""

    key: Row
    user: Row


class Session(NamedTuple):
    """A browser session: its token against forged requests, and its user."""

    csrf: str
    user: Row


class People:
    """The users, keys and sessions of a database."""

    session_seconds: int = 12 * 3600
    """Seconds after which a session ends."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """Keep people in a database.

        Args:
            database: database with their tables.
            clock: returns the seconds since 1970, by which sessions end.
        """
        self._db, self.clock = database, clock

    def create_user(self, name: str, password: str, *, admin: bool = False) -> str:
        """Add a user, whose name is as `api_types.user_name` returns it, and return the user's id.

        Raises:
            DataError: if the name is taken, or the password is too short or too long.
        """
        user = new_id()
        values = {"id": user, "name": name, "password": _hashed(password), "created": now()}
        with self._db.write() as connection:
            insert_new(connection, users, {**values, "admin": admin, "active": True})
            if connection.execute(sql.select(users.c.id).where(users.c.name == name)).scalar() != user:
                raise DataError(f"there is a user {name!r} already")
        return user

    def set_admin(self, name: str, password: str) -> str:
        """Make a user, added if new, an active administrator with a new password, and return the user's id."""
        with self._db.read() as connection:
            user = connection.execute(sql.select(users.c.id).where(users.c.name == name)).scalar_one_or_none()
        if user is None:
            return self.create_user(name, password, admin=True)
        self.change_user(user, password=password, admin=True, active=True)
        return str(user)

    def has_administrator(self) -> bool:
        """Return whether there is an active administrator."""
        with self._db.read() as connection:
            return connection.execute(_ADMINISTRATORS.limit(1)).first() is not None

    def change_user(
        self, user: str, *, password: str | None = None, admin: bool | None = None, active: bool | None = None
    ) -> None:
        """Change a user (None: no change); a new password or `active=False` ends all sessions of the user.

        Raises:
            NotFoundError: if there is no such user.
            DataError: if the password is too short or too long, or no administrator would be left.
        """
        given = {"password": None if password is None else _hashed(password), "admin": admin, "active": active}
        values = {name: value for name, value in given.items() if value is not None}
        is_less = admin is False or active is False
        with self._db.write() as connection:
            if is_less:
                _lock_administrators(connection)
            if values and not connection.execute(sql.update(users).where(users.c.id == user).values(values)).rowcount:
                raise NotFoundError(f"there is no user {user!r}")
            if is_less and not connection.execute(_ADMINISTRATORS.limit(1)).first():
                raise DataError("at least one administrator is required; appoint another one first")
            if password is not None or active is False:
                connection.execute(sql.delete(sessions).where(sessions.c.user == user))

    def users(self) -> list[dict[str, Any]]:
        """Return all users, sorted by name, with their roles in all projects."""
        with self._db.read() as connection:
            found = rows_of(connection, sql.select(users).order_by(users.c.name))
            roles = rows_of(connection, sql.select(members))
        return [
            user_json(row, {one["project"]: one["role"] for one in roles if one["user"] == row["id"]}) for row in found
        ]

    def active(self, managed: Collection[str]) -> list[dict[str, Any]]:
        """Return active users, sorted by name, with their roles in the given projects."""
        return [
            {
                "id": one["id"],
                "name": one["name"],
                "active": True,
                "roles": {project: role for project, role in one["roles"].items() if project in managed},
            }
            for one in self.users()
            if one["active"]
        ]

    def user_with(self, name: str, password: str) -> Row | None:
        """Return the active user with this name and password, or None."""
        with self._db.read() as connection:
            found = rows_of(connection, sql.select(users).where(users.c.name == name, users.c.active.is_(True)))
        expected = found[0]["password"] if found else _NO_HASH
        with _HASHES:
            try:
                _HASHER.verify(expected, password[:_LONGEST_PASSWORD])
            except (VerificationError, InvalidHashError):
                return None
        return found[0] if found else None

    def roles(self, user: str) -> dict[str, Role]:
        """Return the roles of a user, by project id."""
        with self._db.read() as connection:
            found = rows_of(connection, sql.select(members).where(members.c.user == user))
        return {row["project"]: row["role"] for row in found}

    def members(self, project: str) -> list[dict[str, Any]]:
        """Return the members of a project with their roles, sorted by name."""
        query = sql.select(users.c.id, users.c.name, members.c.role).join(members, members.c.user == users.c.id)
        with self._db.read() as connection:
            return rows_of(connection, query.where(members.c.project == project).order_by(users.c.name))

    def set_role(self, project: str, user: str, role: Role | None, who: str) -> None:
        """Set the role of a user in a project; None: remove the user from it.

        Raises:
            NotFoundError: if there is no such user.
        """
        with self._db.change(project, who) as change:
            name = one_row(change.connection, sql.select(users.c.name).where(users.c.id == user), f"user {user!r}")
            change.execute(sql.delete(members).where(members.c.project == project, members.c.user == user))
            if role is not None:
                change.execute(sql.insert(members).values(project=project, user=user, role=role))
            change.event("member", user=name["name"], role=role)

    def create_key(
        self, user: str, name: str, scopes: Sequence[Scope], limit_to: Sequence[str] | None, rate: float
    ) -> tuple[str, str]:
        """Add a key of a user, and return its id and its secret, of which only a hash is kept.

        Args:
            user: id of the user, whose rights limit those of the key.
            name: name of the key, for people.
            scopes: what the key may be used for.
            limit_to: ids of the projects that the key may be used for; None: all projects.
            rate: maximum number of requests per second; 0: no limit.

        Raises:
            DataError: if there is no such project.
        """
        key, secret = new_id(), _KEY_PREFIX + secrets.token_urlsafe(32)
        values = {"id": key, "user": user, "name": name, "scopes": as_json(list(scopes)), "rate": rate}
        with self._db.write() as connection:
            known = set(connection.execute(sql.select(projects.c.id)).scalars())
            if unknown := set(limit_to or ()) - known:
                raise DataError(no_project(unknown.pop()))
            limits = as_json(None if limit_to is None else list(limit_to))
            connection.execute(sql.insert(keys).values(**values, projects=limits, hash=_sha(secret), created=now()))
        return key, secret

    def keys(self, user: str | None = None) -> list[dict[str, Any]]:
        """Return the keys of one user, or of all users if `user` is None, without their secrets."""
        query = sql.select(keys, users.c.name.label("owner")).join(users, users.c.id == keys.c.user)
        if user is not None:
            query = query.where(keys.c.user == user)
        with self._db.read() as connection:
            return [_key_json(row) for row in rows_of(connection, query.order_by(keys.c.created, keys.c.id))]

    def delete_key(self, key: str, user: str | None = None) -> None:
        """Delete a key; if `user` is given, only if it is a key of that user.

        Raises:
            NotFoundError: if there is no such key.
        """
        wanted = keys.c.id == key if user is None else (keys.c.id == key) & (keys.c.user == user)
        with self._db.write() as connection:
            if not connection.execute(sql.delete(keys).where(wanted)).rowcount:
                raise NotFoundError(f"there is no key {key!r}")

    def owner_of(self, secret: str) -> KeyOwner | None:
        """Return the key with a secret, and its user; None if there is no such key, or the user is not active."""
        with self._db.read() as connection:
            found = rows_of(connection, sql.select(keys).where(keys.c.hash == _sha(secret)))
            if not found:
                return None
            active = sql.select(users).where(users.c.id == found[0]["user"], users.c.active.is_(True))
            owners = rows_of(connection, active)
        return KeyOwner(found[0], owners[0]) if owners else None

    def begin_session(self, user: str) -> tuple[str, str]:
        """Begin a session, and return the value of its cookie, and its token against forged requests."""
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        moment = int(self.clock())
        with self._db.write() as connection:
            connection.execute(sql.delete(sessions).where(sql.not_(self._lasts(moment))))
            values = {"hash": _sha(secret), "user": user, "csrf": csrf, "expires": moment + self.session_seconds}
            connection.execute(sql.insert(sessions).values(values))
        return secret, csrf

    def session(self, secret: str) -> Session | None:
        """Return the session of a cookie; None if it has ended, or its user is not active."""
        mine = (sessions.c.hash == _sha(secret)) & self._lasts(int(self.clock()))
        query = sql.select(users, sessions.c.csrf).join(sessions, sessions.c.user == users.c.id)
        with self._db.read() as connection:
            found = rows_of(connection, query.where(mine, users.c.active.is_(True)))
        return Session(found[0]["csrf"], found[0]) if found else None

    def _lasts(self, moment: int) -> sql.ColumnElement[bool]:
        """Return the SQL condition that a session is valid; one from the future (the clock was set back) is not."""
        return sessions.c.expires.between(moment + 1, moment + self.session_seconds + _CLOCKS_DIFFER)

    def end_session(self, secret: str) -> None:
        """End a session, if there is one."""
        with self._db.write() as connection:
            connection.execute(sql.delete(sessions).where(sessions.c.hash == _sha(secret)))


def _lock_administrators(connection: sql.Connection) -> None:
    """Lock the administrators until the transaction ends, so that two cannot remove each other at the same time.

    SQLite needs no such lock, and takes none, as only one transaction writes at a time.
    """
    connection.execute(_ADMINISTRATORS.order_by(users.c.id).with_for_update(key_share=True)).all()


def _hashed(password: str) -> str:
    if not LEAST_PASSWORD <= len(password) <= _LONGEST_PASSWORD:
        raise DataError(f"a password has {LEAST_PASSWORD} to {_LONGEST_PASSWORD} characters, this one {len(password)}")
    with _HASHES:
        return _HASHER.hash(password)


def _sha(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def user_json(row: Row, roles: dict[str, Role]) -> dict[str, Any]:
    """Return a user as the API gives it."""
    plain = {name: row[name] for name in ("id", "name", "created")}
    return {**plain, "admin": bool(row["admin"]), "active": bool(row["active"]), "roles": roles}


def _key_json(row: Row) -> dict[str, Any]:
    plain = {name: row[name] for name in ("id", "name", "owner", "rate", "created")}
    return {**plain, "scopes": json.loads(row["scopes"]), "projects": json.loads(row["projects"])}
