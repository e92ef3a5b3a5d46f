"""Exports from the database: files with their confirmed targets, and projects as archives."""

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import IO, Any, Final, NamedTuple

import sqlalchemy as sql

from postedit.adapt.correction_memory import Entry
from postedit.files.length_limits import has_room, take_room
from postedit.files.units import NewTarget, Unit, copy_patched
from postedit.serve.schema import OPEN_STATES, segments
from postedit.serve.store_base import Database, Row, rows_of
from postedit.serve.store_files import Files, numbered_units
from postedit.serve.store_projects import Projects

_AT_ONCE: Final = 1000  # segments that are read at a time
_IN_MEMORY: Final = 2**20  # bytes of an export kept in memory; larger ones go to disk


class _Target(NamedTuple):
    number: int  # of the segment
    new: NewTarget
    is_proposal: bool  # by a model; else a person wrote it


class Exports:
    """Files and archives made from a database."""

    def __init__(self, database: Database, files: Files, projects: Projects) -> None:
        self._db, self._files, self._projects = database, files, projects

    def file(self, file: str, *, proposals: bool = False) -> IO[bytes]:
        """Return a file with the confirmed targets; all other bytes are those of the original.

        Args:
            file: id of the file.
            proposals: also write drafts, and proposals for undecided segments, unless they are longer than the file
                allows.

        Raises:
            NotFoundError: if there is no such file.
        """
        out = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
        row = self._files.row(file)
        form = self._files.format(row)
        with self._files.open(file) as stream, self._files.open(file) as again:
            units = numbered_units(form, again, row["name"])
            changed = filter(_is_new, _changed(units, self._targets(file, proposals=proposals)))
            copy_patched(stream, form.patches(_fitting(changed)), out)
        out.seek(0)
        return out

    def project(self, project: str) -> IO[bytes]:
        """Return a zip archive of a project: original and translated files, corrections, glossary and audit log.

        Raises:
            NotFoundError: if there is no such project.
        """
        row = self._projects.row(project)
        out = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self._files.of_project(project):
                with self._files.open(file["id"]) as stream:
                    _add(archive, f"originals/{file['id']}/{file['name']}", iter(lambda: stream.read(2**20), b""))
                if file["state"] == "ready":
                    with self.file(file["id"]) as stream:
                        _add(archive, f"translated/{file['id']}/{file['name']}", iter(lambda: stream.read(2**20), b""))
            _add(archive, "glossary.tsv", [row["glossary"].encode()])
            _add(archive, "corrections.jsonl", self.corrections(project))
            _add(archive, "audit.jsonl", (_line(one) for one in self._projects.whole_audit(project)))
        out.seek(0)
        return out

    def corrections(self, project: str) -> Iterator[bytes]:
        """Yield the corrections of a project that have not been undone, as JSON Lines."""
        return (_line(entry_json(one)) for one in self._db.memory.of(project).corrections())

    def _targets(self, file: str, *, proposals: bool) -> Iterator[_Target]:
        """Yield the targets to write into a file, in order of segment numbers."""
        wanted = (segments.c.state == "confirmed") & (segments.c.version > 0)
        if proposals:
            wanted |= (segments.c.state == "draft") & (segments.c.content != "")
            wanted |= segments.c.changed.is_(True) & segments.c.state.in_(OPEN_STATES)
        names = ("number", "state", "content", "proposal_content", "updated_by")
        columns = [segments.c[name] for name in names]
        after = 0
        while True:
            query = sql.select(*columns).where(segments.c.file == file, segments.c.number > after, wanted)
            with self._db.read() as connection:
                rows = rows_of(connection, query.order_by(segments.c.number).limit(_AT_ONCE))
            for row in rows:
                yield _target(row)
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1]["number"]


def _target(row: Row) -> _Target:
    if row["state"] in OPEN_STATES:
        return _Target(row["number"], NewTarget(row["proposal_content"], keep_former=False), is_proposal=True)
    author = (row["updated_by"] or "?") if row["state"] == "confirmed" else ""
    return _Target(row["number"], NewTarget(row["content"], keep_former=False, author=author), is_proposal=False)


def _changed(units: Iterable[tuple[int, Unit]], targets: Iterator[_Target]) -> Iterator[tuple[Unit, _Target]]:
    """Yield units together with their new targets; both inputs are in order."""
    wanted = next(targets, None)
    for number, unit in units:
        if wanted is None:
            return
        if number == wanted.number:
            yield unit, wanted
            wanted = next(targets, None)


def _fitting(changed: Iterable[tuple[Unit, _Target]]) -> Iterator[tuple[Unit, NewTarget]]:
    """Yield new targets; if units share a length limit, proposals get the room that targets of people leave."""
    for _, group in groupby(changed, lambda pair: id(pair[0].rooms[0] if pair[0].rooms else pair[0])):
        pairs = list(group)
        for unit, target in pairs:
            if not target.is_proposal:
                take_room(unit, target.new.content)
        for unit, target in pairs:
            if not target.is_proposal or has_room(unit, target.new.content):
                yield unit, target.new


def _is_new(pair: tuple[Unit, _Target]) -> bool:
    """Return whether a target is to be written: it differs from that in the file, or a person has confirmed it."""
    unit, target = pair
    return bool(target.new.author) or unit.target is None or target.new.content != unit.target.written()


def _add(archive: zipfile.ZipFile, name: str, parts: Iterable[bytes]) -> None:
    with archive.open(name, "w", force_zip64=True) as out:
        for part in parts:
            out.write(part)


def _line(value: Row) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return a correction as the API gives it."""
    one = entry.correction
    plain = {name: getattr(one, name) for name in ("src", "mt", "pe", "author", "file", "unit")}
    made = None if one.made is None else one.made.isoformat()
    return {"number": entry.number, **plain, "made": made, "decisions": [each._asdict() for each in one.decisions]}
