"""Clean any number of triplets: in blocks, in parallel, in the order of the input, and resumably.

    PREFIX.work/          during the work
        job.json          the input files and the options
        000000.jsonl      the records of a block of triplets, removed or kept
        000000.npy        UInt64[kept,3]: duplicate key, near-duplicate key and place of each triplet kept
    PREFIX.src, ...       the triplets kept
    PREFIX.removed.jsonl  the triplets removed, with reasons
    PREFIX.report.json    the numbers

Filters of single triplets run first, block by block. When all blocks are done, duplicates are found among the triplets
kept by sorting keys on disk, and truecasing is learnt. Memory does not grow with the corpus.
"""

import json
import shutil
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, islice, takewhile
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from postedit.core.checksums import record_checksums
from postedit.core.editor import Side
from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_folder, atomic_write, check_writable, prefix_problem, reason_of, save_json
from postedit.core.output_paths import same_file
from postedit.core.processes import IN_THIS_PROCESS, Executor, WorkerError, same_in_all
from postedit.data.blocks import TripletBlock, triplet_blocks
from postedit.data.cleaning.config import CleanConfig, FilterName
from postedit.data.cleaning.filters import Filter, Normalisation, filters_of, normalisations_of
from postedit.data.cleaning.records import CleanedTriplet, RemovedTriplet, unpack_place
from postedit.data.compression import find_file
from postedit.data.duplicates import SortedRows, find_repeats, near_duplicate_key, save_rows, text_hash
from postedit.data.lines import one_line, read_lines
from postedit.data.resumable_file import check_job, file_fingerprint, lock_output, unlock_output
from postedit.data.text_paths import is_far
from postedit.data.triplets import Triplet, TripletFiles, all_triplets
from postedit.text.truecase import Truecaser

BLOCK: Final = 10_000  # triplets in a block; an interruption loses the blocks in progress, a second or two of work each
SHOWN: Final = 3  # maximum number of examples kept for each filter

CleanStage = Literal["filtering", "writing"]

Progress = Callable[[CleanStage, int], None]

_CASED: Final[tuple[Side, ...]] = ("src", "pe")  # sides whose casing is learnt; mt is cased like pe


@dataclass
class FilterCount:
    """The number of triplets that a filter removed, with the first ones as examples."""

    count: int = 0
    examples: list[RemovedTriplet] = field(default_factory=list)


@dataclass
class CleanReport:
    """The cleaned files, and the numbers of triplets read, kept, changed and removed."""

    files: TripletFiles
    read: int = 0
    kept: int = 0
    filters: dict[FilterName, FilterCount] = field(default_factory=dict)  # for each filter that is on, in order
    changed: int = 0  # triplets kept whose texts were changed by normalisation

    def remove(self, removed: RemovedTriplet) -> None:
        """Count a triplet that a filter removed."""
        taken = self.filters[removed.filter]
        taken.count += 1
        if len(taken.examples) < SHOWN:
            taken.examples.append(removed)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and examples as values for JSON."""
        filters = {
            name: {"taken": taken.count, "examples": [one.to_dict() for one in taken.examples]}
            for name, taken in self.filters.items()
        }
        return {"read": self.read, "kept": self.kept, "changed": self.changed, "filters": filters}


def clean(
    files: Sequence[TripletFiles],
    out: Path,
    config: CleanConfig,
    *,
    resume: bool = False,
    executor: Executor = IN_THIS_PROCESS,
    progress: Progress = lambda stage, done: None,
) -> CleanReport:
    """Clean triplets, and write those that are kept to files whose names start with `out`.

    Args:
        files: the triplets, either all with or all without machine translations.
        out: the prefix of the files to write.
        config: the options.
        resume: whether to continue unfinished work.
        executor: runs the filters and normalisation on blocks of triplets; it does not affect the result.
        progress: called with a stage and the number of triplets that it has processed, at first with the number that an
            earlier run has processed; all triplets pass both stages.

    Raises:
        DataError: if a file cannot be used, or no triplet is kept.
        RecipeError: if a language is unknown.
        OutputError: if a file cannot be written, if another process writes to it, or if there is unfinished work and
            `resume` is False.
    """
    filters_of(config, files[0].sides)  # reports an unknown language before any work
    work = check_output(files, out, resume=resume)
    lock = lock_output(out)
    try:
        return _clean(files, out, config, work, executor, progress)
    finally:
        unlock_output(lock)


def _clean(
    files: Sequence[TripletFiles], out: Path, config: CleanConfig, work: Path, executor: Executor, progress: Progress
) -> CleanReport:
    sides = files[0].sides
    _start(work, files, config)
    job = _Job(config, sides)
    names: tuple[FilterName, ...] = get_args(FilterName)
    used = {name: FilterCount() for name in names if name == "unusable" or getattr(config, name).on}
    report = CleanReport(TripletFiles(**{side: f"{out}.{side}" for side in sides}), filters=used)
    with _resumable(work):
        done = list(takewhile(Path.exists, (_records_file(work, number) for number in count())))
        blocks = triplet_blocks(map(all_triplets, files), BLOCK)
        progress("filtering", max((block.last for block in islice(blocks, len(done))), default=0))
        with closing(executor.map(same_in_all(job.clean_block), blocks)) as cleaned:
            for block in cleaned:
                block.save(work)
                done.append(_records_file(work, block.number))
                progress("filtering", block.last)
        _finish(job, work, done, files, out, report, progress)
    shutil.rmtree(work)
    return report


@contextmanager
def _resumable(work: Path) -> Iterator[None]:
    """Add to an error how to resume the work; after a DataError, which would recur, remove the work instead."""
    try:
        yield
    except DataError:
        shutil.rmtree(work)
        raise
    except (OutputError, WorkerError, OSError) as error:
        if isinstance(error, OSError):
            error = OutputError(f"{error.filename or work}: {reason_of(error)}")
        how = f"finished work is kept in {work}; continue with the same command and --resume"
        raise type(error)(f"{error}; {how}") from error


def check_output(files: Sequence[TripletFiles], out: Path, *, resume: bool) -> Path:
    """Check, before any work, that the cleaned files can be written; return the folder for the work in progress."""
    if problem := prefix_problem(out):
        raise OutputError(f"--out {out}: {problem}")
    sides = files[0].sides
    written = [out.with_name(f"{out.name}.{end}") for end in (*sides, "removed.jsonl", "report.json", "sha256")]
    read = [find_file(path) for one in files for path in one.paths if not is_far(path)]
    for path in written:
        check_writable(path)
        if any(same_file(path, one) for one in read):
            raise OutputError(f"{path}: is one of the files to clean; choose another prefix with --out")
    work = out.with_name(f"{out.name}.work")
    if work.exists() and not resume:
        raise OutputError(f"{work}: has unfinished work; add --resume to continue it, or delete it to start again")
    return work


@dataclass(frozen=True)
class _Job:
    """The options that a worker needs to clean a block; as building filters is slow, each worker builds them once."""

    config: CleanConfig
    sides: tuple[Side, ...]

    @cached_property
    def _filters(self) -> dict[FilterName, Filter]:
        return filters_of(self.config, self.sides)

    @cached_property
    def _steps(self) -> dict[Side, list[Normalisation]]:
        return {side: normalisations_of(self.config, self.config.lang(side)) for side in self.sides}

    def clean_block(self, block: TripletBlock) -> "_CleanedBlock":
        """Return the records of a block."""
        records = [self._record(block.source, triplet) for triplet in block.triplets]
        kept = [record for record in records if not record.filter]
        keys = np.array([[*self._keys(record), record.place] for record in kept], np.uint64).reshape(-1, 3)
        return _CleanedBlock(block.number, block.last, "".join(f"{record.to_json()}\n" for record in records), keys)

    def _record(self, source: int, triplet: Triplet) -> CleanedTriplet:
        original = tuple(getattr(triplet, side) for side in self.sides)
        for name, check in self._filters.items():
            if detail := check(triplet):
                return CleanedTriplet(source, triplet.line, original, (), name, detail)
        texts = []
        for side, text in zip(self.sides, original):
            for step in self._steps[side]:
                text = step(text)
            texts.append(one_line(text))
        emptied = next((side for side, text in zip(self.sides, texts) if not text.strip()), None)
        if emptied is not None:
            return CleanedTriplet(source, triplet.line, original, (), "unusable", f"{emptied} is blank once normalised")
        return CleanedTriplet(source, triplet.line, original, tuple(texts))

    def _keys(self, record: CleanedTriplet) -> Iterator[int]:
        texts = dict(zip(self.sides, record.texts))
        yield text_hash("\n".join(texts.get(side, "") for side in self.config.duplicates.sides))
        near = (near_duplicate_key(texts.get(side, "")) for side in self.config.near_duplicates.sides)
        yield text_hash("\n".join(near))


@dataclass(frozen=True, eq=False, slots=True)
class _CleanedBlock:
    """What is written for a block: lines of records, and UInt64[kept,3] as described in the module docstring."""

    number: int
    last: int
    records: str
    keys: NDArray[np.uint64]

    def save(self, work: Path) -> None:
        """Write the block: last the records, whose file marks the block as done."""
        path = _records_file(work, self.number)
        with atomic_write(path.with_suffix(".npy"), "wb") as file:
            save_rows(file, self.keys)
        with atomic_write(path) as file:
            file.write(self.records)


def _records_file(work: Path, number: int) -> Path:
    return work / f"{number:06d}.jsonl"


def _start(work: Path, files: Sequence[TripletFiles], config: CleanConfig) -> None:
    job = {
        "recipe": config.model_dump(mode="json"),
        "triplets in a block": BLOCK,
        "files": [{str(path): file_fingerprint(path) for path in one.paths} for one in files],
    }
    if work.exists():
        check_job(work / "job.json", job, work)
        return
    with atomic_folder(work) as made:
        (made / "job.json").write_text(json.dumps(job, indent=2, ensure_ascii=True), encoding="utf-8")


def _finish(
    job: _Job,
    work: Path,
    done: list[Path],
    files: Sequence[TripletFiles],
    out: Path,
    report: CleanReport,
    progress: Progress,
) -> None:
    """Find duplicates in the record files `done`, learn casing, write the cleaned files, and fill in `report`."""
    columns: list[tuple[FilterName, int]] = [("duplicates", 0), ("near_duplicates", 1)]
    with tempfile.TemporaryDirectory(dir=work) as folder:
        repeats = [
            (name, _repeats(done, Path(folder), name, column)) for name, column in columns if name in report.filters
        ]

        def records() -> Iterator[CleanedTriplet]:
            lines = chain.from_iterable(read_lines(path) for path in done)
            blocks = [(name, rows.blocks()) for name, rows in repeats]
            yield from _without_repeats(map(CleanedTriplet.from_json, lines), blocks, files)

        cased = {
            side: Truecaser.train(record.texts[place].split(" ") for record in records() if not record.filter)
            for place, side in enumerate(job.sides)
            if job.config.truecase and side in _CASED
        }
        _write(records(), cased, files, out, report, progress)
    for side, truecaser in cased.items():
        truecaser.save(out.with_name(f"{out.name}.truecase.{side}.json"))
    made = {"recipe": job.config.model_dump(mode="json"), "sources": [one.name for one in files]}
    save_json(out.with_name(f"{out.name}.report.json"), {**made, **report.to_dict()})
    endings = [*job.sides, "removed.jsonl", "report.json", *(f"truecase.{side}.json" for side in cased)]
    record_checksums(out.with_name(f"{out.name}.sha256"), [out.with_name(f"{out.name}.{end}") for end in endings])


def _repeats(done: list[Path], folder: Path, name: str, column: int) -> SortedRows:
    """Return a row (place, place of the first equal triplet) for each duplicate by the keys in a column."""
    places, repeats = SortedRows(folder, f"{name}-keys"), SortedRows(folder, name)
    for path in done:
        places.add(np.load(path.with_suffix(".npy"))[:, [column, 2]])
    find_repeats(places, repeats)
    return repeats


def _without_repeats(
    records: Iterable[CleanedTriplet],
    repeats: Sequence[tuple[FilterName, Iterator[Any]]],
    files: Sequence[TripletFiles],
) -> Iterator[CleanedTriplet]:
    """Yield the records with duplicates marked as removed; `repeats` are in the order of the records.

    If the first of several equal triplets is itself removed by another kind of duplicates, the next of them is kept.
    """
    removed = array("Q")  # places of the triplets removed here, in order
    instead: list[dict[int, int]] = [{} for _ in repeats]  # the place that is kept, by the place of the first
    pending = [(name, (pair for block in blocks for pair in block.tolist())) for name, blocks in repeats]
    heads = [next(pairs, None) for _, pairs in pending]
    for record in records:
        for number, (name, pairs) in enumerate(pending):
            head = heads[number]
            if head is None or head[0] != record.place:
                continue
            heads[number] = next(pairs, None)
            if record.filter:
                continue
            kept = instead[number].get(head[1], head[1])
            at = bisect_left(removed, kept)
            if at < len(removed) and removed[at] == kept:
                instead[number][head[1]] = record.place
                continue
            source, line = unpack_place(kept)
            detail = f"same as {files[source].name}, line {line}"
            removed.append(record.place)
            record = CleanedTriplet(record.source, record.line, record.original, (), name, detail)
        yield record


def _write(
    records: Iterable[CleanedTriplet],
    cased: dict[Side, Truecaser],
    files: Sequence[TripletFiles],
    out: Path,
    report: CleanReport,
    progress: Progress,
) -> None:
    sides = files[0].sides
    with ExitStack() as stack:
        paths = [out.with_name(f"{out.name}.{end}") for end in (*sides, "removed.jsonl")]
        *outputs, removed_file = [stack.enter_context(atomic_write(path)) for path in paths]
        truecasers = [cased.get("src" if side == "src" else "pe") for side in sides]
        for record in records:
            if report.read % BLOCK == 0:
                progress("writing", report.read)
            report.read += 1
            if record.filter:
                texts: dict[str, str] = dict(zip(sides, record.original))
                name = files[record.source].name
                removed = RemovedTriplet(name, record.line, record.filter, record.detail, texts)
                removed_file.write(f"{json.dumps(removed.to_dict(), ensure_ascii=False)}\n")
                report.remove(removed)
                continue
            cleaned = tuple(
                text if caser is None else " ".join(caser.truecase(text.split(" ")))
                for text, caser in zip(record.texts, truecasers)
            )
            report.kept += 1
            report.changed += cleaned != record.original
            for file, text in zip(outputs, cleaned):
                file.write(f"{text}\n")
        if not report.kept:
            raise DataError("the filters removed every triplet; turn some off with --set FILTER.on=false")
