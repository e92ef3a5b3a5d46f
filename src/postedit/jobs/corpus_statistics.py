"""Statistics of triplets: lengths, edits, duplicates, overlap with dev and test sets; in memory of constant size."""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from postedit.core.errors import OutputError
from postedit.data.blocks import blocks_of, map_blocks
from postedit.data.duplicates import SortedRows, count_distinct, near_duplicate_key, text_hash
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.jobs.edit_statistics import EditStatistics

BLOCK: Final = 4096
"""Triplets processed together."""

QUANTILES: Final = (5, 25, 50, 75, 95)

SHARED: Final = ("triplet", "triplet, nearly", "src", "src, nearly", "pe", "pe, nearly")
"""What two triplets may have in common; "nearly" ignores case, numbers and punctuation."""


@dataclass
class Lengths:
    """Number of texts by their number of words."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def texts(self) -> int:
        """Number of texts."""
        return self.counts.total()

    @property
    def words(self) -> int:
        """Number of words of all texts."""
        return sum(length * count for length, count in self.counts.items())

    def quantile(self, percent: int) -> int:
        """Return the length that `percent` of the texts do not exceed."""
        rank, seen = math.ceil(self.texts * percent / 100), 0
        for length in sorted(self.counts):
            seen += self.counts[length]
            if seen >= rank:
                return length
        return 0

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as values for JSON."""
        return {
            "words": self.words,
            "mean": self.words / max(1, self.texts),
            "quantiles": {str(percent): self.quantile(percent) for percent in QUANTILES},
            "longest": max(self.counts, default=0),
            "counts": {str(length): self.counts[length] for length in sorted(self.counts)},
        }


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the triplets have in common with another set.

    Args:
        triplets: number of triplets of the other set.
        here: by kind of `SHARED`, triplets that have something in common with the other set.
        there: by kind of `SHARED`, triplets of the other set that have something in common with these.
    """

    triplets: int
    here: Mapping[str, int]
    there: Mapping[str, int]


@dataclass
class CorpusStatistics:
    """All statistics of a corpus.

    Args:
        triplets: number of triplets.
        lengths: in words, by side.
        edits: None for parallel text, which has no machine translations.
        repeated: triplets that have something in common with an earlier one, by kind of `SHARED`.
        overlaps: by the name of the other set.
        report: triplets that were skipped, with reasons.
    """

    triplets: int = 0
    lengths: dict[str, Lengths] = field(default_factory=dict)
    edits: EditStatistics | None = None
    repeated: dict[str, int] = field(default_factory=dict)
    overlaps: dict[str, Overlap] = field(default_factory=dict)
    report: DataReport = field(default_factory=DataReport)

    def to_dict(self, top: int) -> dict[str, Any]:
        """Return all statistics as values for JSON, with the `top` most frequent edits."""
        return {
            "triplets": self.triplets,
            "sources": self.report.to_dict(),
            "lengths": {side: lengths.to_dict() for side, lengths in self.lengths.items()},
            "edits": None if self.edits is None else self.edits.to_dict(top),
            "repeated": self.repeated,
            "overlaps": {name: asdict(overlap) for name, overlap in self.overlaps.items()},
        }


def gather_statistics(
    files: Sequence[TripletFiles],
    others: Mapping[str, Sequence[TripletFiles]],
    *,
    workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> CorpusStatistics:
    """Read all triplets once and return their statistics.

    Args:
        files: the triplets; all with or all without machine translations.
        others: other sets, such as dev and test, that should have nothing in common with the triplets; their hashes
            are kept in memory.
        workers: number of processes.
        progress: called with the number of triplets processed.

    Raises:
        DataError: if a file cannot be used.
        OutputError: if there is no room for temporary files.
    """
    result = CorpusStatistics()
    sides = tuple(side for side in ("src", "mt", "pe") if side in files[0].sides)
    sets = {name: _OtherSet.read(other) for name, other in others.items()}
    result.lengths = {side: Lengths() for side in sides}
    result.edits = EditStatistics() if "mt" in sides else None
    blocks = blocks_of(read_triplets(files, result.report), BLOCK)
    with _temporary_folder() as folder:
        seen = {kind: SortedRows(folder, f"{place}") for place, kind in enumerate(SHARED)}
        for block in map_blocks(partial(_block_statistics, sides=sides), blocks, workers):
            result.triplets += block.triplets
            for side in sides:
                result.lengths[side].counts.update(block.lengths[side].counts)
            if result.edits is not None and block.edits is not None:
                result.edits.add(block.edits)
            for kind in SHARED:
                seen[kind].add(np.array(block.keys[kind], np.uint64)[:, None])
                for other in sets.values():
                    other.look_up(kind, block.keys[kind])
            progress(result.triplets)
        result.repeated = {kind: result.triplets - count_distinct(rows) for kind, rows in seen.items()}
    result.overlaps = {name: other.overlap() for name, other in sets.items()}
    return result


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder; if the disk is full, say how to choose another one."""
    try:
        with tempfile.TemporaryDirectory(prefix="postedit-") as name:
            yield Path(name)
    except OutputError as error:
        raise OutputError(f"{error}, or name a folder with more room in the variable TMPDIR") from error


@dataclass
class _OtherSet:
    """The hashes of another set by kind of `SHARED`, those that were found, and how often."""

    triplets: int
    keys: dict[str, Counter[int]]
    found: dict[str, set[int]]
    here: Counter[str]

    @classmethod
    def read(cls, files: Sequence[TripletFiles]) -> "_OtherSet":
        keys: dict[str, Counter[int]] = {kind: Counter() for kind in SHARED}
        triplets = 0
        for triplet in read_triplets(files):
            triplets += 1
            for kind, key in zip(SHARED, _keys(triplet)):
                keys[kind][key] += 1
        return cls(triplets, keys, {kind: set() for kind in SHARED}, Counter())

    def look_up(self, kind: str, keys: Iterable[int]) -> None:
        hits = [key for key in keys if key in self.keys[kind]]
        self.here[kind] += len(hits)
        self.found[kind].update(hits)

    def overlap(self) -> Overlap:
        there = {kind: sum(self.keys[kind][key] for key in found) for kind, found in self.found.items()}
        return Overlap(self.triplets, {kind: self.here[kind] for kind in SHARED}, there)


@dataclass
class _BlockStatistics:
    triplets: int
    lengths: dict[str, Lengths]
    edits: EditStatistics | None
    keys: dict[str, list[int]]


def _block_statistics(triplets: Sequence[Triplet], sides: Sequence[str]) -> _BlockStatistics:
    lengths = {side: Lengths(Counter(len(getattr(one, side).split()) for one in triplets)) for side in sides}
    keys = {kind: list(column) for kind, column in zip(SHARED, zip(*map(_keys, triplets)))}
    edits = EditStatistics.of(triplets) if "mt" in sides else None
    return _BlockStatistics(len(triplets), lengths, edits, keys)


def _keys(triplet: Triplet) -> Iterator[int]:
    """Yield a hash for each kind of `SHARED`."""
    near = near_duplicate_key(triplet.src), near_duplicate_key(triplet.mt), near_duplicate_key(triplet.pe)
    yield text_hash("\n".join(triplet[:3]))
    yield text_hash("\n".join(near))
    yield text_hash(triplet.src)
    yield text_hash(near[0])
    yield text_hash(triplet.pe)
    yield text_hash(near[2])
