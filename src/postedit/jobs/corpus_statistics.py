"""Statistics of triplets: lengths, edits, duplicates, overlap with dev and test sets; in constant memory."""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from postedit.core.errors import OutputError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.data.blocks import TripletBlock, triplet_blocks
from postedit.data.duplicates import SortedRows, count_distinct, near_duplicate_key, text_hash
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.jobs.edit_statistics import EditStatistics

BLOCK: Final = 4096
"""Triplets processed together."""

QUANTILES: Final = (5, 25, 50, 75, 95)

SHARED: Final = ("triplet", "triplet, nearly", "src", "src, nearly", "pe", "pe, nearly")
"""Parts that two triplets may have in common; "nearly" ignores case, numbers and punctuation."""


@dataclass
class Lengths:
    """Number of texts by their number of words."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def words(self) -> int:
        """Number of words of all texts."""
        return sum(length * count for length, count in self.counts.items())

    @property
    def mean(self) -> float:
        """Mean length."""
        return self.words / max(1, self.counts.total())

    @property
    def longest(self) -> int:
        """Greatest length."""
        return max(self.counts, default=0)

    def quantile(self, percent: int) -> int:
        """Return the length that `percent` of the texts do not exceed."""
        rank, seen = math.ceil(self.counts.total() * percent / 100), 0
        for length in sorted(self.counts):
            seen += self.counts[length]
            if seen >= rank:
                return length
        return 0

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as values for JSON."""
        return {
            "words": self.words,
            "mean": self.mean,
            "quantiles": {str(percent): self.quantile(percent) for percent in QUANTILES},
            "longest": self.longest,
            "counts": {str(length): self.counts[length] for length in sorted(self.counts)},
        }


@dataclass(frozen=True, slots=True)
class Overlap:
    """Number of triplets here and in another set, of `triplets` triplets, that share something, by kind of `SHARED`."""

    triplets: int
    here: Mapping[str, int]
    there: Mapping[str, int]


@dataclass
class CorpusStatistics:
    """All statistics of a corpus.

    `edits` is None for parallel text. `repeated` has the number of triplets that share something with an earlier one,
    by kind of `SHARED`; `overlaps` the same for other sets, by name; `report` the triplets that were skipped.
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
    executor: Executor = IN_THIS_PROCESS,
    progress: Callable[[int], None] = lambda done: None,
) -> CorpusStatistics:
    """Read all triplets once and return their statistics; all or none have machine translations.

    The hashes of `others`, sets that should share nothing with the triplets, are kept in memory. `progress` is called
    with the number of triplets whose blocks `executor` has processed.

    Raises:
        DataError: if a file cannot be used.
        OutputError: if there is no room for temporary files.
    """
    sides = tuple(side for side in ("src", "mt", "pe") if side in files[0].sides)
    sets = {name: _OtherSet(other) for name, other in others.items()}
    edits = EditStatistics() if "mt" in sides else None
    result = CorpusStatistics(lengths={side: Lengths() for side in sides}, edits=edits)
    blocks = triplet_blocks([read_triplets(files, result.report)], BLOCK)
    work = same_in_all(partial(_block_statistics, sides=sides))
    with _temporary_folder() as folder, closing(executor.map(work, blocks)) as done:
        seen = {kind: SortedRows(folder, f"{index}") for index, kind in enumerate(SHARED)}
        for block, keys in done:
            result.triplets += block.triplets
            for side in sides:
                result.lengths[side].counts.update(block.lengths[side].counts)
            if edits is not None and block.edits is not None:
                edits.add(block.edits)
            for kind in SHARED:
                seen[kind].add(np.array(keys[kind], np.uint64)[:, None])
                for other in sets.values():
                    other.look_up(kind, keys[kind])
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


class _OtherSet:
    """The hashes of another set by kind of `SHARED`, those that were found, and how often."""

    def __init__(self, files: Sequence[TripletFiles]) -> None:
        self.keys: dict[str, Counter[int]] = {kind: Counter() for kind in SHARED}
        self.found: dict[str, set[int]] = {kind: set() for kind in SHARED}
        self.here = dict.fromkeys(SHARED, 0)
        for triplet in read_triplets(files):
            for kind, key in zip(SHARED, _keys(triplet)):
                self.keys[kind][key] += 1

    def look_up(self, kind: str, keys: Iterable[int]) -> None:
        hits = [key for key in keys if key in self.keys[kind]]
        self.here[kind] += len(hits)
        self.found[kind].update(hits)

    def overlap(self) -> Overlap:
        there = {kind: sum(self.keys[kind][key] for key in found) for kind, found in self.found.items()}
        return Overlap(self.keys["triplet"].total(), self.here, there)


def _block_statistics(block: TripletBlock, sides: Sequence[str]) -> tuple[CorpusStatistics, Mapping[str, list[int]]]:
    """Return the statistics of some triplets, and their hashes by kind of `SHARED`."""
    triplets = block.triplets
    lengths = {side: Lengths(Counter(len(getattr(one, side).split()) for one in triplets)) for side in sides}
    keys = {kind: list(column) for kind, column in zip(SHARED, zip(*map(_keys, triplets)))}
    edits = EditStatistics.of(triplets) if "mt" in sides else None
    return CorpusStatistics(len(triplets), lengths, edits), keys


def _keys(triplet: Triplet) -> Iterator[int]:
    """Yield a hash for each kind of `SHARED`."""
    texts = triplet[:3]
    near = tuple(map(near_duplicate_key, texts))
    for one in ("\n".join(texts), "\n".join(near), texts[0], near[0], texts[2], near[2]):
        yield text_hash(one)
