"""Triplets and parallel text from translation files."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from postedit.core.checksums import record_checksums
from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.files.formats import format_of, translation_files
from postedit.files.marked_text import MarkedText
from postedit.files.options import UnitState
from postedit.files.tmx import OtherLanguagesError, Tmx, same_language
from postedit.files.units import Format, Unit
from postedit.jobs.translation_files import UnitReader, open_file, units_of


class Line(NamedTuple):
    """A triplet, or a pair of source and translation (mt is None)."""

    src: str
    mt: str | None
    pe: str


@dataclass(slots=True)
class Extracted:
    """How many lines were extracted, and how many units were left out, by reason."""

    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


_BREAKS: Final = re.compile(r" *[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029][\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029 ]*")
"""What one reader of lines or another takes for their end, and tabs."""


def _check_languages(unit: Unit, languages: str) -> None:
    pairs = zip(unit.languages, languages.split(":"))
    if languages and not all(one == "" or same_language(one, two) for one, two in pairs):
        raise LeftOut(_other(languages))


def _other(languages: str) -> str:
    return f"not from {languages.replace(':', ' to ')} (--languages chooses)"


def _on_one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()


class LeftOut(Exception):  # noqa: N818 (no error: a unit is left out)
    """Raised for a unit that gives no line, with the reason."""


Take = Callable[[Path, Unit], Line]
"""Returns the line of a unit, or raises `LeftOut`."""


class _Result(NamedTuple):
    """The columns of the output that a unit gives; or why some units are left out."""

    columns: tuple[str, ...] = ()
    left_out: str = ""
    units: int = 1


@dataclass(slots=True)
class _FileReader:
    """Reads translation files; `languages` become those of the first unit that says which it has."""

    take: Take
    with_mt: bool
    languages: str

    def results(self, path: Path, read_units: Callable[[Path, Format], Iterator[Unit]]) -> Iterator[_Result]:
        """Yield the results of a file; units of a TMX without these languages are left out."""
        form = format_of(path)
        source, _, target = self.languages.partition(":")
        if form.name == Tmx.name and self.languages:
            form = Tmx((source, target))
        try:
            for unit in read_units(path, form):
                if not self.languages and all(unit.languages):
                    self.languages = ":".join(unit.languages)
                yield self._result(path, unit)
        except OtherLanguagesError as error:
            yield _Result(left_out=_other(self.languages), units=error.units)

    def __call__(self, path: Path) -> list[_Result]:
        """Return the results of a file that a worker reads; its languages must be known."""
        return list(self.results(path, units_of))

    def _result(self, path: Path, unit: Unit) -> _Result:
        try:
            _check_languages(unit, self.languages)
            line = self.take(path, unit)
        except LeftOut as reason:
            return _Result(left_out=str(reason))
        sides = (line.src, line.mt or "", line.pe) if self.with_mt else (line.src, line.pe)
        return _Result((*map(_on_one_line, sides), f"{_on_one_line(str(path))}\t{_on_one_line(unit.id)}"))


def extract(
    files: Sequence[Path],
    take: Take,
    out: Path,
    console: Console,
    *,
    with_mt: bool,
    languages: str = "",
    executor: Executor = IN_THIS_PROCESS,
) -> Extracted:
    """Write the lines of translation files to OUT.src, OUT.mt (of triplets) and OUT.pe, and their origins to OUT.ids.

    OUT.sha256 has the digests of these files. Progress is shown on `console`. Only units in `languages`, such as
    "en:de", are extracted; if empty, those in the languages of the first unit that says which it has; up to this one,
    files are read in this process. Workers of `executor` read a file at a time, under the same path, and return its
    lines at once.

    Raises:
        DataError: if a file is broken, or there is no line.
        OutputError: if they cannot be written.
    """
    found, checksums = Extracted(), out.with_name(f"{out.name}.sha256")
    endings = [".src", *([".mt"] if with_mt else []), ".pe", ".ids"]
    with ExitStack() as stack, UnitReader(files, console) as reader:
        paths = [out.with_name(out.name + ending) for ending in endings]
        outputs = [stack.enter_context(atomic_write(path)) for path in paths]
        for result in _results(files, _FileReader(take, with_mt, languages), reader, executor):
            if result.left_out:
                found.left_out[result.left_out] += result.units
                continue
            found.lines += 1
            for file, text in zip(outputs, result.columns, strict=True):
                file.write(f"{text}\n")
        if not found.lines:
            reasons = "; ".join(f"{count:,} {reason}" for reason, count in found.left_out.most_common())
            raise DataError(f"{files[0]}: there is nothing to extract ({reasons or 'no units'})")
    record_checksums(checksums, paths)
    return found


def _results(files: Sequence[Path], one: _FileReader, reader: UnitReader, executor: Executor) -> Iterator[_Result]:
    """Yield the results of all files, in order."""
    rest = iter(files)
    while executor == IN_THIS_PROCESS or not one.languages:
        path = next(rest, None)
        if path is None:
            return
        yield from one.results(path, reader.units)
    left = list(rest)
    with closing(executor.map(same_in_all(one), left)) as made:
        for path, results in zip(left, made):
            yield from results
            reader.skip(path)


def finished_pair(path: Path, unit: Unit) -> Line:
    """Return source and target of a unit."""
    return Line(unit.source.text, None, _confirmed(unit).text)


def with_candidate(path: Path, unit: Unit) -> Line:
    """Return a unit whose file keeps the machine translation, or the former target, beside the target."""
    target = _confirmed(unit)
    given = [one for one in unit.candidates if one.target.text.strip() and one.same_source and one.origin != "human"]
    machine = sorted((one for one in given if one.origin == "machine"), key=lambda one: one.former)
    former = [one for one in given if one.former]
    if not (machine or former):
        was_machine = ", though it was machine translation: give --before" if unit.former_origin == "machine" else ""
        raise LeftOut(f"no machine translation beside the target{was_machine}")
    candidate = machine[0] if machine else former[0]
    return Line(unit.source.text, candidate.target.text, target.text)


class BeforeAndAfter:
    """Takes the mt of a unit from the file of the same name before post-editing.

    Args:
        before: a file, or a folder.
        after: a file, or a folder of the same structure.

    Raises:
        DataError: if one is a folder and the other is not.
    """

    def __init__(self, before: Path, after: Path) -> None:
        if before.is_dir() != after.is_dir():
            raise DataError(f"{before} and {after}: give two files, or two folders with files of the same names")
        if not before.exists():
            raise DataError(f"{before}: there is no such file or folder")
        self._before, self._after = before, after
        self._current: Path | None = None
        self._texts: dict[tuple[str, int], tuple[str, str]] = {}
        self._seen: Counter[str] = Counter()

    def __call__(self, path: Path, unit: Unit) -> Line:
        """Return the triplet of a unit after post-editing; see `Take`."""
        if path != self._current:
            self._current, self._texts, self._seen = path, self._read(path), Counter()
        number = self._seen[unit.id]
        self._seen[unit.id] += 1
        before = self._texts.get((unit.id, number))
        target = _finished(unit)
        if before is None:
            raise LeftOut("not in the file before")
        source, mt = before
        if not mt.strip():
            raise LeftOut("no target before")
        if source.split() != unit.source.text.split():
            raise LeftOut("another source before")
        # A machine may have made the target after that before: unchanged, or with the former one beside it.
        if mt == target.text or any(one.former for one in unit.candidates):
            target = _confirmed(unit)
        return Line(unit.source.text, mt, target.text)

    def _read(self, path: Path) -> dict[tuple[str, int], tuple[str, str]]:
        """Return source and target before, by the id of the unit and its number among those of the same id."""
        before = self._before / path.relative_to(self._after) if self._before.is_dir() else self._before
        if not before.exists():
            return {}
        seen: Counter[str] = Counter()
        found = {}
        with open_file(before) as stream:
            for unit in format_of(before).units(stream, before):
                found[unit.id, seen[unit.id]] = unit.source.text, "" if unit.target is None else unit.target.text
                seen[unit.id] += 1
        return found


def files_among(paths: Iterable[Path]) -> list[Path]:
    """Return files, and the translation files in folders."""
    return [file for path in paths for file in (translation_files(path) if path.is_dir() else [path])]


def _finished(unit: Unit) -> MarkedText:
    """Return the target of a unit, if there is one and its state does not say that nobody has worked on it."""
    if not unit.source.text.strip():
        raise LeftOut("no source")
    if unit.target is None or not unit.target.text.strip():
        raise LeftOut("no target")
    if unit.state is UnitState.INITIAL:
        raise LeftOut("not translated or post-edited yet, by its state")
    return unit.target


def _confirmed(unit: Unit) -> MarkedText:
    """Return the target of a unit, if neither state nor origin says that it is a machine's."""
    target = _finished(unit)
    if unit.origin in ("machine", "fuzzy") and (unit.state is None or unit.state < UnitState.REVIEWED):
        raise LeftOut("machine translation or a fuzzy match that nobody has confirmed, by origin and state")
    return target
