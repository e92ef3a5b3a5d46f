"""Choosing triplets that are edited as real ones are: the joint histogram of their lengths and edit rates.

The artificial data of Junczys-Dowmunt and Grundkiewicz 2017, 5.1, was filtered to match such statistics of real data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.evaluate.ter import EditCount

LENGTHS: Final = (4, 8, 12, 16, 20, 25, 30, 40, 60)
"""Words of a reference up to which each cell reaches; the last cell has all beyond."""

RATES: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Edits a word of the reference, likewise. What is not edited at all has a cell of its own."""

CELLS: Final = (len(LENGTHS) + 1) * (len(RATES) + 1)

_STEPS: Final = 60
"""Halvings of the interval that the factor is looked for in: as many as a double can tell apart."""


def cells(counts: Sequence[EditCount]) -> NDArray[np.int64]:
    """Return Int64: the cell of each triplet, 0 to CELLS - 1."""
    lengths = np.array([count.length for count in counts], np.float64)
    edits = np.array([count.edits for count in counts], np.float64)
    rates = np.divide(edits, lengths, out=np.where(edits > 0, np.inf, 0.0), where=lengths > 0)
    row, column = np.searchsorted(LENGTHS, lengths), np.searchsorted(RATES, rates)
    return row * (len(RATES) + 1) + column


@dataclass(frozen=True, eq=False, slots=True)
class Acceptance:
    """Which share of the triplets in each cell is kept.

    Args:
        shares: Float64[CELLS].
        kept: how many triplets that leaves, on average.
        mismatch: total variation distance, 0 to 1, between the histogram of those and the real one.
    """

    shares: NDArray[np.float64]
    kept: float
    mismatch: float

    def choose(self, cell: NDArray[np.int64], draws: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return Bool: which triplets to keep, given their cells and a uniform draw each."""
        return draws < self.shares[cell]


def fit(real: NDArray[np.int64], made: NDArray[np.int64], mismatch: float) -> Acceptance:
    """Keep as many triplets as possible while their histogram is not farther than `mismatch` from the real one.

    The share kept of a cell is a factor times real over made, at most 1. The smaller the factor, the better the match
    and the fewer triplets; what is real and was never made stays missing at any factor.

    Args:
        real: Int64[CELLS], triplets to resemble, by cell.
        made: Int64[CELLS], triplets to choose from.
        mismatch: total variation distance, 0 to 1.

    Raises:
        DataError: if there are no triplets, or no choice comes so near.
    """
    if not real.sum() or not made.sum():
        raise DataError("there are no triplets to fit, or none to fit them to")
    wanted = real / real.sum()
    ratio = np.divide(wanted, made, out=np.zeros(CELLS), where=made > 0)
    low = float(1.0 / ratio.max()) if ratio.any() else 0.0  # up to here no share is cut off at 1
    best = _acceptance(ratio, made, wanted, low)
    if not ratio.any() or best.mismatch > mismatch:
        missing = wanted[made == 0].sum()
        raise DataError(
            f"no choice among {made.sum():,} triplets comes within {mismatch:g} of the real histogram: {missing:.0%} "
            "of the real ones have a length and an edit rate that none of these has; make more, or allow a larger "
            "mismatch"
        )
    high = float(1.0 / ratio[ratio > 0].min())  # from here on all shares are 1 or 0
    everything = _acceptance(ratio, made, wanted, high)
    if everything.mismatch <= mismatch:
        return everything
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tried = _acceptance(ratio, made, wanted, middle)
        if tried.mismatch <= mismatch:
            low, best = middle, tried
        else:
            high = middle
    return best


def _acceptance(
    ratio: NDArray[np.float64], made: NDArray[np.int64], wanted: NDArray[np.float64], factor: float
) -> Acceptance:
    shares = np.minimum(1.0, factor * ratio)
    kept = shares * made
    total = float(kept.sum())
    distance = float(np.abs(kept / total - wanted).sum() / 2) if total else 1.0
    return Acceptance(shares, total, distance)


def draws(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """Return Float64[count]: a uniform number for each line from `first` on, whichever chunk it is in (splitmix64)."""
    with np.errstate(over="ignore"):
        z = np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
