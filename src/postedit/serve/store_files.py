"""Translation files in the database: their bytes, and the progress of the work on them."""

import io
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, BinaryIO, Final

import sqlalchemy as sql

from postedit.core.errors import DataError
from postedit.files.formats import FORMATS, format_of_head
from postedit.files.marked_text import Escape
from postedit.files.tmx import Tmx
from postedit.files.units import Format
from postedit.serve.schema import file_parts, files, segments
from postedit.serve.store_base import Database, ProjectChange, Row, new_id, now, one_row, rows_of

PART: Final = 2**20
"""Bytes per part in which files are kept in the database."""

_NAME: Final = 200  # characters of a file name, at most


class Files:
    """The files of a database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.escape = lru_cache(1024)(self._escape)
        """Returns, for a file id, a function that writes a character in the syntax of the file."""

    def create(self, change: ProjectChange, name: str, stream: IO[bytes]) -> str:
        """Add a file with the bytes of a stream, and return its id.

        Raises:
            DataError: if the format is not known, or the file has no name.
        """
        file, name = new_id(), plain_name(name)
        form = format_of_head(stream.read(2**16), Path(name))
        stream.seek(0)
        number, project = change.event("file", file=file, action="added", name=name), change.settings()
        values = {"id": file, "project": change.project, "sequence": number, "name": name, "format": form.name}
        values |= {"wanted_source": project["source_language"], "wanted_target": project["target_language"]}
        change.execute(sql.insert(files).values(**values, state="importing", size=0, created=now()))
        size = 0
        for number, part in enumerate(iter(lambda: stream.read(PART), b"")):
            change.execute(sql.insert(file_parts).values(file=file, number=number, bytes=part))
            size += len(part)
        change.execute(sql.update(files).where(files.c.id == file).values(size=size))
        return file

    def row(self, file: str) -> Row:
        """Return the row of a file.

        Raises:
            NotFoundError: if there is no such file.
        """
        with self._db.read() as connection:
            return one_row(connection, sql.select(files).where(files.c.id == file), f"file {file!r}")

    def get(self, file: str) -> dict[str, Any]:
        """Return a file as the API gives it.

        Raises:
            NotFoundError: if there is no such file.
        """
        with self._db.read() as connection:
            row = one_row(connection, sql.select(files).where(files.c.id == file), f"file {file!r}")
            return _file_json(row, _figures(connection, [file]).get(file, {}))

    def of_project(self, project: str) -> list[dict[str, Any]]:
        """Return the files of a project, the latest first."""
        query = sql.select(files).where(files.c.project == project).order_by(files.c.sequence.desc())
        with self._db.read() as connection:
            rows = rows_of(connection, query)
            figures = _figures(connection, [row["id"] for row in rows])
        return [_file_json(row, figures.get(row["id"], {})) for row in rows]

    def delete(self, file: str, who: str) -> None:
        """Delete a file permanently, with its segments and decisions; what was learnt from it stays in the memory.

        Raises:
            NotFoundError: if there is no such file.
        """
        row = self.row(file)
        with self._db.change(row["project"], who) as change:
            change.execute(sql.delete(files).where(files.c.id == file))
            change.event("file", file=file, action="deleted", name=row["name"])
        self._db.clean()

    def open(self, file: str) -> BinaryIO:
        """Return a stream of the bytes of a file, which reads parts from the database as they are needed."""
        return io.BufferedReader(_Parts(self._db, self.row(file)), PART)

    def format(self, row: Row) -> Format:
        """Return the format of a file, with the languages that its project, or its model, had when the file was added.

        With other languages, a TMX file may have other units, so that segment numbers would refer to other segments.
        """
        if row["format"] == Tmx.name:
            return Tmx((row["wanted_source"], row["wanted_target"]))
        return next(one for one in FORMATS if one.name == row["format"])

    def _escape(self, file: str) -> Escape:
        row = self.row(file)
        form = self.format(row)
        with self.open(file) as stream:
            return form.escape(next(iter(form.units(stream, Path(row["name"])))))


class _Parts(io.RawIOBase):
    """The bytes of a file in the database, as a raw stream."""

    def __init__(self, database: Database, row: Row) -> None:
        self._db, self._file, self._size = database, row["id"], row["size"]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        number, offset = divmod(self._at, PART)
        is_part = (file_parts.c.file == self._file) & (file_parts.c.number == number)
        with self._db.read() as connection:
            part = connection.execute(sql.select(file_parts.c.bytes).where(is_part)).scalar_one_or_none() or b""
        found = part[offset : offset + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def plain_name(name: str) -> str:
    """Return a file name without folders and control characters; of long ones, only the end.

    Raises:
        DataError: if nothing is left of the name.
    """
    last = PureWindowsPath(PurePosixPath(name).name).name
    plain = "".join(one for one in last if one.isprintable()).strip()
    if not plain.strip("."):
        raise DataError("the file has no name; give it one that ends like .xlf, .tmx or .po")
    return plain[-_NAME:]


def _figures(connection: sql.Connection, ids: Sequence[str]) -> dict[str, Row]:
    def count(condition: sql.ColumnElement[bool], name: str) -> sql.Label[Any]:
        return sql.func.coalesce(sql.func.sum(sql.case((condition, 1), else_=0)), 0).label(name)

    query = sql.select(
        segments.c.file,
        sql.func.count().label("segments"),
        count(segments.c.changed, "changed"),
        count(segments.c.state != "new", "seen"),
        count(segments.c.state == "confirmed", "confirmed"),
        count(segments.c.state == "locked", "locked"),
        count(segments.c.proposed_at != -1, "proposed"),
        sql.func.avg(segments.c.confidence).label("confidence"),
        sql.func.sum(segments.c.proposal_edits).label("edits"),
        sql.func.sum(segments.c.proposal_words).label("proposal_words"),
    )
    found = rows_of(connection, query.where(segments.c.file.in_(ids)).group_by(segments.c.file))
    return {row["file"]: row for row in found}


def _file_json(row: Row, figures: Row) -> dict[str, Any]:
    names = ("id", "project", "name", "format", "source_language", "target_language", "state", "error", "words")
    counts = {name: int(figures.get(name) or 0) for name in ("segments", "changed", "seen", "confirmed", "locked")}
    return {
        **{name: row[name] for name in names},
        **counts,
        "created": row["created"],
        "estimate": _estimate(figures) if figures.get("proposed") else None,
    }


def _estimate(figures: Row) -> dict[str, Any]:
    """Return an estimate of mt quality: among others, its TER in percent if all proposals were right."""
    words = int(figures["proposal_words"] or 0)
    return {
        "proposals": int(figures["proposed"]),
        "changed": int(figures["changed"]) / int(figures["proposed"]),
        "confidence": figures["confidence"],
        "expected_ter": 100 * int(figures["edits"] or 0) / words if words else None,
    }


def numbered_units(form: Format, stream: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the units of a file with their numbers, from 1."""
    return enumerate(form.units(stream, Path(name)), start=1)
