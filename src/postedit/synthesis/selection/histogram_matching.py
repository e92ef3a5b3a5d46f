"""Selection of artificial triplets that match the joint histogram of lengths and edit rates of real ones.

Junczys-Dowmunt and Grundkiewicz (2017, section 5.1) filtered artificial data by such statistics of real data.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from postedit.core.errors import DataError
from postedit.data.blocks import blocks_of
from postedit.data.triplets import Triplet, TripletFiles, as_list, read_triplets
from postedit.distributed.chunks import Chunk, open_aligned
from postedit.distributed.pipeline import Job, Phase
from postedit.distributed.resumable_outputs import OutputFiles
from postedit.evaluate.ter import TER, EditCount
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.triplet_counts import TER_BIN, edit_rates, histogram_of, ks_distance, sum_edits, summary
from postedit.text.config import SIDES

LENGTHS: Final = (4, 8, 12, 16, 20, 25, 30, 40, 60)
"""Upper limits (inclusive) of the length bins, in words of pe; one more bin holds all longer ones."""

RATES: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Upper limits (inclusive) of the edit rate bins, in edits per word of pe; one more bin holds all higher rates.
Triplets without edits have a bin of their own."""

CELLS: Final = (len(LENGTHS) + 1) * (len(RATES) + 1)

_BISECTIONS: Final = 60  # enough for the precision of a double
_BLOCK: Final = 1 << 14
_NOT_KEPT: Final = "more of this length and edit rate than among real ones"


RealTriplets = Annotated[list[TripletFiles], BeforeValidator(as_list)]


class MatchingConfig(SynthConfig):
    """Options of all sections that can match their triplets to real ones."""

    real: RealTriplets = Field([], description="real triplets that the output is to resemble, named as in `[data]`")
    mismatch: float = Field(
        0.1,
        gt=0,
        le=1,
        description="largest total variation distance between the joint histograms of length and edit rate of the "
        "output and of the real triplets; 1 keeps all triplets",
    )
    seed: int = Field(1, ge=0, lt=2**63, description="random seed; selects which triplets are kept")
    chunk_lines: int = Field(
        1000, ge=1, description="lines translated together; at most so many are lost by an interruption"
    )

    @property
    def candidates(self) -> OutputFiles:
        """The files of all triplets before the selection."""
        return OutputFiles(self.triplets.named("translated"), SIDES)

    def problems(self) -> list[str]:
        """Return a problem if there is a `mismatch` but nothing to match."""
        if self.real or "mismatch" not in self.model_fields_set:
            return []
        return ["synth.mismatch: needs real triplets; name them in synth.real, or leave it out to keep all triplets"]

    def matching_phase(self) -> Phase:
        """Return the phase that selects the final triplets from the candidates."""
        return Phase("selection of triplets", self.triplets, self._prepare_matching)

    def _prepare_matching(self) -> Job:
        source = open_aligned({side: self.candidates.named(side) for side in SIDES}, self.chunk_lines)
        real_cells, real_counts = _measure(self.read_real())
        made_cells, _ = _measure(read_triplets(TripletFiles.of(self.candidates.prefix)))
        match = match_histogram(real_cells, made_cells, self.mismatch)
        rates = hashlib.sha256(match.keep_rates.tobytes()).hexdigest()
        settings = {**self.settings(), "phase": "fit", "mismatch": round(match.mismatch, 4), "shares": rates}

        def manifest(counts: Mapping[str, int]) -> dict[str, Any]:
            found = summary(counts, [_NOT_KEPT])
            histogram = dict(sorted(histogram_of(real_counts, TER_BIN).items()))
            real = {"triplets": real_counts["kept"], "histogram": histogram, **edit_rates(real_counts)}
            return {**found, "real": real, "ks_ter": round(ks_distance(found["made"]["histogram"], histogram), 4)}

        return Job(source, MatchingStage(match.keep_rates, self.seed), settings, manifest)


@dataclass(frozen=True, eq=False, slots=True)
class HistogramMatch:
    """The keep rates that make a histogram of triplets match that of real ones."""

    keep_rates: NDArray[np.float64]  # [CELLS], the probability that a triplet of each cell is kept
    kept: float  # expected number of triplets kept
    mismatch: float  # total variation distance, 0 to 1, between the histogram of kept triplets and the real one


@dataclass(frozen=True, slots=True)
class MatchingStage:
    """A stage that keeps each triplet with the probability of its cell."""

    keep_rates: NDArray[np.float64]
    seed: int

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets that are kept."""
        texts = {side: chunk.lines(side) for side in SIDES}
        edits = TER(case_sensitive=True).counts(texts["mt"], texts["pe"])
        kept = uniform_by_line(self.seed, chunk.first_line, chunk.size) < self.keep_rates[cells_of(edits)]
        lines: dict[str, list[str]] = {side: [text for text, keep in zip(texts[side], kept) if keep] for side in SIDES}
        counts = sum_edits([found for found, keep in zip(edits, kept) if keep])
        return chunk.with_lines(lines, {**counts, _NOT_KEPT: int((~kept).sum())})


def cells_of(edits: Sequence[EditCount]) -> NDArray[np.int64]:
    """Return the histogram cell of each triplet, Int64[triplets], 0 to `CELLS` - 1."""
    lengths = np.array([found.length for found in edits], np.float64)
    numbers = np.array([found.edits for found in edits], np.float64)
    rates = np.divide(numbers, lengths, out=np.where(numbers > 0, np.inf, 0.0), where=lengths > 0)
    row, column = np.searchsorted(LENGTHS, lengths), np.searchsorted(RATES, rates)
    return row * (len(RATES) + 1) + column


def match_histogram(real: NDArray[np.int64], made: NDArray[np.int64], mismatch: float) -> HistogramMatch:
    """Return the match that keeps the most triplets while their histogram is within `mismatch` of the real one.

    The keep rate of a cell is min(1, factor * real / made), with the same factor for all cells. A smaller factor
    matches better but keeps fewer triplets. Cells that have only real triplets stay empty with any factor. With a
    mismatch of 1, which every histogram is within, all rates are 1, even in cells without real triplets.

    Args:
        real: Int64[CELLS], number of real triplets by cell.
        made: Int64[CELLS], number of candidates by cell.
        mismatch: largest total variation distance, 0 to 1.

    Raises:
        DataError: if there are no triplets, or no factor reaches the mismatch.
    """
    if not real.sum() or not made.sum():
        raise DataError("there are no triplets to select, or no real ones to match")
    target = real / real.sum()
    ratio = np.divide(target, made, out=np.zeros(CELLS), where=made > 0)
    low = float(1.0 / ratio.max()) if ratio.any() else 0.0  # up to this factor, no rate exceeds 1

    def matched(rates: NDArray[np.float64]) -> HistogramMatch:
        kept = rates * made
        total = float(kept.sum())
        return HistogramMatch(rates, total, float(np.abs(kept / total - target).sum() / 2) if total else 1.0)

    def match(factor: float) -> HistogramMatch:
        return matched(np.minimum(1.0, factor * ratio))

    if mismatch >= 1.0:
        return matched(np.ones(CELLS))
    best = match(low)
    if not ratio.any() or best.mismatch > mismatch:
        missing = target[made == 0].sum()
        raise DataError(
            f"no selection among {made.sum():,} triplets is within {mismatch:g} of the real histogram: {missing:.0%} "
            "of the real triplets have a length and an edit rate that none of these has; make more, or allow a larger "
            "mismatch"
        )
    high = float(1.0 / ratio[ratio > 0].min())  # from this factor on, all rates are 1 or 0
    everything = match(high)
    if everything.mismatch <= mismatch:
        return everything
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        tried = match(middle)
        if tried.mismatch <= mismatch:
            low, best = middle, tried
        else:
            high = middle
    return best


def uniform_by_line(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each line from `first` on, Float[count], determined by the line and the seed."""
    with np.errstate(over="ignore"):  # SplitMix64
        z = np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _measure(triplets: Iterable[Triplet]) -> tuple[NDArray[np.int64], Mapping[str, int]]:
    """Return the number of triplets by cell, Int64[CELLS], and the counts of `sum_edits`."""
    cells, counts, metric = np.zeros(CELLS, np.int64), Counter[str](), TER(case_sensitive=True)
    for block in blocks_of(triplets, _BLOCK):
        edits = metric.counts([triplet.mt for triplet in block], [triplet.pe for triplet in block])
        cells += np.bincount(cells_of(edits), minlength=CELLS)
        counts += sum_edits(edits)
    return cells, counts
