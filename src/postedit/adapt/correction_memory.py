"""A memory of corrections: a log in a database that never loses an acknowledged entry.

Entries are numbered in the order in which they take effect. A follower of the memory, such as a phrase table or an
adapted model, asks for the entries after the last one that it knows. Entries are never changed: a correction is undone
by a further entry. Only `CorrectionMemory.delete` removes entries for good, those of a project. It begins a new edition
of the memory, and followers of the old edition have to start again.
"""

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import sqlalchemy as sql

from postedit.adapt.correction import Correction, check_author, decisions_as_json, decisions_of_json
from postedit.adapt.database import clean, contains, explained, lock_schema, may_hold_deleted, open_database, place_of
from postedit.core.arguments import whole
from postedit.core.errors import DataError

_VERSION: Final = 1
"""Version of the tables; a memory of another version is refused."""

_PER_READ: Final = 1000
"""Entries read from the database at a time."""

_MOST_NUMBER: Final = 2**63 - 1
"""Largest number that a column of entry numbers can hold."""

_EMPTY: Final = "has no memory of corrections; `postedit memory add` creates one"

_tables: Final = sql.MetaData()
_state: Final = sql.Table(
    "postedit_memory",
    _tables,
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("name", sql.String(32), nullable=False),  # random; distinguishes memories
    sql.Column("edition", sql.Integer, nullable=False),
    sql.Column("last", sql.BigInteger, nullable=False),  # number of the last entry
)
_entries: Final = sql.Table(
    "postedit_entries",
    _tables,
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("undoes", sql.BigInteger),  # number of the correction that this entry undoes; null: a correction
    sql.Column("made", sql.String(40), nullable=False),
    sql.Column("author", sql.Text, nullable=False),
    sql.Column("project", sql.Text, nullable=False),
    sql.Column("file", sql.Text, nullable=False),
    sql.Column("unit", sql.Text, nullable=False),
    sql.Column("src", sql.Text, nullable=False),
    sql.Column("mt", sql.Text, nullable=False),
    sql.Column("pe", sql.Text, nullable=False),
    sql.Column("decisions", sql.Text, nullable=False),
    sql.Index("postedit_undone", "undoes", unique=True),
    sql.Index("postedit_of_project", "project", "number"),
)


class Entry(NamedTuple):
    """An entry of a memory: a correction, or the undoing of one.

    Args:
        number: number of the entry.
        correction: correction that is added, or that is undone.
        undoes: number of the entry that this one undoes; None if it adds a correction.
    """

    number: int
    correction: Correction
    undoes: int | None


class MemoryPosition(NamedTuple):
    """The position of a memory: its edition, the number of its last entry, and the mark of this entry.

    The mark distinguishes a restored backup from the memory that it replaced, even if the backup has grown since.
    """

    edition: int
    last: int
    mark: str = ""  # see `CorrectionMemory.mark`


class ProjectSummary(NamedTuple):
    """A summary of the corrections of one project in a memory.

    Args:
        name: name of the project; empty for corrections without one.
        corrections: number of corrections that have not been undone.
        undone: number of corrections that have been undone.
        first: time of the earliest correction that has not been undone; None if there are none.
        last: time of the latest one, likewise.
    """

    name: str
    corrections: int
    undone: int
    first: datetime | None
    last: datetime | None


class CorrectionMemory:
    """A memory of corrections in a database, which several processes can use at the same time.

    Args:
        where: path of an SQLite file, URL of a PostgreSQL database (`postgresql://USER@HOST/NAME`), or the engine of
            one of these, from `open_database`.
        create: whether to create the memory if there is none.

    Raises:
        OutputError: if the database cannot be opened.
        DataError: if it is not a memory, or one of another version, or if there is none and `create` is False.
    """

    def __init__(self, where: str | Path | sql.Engine, *, create: bool = True) -> None:
        self._engine = where if isinstance(where, sql.Engine) else open_memory(where, create=create)
        self._project: str | None = None  # the project that this view is limited to; None: all
        with explained(self._engine):
            if not sql.inspect(self._engine).has_table(_state.name):
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

    def of(self, project: str) -> Self:
        """Return a view of the entries that belong to a project; it shares the memory's connections.

        Its position has the number of the project's last entry, so entries of other projects do not change it.
        Corrections that are added to the view belong to the project.
        """
        view = copy(self)
        view._project = project
        return view

    def add(self, corrections: Iterable[Correction], *, connection: sql.Connection | None = None) -> list[int]:
        """Add corrections, all or none, and return the numbers of their entries once they are safely on the disk.

        Args:
            corrections: corrections to add.
            connection: connection with a transaction to make them part of; then they are safe once it is committed.

        Raises:
            OutputError: if writing fails, for instance because the disk is full.
            DataError: if one of them is not a `Correction`.
        """
        now = datetime.now(UTC)
        if not isinstance(corrections, Iterable):
            raise DataError(f"corrections must be a list of Correction(src, mt, pe), not {corrections!r:.80}")
        rows = [_row(one, now) | self._owner for one in corrections]
        if not rows:
            return []
        with self._transaction(connection) as opened:
            first = _reserve(opened, len(rows))
            numbers = list(range(first, first + len(rows)))
            numbered = [{**row, "number": number} for number, row in zip(numbers, rows, strict=True)]
            opened.execute(sql.insert(_entries), numbered)
        return numbers

    def undo(self, number: int, author: str = "", *, connection: sql.Connection | None = None) -> int:
        """Undo a correction, and return the number of the entry that undoes it; for `connection`, see `add`.

        Raises:
            DataError: if there is no such correction, it has already been undone, or the author is not valid text.
            OutputError: if the entry cannot be written.
        """
        number = _number("number", number)
        check_author(author)
        with self._transaction(connection) as opened:
            first = _reserve(opened, 1)
            row = opened.execute(self._select().where(_entries.c.number == number)).mappings().one_or_none()
            if row is None or row["undoes"] is not None:
                raise DataError(
                    f"{self.place}: has no correction {number}; `postedit memory show --last 10` lists some"
                )
            if opened.execute(sql.select(_entries.c.number).where(_entries.c.undoes == number)).first():
                raise DataError(f"{self.place}: correction {number} has already been undone")
            now = datetime.now(UTC).isoformat()
            entry = {**row, "number": first, "undoes": number, "made": now, "author": author}
            opened.execute(sql.insert(_entries), entry)
        return first

    def holds(self, number: int, *, connection: sql.Connection | None = None) -> bool:
        """Return whether there is a correction with this number that has not been undone; for `connection`, see `add`.

        Raises:
            OutputError: if the memory cannot be read.
        """
        undoing = _entries.alias()
        undone = sql.exists().where(undoing.c.undoes == _entries.c.number)
        query = sql.select(_entries.c.number).where(self._is_own, _entries.c.number == _number("number", number))
        with self._transaction(connection) as opened:
            return opened.execute(query.where(_entries.c.undoes.is_(None), ~undone)).first() is not None

    def delete(self, project: str, *, connection: sql.Connection | None = None) -> int:
        """Remove all entries of a project for good, and return their number; a new edition begins if there are any.

        In an SQLite file, the texts are overwritten. PostgreSQL only frees their space; its administrator has to remove
        what is left in backups and in the write-ahead log.

        Args:
            project: project whose entries are removed.
            connection: see `add`; the caller must then clean the file with `adapt.database.clean`.

        Raises:
            OutputError: if the entries cannot be removed.
        """
        with self._transaction(connection) as opened:
            _reserve(opened, 0)
            removed = opened.execute(sql.delete(_entries).where(_entries.c.project == project)).rowcount
            if removed:
                opened.execute(sql.update(_state).values(edition=_state.c.edition + 1))
        if connection is None:
            with explained(self._engine):
                clean(self._engine)
        return removed

    @property
    def may_hold_deleted(self) -> bool:
        """Whether the file may still hold deleted texts, which `delete` overwrites, even for an unknown project.

        Raises:
            OutputError: if that cannot be found out.
        """
        with explained(self._engine):
            return may_hold_deleted(self._engine)

    @property
    def place(self) -> str:
        """The path of the file, or the URL without its password."""
        return place_of(self._engine)

    @property
    def name(self) -> str:
        """The random name that the memory got when it was created; copies of its file have the same name.

        Raises:
            OutputError: if it cannot be read.
        """
        with explained(self._engine), self._engine.connect() as connection:
            return str(connection.execute(sql.select(_state.c.name)).scalar_one())

    @property
    def position(self) -> MemoryPosition:
        """The present position of the memory.

        Raises:
            OutputError: if it cannot be read.
        """
        return self.read_position()

    def read_position(self, *, connection: sql.Connection | None = None) -> MemoryPosition:
        """Return `position`; for `connection`, see `add`.

        Raises:
            OutputError: if it cannot be read.
        """
        with self._transaction(connection) as opened:
            edition, last = opened.execute(sql.select(_state.c.edition, self._last)).one()
            return MemoryPosition(edition, last, _mark(opened, last))

    def mark(self, number: int) -> str:
        """Return a fingerprint of the entry with this number; empty if there is no such entry.

        Raises:
            OutputError: if it cannot be read.
        """
        with explained(self._engine), self._engine.connect() as connection:
            return _mark(connection, _number("number", number))

    def entries(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with numbers above `after` and, if it is given, up to `until` (inclusive), in order.

        Raises:
            OutputError: if they cannot be read.
        """
        after, until = _number("after", after), None if until is None else _number("until", until)
        while True:
            query = self._select().where(_entries.c.number > after).order_by(_entries.c.number).limit(_PER_READ)
            if until is not None:
                query = query.where(_entries.c.number <= until)
            with explained(self._engine), self._engine.connect() as connection:
                rows = connection.execute(query).mappings().all()
            yield from map(_entry, rows)
            if len(rows) < _PER_READ:
                return
            after = rows[-1]["number"]

    def latest(self, count: int) -> list[Entry]:
        """Return the last `count` entries, the oldest first.

        Raises:
            OutputError: if they cannot be read.
            DataError: if the count is below 0.
        """
        query = self._select().order_by(_entries.c.number.desc()).limit(_count(count))
        with explained(self._engine), self._engine.connect() as connection:
            return [_entry(row) for row in reversed(connection.execute(query).mappings().all())]

    def page(self, count: int, before: int | None = None, containing: str = "") -> list[tuple[Entry, bool]]:
        """Return corrections, the latest first, each with whether it has been undone.

        Args:
            count: largest number of corrections to return.
            before: entry number that all of them must be below; None: the latest corrections.
            containing: text that src, mt or pe must contain, regardless of case; empty: any.

        Raises:
            OutputError: if they cannot be read.
            DataError: if the count is below 0.
        """
        undoing = _entries.alias()
        undone = sql.exists().where(undoing.c.undoes == _entries.c.number).label("undone")
        query = self._select(undone).where(_entries.c.undoes.is_(None))
        if before is not None:
            query = query.where(_entries.c.number < _number("before", before))
        if containing:
            texts = (_entries.c.src, _entries.c.mt, _entries.c.pe)
            query = query.where(sql.or_(*(contains(text, containing) for text in texts)))
        query = query.order_by(_entries.c.number.desc()).limit(_count(count))
        with explained(self._engine), self._engine.connect() as connection:
            return [(_entry(row), bool(row["undone"])) for row in connection.execute(query).mappings()]

    def by_number(self, numbers: Iterable[int]) -> dict[int, Correction]:
        """Return the corrections with these numbers, by number; numbers that do not exist are left out.

        Raises:
            OutputError: if they cannot be read.
        """
        found: dict[int, Correction] = {}
        asked = sorted({_number("numbers", one) for one in numbers})
        with explained(self._engine), self._engine.connect() as connection:
            for start in range(0, len(asked), _PER_READ):
                part = _entries.c.number.in_(asked[start : start + _PER_READ])
                rows = connection.execute(self._select().where(part)).mappings()
                found.update((row["number"], _entry(row).correction) for row in rows)
        return found

    def corrections(self, project: str | None = None) -> Iterator[Entry]:
        """Return an iterator over the corrections of a project, or of all if None, that have not been undone, in order.

        Raises:
            OutputError: if they cannot be read.
        """
        part = self if project is None else self.of(project)
        undone = {one.undoes for one in part.entries() if one.undoes is not None}
        return (one for one in part.entries() if one.undoes is None and one.number not in undone)

    def projects(self) -> list[ProjectSummary]:
        """Return a summary of each project, sorted by name.

        Raises:
            OutputError: if the entries cannot be read.
        """
        columns = (_entries.c.number, _entries.c.undoes, _entries.c.project, _entries.c.made)
        with explained(self._engine), self._engine.connect() as connection:
            rows = connection.execute(sql.select(*columns).where(self._is_own)).all()
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

    @property
    def _is_own(self) -> sql.ColumnElement[bool]:
        return sql.true() if self._project is None else _entries.c.project == self._project

    @property
    def _owner(self) -> dict[str, str]:
        return {} if self._project is None else {"project": self._project}

    @property
    def _last(self) -> sql.ColumnElement[int]:
        if self._project is None:
            return _state.c.last
        return sql.select(sql.func.coalesce(sql.func.max(_entries.c.number), 0)).where(self._is_own).scalar_subquery()

    def _select(self, *columns: sql.ColumnElement[Any]) -> sql.Select[Any]:
        return sql.select(_entries, *columns).where(self._is_own)

    @contextmanager
    def _transaction(self, connection: sql.Connection | None) -> Iterator[sql.Connection]:
        """Yield `connection` if it is given, otherwise a new one with a transaction of its own."""
        with explained(self._engine):
            if connection is not None:
                yield connection
            else:
                with self._engine.begin() as own:
                    yield own


def open_memory(where: str | Path, *, create: bool = True) -> sql.Engine:
    """Return an engine for the database of a memory.

    Raises:
        DataError: if there is none and `create` is False, or the file belongs to another program.
    """
    return open_database(where, _state.name, missing=_EMPTY, create=create)


def _make_tables(engine: sql.Engine) -> None:
    """Create the tables of a new memory; if two processes do so at the same time, one waits for the other."""
    with engine.begin() as connection:
        lock_schema(connection)
        _tables.create_all(connection)
        if connection.execute(sql.select(_state.c.version)).first() is None:
            connection.execute(sql.insert(_state).values(version=_VERSION, name=uuid.uuid4().hex, edition=1, last=0))


def _number(name: str, value: Any) -> int:
    """Return the entry number given as the argument `name`, limited to what the database can hold.

    Raises:
        DataError: if it is not a whole number.
    """
    found = whole(name, value)
    if not isinstance(found, int) or isinstance(found, bool):
        raise DataError(f"{name}: must be a whole number (found {value!r:.80})")
    return max(-_MOST_NUMBER, min(found, _MOST_NUMBER))


def _count(value: Any) -> int:
    if (found := _number("count", value)) < 0:
        raise DataError(f"count: must be 0 or more (found {found})")
    return found


def _reserve(connection: sql.Connection, count: int) -> int:
    """Reserve `count` entry numbers, and return the first; other processes wait until the transaction ends."""
    update = sql.update(_state).values(last=_state.c.last + count).returning(_state.c.last)
    return int(connection.execute(update).scalar_one()) - count + 1


def _mark(connection: sql.Connection, number: int) -> str:
    row = connection.execute(sql.select(_entries).where(_entries.c.number == number)).one_or_none()
    return "" if row is None else hashlib.sha256(json.dumps([*row]).encode()).hexdigest()[:16]


def _row(one: Correction, now: datetime) -> dict[str, Any]:
    if not isinstance(one, Correction):
        raise DataError(f"a memory keeps objects of Correction, as Correction(src, mt, pe), not {one!r:.80}")
    texts = {name: getattr(one, name) for name in ("src", "mt", "pe", "author", "project", "file", "unit")}
    made = (one.made or now).astimezone(UTC).isoformat()
    return {**texts, "undoes": None, "made": made, "decisions": decisions_as_json(one.decisions)}


def _entry(row: Any) -> Entry:
    correction = Correction(
        row["src"],
        row["mt"],
        row["pe"],
        decisions=decisions_of_json(row["decisions"], row["mt"]),
        author=row["author"],
        project=row["project"],
        file=row["file"],
        unit=row["unit"],
        made=datetime.fromisoformat(row["made"]),
    )
    return Entry(row["number"], correction, row["undoes"])
