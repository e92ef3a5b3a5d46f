"""Cleaning of any number of triplets: in blocks, by several processes, in the order of the input, and resumable.

    PREFIX.work/          while it lasts
        job.json          what is cleaned, and how
        000000.jsonl      the rows of a block of triplets, removed or not
        000000.npy        UInt64[kept,3]: keys of what was kept, for duplicates and near-duplicates; and places
    PREFIX.src, ...       what was kept
    PREFIX.removed.jsonl  what was not, with the reason for each
    PREFIX.report.json    the numbers

Filters that look at one triplet come first, block by block. Only when all blocks are done, duplicates are searched for
among what is left, by sorting keys on disk; and truecasing is learnt. Memory does not grow with the corpus.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any, Final, Literal, get_args

import numpy as np

from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write, check_writable, explain_os_errors, prefix_problem, reason_of
from postedit.core.output_paths import same_file
from postedit.core.processes import WorkerError
from postedit.data.blocks import blocks_of, map_blocks
from postedit.data.cleaning.config import CleanConfig, DuplicateConfig, FilterName
from postedit.data.cleaning.filters import Filter, filters_of
from postedit.data.cleaning.normalisation import Step, StepName, steps_of
from postedit.data.cleaning.records import Removed, Row, line_of_place, one_line, side_texts, source_of_place
from postedit.data.compression import find_file
from postedit.data.duplicates import SortedRows, find_repeats, fingerprint, near_key, save_rows
from postedit.data.lines import read_lines
from postedit.data.resumable_file import check_job, file_fingerprint
from postedit.data.text_paths import is_far
from postedit.data.triplets import Triplet, TripletFiles, all_triplets
from postedit.text.config import Side
from postedit.text.truecase import Truecaser

BLOCK: Final = 10_000
"""Triplets in a block, which is what is lost when the work is interrupted: a second or two."""

SHOWN: Final = 3
"""Examples kept for each filter."""

Stage = Literal["filtering", "writing"]

Progress = Callable[[Stage, int], None]

_CASED: Final[tuple[Side, ...]] = ("src", "pe")
"""The sides whose casing is learnt; that of pe serves mt too."""


@dataclass
class Taken:
    """What one filter took: how many triplets, and the first of them."""

    count: int = 0
    examples: list[Removed] = field(default_factory=list)


@dataclass
class CleanReport:
    """What became of all triplets.

    Args:
        files: the cleaned ones.
        read: triplets read.
        kept: triplets kept.
        filters: what each filter that is on took, in order.
        changed: triplets kept whose texts the steps of normalisation changed.
    """

    files: TripletFiles
    read: int = 0
    kept: int = 0
    filters: dict[FilterName, Taken] = field(default_factory=dict)
    changed: int = 0

    def remove(self, removed: Removed, name: FilterName) -> None:
        """Count a triplet that a filter took."""
        taken = self.filters[name]
        taken.count += 1
        if len(taken.examples) < SHOWN:
            taken.examples.append(removed)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and examples as values for JSON."""
        return {
            "read": self.read,
            "kept": self.kept,
            "changed": self.changed,
            "filters": {
                name: {"taken": taken.count, "examples": [json.loads(one.to_json()) for one in taken.examples]}
                for name, taken in self.filters.items()
            },
        }


def clean(
    files: Sequence[TripletFiles],
    out: Path,
    config: CleanConfig,
    *,
    resume: bool = False,
    workers: int = 1,
    progress: Progress = lambda stage, done: None,
) -> CleanReport:
    """Clean triplets, all with translations or all without, into files that start with `out`.

    Args:
        files: the triplets.
        out: the prefix of the files to write.
        config: what to do.
        resume: go on with unfinished work.
        workers: processes to use; the result does not depend on it.
        progress: called with the stage, and the number of triplets that have passed it; all pass both stages.

    Raises:
        DataError: if a file cannot be used.
        RecipeError: if a language is not known.
        OutputError: if a file cannot be written, or there is unfinished work and `resume` is False.
    """
    sides = files[0].sides
    cleaned = TripletFiles(**{side: f"{out}.{side}" for side in sides})
    filters_of(config, sides)  # a language that is not known is found before any work
    work = check_output(files, out, resume=resume)
    _start(work, files, config)
    job = _Job(config, sides, work)
    report = CleanReport(cleaned, filters={name: Taken() for name in _names(config)})
    with _kept(work):
        done = 0
        for count in map_blocks(job.clean_block, _blocks(files), workers):
            done += count
            progress("filtering", done)
        _finish(job, files, out, report, progress)
    shutil.rmtree(work)
    return report


@contextmanager
def _kept(work: Path) -> Iterator[None]:
    """Say in an error how to go on; where nothing is left there is nothing to go on with."""
    try:
        yield
    except DataError:
        shutil.rmtree(work)
        raise
    except (OutputError, WorkerError, OSError) as error:
        if isinstance(error, OSError):
            error = OutputError(f"{error.filename or work}: {reason_of(error)}")
        raise type(error)(
            f"{error}; what is done is kept in {work}, and the same command with --resume goes on from there"
        ) from error


def check_output(files: Sequence[TripletFiles], out: Path, *, resume: bool) -> Path:
    """Check before long work that the cleaned files can be written; return the folder of work in progress.

    Raises:
        OutputError: if not.
    """
    if problem := prefix_problem(out):
        raise OutputError(f"--out {out}: {problem}")
    sides = files[0].sides
    written = [out.with_name(f"{out.name}.{end}") for end in (*sides, "removed.jsonl", "report.json")]
    read = [find_file(path) for one in files for path in one.paths if not is_far(path)]
    for path in written:
        check_writable(path)
        if any(same_file(path, one) for one in read):
            raise OutputError(f"{path}: is one of the files to clean; choose another prefix by --out")
    work = out.with_name(f"{out.name}.work")
    if work.exists() and not resume:
        raise OutputError(f"{work}: has unfinished work; add --resume to go on with it, or delete it to start anew")
    return work


@dataclass(frozen=True, slots=True)
class _Job:
    """What a process needs to know to clean a block."""

    config: CleanConfig
    sides: tuple[Side, ...]
    work: Path

    def clean_block(self, block: "_Block") -> int:
        """Write what becomes of a block, unless that is done, and return how many triplets it has."""
        path = self.work / f"{block.number:06d}.jsonl"
        if path.exists():
            return len(block.triplets)
        filters, steps = _prepared(self.config.model_dump_json(), self.sides)
        rows = [self._row(block.source, triplet, filters, steps) for triplet in block.triplets]
        kept = [row for row in rows if not row.filter]
        keys = np.array([[*self._keys(row), row.place] for row in kept], np.uint64).reshape(-1, 3)
        with atomic_write(path.with_suffix(".npy"), "wb") as file:
            save_rows(file, keys)
        with atomic_write(path) as file:
            file.writelines(f"{row.to_json()}\n" for row in rows)
        return len(rows)

    def _row(
        self,
        source: int,
        triplet: Triplet,
        filters: dict[FilterName, Filter],
        steps: dict[Side, dict[StepName, Step]],
    ) -> Row:
        original = tuple(getattr(triplet, side) for side in self.sides)
        for name, check in filters.items():
            if detail := check(triplet):
                return Row(source, triplet.line, original, (), name, detail)
        texts = []
        for side, text in zip(self.sides, original):
            for step in steps[side].values():
                text = step(text)
            texts.append(one_line(text))
        return Row(source, triplet.line, original, tuple(texts))

    def _keys(self, row: Row) -> Iterator[int]:
        texts = side_texts(self.sides, row.texts)
        yield fingerprint("\n".join(texts.get(side, "") for side in self.config.duplicates.sides))
        near = (near_key(texts.get(side, "")) for side in self.config.near_duplicates.sides)
        yield fingerprint("\n".join(near))


@dataclass(frozen=True, slots=True)
class _Block:
    number: int
    source: int
    triplets: list[Triplet]


@cache
def _prepared(
    values: str, sides: tuple[Side, ...]
) -> tuple[dict[FilterName, Filter], dict[Side, dict[StepName, Step]]]:
    """Return the filters and steps of a recipe in JSON; they take a while to make, so each process does it once."""
    config = CleanConfig.model_validate_json(values)
    return filters_of(config, sides), {side: steps_of(config, config.lang(side)) for side in sides}


def _blocks(files: Sequence[TripletFiles]) -> Iterator[_Block]:
    number = 0
    for source, one in enumerate(files):
        for triplets in blocks_of(all_triplets(one), BLOCK):
            yield _Block(number, source, triplets)
            number += 1


def _start(work: Path, files: Sequence[TripletFiles], config: CleanConfig) -> None:
    job = {
        "recipe": config.model_dump(mode="json"),
        "files": [{str(path): file_fingerprint(path) for path in one.paths} for one in files],
    }
    note = work / "job.json"
    if work.exists():
        check_job(note, job, work)
        return
    with explain_os_errors(work), tempfile.TemporaryDirectory(dir=work.parent, prefix=f".{work.name}.") as folder:
        made = Path(folder) / "work"
        made.mkdir()
        (made / note.name).write_text(json.dumps(job, indent=2, ensure_ascii=False), encoding="utf-8")
        made.replace(work)


def _names(config: CleanConfig) -> list[FilterName]:
    """Return the filters that are on."""
    names: tuple[FilterName, ...] = get_args(FilterName)
    return [name for name in names if name == "unusable" or getattr(config, name).on]


def _finish(job: _Job, files: Sequence[TripletFiles], out: Path, report: CleanReport, progress: Progress) -> None:
    """Search for duplicates, learn casing, write the cleaned files, and count in `report`."""
    with tempfile.TemporaryDirectory(dir=job.work) as folder:
        repeats = [
            (name, _repeats(job.work, Path(folder), name, column))
            for column, (name, config) in enumerate(_duplicate_filters(job.config))
            if config.on
        ]

        def rows() -> Iterator[Row]:
            yield from _without_repeats(_rows(job.work), [(name, rows.blocks()) for name, rows in repeats], files)

        cased = _learn_casing(rows, job.sides) if job.config.truecase else {}
        _write(_counted(rows(), progress), cased, job.sides, files, out, report)
    for side, truecaser in cased.items():
        truecaser.save(out.with_name(f"{out.name}.truecase.{side}.json"))
    with atomic_write(out.with_name(f"{out.name}.report.json")) as file:
        values = {"recipe": job.config.model_dump(mode="json"), "sources": [one.name for one in files]}
        json.dump({**values, **report.to_dict()}, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _duplicate_filters(config: CleanConfig) -> list[tuple[FilterName, DuplicateConfig]]:
    return [("duplicates", config.duplicates), ("near_duplicates", config.near_duplicates)]


def _repeats(work: Path, folder: Path, name: str, column: int) -> SortedRows:
    """Return the rows (place, place of the first like it) of what comes again by the keys of one column."""
    places, repeats = SortedRows(folder, f"{name}-keys", 2), SortedRows(folder, name, 2)
    for path in sorted(work.glob("*.npy")):
        places.add(np.load(path)[:, [column, 2]])
    find_repeats(places, repeats)
    return repeats


def _rows(work: Path) -> Iterator[Row]:
    for path in sorted(work.glob("*.jsonl")):
        yield from map(Row.from_json, read_lines(path))


def _without_repeats(
    rows: Iterable[Row], repeats: Sequence[tuple[FilterName, Iterator[Any]]], files: Sequence[TripletFiles]
) -> Iterator[Row]:
    """Yield rows, those that come again as removed; `repeats` are in the order of the rows."""
    pending = [(name, (pair for block in blocks for pair in block.tolist())) for name, blocks in repeats]
    heads = [next(pairs, None) for _, pairs in pending]
    for row in rows:
        for number, (name, pairs) in enumerate(pending):
            head = heads[number]
            if head is None or head[0] != row.place:
                continue
            heads[number] = next(pairs, None)
            if not row.filter:
                first = f"{files[source_of_place(head[1])].name}, line {line_of_place(head[1])}"
                row = Row(row.source, row.line, row.original, (), name, f"as {first}")
        yield row


def _counted(rows: Iterable[Row], progress: Progress) -> Iterator[Row]:
    """Yield rows, and tell now and then how many they were."""
    for number, row in enumerate(rows):
        if number % BLOCK == 0:
            progress("writing", number)
        yield row


def _learn_casing(rows: Callable[[], Iterator[Row]], sides: tuple[Side, ...]) -> dict[Side, Truecaser]:
    return {
        side: Truecaser.train(row.texts[place].split(" ") for row in rows() if not row.filter)
        for place, side in enumerate(sides)
        if side in _CASED
    }


def _write(
    rows: Iterable[Row],
    cased: dict[Side, Truecaser],
    sides: tuple[Side, ...],
    files: Sequence[TripletFiles],
    out: Path,
    report: CleanReport,
) -> None:
    with ExitStack() as stack:
        outputs: list[IO[str]] = [
            stack.enter_context(atomic_write(out.with_name(f"{out.name}.{side}"))) for side in sides
        ]
        removed = stack.enter_context(atomic_write(out.with_name(f"{out.name}.removed.jsonl")))
        truecasers = [cased.get("src" if side == "src" else "pe") for side in sides]
        for row in rows:
            report.read += 1
            if row.filter:
                name: Any = row.filter
                one = Removed(files[row.source].name, row.line, name, row.detail, side_texts(sides, row.original))
                removed.write(f"{one.to_json()}\n")
                report.remove(one, name)
                continue
            texts = tuple(_truecased(text, caser) for text, caser in zip(row.texts, truecasers))
            report.kept += 1
            report.changed += texts != row.original
            for file, text in zip(outputs, texts):
                file.write(f"{text}\n")
        if not report.kept:
            raise DataError("nothing is left: the filters took every triplet; see which by --set FILTER.on=false")


def _truecased(text: str, truecaser: Truecaser | None) -> str:
    return text if truecaser is None else " ".join(truecaser.truecase(text.split(" ")))
