"""Statistics of triplets, gathered block by block; memory does not grow with their number."""

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
from postedit.data.duplicates import SortedRows, count_distinct, fingerprint, near_key
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.evaluate.ter import TER, EditCount, ter_signature
from postedit.statistics.edit_contexts import EditInContext, WordEdit, edits_in_context
from postedit.statistics.frequent import Frequent

BLOCK: Final = 4096
"""Triplets worked on together."""

TER_STEP: Final = 5
"""Width of a column of the TER histogram, in per cent."""

TER_COLUMNS: Final = 2 + 100 // TER_STEP
"""Exactly 0; above 0 to 5, above 5 to 10, ... to 100; and above 100."""

QUANTILES: Final = (5, 25, 50, 75, 95)

KINDS: Final = ("substitutions", "insertions", "deletions", "shifts")

SHARED: Final = ("triplet", "triplet, nearly", "src", "src, nearly", "pe", "pe, nearly")
"""What two triplets may have in common; "nearly" is without case, numbers and punctuation."""

EXAMPLES: Final = 3
"""Contexts shown for each edit."""


@dataclass
class Lengths:
    """How many texts have how many words."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def texts(self) -> int:
        """How many there are."""
        return self.counts.total()

    @property
    def words(self) -> int:
        """Of all texts together."""
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


@dataclass
class EditStatistics:
    """How the translations differ from their post-edits; TER is case-sensitive, on words divided by spaces.

    Args:
        columns: of the histogram of sentence TER, see `TER_COLUMNS`.
        kinds: edits by kind.
        pe_words: words of all post-edits.
        unchanged: translations that are, to the byte, their post-edits.
        words: word edits.
        in_context: the same with the words beside them.
    """

    columns: list[int] = field(default_factory=lambda: [0] * TER_COLUMNS)
    kinds: Counter[str] = field(default_factory=Counter)
    pe_words: int = 0
    unchanged: int = 0
    words: Frequent[WordEdit] = field(default_factory=Frequent)
    in_context: Frequent[EditInContext] = field(default_factory=Frequent)

    @property
    def ter(self) -> float:
        """TER of all translations together, in per cent."""
        return 100 * self.kinds.total() / max(1, self.pe_words)

    def count(self, counts: Iterable[EditCount]) -> None:
        """Add the edits of some translations."""
        for one in counts:
            self.columns[ter_column(one)] += 1
            self.pe_words += one.length
            for kind in KINDS:
                self.kinds[kind] += getattr(one, kind)

    def add(self, other: "EditStatistics") -> None:
        """Add what was counted elsewhere."""
        self.columns = [ours + theirs for ours, theirs in zip(self.columns, other.columns)]
        self.kinds.update(other.kinds)
        self.pe_words += other.pe_words
        self.unchanged += other.unchanged
        self.words.add(other.words.counts)
        self.in_context.add(other.in_context.counts)

    def most_frequent(self, number: int) -> list["FrequentEdit"]:
        """Return the most frequent word edits, the first in the alphabet among equals, with their contexts."""
        top = sorted(self.words.counts.items(), key=lambda item: (-item[1], item[0]))[:number]
        contexts: dict[WordEdit, list[tuple[int, EditInContext]]] = {edit: [] for edit, _ in top}
        for place, count in self.in_context.counts.items():
            if (found := contexts.get(WordEdit(place.old, place.new))) is not None:
                found.append((-count, place))
        return [
            FrequentEdit(edit, count, tuple(place for _, place in sorted(contexts[edit])[:EXAMPLES]))
            for edit, count in top
        ]


@dataclass(frozen=True, slots=True)
class FrequentEdit:
    """A word edit, how often it was made, and its most frequent contexts."""

    edit: WordEdit
    count: int
    contexts: tuple[EditInContext, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """What training triplets share with another set.

    Args:
        triplets: in the other set.
        here: by kind of `SHARED`, the training triplets that share something with it.
        there: by kind of `SHARED`, the triplets of the other set that share something with these.
    """

    triplets: int
    here: Mapping[str, int]
    there: Mapping[str, int]


@dataclass
class CorpusStatistics:
    """All of it.

    Args:
        triplets: how many were looked at.
        lengths: in words, by side.
        edits: None for parallel text, which has no translations to compare.
        repeated: triplets that share something with an earlier one, by kind of `SHARED`.
        overlaps: by the name of the other set.
        report: what was left out, and why.
    """

    triplets: int = 0
    lengths: dict[str, Lengths] = field(default_factory=dict)
    edits: EditStatistics | None = None
    repeated: dict[str, int] = field(default_factory=dict)
    overlaps: dict[str, Overlap] = field(default_factory=dict)
    report: DataReport = field(default_factory=DataReport)

    def to_dict(self, top: int) -> dict[str, Any]:
        """Return everything as values for JSON, with the `top` most frequent edits."""
        return {
            "triplets": self.triplets,
            "sources": self.report.to_dict(),
            "lengths": {side: lengths.to_dict() for side, lengths in self.lengths.items()},
            "edits": None if self.edits is None else _edits_dict(self.edits, top),
            "repeated": self.repeated,
            "overlaps": {name: asdict(overlap) for name, overlap in self.overlaps.items()},
        }


def ter_column(count: EditCount) -> int:
    """Return the column of the histogram that a sentence belongs to."""
    if not count.edits:
        return 0
    if count.edits > count.length:
        return TER_COLUMNS - 1
    return -(-100 * count.edits // (TER_STEP * count.length))


def column_names() -> list[str]:
    """Return what the columns of the histogram stand for."""
    return ["0", *(f"{low}-{low + TER_STEP}" for low in range(0, 100, TER_STEP)), "> 100"]


def gather_statistics(
    files: Sequence[TripletFiles],
    others: Mapping[str, Sequence[TripletFiles]],
    *,
    workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> CorpusStatistics:
    """Read all triplets once and return their statistics.

    Args:
        files: the triplets; all with translations, or all without.
        others: sets, such as dev and test, that these should have nothing in common with; their fingerprints are kept
            in memory.
        workers: processes to use.
        progress: called with the number of triplets done.

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
    with _folder() as folder:
        seen = {kind: SortedRows(folder, f"{place}", 1) for place, kind in enumerate(SHARED)}
        for block in map_blocks(partial(_look_at, sides=sides), blocks, workers):
            result.triplets += block.triplets
            for side in sides:
                result.lengths[side].counts.update(block.lengths[side].counts)
            if result.edits is not None and block.edits is not None:
                result.edits.add(block.edits)
            for kind in SHARED:
                seen[kind].add(np.array(block.keys[kind], np.uint64)[:, None])
                for other in sets.values():
                    other.look_for(kind, block.keys[kind])
            progress(result.triplets)
        result.repeated = {kind: result.triplets - count_distinct(rows) for kind, rows in seen.items()}
    result.overlaps = {name: other.overlap() for name, other in sets.items()}
    return result


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a folder for temporary files; if it has no room, say who chooses it."""
    try:
        with tempfile.TemporaryDirectory(prefix="postedit-") as name:
            yield Path(name)
    except OutputError as error:
        raise OutputError(f"{error}, or name a folder with more room in the variable TMPDIR") from error


@dataclass
class _OtherSet:
    """The fingerprints of another set, by kind of `SHARED`; and which of them came up, how often."""

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

    def look_for(self, kind: str, keys: Iterable[int]) -> None:
        hits = [key for key in keys if key in self.keys[kind]]
        self.here[kind] += len(hits)
        self.found[kind].update(hits)

    def overlap(self) -> Overlap:
        there = {kind: sum(self.keys[kind][key] for key in found) for kind, found in self.found.items()}
        return Overlap(self.triplets, {kind: self.here[kind] for kind in SHARED}, there)


@dataclass
class _Block:
    triplets: int
    lengths: dict[str, Lengths]
    edits: EditStatistics | None
    keys: dict[str, list[int]]


def _look_at(triplets: Sequence[Triplet], sides: Sequence[str]) -> _Block:
    lengths = {side: Lengths(Counter(len(getattr(one, side).split()) for one in triplets)) for side in sides}
    keys = {kind: [] for kind in SHARED}  # type: dict[str, list[int]]
    for triplet in triplets:
        for kind, key in zip(SHARED, _keys(triplet)):
            keys[kind].append(key)
    edits = _edits(triplets) if "mt" in sides else None
    return _Block(len(triplets), lengths, edits, keys)


def _edits(triplets: Sequence[Triplet]) -> EditStatistics:
    metric, result = TER(case_sensitive=True), EditStatistics()
    result.unchanged = sum(triplet.mt == triplet.pe for triplet in triplets)
    counts = metric.counts([triplet.mt for triplet in triplets], [triplet.pe for triplet in triplets])
    result.count(counts)
    changed = [triplet for triplet, count in zip(triplets, counts) if count.edits]
    places = list(edits_in_context(metric, [triplet.mt for triplet in changed], [triplet.pe for triplet in changed]))
    result.words.add(WordEdit(place.old, place.new) for place in places)
    result.in_context.add(places)
    return result


def _keys(triplet: Triplet) -> Iterator[int]:
    """Yield a fingerprint for each kind of `SHARED`."""
    near = near_key(triplet.src), near_key(triplet.mt), near_key(triplet.pe)
    yield fingerprint("\n".join(triplet[:3]))
    yield fingerprint("\n".join(near))
    yield fingerprint(triplet.src)
    yield fingerprint(near[0])
    yield fingerprint(triplet.pe)
    yield fingerprint(near[2])


def _edits_dict(edits: EditStatistics, top: int) -> dict[str, Any]:
    return {
        "ter": edits.ter,
        "signature": ter_signature(),
        "unchanged": edits.unchanged,
        "histogram": dict(zip(column_names(), edits.columns)),
        "kinds": {kind: edits.kinds[kind] for kind in KINDS},
        "most frequent": [
            {**edit.edit._asdict(), "count": edit.count, "contexts": [place._asdict() for place in edit.contexts]}
            for edit in edits.most_frequent(top)
        ],
        "counts may lack": edits.words.missing,
    }
