"""Extract triplets or parallel text from translation files."""

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from rich.console import Console

from postedit import __version__
from postedit.core.errors import DataError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.core.wording import counted
from postedit.data.lines import encode_lines
from postedit.distributed.chunks import Chunk
from postedit.distributed.pipeline import resumable
from postedit.distributed.resumable_outputs import OutputFiles, OutputState, ResumableOutputs
from postedit.files.formats import format_of, translation_files, unrecognised_files
from postedit.files.tmx import OtherLanguagesError, Tmx
from postedit.files.units import Format, Unit
from postedit.jobs.translation_files import UnitReader, open_file, units_of
from postedit.jobs.unit_lines import LeftOut, Take
from postedit.text.language_tags import base_language, language_pair, same_pair, script_of


@dataclass(slots=True)
class Extracted:
    """The number of lines extracted, and of units left out, by reason."""

    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


_BREAKS: Final = re.compile(r"(?<! ) *[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029][\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029 ]*")
"""Characters that some reader of text files takes for the end of a line, and tabs, with the spaces around them.

A match begins at the first of several spaces: one that could begin at each of them would take quadratic time.
"""


_ONE_LANGUAGE: Final = "not in two languages (--languages also chooses between regions, such as en-US:en-GB)"

_LANGUAGE: Final = re.compile(r"[a-z]{2,8}(-[a-z]{4})?")


def _other_languages(languages: tuple[str, str]) -> str:
    return f"not from {' to '.join(languages)} (--languages chooses)"


def _language(tag: str) -> str:
    """Return a language without its region, so that units are counted by few reasons, whatever their files say."""
    name = "-".join(filter(None, [base_language(tag), script_of(tag)]))
    return name if _LANGUAGE.fullmatch(name) else "an unknown language"


def _on_one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()


PIECE: Final = 4096
"""Number of units whose lines are written together."""

LARGE: Final = 1 << 23
"""File size in bytes above which no worker reads the file: it would return tens of megabytes of lines at once."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The lines that some successive units of a file give."""

    columns: Sequence[Sequence[str]]  # lines of each column of the output
    left_out: Counter[str]
    ends_file: bool

    def chunk(self, number: int, sides: Sequence[str], pieces: int) -> Chunk:
        """Return the piece as a chunk of the output; `pieces` is the number of pieces of its file up to this one."""
        text = {side: encode_lines(lines) for side, lines in zip(sides, self.columns, strict=True)}
        ended = {_FILES: 1, _PIECES: pieces} if self.ends_file else {}
        counts = {f"{_LEFT_OUT}{reason}": count for reason, count in self.left_out.items()}
        return Chunk(number, 0, len(self.columns[0]), text, counts | ended)


_FILES: Final = "files"
_PIECES: Final = "pieces"
_LEFT_OUT: Final = "left out: "
"""Names of counts: finished files, the pieces of these files, and (with the reason) units that are left out."""


@dataclass(slots=True)
class _FileReader:
    """Reads translation files; without languages, it takes those of the first unit that states its languages."""

    take: Take
    with_mt: bool
    languages: tuple[str, str]

    def pieces(self, path: Path, read_units: Callable[[Path, Format], Iterator[Unit]]) -> Iterator[_Piece]:
        """Yield the pieces of a file, of `PIECE` units; units of TMX files in other languages count as left out."""
        form = format_of(path)
        if form.name == Tmx.name:
            form = Tmx(self.languages)
        lines: list[Sequence[str]] = []
        left_out: Counter[str] = Counter()
        try:
            for unit in read_units(path, form):
                if len(lines) + left_out.total() >= PIECE:
                    yield self._piece(lines, left_out)
                    lines, left_out = [], Counter()
                if not all(self.languages) and all(unit.languages):
                    self.languages = unit.languages
                try:
                    lines.append(self._line(path, unit))
                except LeftOut as reason:
                    left_out[str(reason)] += 1
        except OtherLanguagesError as error:
            left_out[_other_languages(self.languages) if any(self.languages) else _ONE_LANGUAGE] += error.units
        yield self._piece(lines, left_out, ends_file=True)

    def __call__(self, path: Path | None) -> list[_Piece] | DataError:
        """In a worker, return the pieces of a file (None: no file) or its error; the languages must be known."""
        try:
            return [] if path is None else list(self.pieces(path, units_of))
        except DataError as error:  # returned, as the other files are still read
            return error

    def find_languages(self, files: Iterable[Path]) -> None:
        """Read finished files again, up to the first unit that states its languages, if they are not known."""
        for path in files:
            if all(self.languages):
                return
            for unit in units_of(path, format_of(path)):
                if all(unit.languages):
                    self.languages = unit.languages
                    break

    def _line(self, path: Path, unit: Unit) -> Sequence[str]:
        if not same_pair(unit.languages, self.languages):
            raise LeftOut(f"from {' to '.join(map(_language, unit.languages))}, {_other_languages(self.languages)}")
        line = self.take(path, unit)
        sides = (line.src, line.mt or "", line.pe) if self.with_mt else (line.src, line.pe)
        return (*map(_on_one_line, sides), f"{_on_one_line(_shown(path))}\t{_on_one_line(unit.id)}")

    def _piece(self, lines: Sequence[Sequence[str]], left_out: Counter[str], *, ends_file: bool = False) -> _Piece:
        empty: list[tuple[str, ...]] = [()] * (4 if self.with_mt else 3)
        return _Piece(list(zip(*lines, strict=True)) or empty, left_out, ends_file)


def extract(
    files: Sequence[Path],
    take: Take,
    out: Path,
    console: Console,
    *,
    with_mt: bool,
    settings: Mapping[str, Any] | None = None,
    languages: str = "",
    resume: bool = False,
    executor: Executor = IN_THIS_PROCESS,
) -> Extracted:
    """Write the lines of translation files to OUT.src, OUT.mt (for triplets) and OUT.pe, and their origins to OUT.ids.

    OUT.json records the settings and counts, OUT.sha256 the digests of these files. Only units in `languages` are
    extracted; if that is empty, units in the languages of the first unit that states them, and files up to that unit
    are read in this process. Each worker of `executor` reads a whole file, under the same path, and returns all its
    lines together; files of more than `LARGE` bytes are read in this process, `PIECE` units at a time.

    Args:
        files: the files to read.
        take: returns the line of a unit.
        out: OUT, the path prefix of the output files.
        console: where progress is shown.
        with_mt: whether lines are triplets; otherwise they are pairs of src and pe.
        settings: what determines the lines besides the files and `languages`, by name, as values for JSON.
        languages: source and target, such as "en:de".
        resume: whether to continue an unfinished run, if there is one.
        executor: runs the workers.

    Raises:
        DataError: if files are broken (the message names all of them), or there is no line to extract.
        OutputError: if the output cannot be written.
    """
    outputs_of = OutputFiles(out, output_sides(with_mt=with_mt))
    job = {"postedit": __version__, **(settings or {}), "languages": languages, "files": fingerprint(files)}
    outputs = ResumableOutputs(outputs_of, job, resume=resume)
    one = _FileReader(take, with_mt, language_pair(languages))
    broken: list[DataError] = []
    try:
        with (
            UnitReader(files, console) as reader,
            resumable(outputs, outputs_of, partial(_progress_in_words, len(files))),
        ):
            if not outputs.done.whole:
                pieces = _pieces(files, one, reader, executor, outputs.done, broken)
                _write(outputs, outputs_of.sides, pieces, broken)
        found = _extracted(outputs.done)
        problem = _problem(files, found, broken, one.languages)
        if problem is not None:  # resuming with the same files would give the same
            outputs.discard()
            raise problem
        with resumable(outputs, outputs_of, partial(_progress_in_words, len(files))):
            outputs.finish({**job, "lines": found.lines, "left_out": dict(found.left_out)})
    finally:
        outputs.close()
    return found


def _write(
    outputs: ResumableOutputs, sides: Sequence[str], pieces: Iterable[_Piece], broken: Sequence[DataError]
) -> None:
    """Write the pieces up to the first broken file; later files are still read, to find all that are broken."""
    for piece in pieces:
        if not broken:
            number = outputs.done.chunks
            outputs.write(piece.chunk(number, sides, number + 1 - outputs.done.counts.get(_PIECES, 0)))


def _problem(
    files: Sequence[Path], found: Extracted, broken: Sequence[DataError], languages: tuple[str, str]
) -> DataError | None:
    if broken:
        faults = "\n".join(f"  - {error}" for error in broken)
        advice = "so that nothing was extracted; correct or leave out these files"
        return DataError(f"{len(broken)} of {counted(len(files), 'file')} cannot be read, {advice}:\n{faults}")
    if found.lines:
        return None
    other = f", {_other_languages(languages)}"
    left_out = found.left_out.most_common()
    reasons = "; ".join(f"{counted(count, 'unit')}: {reason.removesuffix(other)}" for reason, count in left_out)
    wanted = ""
    if any(reason.endswith(other) for reason in found.left_out):  # said once, not for each of many languages
        wanted = f" from {' to '.join(languages)}; choose other languages with --languages"
    where = str(files[0]) if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'other file')}"
    return DataError(f"{where}: there is nothing to extract{wanted} ({reasons or 'no units'})")


def _progress_in_words(files: int, state: OutputState) -> str:
    return f"{counted(state.lines, 'line')}, from {state.counts.get(_FILES, 0):,} of {counted(files, 'file')}"


def _extracted(state: OutputState) -> Extracted:
    left_out = {name.removeprefix(_LEFT_OUT): n for name, n in state.counts.items() if name.startswith(_LEFT_OUT)}
    return Extracted(state.lines, Counter(left_out))


def output_sides(*, with_mt: bool) -> tuple[str, ...]:
    """Return the endings of the output files that hold lines."""
    return ("src", "mt", "pe", "ids") if with_mt else ("src", "pe", "ids")


def fingerprint(files: Iterable[Path]) -> str:
    """Return a hexadecimal digest of the names and contents of files."""
    digest = hashlib.sha256()
    for path in files:
        with open_file(path) as stream:
            digest.update(
                f"{path}\0{hashlib.file_digest(cast(Any, stream), 'sha256').hexdigest()}\n".encode(errors="replace")
            )
    return digest.hexdigest()


def _pieces(
    files: Sequence[Path],
    one: _FileReader,
    reader: UnitReader,
    executor: Executor,
    done: OutputState,
    broken: list[DataError],
) -> Iterator[_Piece]:
    """Yield the pieces of all files that are not `done`, in order; add an error to `broken` for each broken file."""
    finished = done.counts.get(_FILES, 0)
    skipped = done.chunks - done.counts.get(_PIECES, 0)  # pieces done of the first unfinished file
    reader.skip(*files[:finished])
    one.find_languages(files[:finished])
    left = deque(files[finished:])
    while left and (executor == IN_THIS_PROCESS or not all(one.languages)):
        yield from islice(_read_here(left.popleft(), one, reader, broken), skipped, None)
        skipped = 0
    small = [None if path.stat().st_size > LARGE else path for path in left]
    with closing(executor.map(same_in_all(one), small)) as made:
        for path, known, pieces in zip(left, small, made):
            if known is None:
                yield from islice(_read_here(path, one, reader, broken), skipped, None)
            elif isinstance(pieces, DataError):
                broken.append(pieces)
            else:
                yield from pieces[skipped:]
                reader.skip(path)
            skipped = 0


def _read_here(path: Path, one: _FileReader, reader: UnitReader, broken: list[DataError]) -> Iterator[_Piece]:
    try:
        yield from one.pieces(path, reader.units)
    except DataError as error:
        broken.append(error)


def files_among(paths: Iterable[Path]) -> list[Path]:
    """Return the given files, and of the given folders all files that are translation files or named like one."""
    return [
        file
        for path in paths
        for file in (sorted([*translation_files(path), *unrecognised_files(path)]) if path.is_dir() else [path])
    ]


def _shown(path: Path) -> str:
    """Return a path as text, with escapes for bytes that are not UTF-8."""
    return str(path).encode(errors="backslashreplace").decode()
