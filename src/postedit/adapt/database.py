"""Databases in an SQLite file or on a PostgreSQL server, in which each acknowledged write is on the disk."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from postedit.core.errors import DataError, OutputError, nearest_path
from postedit.core.files import check_writable

_WAIT_SECONDS: Final = 30.0
"""Time to wait for other processes that are writing."""

_CONNECTIONS: Final = 10
"""Connections that are kept open; as many again are opened if they are needed."""

_OF_POSTGRESQL: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
    "client_encoding": "utf8",  # whatever PGCLIENTENCODING says
}
"""Connection options, unless the URL gives them: a server that is gone is noticed within about half a minute."""

_ALL_TEXTS: Final = "UTF8"
"""PostgreSQL's only encoding in which all texts can be stored."""

_LONGEST_STATEMENT: Final = "SET statement_timeout = '10min'"
_LONGEST_LOCK: Final = f"SET lock_timeout = '{_WAIT_SECONDS:g}s'"

_OTHER: Final = "is a file of another program, not a memory of corrections; name another one"
_DAMAGED: Final = "is a database that is damaged, or was cut short; restore a copy of it, or name another one"
_SQLITE: Final = b"SQLite format 3"  # the first bytes of SQLite files


_FULL: Final = "53100"
"""PostgreSQL's SQLSTATE for a full disk."""

_NOT_WRITABLE: Final = (
    "it and its folder must be readable and writable, even if nothing is added; get that permission, or use a copy"
)
_REMEDIES: Final = {
    sqlite3.SQLITE_READONLY: _NOT_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _NOT_WRITABLE,
    sqlite3.SQLITE_FULL: "free some space there",
}
"""What to do about errors of SQLite, by their primary codes; PostgreSQL gives hints of its own."""

_PRIMARY: Final = 0xFF
"""Bits of the primary code in an error code of SQLite."""


class DiskFullError(OutputError):
    """The disk of a database is full; nothing was written, and existing data is unchanged."""


def open_database(where: str | Path, table: str, *, missing: str, create: bool) -> sql.Engine:
    """Return an engine for a database.

    Args:
        where: path of an SQLite file, or URL of a PostgreSQL database (`postgresql://USER@HOST/NAME`).
        table: table that a file must have if it has any tables; other files are not touched.
        missing: error message which says that there is no such table, and how to make it.
        create: whether the file may be new or empty.

    Raises:
        DataError: if there is no such file, it belongs to another program, or `where` is not a place of a database. The
            first connection raises one if a database of PostgreSQL does not have the encoding UTF8.
        OutputError: if a new file cannot be made, such as in a folder that does not exist.
    """
    if not isinstance(where, str | os.PathLike):
        raise DataError(f"a memory is a file, or a database of PostgreSQL (postgresql://...), not {where!r:.80}")
    if str(where) == ":memory:":
        raise DataError(
            "a memory is on the disk, and cannot be :memory:; name a file, such as one in a temporary folder"
        )
    if "://" not in str(where):
        _check_file(Path(where), table, missing, create=create)
        return _open_sqlite(Path(where))
    scheme, _, rest = str(where).partition("://")
    if scheme not in ("postgresql", "postgres"):
        raise DataError(f"a memory is a file, or a database of PostgreSQL (postgresql://...); {scheme}:// is neither")
    try:
        return _open_postgresql(f"postgresql+psycopg://{rest}")
    except (ModuleNotFoundError, NoSuchModuleError):
        raise DataError("memories in PostgreSQL need psycopg: pip install 'postedit[postgresql]'") from None
    except SQLAlchemyError as error:
        raise DataError(f"the URL of the memory cannot be read: {error}") from None
    except ValueError:  # from SQLAlchemy, whose message does not mention the URL
        raise DataError(
            "the URL of the memory cannot be read: it is postgresql://USER@HOST:PORT/NAME, where PORT is a number, an "
            "IPv6 address is in brackets, and in names '%40' stands for '@', '%3A' for ':' and '%2F' for '/'"
        ) from None


def place_of(engine: sql.Engine) -> str:
    """Return the path of a database file, or the URL of a database without its password."""
    return str(engine.url.database) if engine.dialect.name == "sqlite" else repr(engine.url)


@contextmanager
def explained(engine: sql.Engine) -> Iterator[None]:
    """Turn database errors within the block into errors with readable messages.

    Raises:
        DiskFullError: if the disk of the database is full.
        OutputError: if the database cannot be used for another reason.
    """
    try:
        yield
    except DBAPIError as error:
        problem = f"{place_of(engine)}: {' '.join(str(error.orig).split())}"
        remedy = _REMEDIES.get(getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY)
        kind = DiskFullError if _is_full(error.orig) else OutputError
        raise kind(f"{problem}; {remedy}" if remedy else problem) from error
    except SQLAlchemyError as error:
        raise OutputError(f"{place_of(engine)}: cannot be used: {' '.join(str(error).split())}") from error


def _is_full(error: BaseException | None) -> bool:
    full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return full or getattr(error, "sqlstate", None) == _FULL


def lock_schema(connection: sql.Connection) -> None:
    """Make other processes that want to change the tables wait until the transaction ends."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sql.text("SET LOCAL lock_timeout = 0"))  # the change of another process may take long
        connection.execute(sql.text("SET LOCAL statement_timeout = 0"))
        connection.execute(sql.text("SELECT pg_advisory_xact_lock(hashtext('postedit_memory'))"))


def clean(engine: sql.Engine) -> None:
    """Remove what deleted rows leave in SQLite's files, in addition to `secure_delete`, which overwrites the rows.

    Raises:
        OutputError: if another process still reads the earlier contents; the caller should try again later.
    """
    if engine.dialect.name == "sqlite":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sql.text("VACUUM"))
            is_busy, *_ = connection.execute(sql.text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
        if is_busy:
            raise OutputError(
                f"{place_of(engine)}: the texts of deleted entries are not overwritten yet, as another process is "
                "reading the file; run the command again later, until it no longer says so"
            )


def may_hold_deleted(engine: sql.Engine) -> bool:
    """Return whether `clean` has work to do: SQLite's file has free pages, or its write-ahead log is not empty."""
    if engine.dialect.name != "sqlite":
        return False
    log = Path(f"{Path(place_of(engine)).resolve()}-wal")
    with engine.connect() as connection:
        free = connection.execute(sql.text("PRAGMA freelist_count")).scalar_one()
    return free > 0 or (log.exists() and log.stat().st_size > 0)


def _check_file(path: Path, table: str, missing: str, *, create: bool) -> None:
    """Check that a file has a table or, if `create`, may get it; databases of other programs are not touched."""
    if not path.exists():
        if create:
            check_writable(path)
            return
        raise DataError(f"{path}: there is no such memory{nearest_path(path)}; `postedit memory add` creates one")
    if path.is_dir():
        raise DataError(f"{path}: is a folder, and a memory is a file")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)) as found:
            tables = {name for (name,) in found.execute("SELECT name FROM sqlite_master")}
    except sqlite3.OperationalError:  # such as a lack of permission; the engine will meet it again and explain it
        return
    except sqlite3.DatabaseError:
        with path.open("rb") as file:
            damaged = file.read(len(_SQLITE)) == _SQLITE
        raise DataError(f"{path}: {_DAMAGED if damaged else _OTHER}") from None
    if not (tables or create):
        raise DataError(f"{path}: {missing}")
    if tables and table not in tables:
        raise DataError(f"{path}: {_OTHER}")


def _open_postgresql(given: str) -> sql.Engine:
    url = sql.make_url(given)
    engine = sql.create_engine(
        url,
        connect_args={name: value for name, value in _OF_POSTGRESQL.items() if name not in url.query},
        pool_pre_ping=True,
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
    )
    sql.event.listen(engine, "connect", _prepare_postgresql)
    return engine


def _prepare_postgresql(connection: Any, _: object) -> None:
    if (encoding := connection.info.parameter_status("server_encoding")) not in (_ALL_TEXTS, None):
        name = connection.info.dbname
        connection.close()
        raise DataError(
            f"the PostgreSQL database {name!r} has the encoding {encoding}, in which not all texts can be stored; "
            f"make one with {_ALL_TEXTS}: createdb --encoding={_ALL_TEXTS} --template=template0 NAME"
        )
    for statement in (_LONGEST_LOCK, _LONGEST_STATEMENT):
        connection.execute(statement)
    connection.commit()


def _open_sqlite(path: Path) -> sql.Engine:
    engine = sql.create_engine(
        sql.URL.create("sqlite", database=str(path.absolute())),
        connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
    )
    sql.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def contains(column: sql.ColumnElement[str], text: str) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a column contains text, in any case, with marks encoded in any one way."""
    forms = dict.fromkeys([text, normalize("NFC", text), normalize("NFD", text)])
    return sql.or_(*(column.icontains(form, autoescape=True) for form in forms))


def _prepare_sqlite(connection: Any, _: object) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    # SQLite's own `lower` knows only ASCII letters, but a search for ä must find Ä.
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text
