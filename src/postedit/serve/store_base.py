"""The database of the service: how it is read, and how a project is changed.

All changes in a project are made within `Database.change`, one at a time: it locks the row of the project first, and
the memory of corrections after it, so that changes wait for each other without deadlocks. The events of a change have
the next numbers of the project, so clients that read the events after the last number they know miss none.
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
    """There is no such object, or the caller may not see it."""


class ReadOnlyError(OutputError):
    """The database answers, but is read-only."""


def no_project(project: str) -> str:
    """Return the message that there is no such project; requests name projects by their ids, people by their names."""
    return f"there is no project {project!r} (GET /v1/projects lists their ids)"


def new_id() -> str:
    """Return a new, unique id that nobody can guess."""
    return secrets.token_hex(8)


def now() -> str:
    """Return the present time in UTC, in the format of the API (ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def as_json(value: Any) -> str:
    """Return a value as compact JSON, as it is kept in a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class ProjectChange:
    """A change of a project that is not committed yet.

    Args:
        connection: connection to the database, within a transaction.
        project: id of the project.
        who: name of the user who makes the change.
        last: the last number given to an event or decision of the project.
    """

    def __init__(self, connection: sql.Connection, project: str, who: str, last: int) -> None:
        self.connection, self.project, self.who, self.last = connection, project, who, last

    def execute(self, statement: sql.Executable, values: Any = None) -> sql.CursorResult[Any]:
        """Execute a statement within the transaction."""
        return self.connection.execute(statement, values)

    def settings(self) -> Row:
        """Return the row of the project, with its settings."""
        return one_row(self.connection, sql.select(projects).where(projects.c.id == self.project), "project")

    def next_number(self) -> int:
        """Return the next number of the project, which an event or a decision gets."""
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
        where: path of a SQLite file, or URL of a PostgreSQL database.

    Raises:
        DataError: if the database belongs to another program, or to a newer postedit.
        OutputError: if the database cannot be used.
    """

    def __init__(self, where: str) -> None:
        if "://" not in where:
            _make_private(Path(where).absolute())
        self.engine = open_memory(where)
        self.memory = CorrectionMemory(self.engine)
        migrations.upgrade(self.engine)
        self._file = self._present_file()
        self._cleaner, self._lock = ThreadPoolExecutor(1, "clean"), threading.Lock()
        self._cleaning: Future[None] | None = None
        self._closing = threading.Event()
        self.listeners: list[Callable[[str], None]] = []
        """Functions called with the id of a project that this process has changed."""
        self.on_deletion: list[Callable[[], None]] = []
        """Functions called when this process has permanently deleted something."""

    def close(self) -> None:
        """Close all connections, after a pending overwrite of deleted data has been done or has failed."""
        self._closing.set()
        self._cleaner.shutdown()
        self.engine.dispose()

    def check(self) -> None:
        """Check that the database answers and, as far as this shows without writing, can be written.

        Raises:
            ReadOnlyError: if the database is read-only.
            OutputError: if the database does not answer.
        """
        with self.read() as connection:
            connection.execute(sql.select(projects.c.id).limit(1)).all()
            if connection.dialect.name == "postgresql":
                is_read_only = connection.execute(sql.text("SHOW transaction_read_only")).scalar_one() == "on"
            else:  # SQLite also writes other files beside the database
                file = Path(place_of(self.engine))
                is_read_only = not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))
        if is_read_only:
            raise ReadOnlyError(f"{place_of(self.engine)}: is read-only")

    def _present_file(self) -> tuple[int, int] | None:
        """Return what tells the file of SQLite from any other; None if it cannot be found, or for PostgreSQL."""
        if self.engine.dialect.name == "postgresql":
            return None
        try:
            found = Path(place_of(self.engine)).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Check that the file of SQLite is the one that was opened: what is written to it otherwise would be lost.

        Raises:
            OutputError: if it has been removed or replaced.
        """
        if self._present_file() != self._file:
            raise OutputError(
                f"{place_of(self.engine)}: was removed or replaced while the service was running, so nothing can be "
                "kept; put it back, or restart the service"
            )

    @contextmanager
    def read(self) -> Iterator[sql.Connection]:
        """Yield a connection for reading."""
        self._check_file()
        with explained(self.engine), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sql.Connection]:
        """Yield a connection, in a transaction, for changes of data that belong to no project."""
        self._check_file()
        with explained(self.engine), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def change(self, project: str, who: str) -> Iterator[ProjectChange]:
        """Yield a change of a project, which is committed at the end; other changes of the project wait.

        Raises:
            NotFoundError: if there is no such project.
            OutputError: if the database cannot be written.
        """
        with self.write() as connection:
            lock = sql.update(projects).where(projects.c.id == project).values(last_event=projects.c.last_event)
            last = connection.execute(lock.returning(projects.c.last_event)).scalar_one_or_none()
            if last is None:
                raise NotFoundError(no_project(project))
            change = ProjectChange(connection, project, who, last)
            yield change
            if change.last != last:
                number = sql.update(projects).where(projects.c.id == project).values(last_event=change.last)
                connection.execute(number)
        for listener in self.listeners:
            listener(project)

    def clean(self) -> None:
        """Overwrite deleted data, later and in a separate thread; see `adapt.database.clean`.

        A SQLite file is rewritten, which takes some seconds per gigabyte; one run also covers everything deleted
        before it begins.
        """
        for forget in self.on_deletion:
            forget()
        with self._lock:
            if self._cleaning is None or self._cleaning.running() or self._cleaning.done():
                self._cleaning = self._cleaner.submit(self._clean)

    def _clean(self) -> None:
        """Overwrite deleted data, trying again until that succeeds or the database is closed."""
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
    """Create a file and its folder, readable only by the user of this process; existing ones stay as they are."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        with suppress(OSError):  # the error of the database says why
            path.touch(mode=0o600)


def rows_of(connection: sql.Connection, query: sql.Select[Any]) -> list[Row]:
    """Return the rows of a query."""
    return [dict(row._mapping) for row in connection.execute(query)]


def one_row(connection: sql.Connection, query: sql.Select[Any], what: str) -> Row:
    """Return the first row of a query.

    Raises:
        NotFoundError: if there is none; the message names `what`.
    """
    found = rows_of(connection, query)
    if not found:
        raise NotFoundError(f"there is no {what}")
    return found[0]


def insert_new(connection: sql.Connection, table: sql.Table, values: Mapping[str, Any]) -> None:
    """Insert a row, unless one with the same key exists."""
    insert = postgresql_insert if connection.dialect.name == "postgresql" else sqlite_insert
    connection.execute(insert(table).values(values).on_conflict_do_nothing())
