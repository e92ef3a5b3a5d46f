"""Triplets (source, machine translation, post-edit) in files: line-aligned texts, TSV, JSONL or Parquet."""

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from postedit.core.config import Config
from postedit.core.editor import Side
from postedit.core.errors import DataError
from postedit.core.files import with_home
from postedit.core.wording import counted
from postedit.data.compression import find_file, plain_name, raw_lines
from postedit.data.lines import BadLine, path_problem, returns_warning, scan_lines
from postedit.data.report import SHOWN, DataReport
from postedit.data.text_paths import is_far, is_parquet, located, with_column
from postedit.text.config import SIDES

LONGEST_LINE: Final = 10_000
"""Maximum characters of a line. A longer one is a sign of a broken file, and would make a training step very slow."""

TooLong = Literal["skip", "cut"]
"""What to do with a text that is too long."""

_PARALLEL: Final[tuple[Side, ...]] = ("src", "pe")

_HEADINGS: Final = frozenset(
    (
        *("src", "source", "source text", "original"),
        *("tgt", "target", "target text", "mt", "raw mt", "machine translation", "translation", "hypothesis"),
        *("pe", "postedit", "post edit", "post-edit", "post_edit", "post-edited", "post-editing", "edited"),
        *("ref", "reference"),
    )
)
"""Names that other programs give to the columns of a table, in lower case."""


class Triplet(NamedTuple):
    """A source, its machine translation (empty for parallel text), and the post-edit."""

    src: str
    mt: str
    pe: str
    source: str = ""  # the name of the files that it comes from
    line: int = 0  # the number of its line in them, from 1


class TripletFiles(Config):
    """The files that hold triplets.

    In a recipe, they are given as a prefix (`"train"` means train.src, train.mt and train.pe), as a table (`"x.tsv"`
    with three columns and an optional header, `"x.jsonl"`, or `"x.parquet"` with columns src, mt and pe), or as `{src =
    ..., mt = ..., pe = ...}`. The last form may omit mt if no model reads it. `"x.parquet#target"` selects another
    column; `"s3://..."` and other URLs are read by fsspec. Files may be compressed; `.gz`, `.xz` or `.zst` may be
    omitted from their names.
    """

    src: str = Field(description="path of the sources; the same for all sides of a table.")
    mt: str | None = Field(None, description="path of the machine translations; none for parallel text.")
    pe: str = Field(description="path of the post-edits.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        if isinstance(value, str) and _is_table(value):
            return dict.fromkeys(SIDES, value)
        if isinstance(value, str):
            return {side: with_column(value, side) if is_parquet(value) else f"{value}.{side}" for side in SIDES}
        if isinstance(value, Mapping):
            return {key: with_column(name, key) if isinstance(name, str) else name for key, name in value.items()}
        if isinstance(value, TripletFiles):
            return value
        raise ValueError(
            'must be a prefix such as "train", a .tsv, .jsonl or .parquet file, or {src=..., mt=..., pe=...}'
        )

    @model_validator(mode="after")
    def _check_table(self) -> Self:
        if self.is_table and not (_is_table(self.src) and self.mt in (None, self.src)):
            raise ValueError(f"src and pe are both {self.src}; only one .tsv or .jsonl file can hold all sides")
        return self

    @model_serializer
    def _to_value(self) -> Any:
        return self._to_name()

    def _to_name(self) -> str | dict[str, str]:
        if self.is_table and self.mt is not None:
            return self.src
        for mark in "#.":
            prefix = self.src.removesuffix(f"{mark}src")
            named = (f"{prefix}{mark}src", f"{prefix}{mark}mt", f"{prefix}{mark}pe")
            again = type(self).of(prefix)  # takes a prefix such as x.tsv for a table
            if (self.src, self.mt, self.pe) == named == (again.src, again.mt, again.pe):
                return prefix
        return self._to_sides()

    def _to_sides(self) -> dict[str, str]:
        return {side: getattr(self, side) for side in self.sides}

    @classmethod
    def of(cls, name: str | Path) -> Self:
        """Return the files that this name, a prefix or a table, means in a recipe."""
        return cls.model_validate(str(name))

    @property
    def is_table(self) -> bool:
        """Whether one file holds all sides."""
        return self.src == self.pe

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that the files hold."""
        return SIDES if self.mt is not None else _PARALLEL

    @property
    def name(self) -> str:
        """The name by which reports call these files."""
        name = self._to_name()
        return name if isinstance(name, str) else ", ".join(dict.fromkeys(name.values()))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The path of the table, or one path for each side."""
        return (located(self.src),) if self.is_table else tuple(located(getattr(self, side)) for side in self.sides)

    def under(self, folder: Path) -> Self:
        """Return the same files with relative paths resolved against `folder`."""
        return self.model_copy(update={side: str(located(getattr(self, side), folder)) for side in self.sides})


@dataclass(frozen=True, slots=True)
class SamplingWeight:
    """The sampling weight of a source, and the epochs in which it is read; see `TrainingFiles`."""

    weight: float = 1.0
    from_epoch: int = 0
    until_epoch: int | None = None

    def is_active(self, epoch: int) -> bool:
        """Return whether an epoch reads the source."""
        return epoch >= self.from_epoch and (self.until_epoch is None or epoch < self.until_epoch)

    def row_range(self, rows: int, epoch: int) -> tuple[int, int]:
        """Return the rows (start, and end exclusive) that an epoch reads.

        They are numbered in the endless sequence of passes over a source of `rows` triplets.
        """
        if not self.is_active(epoch):
            return 0, 0
        turn = epoch - self.from_epoch
        return round(self.weight * rows * turn), round(self.weight * rows * (turn + 1))


class TrainingFiles(TripletFiles):
    """A source of training triplets with its sampling weight.

    In a recipe, it is given as files (see `TripletFiles`), or as `{files = "real", weight = 20}`.
    """

    weight: float = Field(
        1.0, gt=0.0, description="how often an epoch reads each triplet; with 0.1, each is read once in ten epochs."
    )
    from_epoch: int = Field(0, ge=0, description="the source is read after this many complete epochs.")
    until_epoch: int | None = Field(
        None, ge=1, description="the source is not read any more after this many complete epochs."
    )
    learn_text: bool = Field(True, description="vocabularies and truecasing are learnt from the source, among others.")

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, value: Any) -> Any:
        if isinstance(value, TripletFiles) and not isinstance(value, cls):
            return value._to_sides()
        if not isinstance(value, Mapping) or "files" not in value:
            return value
        if both := [side for side in SIDES if side in value]:
            raise ValueError(f"give files, or src, mt and pe, not both files and {both[0]}")
        rest = {key: option for key, option in value.items() if key != "files"}
        return {**TripletFiles.model_validate(value["files"])._to_sides(), **rest}

    @model_validator(mode="after")
    def _check_epochs(self) -> Self:
        if self.until_epoch is not None and self.until_epoch <= self.from_epoch:
            epochs = f"until_epoch {self.until_epoch} is not after from_epoch {self.from_epoch}"
            raise ValueError(f"{epochs}, so the source would never be read")
        return self

    @model_serializer
    def _to_value(self) -> Any:
        default = SamplingWeight()
        options = {key: value for key, value in asdict(self.sampling).items() if value != getattr(default, key)}
        options |= {} if self.learn_text else {"learn_text": False}
        return {"files": self._to_name(), **options} if options else self._to_name()

    @property
    def sampling(self) -> SamplingWeight:
        """The sampling weight of the source."""
        return SamplingWeight(self.weight, self.from_epoch, self.until_epoch)


def _is_table(name: str) -> bool:
    return plain_name(name).endswith((".tsv", ".jsonl"))


def to_json(triplet: Triplet) -> str:
    """Return the texts of a triplet as a line of a .jsonl file, without the line feed."""
    return json.dumps({side: getattr(triplet, side) for side in SIDES}, ensure_ascii=False)


def as_list(value: Any) -> Any:
    """Return a single value of a recipe as a list; leave None and lists as they are."""
    return value if value is None or isinstance(value, list | tuple) else [value]


class DataConfig(Config):
    """The `[data]` section of a recipe."""

    dir: str = Field(
        ".", description="folder that relative paths start from, itself relative to the folder of the recipe."
    )
    train: Annotated[list[TrainingFiles], BeforeValidator(as_list)] = Field(
        min_length=1,
        description="one or more sources of training triplets. An epoch reads each triplet once, those of "
        '`{files = "real", weight = 20}` 20 times; `from_epoch` and `until_epoch` limit a source to some epochs.',
    )
    dev: TripletFiles = Field(description="triplets for validation.")
    max_length: int = Field(
        256, ge=2, description="training triplets with more tokens on a side (EOS included) are skipped; see too_long."
    )
    too_long: TooLong = Field(
        "skip",
        description="cut: only the first max_length tokens of src and mt are read, as for articles to summarise; "
        "triplets with a longer pe (STEPs included) are still skipped.",
    )
    glossary: str | None = Field(
        None, description="terms (.csv, .tsv, .tbx) shown in training by a model whose prompt has {glossary}."
    )
    tagged: float = Field(
        0.5,
        ge=0.0,
        le=1.0,
        description="share of the training triplets for which a model whose prompt has {errors} is shown the errors of "
        "mt, found by comparing it with pe.",
    )

    @model_validator(mode="after")
    def _check_text(self) -> Self:
        if not any(files.learn_text for files in self.train):
            raise ValueError("train: learn_text is false for all sources, so there is no text to learn from")
        return self

    @model_validator(mode="after")
    def _check_epochs(self) -> Self:
        ends = [0, *(files.until_epoch for files in self.train if files.until_epoch is not None)]
        empty = [epoch for epoch in sorted(ends) if not any(files.sampling.is_active(epoch) for files in self.train)]
        if not empty:
            return self
        raise ValueError(f"train: after {empty[0]} epochs there is no source to read; check from_epoch, until_epoch")

    @property
    def sources(self) -> list[tuple[str, TripletFiles]]:
        """All triplet files, each with the name of its option in the recipe."""
        return [*((f"data.train.{number}", files) for number, files in enumerate(self.train)), ("data.dev", self.dev)]

    def resolve(self, base: Path, *, check_triplets: bool = True) -> tuple["DataConfig", list[str]]:
        """Return this section with absolute paths (relative ones start from `base`), and the problems found.

        Problems are files that cannot be read; those of triplets are checked only if `check_triplets`. For the content
        of the files, see `check_files`.
        """
        folder = (base / with_home(self.dir)).resolve()
        train, dev = [files.under(folder) for files in self.train], self.dev.under(folder)
        glossary = None if self.glossary is None else str(folder / with_home(self.glossary))
        resolved = self.model_copy(update={"dir": str(folder), "train": train, "dev": dev, "glossary": glossary})
        sources = resolved.sources if check_triplets else []
        found = [(option, path_problem(path)) for option, files in sources for path in files.paths]
        if glossary is not None:
            found.append(("data.glossary", path_problem(Path(glossary))))
        problems = [f"{option}: {problem}" for option, problem in found if problem]
        paths = [path for _, files in sources for path in files.paths]
        if paths and "dir" not in self.model_fields_set and all(_is_missing(path, folder) for path in paths):
            problems.append("data.dir: not set, so paths start from the recipe's folder; --set data.dir=FOLDER sets it")
        return resolved, problems


def _is_missing(path: Path, folder: Path) -> bool:
    return not is_far(path) and path.is_relative_to(folder) and not find_file(path).exists()


def check_files(files: TripletFiles, warn: Callable[[str], None] = lambda message: None) -> int:
    """Read all of `files` once to check them, and return the number of triplets.

    Args:
        files: the files to check.
        warn: called with a message for each file that starts with a byte-order mark, has Windows line ends (CR LF), or
            has unknown names of columns.

    Raises:
        DataError: if a file is missing, empty or not UTF-8, if the numbers of lines differ, or if lines of a table are
            malformed; the message lists the first bad lines and says how many there are.
    """
    problems = [problem for path in files.paths if (problem := path_problem(path))]
    if problems:
        raise DataError("\n".join(problems))
    count, bad, carriage_returns = 0, 0, Counter[Path]()
    for record in _scan(files, carriage_returns):
        count += 1
        if isinstance(record, BadLine):
            bad += 1
            if bad <= SHOWN:
                problems.append(record.problem)
        elif record.line == 1 and (warning := headings_warning(files, record.src, record.mt, record.pe)) is not None:
            warn(warning)
    if bad > SHOWN:
        problems.append(f"... and {bad - SHOWN:,} more: {bad:,} problems in all")
    if not count:
        problems.append(f"{files.name}: there is no triplet in it")
    if problems:
        raise DataError("\n".join(problems))
    for path in files.paths:
        with closing(raw_lines(path)) as lines:
            if next(lines, b"").startswith(BOM_UTF8):
                warn(f"{path}: starts with a byte-order mark, which is dropped from the text")
    for path, count_of_file in carriage_returns.items():
        warn(returns_warning(path, count_of_file))
    return count


def headings_warning(files: TripletFiles, *texts: str) -> str | None:
    """Return a warning if the `texts` of the first triplet of a table read like names of columns; else None.

    Equal texts do not: "Original" may be a text of a program that stays as it is.
    """
    words = {text.strip().lower() for text in texts if text}
    if not plain_name(files.src).endswith(".tsv") or len(words) < 2 or not words <= _HEADINGS:
        return None
    return (
        f"{files.name}: the first line reads like names of columns, and is taken for a triplet; name them "
        f"{', '.join(files.sides)}, or remove the line"
    )


def read_triplets(files: TripletFiles | Sequence[TripletFiles], report: DataReport | None = None) -> Iterator[Triplet]:
    """Yield the triplets of all files in order, one at a time.

    Triplets with an empty side, or one longer than `LONGEST_LINE`, are skipped and counted in `report`.

    Raises:
        DataError: at the first malformed line, or if the numbers of lines differ.
    """
    report = report or DataReport()
    for source in [files] if isinstance(files, TripletFiles) else files:
        for triplet in all_triplets(source):
            report.read(triplet.source)
            if reason := unusable(triplet, source.sides):
                report.skip(triplet.source, triplet.line, reason)
            else:
                yield triplet


def all_triplets(files: TripletFiles) -> Iterator[Triplet]:
    """Yield the triplets of `files` in order, including those that `read_triplets` skips.

    Raises:
        DataError: at the first malformed line, or if the numbers of lines differ.
    """
    for path in files.paths:
        if problem := path_problem(path):
            raise DataError(problem)
    for record in _scan(files):
        if isinstance(record, BadLine):
            raise DataError(record.problem)
        yield record


def unusable(triplet: Triplet, sides: Sequence[Side]) -> str | None:
    """Return why a triplet cannot be used for training, or None if it can; `sides` are those that its files hold."""
    for side in sides:
        text: str = getattr(triplet, side)
        if not text.strip():
            return f"{side} is empty"
        if len(text) > LONGEST_LINE:
            return f"{side} has more than {LONGEST_LINE:,} characters"
    return None


def _scan(files: TripletFiles, carriage_returns: Counter[Path] | None = None) -> Iterator[Triplet | BadLine]:
    """Yield each triplet, or a `BadLine` for a bad line; count the CR LF line ends by file in `carriage_returns`."""
    name, counts = files.name, Counter[Path]() if carriage_returns is None else carriage_returns
    columns = [_without_carriage_returns(path, counts) for path in files.paths]
    if len(columns) > 1:
        yield from _scan_aligned(columns, files)
    else:
        scan = _scan_tsv if plain_name(files.src).endswith(".tsv") else _scan_jsonl
        yield from scan(columns[0], name, files.sides)


def _without_carriage_returns(path: Path, counts: Counter[Path]) -> Iterator[str | BadLine]:
    """Yield the lines of a file without the CR of Windows line ends, which are counted in `counts`."""
    for line in scan_lines(raw_lines(path), str(path)):
        if isinstance(line, str) and line.endswith("\r"):
            counts[path] += 1
            yield line[:-1]
        else:
            yield line


def _scan_aligned(columns: Sequence[Iterator[str | BadLine]], files: TripletFiles) -> Iterator[Triplet | BadLine]:
    name = files.name
    for line, texts in enumerate(zip_longest(*columns), start=1):
        if None in texts:
            rest = [sum(1 for _ in column) for column in columns]
            counts = [line - 1 + (text is not None) + more for text, more in zip(texts, rest)]
            found = ", ".join(f"{path} has {count:,}" for path, count in zip(files.paths, counts))
            yield BadLine(f"the numbers of lines differ: {found}; line n of each must belong together")
            return
        bad = [text for text in texts if isinstance(text, BadLine)]
        if bad:
            yield from bad
        else:
            yield _triplet(dict(zip(files.sides, texts)), name, line)


def _scan_tsv(lines: Iterator[str | BadLine], name: str, sides: Sequence[Side]) -> Iterator[Triplet | BadLine]:
    width = len(sides)
    places: dict[Side, int] = dict(zip(sides, range(width)))
    for number, line in enumerate(lines, start=1):
        if isinstance(line, BadLine):
            yield line
            continue
        cells = line.split("\t")
        names = [cell.strip().lower() for cell in cells] if number == 1 else []
        if set(sides) <= set(names):
            places, width = {side: names.index(side) for side in sides}, len(cells)
        elif len(cells) != width:
            found, listed = counted(len(cells), "column"), ", ".join(sides)
            yield BadLine(f"{name}, line {number}: {found}, not {width} ({listed}, separated by tabs)")
        else:
            yield _triplet({side: cells[place] for side, place in places.items()}, name, number)


def _scan_jsonl(lines: Iterator[str | BadLine], name: str, sides: Sequence[Side]) -> Iterator[Triplet | BadLine]:
    listed = " and ".join(", ".join(f'"{side}"' for side in sides).rsplit(", ", 1))
    for number, line in enumerate(lines, start=1):
        if isinstance(line, BadLine):
            yield line
            continue
        try:
            value = json.loads(line)
            texts = {side: value[side] for side in sides}
            "".join(texts.values()).encode()  # fails for an unpaired surrogate, and for anything but a string
            yield _triplet(texts, name, number)
        except (ValueError, KeyError, TypeError, RecursionError):  # RecursionError: thousands of nested brackets
            yield BadLine(f"{name}, line {number}: not a JSON object with the texts {listed}")


def _triplet(texts: Mapping[Any, Any], name: str, line: int) -> Triplet:
    return Triplet(texts["src"], texts.get("mt", ""), texts["pe"], name, line)
