"""The database of the service: how it is read, and how a project is changed.

Everything that is changed in a project is changed within `Database.change`, one change at a time: it locks the row of
the project first, and the memory of corrections after it, so that changes wait for each other and never for ever. Each
change has events with the next numbers of the project; who reads them after the last number that they know misses none.
"""

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from postedit.adapt.correction_memory import CorrectionMemory, open_memory
from postedit.adapt.database import clean, explained, place_of
from postedit.core.errors import DataError, OutputError
from postedit.serve import migrations
from postedit.serve.schema import events, projects

_PAUSES: Final = (1.0, 5.0, 30.0, 60.0)
"""Seconds between attempts to overwrite what was deleted."""

Row = dict[str, Any]

_log = logging.getLogger(__name__)


class NotFoundError(DataError):
    """There is no such thing, or it is not for the caller to see."""


class ReadOnlyError(OutputError):
    """The database answers, and takes no changes."""


def new_id() -> str:
    """Return an id that no other thing has, and nobody guesses."""
    return secrets.token_hex(8)


def now() -> str:
    """Return the time as the API gives it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def as_json(value: Any) -> str:
    """Return a value as it is kept in a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class ProjectChange:
    """A change of a project that has not been committed.

    Args:
        connection: of the database, with the transaction.
        project: the id of the project.
        who: makes the change.
        last: the number of the last event.
    """

    def __init__(self, connection: sql.Connection, project: str, who: str, last: int) -> None:
        self.connection, self.project, self.who, self.last = connection, project, who, last

    def execute(self, statement: sql.Executable, values: Any = None) -> sql.CursorResult[Any]:
        """Execute a statement."""
        return self.connection.execute(statement, values)

    def settings(self) -> Row:
        """Return the settings of the project as they are kept."""
        return one_row(self.connection, sql.select(projects).where(projects.c.id == self.project), "project")

    def next_number(self) -> int:
        """Return the next number of the project, for an event or a decision."""
        self.last += 1
        return self.last

    def event(self, kind: str, **data: Any) -> int:
        """Record an event, and return its number."""
        row = {"project": self.project, "number": self.next_number(), "kind": kind, "who": self.who, "made": now()}
        self.execute(sql.insert(events).values(**row, data=as_json(data)))
        return self.last


class Database:
    """A database with the tables of the service and the memory of corrections.

    Args:
        where: a file of SQLite, or the URL of a database of PostgreSQL.

    Raises:
        DataError: if it is a file of another program, or of a newer postedit.
        OutputError: if it cannot be used.
    """

    def __init__(self, where: str) -> None:
        if "://" not in where:
            _make_private(Path(where).absolute())
        self.engine = open_memory(where)
        self.memory = CorrectionMemory(self.engine)
        migrations.upgrade(self.engine)
        self._cleaner, self._lock = ThreadPoolExecutor(1, "clean"), threading.Lock()
        self._cleaning: Future[None] | None = None
        self._closing = threading.Event()
        self.listeners: list[Callable[[str], None]] = []
        """Called with the id of a project that this process has changed."""
        self.on_deletion: list[Callable[[], None]] = []
        """Called when this process has deleted something for good."""

    def close(self) -> None:
        """Close all connections, once what was deleted has been overwritten, or cannot be."""
        self._closing.set()
        self._cleaner.shutdown()
        self.engine.dispose()

    def check(self) -> None:
        """Check that the database answers, and may be written, as far as reading tells.

        Raises:
            ReadOnlyError: if it cannot be written.
            OutputError: if it does not answer.
        """
        with self.read() as connection:
            connection.execute(sql.select(projects.c.id).limit(1)).all()
            if connection.dialect.name == "postgresql":
                is_read_only = connection.execute(sql.text("SHOW transaction_read_only")).scalar_one() == "on"
            else:  # which writes other files beside its own
                file = Path(place_of(self.engine))
                is_read_only = not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))
        if is_read_only:
            raise ReadOnlyError(f"{place_of(self.engine)}: is read-only")

    @contextmanager
    def read(self) -> Iterator[sql.Connection]:
        """Yield a connection for reading."""
        with explained(self.engine), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sql.Connection]:
        """Yield a connection for a change of what belongs to no project."""
        with explained(self.engine), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def change(self, project: str, who: str) -> Iterator[ProjectChange]:
        """Yield a change of a project, which is committed at the end; other changes of it wait.

        Raises:
            NotFoundError: if there is no such project.
            OutputError: if it cannot be written.
        """
        with self.write() as connection:
            lock = sql.update(projects).where(projects.c.id == project).values(last_event=projects.c.last_event)
            last = connection.execute(lock.returning(projects.c.last_event)).scalar_one_or_none()
            if last is None:
                raise NotFoundError(f"there is no project {project!r}")
            change = ProjectChange(connection, project, who, last)
            yield change
            if change.last != last:
                number = sql.update(projects).where(projects.c.id == project).values(last_event=change.last)
                connection.execute(number)
        for listener in self.listeners:
            listener(project)

    def clean(self) -> None:
        """Overwrite what was deleted, in a while and in a thread of its own; see `adapt.database.clean`.

        The file of SQLite is written anew, which takes seconds a gigabyte; what is deleted until that begins is gone,
        too.
        """
        for forget in self.on_deletion:
            forget()
        with self._lock:
            if self._cleaning is None or self._cleaning.running() or self._cleaning.done():
                self._cleaning = self._cleaner.submit(self._clean)

    def _clean(self) -> None:
        """Clean, again and again until nothing is in the way."""
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                with explained(self.engine):
                    clean(self.engine)
                return
            except OutputError as error:
                _log.warning("what was deleted is not overwritten yet, and will be tried again: %s", error)
            if self._closing.wait(pause):
                return


def _make_private(path: Path) -> None:
    """Make an empty file, and its folder, that other users of the machine cannot read; what exists stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        with suppress(OSError):  # the database says why it cannot be made
            path.touch(mode=0o600)


def rows_of(connection: sql.Connection, query: sql.Select[Any]) -> list[Row]:
    """Return the rows of a query."""
    return [dict(row._mapping) for row in connection.execute(query)]


def one_row(connection: sql.Connection, query: sql.Select[Any], what: str) -> Row:
    """Return the row of a query.

    Raises:
        NotFoundError: naming what there is not.
    """
    found = rows_of(connection, query)
    if not found:
        raise NotFoundError(f"there is no {what}")
    return found[0]


def insert_new(connection: sql.Connection, table: sql.Table, values: Mapping[str, Any]) -> None:
    """Insert a row, unless there is one with its key."""
    insert = postgresql_insert if connection.dialect.name == "postgresql" else sqlite_insert
    connection.execute(insert(table).values(values).on_conflict_do_nothing())
