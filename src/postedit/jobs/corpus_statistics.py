"""Statistics of triplets, in constant memory: lengths, edits, duplicates, overlap with dev and test sets."""

import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from postedit.core.errors import OutputError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.core.saved_arrays import SavedArrays
from postedit.data.blocks import TripletBlock, triplet_blocks
from postedit.data.duplicates import SortedRows, count_distinct, near_duplicate_key, text_hash
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.evaluate.ter import words_of
from postedit.evaluate.tokenisation import Tokenize
from postedit.jobs.edit_statistics import EditStatistics

BLOCK: Final = 4096
"""Number of triplets processed together."""

QUANTILES: Final = (5, 25, 50, 75, 95)

SHARED: Final = ("triplet", "triplet, nearly", "src", "src, nearly", "pe", "pe, nearly")
"""Parts that two triplets may have in common; "nearly" ignores case, numbers and punctuation."""


@dataclass
class Lengths:
    """The number of texts of each length in words, or in characters."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def words(self) -> int:
        """The number of words of all texts."""
        return sum(length * count for length, count in self.counts.items())

    @property
    def mean(self) -> float:
        """The mean length in words; 0 without texts."""
        return self.words / max(1, self.counts.total())

    @property
    def longest(self) -> int:
        """The greatest length in words; 0 without texts."""
        return max(self.counts, default=0)

    def quantile(self, percent: int) -> int:
        """Return the least length that `percent` per cent of the texts do not exceed; 0 without texts."""
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
    """Numbers of triplets with a part in common, by kind of `SHARED`, in a corpus and in another set of `triplets`."""

    triplets: int
    here: Mapping[str, int]
    there: Mapping[str, int]


@dataclass
class CorpusStatistics:
    """All statistics of a corpus.

    `edits` is None for parallel text. `repeated` has the number of triplets that share a part with an earlier one, by
    kind of `SHARED`; `overlaps` has what is shared with each other set, by name; `report` has the skipped triplets.
    `tokenize` is what counts as a word; characters are counted in mt and pe alone, as the source may have spaces.
    """

    triplets: int = 0
    lengths: dict[str, Lengths] = field(default_factory=dict)
    edits: EditStatistics | None = None
    repeated: dict[str, int] = field(default_factory=dict)
    overlaps: dict[str, Overlap] = field(default_factory=dict)
    report: DataReport = field(default_factory=DataReport)
    tokenize: Tokenize = "none"

    def to_dict(self, top: int) -> dict[str, Any]:
        """Return all statistics as values for JSON, with the `top` most frequent edits."""
        return {
            "triplets": self.triplets,
            "tokenize": self.tokenize,
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
    tokenize: Tokenize = "none",
    executor: Executor = IN_THIS_PROCESS,
    progress: Callable[[int], None] = lambda done: None,
    saved: SavedArrays | None = None,
) -> CorpusStatistics:
    """Read all triplets once and return their statistics; either all or none must have machine translations.

    Args:
        files: the triplets.
        others: sets that should share nothing with the triplets, by name; their hashes are kept in memory.
        tokenize: what counts as a word; a run continues only with the same.
        executor: runs the workers, which count blocks of triplets; it does not change the result.
        progress: called with the number of triplets counted, at first with the number that an earlier run has counted.
        saved: where counts are saved from time to time, with hashes in the same folder; counting continues from them.

    Raises:
        DataError: if a file cannot be used.
        OutputError: if there is no room for temporary files, or the saved counts cannot be used.
    """
    sides = tuple(side for side in ("src", "mt", "pe") if side in files[0].sides)
    with _temporary_folder() if saved is None else nullcontext(saved.path.parent) as folder:
        tally = _Tally.begun(sides, others, folder, tokenize)
        if saved is not None and (arrays := saved.load()) is not None:
            tally.restore(json.loads(arrays["counted"].tobytes()), folder)
        result = tally.result
        blocks = triplet_blocks([read_triplets(files, result.report)], BLOCK)
        for _ in islice(blocks, tally.blocks):
            pass  # already counted, but read again for the report on skipped triplets
        progress(result.triplets)
        work = same_in_all(partial(_block_statistics, sides=sides, tokenize=tokenize))
        with closing(executor.map(work, blocks)) as done:
            for block, keys in done:
                tally.add(block, keys)
                progress(result.triplets)
                if saved is not None and saved.is_due():
                    saved.save({"counted": np.frombuffer(json.dumps(tally.state()).encode(), np.uint8)})
        result.repeated = {kind: result.triplets - count_distinct(rows) for kind, rows in tally.seen.items()}
    result.overlaps = {name: other.overlap() for name, other in tally.others.items()}
    return result


@dataclass
class _Tally:
    """The counts so far.

    Args:
        result: the statistics, still without `repeated` and `overlaps`.
        seen: the hashes of all triplets by kind of `SHARED`.
        others: the other sets, by name.
        blocks: the number of blocks counted.
    """

    result: CorpusStatistics
    seen: dict[str, SortedRows]
    others: dict[str, "_OtherSet"]
    blocks: int = 0

    @classmethod
    def begun(
        cls, sides: Sequence[str], others: Mapping[str, Sequence[TripletFiles]], folder: Path, tokenize: Tokenize
    ) -> "_Tally":
        """Return a tally that has counted nothing; it keeps its hashes in `folder`."""
        edits = EditStatistics(tokenize=tokenize) if "mt" in sides else None
        result = CorpusStatistics(lengths={side: Lengths() for side in sides}, edits=edits, tokenize=tokenize)
        seen = {kind: SortedRows(folder, f"{index}") for index, kind in enumerate(SHARED)}
        return cls(result, seen, {name: _OtherSet(files) for name, files in others.items()})

    def add(self, block: CorpusStatistics, keys: Mapping[str, list[int]]) -> None:
        """Add the statistics and hashes of a block."""
        self.result.triplets += block.triplets
        for side, lengths in self.result.lengths.items():
            lengths.counts.update(block.lengths[side].counts)
        if self.result.edits is not None and block.edits is not None:
            self.result.edits.add(block.edits)
        for kind in SHARED:
            self.seen[kind].add(np.array(keys[kind], np.uint64)[:, None])
            for other in self.others.values():
                other.look_up(kind, keys[kind])
        self.blocks += 1

    def state(self) -> dict[str, Any]:
        """Write all hashes to the disk; return the number of their files, and all counts, as values for JSON."""
        result = self.result
        return {
            "blocks": self.blocks,
            "triplets": result.triplets,
            "lengths": {side: list(lengths.counts.items()) for side, lengths in result.lengths.items()},
            "edits": None if result.edits is None else result.edits.state,
            "files": {kind: rows.write() for kind, rows in self.seen.items()},
            "here": {name: other.here for name, other in self.others.items()},
            "found": {
                name: {kind: list(keys) for kind, keys in other.found.items()} for name, other in self.others.items()
            },
        }

    def restore(self, state: Mapping[str, Any], folder: Path) -> None:
        """Continue from the `state` of an earlier process."""
        self.blocks, self.result.triplets = state["blocks"], state["triplets"]
        self.result.lengths = {side: Lengths(Counter(dict(pairs))) for side, pairs in state["lengths"].items()}
        if self.result.edits is not None:
            self.result.edits = EditStatistics.restored(state["edits"], self.result.edits.tokenize)
        for index, kind in enumerate(SHARED):
            self.seen[kind] = SortedRows(folder, f"{index}", state["files"][kind])
        for name, other in self.others.items():
            other.here = state["here"][name]
            other.found = {kind: set(keys) for kind, keys in state["found"][name].items()}


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder; if the disk is full, the error says how to choose another folder."""
    try:
        with tempfile.TemporaryDirectory(prefix="postedit-") as name:
            yield Path(name)
    except OutputError as error:
        raise OutputError(f"{error}, or name a folder with more room in the variable TMPDIR") from error


class _OtherSet:
    """The hashes of another set by kind of `SHARED`, which of them were found in the corpus, and how often."""

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


def _block_statistics(
    block: TripletBlock, sides: Sequence[str], tokenize: Tokenize
) -> tuple[CorpusStatistics, Mapping[str, list[int]]]:
    """Return the statistics of some triplets, and their hashes by kind of `SHARED`."""
    triplets = block.triplets
    lengths = {}
    for side in sides:
        unit: Tokenize = "none" if side == "src" and tokenize == "characters" else tokenize
        lengths[side] = Lengths(Counter(map(len, words_of([getattr(one, side) for one in triplets], unit))))
    keys = {kind: list(column) for kind, column in zip(SHARED, zip(*map(_keys, triplets)))}
    edits = EditStatistics.of(triplets, tokenize) if "mt" in sides else None
    return CorpusStatistics(len(triplets), lengths, edits, tokenize=tokenize), keys


def _keys(triplet: Triplet) -> Iterator[int]:
    """Yield a hash for each kind of `SHARED`."""
    texts = triplet[:3]
    near = tuple(map(near_duplicate_key, texts))
    for one in ("\n".join(texts), "\n".join(near), texts[0], near[0], texts[2], near[2]):
        yield text_hash(one)
