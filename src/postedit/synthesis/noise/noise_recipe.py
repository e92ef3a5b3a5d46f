"""Triplets by noise: the target side of parallel text, corrupted by errors like those of machine translation.

Ive et al. (2019, section 5.2) delete, insert, shift or substitute random words to match the HTER of real triplets, but
do not say which statistics of it. `mode = "plain"` matches the mean; `mode = "matched"` also matches the number of
edits of each kind per sentence, and the words that real post-edits change. The resulting edits are verified by TER.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import cycle, islice
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from postedit.core.errors import DataError, RecipeError
from postedit.data.lines import encode_lines, read_lines
from postedit.data.text_paths import located
from postedit.data.triplets import TripletFiles, as_list
from postedit.distributed.chunks import Chunk, open_aligned
from postedit.distributed.pipeline import Job, Phase
from postedit.evaluate.ter import ter_signature
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.noise.edit_profile import MAX_WORDS, EditProfile, measure_profile
from postedit.synthesis.noise.noise_kernel import LENGTH_BIN, OUTCOMES, NoiseStage
from postedit.synthesis.noise.noise_tables import TextSample, expected_ter_histogram, matched_tables, plain_tables
from postedit.synthesis.triplet_counts import BLANK, EDIT_KINDS, TER_BIN, edit_rates, histogram_of, ks_distance

_PROFILE: Final = "profile.json"

_SAMPLE_LINES: Final = 100_000
"""Lines of the text whose words and lengths are counted, so that memory does not grow with the text."""

# Trials adjust the number of edits to a requested TER.
_TRIAL_LINES: Final = 20_000  # lines on which TER is measured
_MAX_TRIALS: Final = 6
_TOLERANCE: Final = 0.01  # relative difference from the requested TER that ends the trials ...
_STANDARD_ERRORS: Final = 2.0  # ... or the difference in standard errors, as trials with few edits are imprecise
_MAX_STEP: Final = 4.0  # largest factor by which the number of edits grows from one trial to the next
_MAX_DIFFERENCE: Final = 0.05  # relative difference from the requested TER above which it counts as unreachable


class NoiseConfig(SynthConfig):
    """The `[synth]` section with `kind = "noise"`: triplets from parallel text whose target side is corrupted."""

    kind: Literal["noise"] = Field("noise", description="how triplets are made")
    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their translations, line by line; they become the post-edits")
    mode: Literal["matched", "plain"] = Field(
        "matched",
        description='"matched": edits like those of real triplets; "plain": edits of any word, all kinds equally often',
    )
    real: Annotated[list[TripletFiles] | None, BeforeValidator(lambda value: as_list(value) or None)] = Field(
        None,
        description="matched: real triplets, named as in `[data]`; their edit profile is saved as OUT.profile.json",
    )
    profile: str | None = Field(None, description="matched: a saved edit profile, instead of `real`")
    ter: float | None = Field(
        None,
        gt=0,
        description="corpus TER of the triplets in per cent; required with plain, that of the real triplets if not "
        "given with matched",
    )
    lengths: Literal["all", "real"] = Field(
        "all",
        description='"real": leave out lines, so that lengths are distributed as in the real triplets; "all": keep '
        "lines of any length",
    )
    max_words: int = Field(
        100, ge=1, le=MAX_WORDS, description="lines with more words are left out (Pal et al. 2020, section 4.1)"
    )

    text_columns: ClassVar[Mapping[str, str]] = {"src": "src", "pe": "pe", "profile": "profile"}

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.mode == "plain":
            if self.real or self.profile:
                raise ValueError('mode = "plain" uses no real triplets; leave out real and profile, or use "matched"')
            if self.ter is None:
                raise ValueError('mode = "plain" needs ter, in per cent')
            if self.lengths == "real":
                raise ValueError('lengths = "real" needs real triplets, which mode = "plain" does not use')
        elif (self.real is None) == (self.profile is None):
            raise ValueError('mode = "matched" needs either real or profile')
        return self

    @property
    def extra_files(self) -> Sequence[str]:
        """The edit profile, if it is measured on real triplets."""
        return () if self.real is None else (_PROFILE,)

    def phases(self) -> list[Phase]:
        """Return the only phase."""
        return [Phase("noise", self.triplets, self.prepare)]

    def prepare(self) -> Job:
        """Read the inputs and return the job; a measured profile is saved with its output.

        Raises:
            DataError: if inputs cannot be read or differ in length, the text has no words, real triplets have no edits,
                or lengths are to be matched but hardly a line of the text has a real length.
            RecipeError: if the requested TER cannot be reached.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        lines = list(islice(read_lines(located(self.pe)), 0, None, -(-source.total // _SAMPLE_LINES)))
        sample = TextSample.of(lines)
        if not sample.words:
            raise DataError(f"{self.pe}: has no words (in a sample of {len(lines):,} lines)")
        profile = self._profile()
        thin = self.lengths == "real"
        tables = matched_tables(profile, sample, thin=thin) if profile else plain_tables(sample)
        stage = NoiseStage(tables, self.seed, self.max_words)
        if self.ter is not None:
            stage = _with_ter(self.ter, stage, lines[:: max(1, len(lines) // _TRIAL_LINES)])
        settings = self.settings()
        settings["versions"] |= {"numpy": np.__version__, "numba": version("numba")}
        settings["profile"] = None if profile is None else hashlib.sha256(profile.to_json().encode()).hexdigest()
        extras = dict.fromkeys(self.extra_files, profile.file_text) if profile else {}
        return Job(source, stage, settings, lambda counts: _manifest(counts, profile), extras)

    def _profile(self) -> EditProfile | None:
        """Return the profile to match, saved or measured now; None if there is none to match."""
        if self.profile is not None:
            return EditProfile.load(located(self.profile))
        if self.real is None:
            return None
        return measure_profile((triplet.mt, triplet.pe) for triplet in self.read_real())


def _with_ter(ter: float, stage: NoiseStage, lines: Sequence[str]) -> NoiseStage:
    """Return the stage with its edit rate adjusted in trials, because some edits cancel each other.

    Raises:
        RecipeError: if the requested TER cannot be reached.
    """
    many = list(islice(cycle(lines), max(_TRIAL_LINES, len(lines))))
    text = encode_lines(many)
    trial = Chunk(0, 0, len(many), {"src": text, "pe": text})
    before = found = 0.0
    for _ in range(_MAX_TRIALS):
        counts = stage(trial).counts
        if not (words := counts["words"]):
            if counts[BLANK]:
                break  # edits leave no word of mt
            raise RecipeError(
                f"synth.max_words = {stage.max_words} leaves out every line of the text; allow more words"
            )
        found = 100 * sum(counts[kind] for kind in EDIT_KINDS) / words
        standard_error = math.sqrt(100 * ter / words)  # of a Poisson count of edits, in per cent of the words
        if abs(found - ter) <= max(_TOLERANCE * ter, _STANDARD_ERRORS * standard_error):
            return stage
        if before < ter and found < before * (1 + _TOLERANCE):
            break  # more edits no longer raise TER
        rate_scale = stage.tables.rate_scale * min(ter / found if found else math.inf, _MAX_STEP)
        before, stage = found, replace(stage, tables=stage.tables._replace(rate_scale=rate_scale))
    if abs(found / ter - 1) <= _MAX_DIFFERENCE:
        return stage
    raise RecipeError(
        f"synth.ter = {ter:g} cannot be reached: edits cancel each other, and a line has only so many words; on "
        f"the {len(lines):,} lines tried TER was {max(before, found):.0f} at most; ask for less than that"
    )


def _manifest(counts: Mapping[str, int], profile: EditProfile | None) -> dict[str, Any]:
    """Return the statistics of the output and, if there is a profile, those of the real triplets."""
    histogram = histogram_of(counts, TER_BIN)
    left_out = {name: counts.get(name, 0) for name in OUTCOMES if name != "kept"}
    totals = {"triplets": counts.get("kept", 0), "edited as drawn": counts.get("as drawn", 0)}
    made = {**totals, **edit_rates(counts), "histogram": histogram}
    manifest: dict[str, Any] = {"left_out": left_out, "made": made, "signature": ter_signature()}
    if profile is None or not histogram:
        return manifest
    real = profile.ter_histogram
    expected = expected_ter_histogram(profile, histogram_of(counts, LENGTH_BIN))
    manifest["real"] = {"triplets": profile.triplets, **edit_rates(profile.counts), "histogram": real}
    manifest["ks_ter"] = round(ks_distance(histogram, real), 4)
    manifest["ks_ter_at_these_lengths"] = round(ks_distance(histogram, expected), 4)
    return manifest
