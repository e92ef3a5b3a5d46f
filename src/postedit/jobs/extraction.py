"""Triplets and parallel text from translation files."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.files.formats import format_of, translation_files
from postedit.files.options import UnitState
from postedit.files.units import Unit


class Line(NamedTuple):
    """A triplet, or a pair of source and translation (mt is None), with where it comes from: its file and unit."""

    origin: str
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

Take = Callable[[Path, Unit], Line | str]
"""Returns the line of a unit, or the reason why it is left out."""


def units_of(path: Path) -> Iterator[Unit]:
    """Yield the units of a translation file."""
    form = format_of(path)
    with path.open("rb") as stream:
        yield from form.units(stream, path)


def extract(files: Sequence[Path], take: Take, out: Path, *, with_mt: bool) -> Extracted:
    """Write the lines of translation files to OUT.src, OUT.mt (of triplets) and OUT.pe, and their origins to OUT.ids.

    Raises:
        DataError: if a file is broken, or there is no line.
        OutputError: if they cannot be written.
    """
    found = Extracted()
    endings = [".src", *([".mt"] if with_mt else []), ".pe", ".ids"]
    with ExitStack() as stack:
        outputs = [stack.enter_context(atomic_write(out.with_name(out.name + ending))) for ending in endings]
        for path in files:
            for unit in units_of(path):
                line = take(path, unit)
                if isinstance(line, str):
                    found.left_out[line] += 1
                    continue
                found.lines += 1
                sides = [line.src, *([line.mt or ""] if with_mt else []), line.pe, line.origin]
                for file, text in zip(outputs, sides, strict=True):
                    file.write(_BREAKS.sub(" ", text).strip() + "\n")
        if not found.lines:
            reasons = "; ".join(f"{count:,} {reason}" for reason, count in found.left_out.most_common())
            raise DataError(f"{files[0]}: there is nothing to extract ({reasons or 'no units'})")
    return found


def finished_pair(path: Path, unit: Unit) -> Line | str:
    """Return source and target of a unit."""
    reason = _why_not(unit) or (_UNCONFIRMED if _is_unconfirmed(unit) else None)
    if reason is not None:
        return reason
    assert unit.target is not None
    return Line(f"{path}\t{unit.id}", unit.source.text, None, unit.target.text)


def with_candidate(path: Path, unit: Unit) -> Line | str:
    """Return a unit whose file keeps the machine translation, or the former target, beside the target."""
    reason = _why_not(unit) or (_UNCONFIRMED if _is_unconfirmed(unit) else None)
    if reason is not None:
        return reason
    assert unit.target is not None
    given = [one for one in unit.candidates if one.target.text.strip() and one.origin != "human"]
    machine = sorted((one for one in given if one.origin == "machine"), key=lambda one: one.former)
    former = [one for one in given if one.former]
    if not (machine or former):
        return "no machine translation beside the target" + (_NOT_KEPT if unit.former_origin == "machine" else "")
    candidate = machine[0] if machine else former[-1]  # the oldest former target: edits add theirs before others
    return Line(f"{path}\t{unit.id}", unit.source.text, candidate.target.text, unit.target.text)


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
        self._units: dict[tuple[str, int], Unit] = {}
        self._seen: Counter[str] = Counter()

    def __call__(self, path: Path, unit: Unit) -> Line | str:
        """Return the triplet of a unit after post-editing; see `Take`."""
        if path != self._current:
            self._current, self._units, self._seen = path, self._read(path), Counter()
        number = self._seen[unit.id]
        self._seen[unit.id] += 1
        old = self._units.get((unit.id, number))
        reason = _why_not(unit)
        if reason is not None:
            return reason
        assert unit.target is not None
        if old is None:
            return "not in the file before"
        if old.target is None or not old.target.text.strip():
            return "no target before"
        if old.source.text.split() != unit.source.text.split():
            return "another source before"
        # A machine may have made the target after that before: unchanged, or with the former one beside it.
        if _is_unconfirmed(unit) and (
            old.target.text == unit.target.text or any(one.former for one in unit.candidates)
        ):
            return _UNCONFIRMED
        return Line(f"{path}\t{unit.id}", unit.source.text, old.target.text, unit.target.text)

    def _read(self, path: Path) -> dict[tuple[str, int], Unit]:
        """Return the units of the file before, by id and number among those of the same id."""
        before = self._before / path.relative_to(self._after) if self._before.is_dir() else self._before
        if not before.exists():
            return {}
        seen: Counter[str] = Counter()
        found = {}
        for unit in units_of(before):
            found[unit.id, seen[unit.id]] = unit
            seen[unit.id] += 1
        return found


def files_among(paths: Iterable[Path]) -> list[Path]:
    """Return files, and the translation files in folders."""
    return [file for path in paths for file in (translation_files(path) if path.is_dir() else [path])]


_NOT_KEPT: Final = ", though it was machine translation before: give --before"
_UNCONFIRMED: Final = "machine translation or a fuzzy match that nobody has confirmed, by origin and state"


def _is_unconfirmed(unit: Unit) -> bool:
    return unit.origin in ("machine", "fuzzy") and (unit.state is None or unit.state < UnitState.REVIEWED)


def _why_not(unit: Unit) -> str | None:
    if not unit.source.text.strip():
        return "no source"
    if unit.target is None or not unit.target.text.strip():
        return "no target"
    if unit.state is UnitState.INITIAL:
        return "not translated or post-edited yet, by its state"
    return None
