"""Noise as a stage of the engine. Worker processes import this, so it asks for little."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.synthesis.byte_lines import kept_lines
from postedit.synthesis.chunk import Chunk
from postedit.synthesis.noise_kernel import EMPTY, KEPT, THINNED, TOO_LONG, Tables, make_noise

KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")
"""Edits as the kernel counts them."""

HIGHEST: Final = 200
"""Per cent of TER; what is above counts as this."""

FATES: Final[dict[str, int]] = {
    "kept": KEPT,
    "without words": EMPTY,
    "too long": TOO_LONG,
    "length too frequent": THINNED,
}


TER: Final = "ter="
LENGTH: Final = "length="
"""What the names of counts begin with that belong to a histogram."""


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """Makes the stage that turns chunks with sides src and pe into chunks of triplets."""

    tables: Tables
    seed: int
    max_words: int

    def build(self) -> "NoiseSpec":
        """Return the stage: the tables serve as they are."""
        return self

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        pe = np.frombuffer(chunk.sides["pe"], np.uint8)
        made = make_noise(pe, chunk.read, chunk.first_line, np.uint64(self.seed), self.max_words, self.tables)
        mt, fates, lengths, found, requested = made
        sides = {"src": chunk.sides["src"], "mt": mt.tobytes(), "pe": chunk.sides["pe"]}
        kept = fates == KEPT
        if not kept.all():
            sides |= {side: kept_lines(np.frombuffer(sides[side], np.uint8), kept).tobytes() for side in ("src", "pe")}
        counts: Counter[str] = Counter({name: int((fates == fate).sum()) for name, fate in FATES.items()})
        counts["words"] = int(lengths[kept].sum())
        counts.update(dict(zip(KINDS, found[kept].sum(0).tolist())))
        counts["as drawn"] = int((found == requested)[kept].all(1).sum())
        counts.update(_histograms(found[kept].sum(1), lengths[kept]))
        return replace(chunk, sides=sides, counts=dict(counts))


def _histograms(edits: NDArray[np.int32], words: NDArray[np.int32]) -> dict[str, int]:
    """Return how many lines have each per cent of TER, and each length."""
    histograms = {TER: np.minimum(HIGHEST, 100 * edits // words), LENGTH: words}
    found = {prefix: np.unique(values, return_counts=True) for prefix, values in histograms.items()}
    return {f"{prefix}{value}": int(n) for prefix, columns in found.items() for value, n in zip(*columns)}


def histogram_of(counts: Mapping[str, int], prefix: str) -> dict[int, int]:
    """Return the histogram that is kept among `counts` under names with this prefix."""
    return {int(name.removeprefix(prefix)): n for name, n in counts.items() if name.startswith(prefix)}
