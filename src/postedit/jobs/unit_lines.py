"""The line that a unit of a translation file gives: a triplet, a pair of texts, or the reason why there is none."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from postedit.core.errors import DataError, OutputError
from postedit.files.formats import format_of
from postedit.files.marked_text import MarkedText
from postedit.files.options import UnitState
from postedit.files.units import Unit
from postedit.jobs.translation_files import open_file


class Line(NamedTuple):
    """A triplet, or a pair of source and translation (mt is None)."""

    src: str
    mt: str | None
    pe: str


class LeftOut(Exception):  # noqa: N818 (not an error: a unit is left out)
    """Raised for a unit that gives no line, with the reason."""


Take = Callable[[Path, Unit], Line]
"""Returns the line of a unit, or raises `LeftOut`."""


def finished_pair(path: Path, unit: Unit) -> Line:
    """Return the source and the confirmed target of a unit, without mt; see `Take`."""
    return Line(unit.source.text, None, _confirmed(unit).text)


def with_candidate(path: Path, unit: Unit) -> Line:
    """Return the triplet of a unit whose file keeps machine translation, or the former target, beside the target."""
    target = _confirmed(unit)
    given = [one for one in unit.candidates if one.target.text.strip() and one.same_source and one.origin != "human"]
    machine = sorted((one for one in given if one.origin == "machine"), key=lambda one: one.former)
    former = [one for one in given if one.former]
    if not (machine or former):
        was_machine = ", though it was machine translation" if unit.former_origin == "machine" else ""
        raise LeftOut(f"no machine translation beside the target{was_machine} (--before names files that have it)")
    candidate = machine[0] if machine else former[0]
    return Line(unit.source.text, candidate.target.text, target.text)


class BeforeAndAfter:
    """Takes the mt of a unit from the file of the same name before post-editing.

    Args:
        before: a file, or a folder, before post-editing.
        after: the same file or folder after post-editing; a folder must have the same structure.

    Raises:
        DataError: if one is a folder and the other is not, one does not exist, or both are the same.
    """

    def __init__(self, before: Path, after: Path) -> None:
        for path in (before, after):
            if not path.exists():
                raise DataError(f"{path}: there is no such file or folder")
        if before.is_dir() != after.is_dir():
            raise DataError(f"{before} and {after}: give two files, or two folders with files of the same names")
        if before.samefile(after):
            raise DataError(f"{before}: is given both as before and as after post-editing")
        self._before, self._after = before, after
        self._current: Path | None = None
        self._texts = _TextsBefore()
        self._seen: Counter[str] = Counter()

    def __call__(self, path: Path, unit: Unit) -> Line:
        """Return the triplet of a unit after post-editing; see `Take`."""
        if path != self._current:
            self._current, self._seen = path, Counter()
            self._texts.read(self._file_of(path))
        number = self._seen[unit.id]
        self._seen[unit.id] += 1
        before = self._texts.find(unit.id, number)
        target = _finished(unit)
        if before is None:
            raise LeftOut("not in the file before")
        source, mt = before
        if not mt.strip():
            raise LeftOut("no target before")
        if source.split() != unit.source.text.split():
            raise LeftOut("another source before")
        # If the target is unchanged, or replaced with the former one kept beside it, a machine may have written it.
        if mt == target.text or any(one.former for one in unit.candidates):
            target = _confirmed(unit)
        return Line(unit.source.text, mt, target.text)

    def __reduce__(self) -> "tuple[type[BeforeAndAfter], tuple[Path, Path]]":
        """Pickle for a worker, which starts without the texts that are read here."""
        return BeforeAndAfter, (self._before, self._after)

    def files_of(self, paths: Iterable[Path]) -> list[Path]:
        """Return the existing files before post-editing that belong to `paths`."""
        return [path for path in map(self._file_of, paths) if path.exists()]

    def _file_of(self, path: Path) -> Path:
        return self._before / path.relative_to(self._after) if self._before.is_dir() else self._before


class _TextsBefore:
    """Source and target of the units of a file, in a temporary SQLite database that moves to disk if it is large."""

    def __init__(self) -> None:
        self._texts: sqlite3.Connection | None = None

    def read(self, path: Path) -> None:
        """Replace the contents with the units of a file; there are none if it does not exist."""
        if self._texts is not None:
            self._texts.close()
        self._texts = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        with _explained(path):
            self._texts.execute("create table texts (id, number, src, mt, primary key (id, number)) without rowid")
            self._texts.executemany("insert or replace into texts values (?, ?, ?, ?)", self._rows(path))

    def find(self, identifier: str, number: int) -> tuple[str, str] | None:
        """Return source and target of unit `number`, from 0, among those with this id; None if there is none."""
        assert self._texts is not None, "a file is read first"
        wanted = (_key(identifier), number)
        row = self._texts.execute("select src, mt from texts where id = ? and number = ?", wanted).fetchone()
        return row and (row[0].decode(*_ANY_TEXT), row[1].decode(*_ANY_TEXT))

    @staticmethod
    def _rows(path: Path) -> Iterator[tuple[bytes, int, bytes, bytes]]:
        if not path.exists():
            return
        seen: Counter[str] = Counter()
        with open_file(path) as stream:
            for unit in format_of(path).units(stream, path):
                mt = unit.target.text if unit.target is not None and unit.mt else ""
                yield _key(unit.id), seen[unit.id], _key(unit.source.text), _key(mt)
                seen[unit.id] += 1


_ANY_TEXT: Final = ("utf-8", "surrogatepass")


def _key(text: str) -> bytes:
    """Return a text as bytes, because SQLite compares its own texts only up to a null character."""
    return text.encode(*_ANY_TEXT)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the temporary database, such as a full disk, into an OutputError."""
    try:
        yield
    except sqlite3.Error as error:
        raise OutputError(
            f"{path}: there is no room for its texts in the folder of temporary files: {error}"
        ) from error


def _finished(unit: Unit) -> MarkedText:
    """Return the target of a unit; raise `LeftOut` if source or target is blank, or by its state it is unfinished."""
    if not unit.source.text.strip():
        raise LeftOut("no source")
    if unit.target is None or not unit.target.text.strip():
        raise LeftOut("no target")
    if unit.state is UnitState.REJECTED:
        raise LeftOut("rejected by a reviewer, by its state")
    if unit.state is UnitState.INITIAL:
        raise LeftOut("not translated or post-edited yet, by its state")
    return unit.target


def _confirmed(unit: Unit) -> MarkedText:
    """Return the target of a unit; raise `LeftOut` also if it is of machine or fuzzy origin and not reviewed."""
    target = _finished(unit)
    if unit.origin in ("machine", "fuzzy") and (unit.state is None or unit.state < UnitState.REVIEWED):
        raise LeftOut("machine translation or a fuzzy match that nobody has confirmed, by origin and state")
    return target
