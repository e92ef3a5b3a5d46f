"""A memory of corrections: a log in a database, of which every acknowledged entry survives.

Entries are numbered in the order in which they take effect, so whoever follows a memory (a phrase table, an adapted
model) asks for the entries after the last one it knows. Entries are never changed: a correction is undone by an entry
that says so. Only `CorrectionMemory.delete` removes entries, those of a project, for good; it begins a new edition of
the memory, and what followed the old edition has to begin anew.
"""

import hashlib
import json
import logging
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from postedit.adapt.correction import Correction, decisions_as_json, decisions_of_json
from postedit.core.errors import DataError, OutputError, nearest_path

_log = logging.getLogger(__name__)

_VERSION: Final = 1
"""Of the tables; a memory of another version is refused."""

_WAIT_SECONDS: Final = 30.0
"""For other processes that write."""

_PER_READ: Final = 1000
"""Entries read from the database at a time."""

_EMPTY: Final = "has no memory of corrections; `postedit memory add` makes one"
_OTHER: Final = "is a file of another program, no memory of corrections; name another one"

_tables: Final = sql.MetaData()
_state: Final = sql.Table(
    "postedit_memory",
    _tables,
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("name", sql.String(32), nullable=False),  # random; tells one memory from another
    sql.Column("edition", sql.Integer, nullable=False),
    sql.Column("last", sql.BigInteger, nullable=False),  # number of the last entry
)
_entries: Final = sql.Table(
    "postedit_entries",
    _tables,
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("undoes", sql.BigInteger),  # number of the correction that this entry takes back; null: a correction
    sql.Column("made", sql.String(40), nullable=False),
    sql.Column("author", sql.Text, nullable=False),
    sql.Column("project", sql.Text, nullable=False, index=True),
    sql.Column("file", sql.Text, nullable=False),
    sql.Column("unit", sql.Text, nullable=False),
    sql.Column("src", sql.Text, nullable=False),
    sql.Column("mt", sql.Text, nullable=False),
    sql.Column("pe", sql.Text, nullable=False),
    sql.Column("decisions", sql.Text, nullable=False),
    sql.Index("postedit_undone", "undoes", unique=True),
)


class Entry(NamedTuple):
    """An entry of a memory: a correction, or the end of one.

    Args:
        number: of the entry.
        correction: what was learnt; of an entry that undoes, what is forgotten.
        undoes: the number of the entry that this one takes back, if it does.
    """

    number: int
    correction: Correction
    undoes: int | None


class MemoryPosition(NamedTuple):
    """How far a memory has come: its edition, the number of its last entry, and the mark of this entry.

    By the mark, a backup that was put back is told from the memory that it replaced, even if it has grown since.
    """

    edition: int
    last: int
    mark: str = ""  # see `CorrectionMemory.mark`


class ProjectSummary(NamedTuple):
    """What a memory has of one project.

    Args:
        name: of the project; empty for corrections without one.
        corrections: how many corrections there are that have not been undone.
        undone: how many have been.
        first: when the earliest of these corrections was made; None if there are none.
        last: when the latest was made.
    """

    name: str
    corrections: int
    undone: int
    first: datetime | None
    last: datetime | None


class CorrectionMemory:
    """A memory of corrections in a database, which several processes may use at a time.

    Args:
        where: a file of SQLite, or the URL of a database of PostgreSQL: `postgresql://USER@HOST/NAME`.
        create: make the memory if there is none.

    Raises:
        OutputError: if it cannot be opened.
        DataError: if the database is no memory, or one of another version.
    """

    def __init__(self, where: str | Path, *, create: bool = True) -> None:
        self._engine = _engine(str(where), create=create)
        with self._explained():
            if not _has_tables(self._engine):
                if not create:
                    raise DataError(f"{self.place}: {_EMPTY}")
                _make_tables(self._engine)
            with self._engine.connect() as connection:
                version = connection.execute(sql.select(_state.c.version)).scalar_one()
        if version != _VERSION:
            raise DataError(f"{self.place}: is a memory of version {version}, and this postedit reads {_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def add(self, corrections: Iterable[Correction]) -> list[int]:
        """Add corrections, all or none, and return the numbers of their entries, once they are safe on the disk.

        Raises:
            OutputError: if that fails, for instance because the disk is full.
        """
        now = datetime.now(UTC)
        rows = [_row(one, now) for one in corrections]
        return self._append(rows) if rows else []

    def undo(self, number: int, author: str = "") -> int:
        """Take a correction back, and return the number of the entry that says so.

        Raises:
            DataError: if there is no such correction, or it has been taken back.
            OutputError: if the entry cannot be written.
        """
        with self._explained(), self._engine.begin() as connection:
            first = _reserve(connection, 1)
            row = connection.execute(sql.select(_entries).where(_entries.c.number == number)).mappings().one_or_none()
            if row is None or row["undoes"] is not None:
                raise DataError(
                    f"{self.place}: has no correction {number}; `postedit memory show --last 10` lists some"
                )
            if connection.execute(sql.select(_entries.c.number).where(_entries.c.undoes == number)).first():
                raise DataError(f"{self.place}: correction {number} has been undone before")
            now = datetime.now(UTC).isoformat()
            entry = {**row, "number": first, "undoes": number, "made": now, "author": author}
            connection.execute(sql.insert(_entries), entry)
        return first

    def delete(self, project: str) -> int:
        """Remove all entries of a project for good, and return their number; a new edition of the memory begins.

        The texts are overwritten in the file of SQLite. PostgreSQL frees their place; what backups and its log of
        writes keep is for its administrator to remove.

        Raises:
            OutputError: if that fails.
        """
        with self._explained():
            with self._engine.begin() as connection:
                _reserve(connection, 0)
                removed = connection.execute(sql.delete(_entries).where(_entries.c.project == project)).rowcount
                if removed:
                    connection.execute(sql.update(_state).values(edition=_state.c.edition + 1))
            if removed:
                self._clean()
        return removed

    @property
    def place(self) -> str:
        """The path of the file, or the URL without its password."""
        return str(self._engine.url.database) if self._engine.dialect.name == "sqlite" else repr(self._engine.url)

    @property
    def name(self) -> str:
        """A random name that the memory got when it was made, and that copies of its file have, too.

        Raises:
            OutputError: if it cannot be read.
        """
        with self._explained(), self._engine.connect() as connection:
            return str(connection.execute(sql.select(_state.c.name)).scalar_one())

    @property
    def position(self) -> MemoryPosition:
        """How far the memory has come.

        Raises:
            OutputError: if it cannot be read.
        """
        with self._explained(), self._engine.connect() as connection:
            edition, last = connection.execute(sql.select(_state.c.edition, _state.c.last)).one()
            return MemoryPosition(edition, last, _mark(connection, last))

    def mark(self, number: int) -> str:
        """Return a fingerprint of the entry with a number; empty if there is no such entry.

        Raises:
            OutputError: if it cannot be read.
        """
        with self._explained(), self._engine.connect() as connection:
            return _mark(connection, number)

    def entries(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with numbers above `after`, and up to `until` if given, in order.

        Raises:
            OutputError: if they cannot be read.
        """
        while True:
            query = sql.select(_entries).where(_entries.c.number > after).order_by(_entries.c.number).limit(_PER_READ)
            if until is not None:
                query = query.where(_entries.c.number <= until)
            with self._explained(), self._engine.connect() as connection:
                rows = connection.execute(query).mappings().all()
            yield from map(_entry, rows)
            if len(rows) < _PER_READ:
                return
            after = rows[-1]["number"]

    def latest(self, count: int) -> list[Entry]:
        """Return the last entries, in order.

        Raises:
            OutputError: if they cannot be read.
        """
        query = sql.select(_entries).order_by(_entries.c.number.desc()).limit(count)
        with self._explained(), self._engine.connect() as connection:
            return [_entry(row) for row in reversed(connection.execute(query).mappings().all())]

    def by_number(self, numbers: Iterable[int]) -> dict[int, Correction]:
        """Return the corrections with these numbers, as far as there are any.

        Raises:
            OutputError: if they cannot be read.
        """
        found: dict[int, Correction] = {}
        asked = sorted(set(numbers))
        with self._explained(), self._engine.connect() as connection:
            for start in range(0, len(asked), _PER_READ):
                part = _entries.c.number.in_(asked[start : start + _PER_READ])
                rows = connection.execute(sql.select(_entries).where(part)).mappings()
                found.update((row["number"], _entry(row).correction) for row in rows)
        return found

    def corrections(self, project: str | None = None) -> Iterator[Entry]:
        """Yield the corrections that have not been undone, in order; those of one project if it is given.

        Raises:
            OutputError: if they cannot be read.
        """
        undone = {one.undoes for one in self.entries() if one.undoes is not None}
        for one in self.entries():
            if one.undoes is None and one.number not in undone and project in (None, one.correction.project):
                yield one

    def projects(self) -> list[ProjectSummary]:
        """Return what there is of each project, by name.

        Raises:
            OutputError: if the entries cannot be read.
        """
        columns = (_entries.c.number, _entries.c.undoes, _entries.c.project, _entries.c.made)
        with self._explained(), self._engine.connect() as connection:
            rows = connection.execute(sql.select(*columns)).all()
        undone = {row.undoes for row in rows if row.undoes is not None}
        taken_back = Counter(row.project for row in rows if row.undoes is not None)
        made: dict[str, list[datetime]] = {row.project: [] for row in rows}
        for row in rows:
            if row.undoes is None and row.number not in undone:
                made[row.project].append(datetime.fromisoformat(row.made))
        return [
            ProjectSummary(name, len(dates), taken_back[name], min(dates, default=None), max(dates, default=None))
            for name, dates in sorted(made.items())
        ]

    def _append(self, rows: Sequence[dict[str, Any]]) -> list[int]:
        with self._explained(), self._engine.begin() as connection:
            first = _reserve(connection, len(rows))
            numbers = list(range(first, first + len(rows)))
            numbered = [{**row, "number": number} for number, row in zip(numbers, rows, strict=True)]
            connection.execute(sql.insert(_entries), numbered)
        return numbers

    def _clean(self) -> None:
        """Remove what deleted rows leave in the files of SQLite; `secure_delete` has overwritten them."""
        if self._engine.dialect.name == "sqlite":
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sql.text("VACUUM"))
                connection.execute(sql.text("PRAGMA wal_checkpoint(TRUNCATE)"))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise OutputError(f"{self.place}: {' '.join(str(error.orig).split())}") from error
        except SQLAlchemyError as error:
            raise OutputError(f"{self.place}: cannot be used: {' '.join(str(error).split())}") from error


def _engine(where: str, *, create: bool) -> sql.Engine:
    """Return what connects to a database; each acknowledged write is on the disk."""
    if "://" not in where:
        _check_file(Path(where), create=create)
        engine = sql.create_engine(
            sql.URL.create("sqlite", database=str(Path(where).absolute())),
            connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
        )
        sql.event.listen(engine, "connect", _prepare_sqlite)
        return engine
    scheme, _, rest = where.partition("://")
    if scheme not in ("postgresql", "postgres"):
        raise DataError(f"a memory is a file, or a database of PostgreSQL (postgresql://...); {scheme}:// is neither")
    try:
        return sql.create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise DataError("memories in PostgreSQL need psycopg: pip install 'postedit[postgresql]'") from None
    except SQLAlchemyError as error:
        raise DataError(f"the URL of the memory cannot be read: {error}") from None


def _check_file(path: Path, *, create: bool) -> None:
    """Check that a file is a memory, or can become one; other databases are not touched."""
    if not path.exists():
        if create:
            return
        raise DataError(f"{path}: there is no such memory{nearest_path(path)}; `postedit memory add` makes one")
    if path.is_dir():
        raise DataError(f"{path}: is a folder, and a memory is a file")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)) as found:
            tables = {name for (name,) in found.execute("SELECT name FROM sqlite_master")}
    except sqlite3.OperationalError:  # such as no permission, which the engine meets again, and explains
        return
    except sqlite3.DatabaseError:
        raise DataError(f"{path}: {_OTHER}") from None
    if not (tables or create):
        raise DataError(f"{path}: {_EMPTY}")
    if tables and _state.name not in tables:
        raise DataError(f"{path}: {_OTHER}")


def _prepare_sqlite(connection: Any, _: object) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _has_tables(engine: sql.Engine) -> bool:
    return sql.inspect(engine).has_table(_state.name)


def _make_tables(engine: sql.Engine) -> None:
    """Make the tables of a memory that is new; of two processes that do, one waits for the other."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sql.text("SELECT pg_advisory_xact_lock(hashtext('postedit_memory'))"))
        _tables.create_all(connection)
        if connection.execute(sql.select(_state.c.version)).first() is None:
            connection.execute(sql.insert(_state).values(version=_VERSION, name=uuid.uuid4().hex, edition=1, last=0))


def _reserve(connection: sql.Connection, count: int) -> int:
    """Reserve numbers of entries, and return the first; until the transaction ends, no other process can."""
    update = sql.update(_state).values(last=_state.c.last + count).returning(_state.c.last)
    return int(connection.execute(update).scalar_one()) - count + 1


def _mark(connection: sql.Connection, number: int) -> str:
    row = connection.execute(sql.select(_entries).where(_entries.c.number == number)).one_or_none()
    return "" if row is None else hashlib.sha256(json.dumps([*row]).encode()).hexdigest()[:16]


def _row(one: Correction, now: datetime) -> dict[str, Any]:
    texts = {name: getattr(one, name) for name in ("src", "mt", "pe", "author", "project", "file", "unit")}
    made = (one.made or now).astimezone(UTC).isoformat()
    return {**texts, "undoes": None, "made": made, "decisions": decisions_as_json(one.decisions)}


def _entry(row: Any) -> Entry:
    correction = Correction(
        row["src"],
        row["mt"],
        row["pe"],
        decisions=decisions_of_json(row["decisions"]),
        author=row["author"],
        project=row["project"],
        file=row["file"],
        unit=row["unit"],
        made=datetime.fromisoformat(row["made"]),
    )
    return Entry(row["number"], correction, row["undoes"])
