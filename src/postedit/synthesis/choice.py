"""Of triplets that were translated, those are chosen that are edited as real ones are; see `fitting`."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from postedit.data.report import DataReport
from postedit.data.text_paths import located
from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.evaluate.ter import TER
from postedit.synthesis.chunk import Chunk, Stage
from postedit.synthesis.engine import Job
from postedit.synthesis.fit import describe_edits, distance
from postedit.synthesis.fitting import CELLS, Acceptance, cells, draws, fit
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tally import count_edits, describe, tally, ter_histogram
from postedit.synthesis.translated import SIDES, TranslatedConfig, identity

_BLOCK: Final = 1 << 14
_NOT_FITTING: Final = "more of this length and edit rate than among real ones"


@dataclass(frozen=True, slots=True)
class FitSpec:
    """Makes the stage that keeps of each cell its share."""

    acceptance: Acceptance
    seed: int

    def build(self) -> Stage:
        """Return the stage."""
        return self

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets that are kept."""
        texts = {side: chunk.lines(side) for side in SIDES}
        found = cells(TER(case_sensitive=True).counts(texts["mt"], texts["pe"]))
        kept = self.acceptance.choose(found, draws(self.seed, chunk.first_line, chunk.read))
        made = {side: [text for text, keep in zip(lines, kept) if keep] for side, lines in texts.items()}
        counts = tally(made["mt"], made["pe"])
        counts[_NOT_FITTING] = int((~kept).sum())
        chunk = replace(chunk, counts=dict(counts))
        for side, lines in made.items():
            chunk = chunk.with_lines(side, lines)
        return chunk


def prepare_fit(config: TranslatedConfig) -> Job:
    """Measure the real triplets and those that were made, and return which of these to keep.

    Raises:
        DataError: if no choice comes as near to the real ones as is asked for.
    """
    files = TripletFiles.of(config.translated)
    source = open_aligned({side: located(getattr(files, side)) for side in SIDES}, config.chunk_lines)
    real, made = (_histogram(triplets) for triplets in (config.read_real(), read_triplets(files, DataReport())))
    acceptance = fit(real.cells, made.cells, config.mismatch)
    shares = hashlib.sha256(acceptance.shares.tobytes()).hexdigest()
    said = {**identity(config), "phase": "fit", "mismatch": round(acceptance.mismatch, 4), "shares": shares}

    def manifest(counts: Mapping[str, int]) -> dict[str, Any]:
        found = describe(counts, [_NOT_FITTING])
        return {
            **found,
            "real": {"triplets": real.triplets, "histogram": real.rates, **describe_edits(real.counts)},
            "ks_ter": round(distance(found["made"]["histogram"], real.rates), 4),
        }

    return Job(source, FitSpec(acceptance, config.seed), SIDES, said, manifest)


@dataclass(frozen=True, eq=False, slots=True)
class _Measured:
    """Triplets by cell, and by per cent of TER."""

    cells: np.ndarray
    rates: dict[int, int]
    triplets: int
    counts: Mapping[str, int]


def _histogram(triplets: Iterable[Triplet]) -> _Measured:
    found, counts = np.zeros(CELLS, np.int64), Counter[str]()
    reader, metric = iter(triplets), TER(case_sensitive=True)
    while block := list(islice(reader, _BLOCK)):
        edits = metric.counts([triplet.mt for triplet in block], [triplet.pe for triplet in block])
        found += np.bincount(cells(edits), minlength=CELLS)
        counts += count_edits(edits)
    return _Measured(found, ter_histogram(counts), counts["kept"], counts)
