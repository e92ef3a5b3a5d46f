"""Triplets by noise: the target side of parallel text, damaged as machine translation damages it (paper 004, 5.2).

The paper deletes, inserts, shifts or substitutes words at random, to match the mean rate of edits. `mode = "plain"`
does that. `mode = "matched"` goes further: the numbers of edits of each kind are those of a real sentence of like
length, the words those that real post-edits change, and TER itself checks that it finds what was drawn.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

import postedit
from postedit.core.errors import DataError, RecipeError
from postedit.data.lines import path_problem, read_lines
from postedit.data.report import DataReport
from postedit.data.resumable_file import encode_lines
from postedit.data.text_paths import located
from postedit.data.triplets import TripletFiles, check_files, read_triplets
from postedit.evaluate.ter import ter_signature
from postedit.synthesis.chunk import Chunk
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.engine import Job
from postedit.synthesis.fit import describe_edits, distance, expected_histogram, profile_counts, real_histogram
from postedit.synthesis.noise_kernel import Tables
from postedit.synthesis.noise_stage import FATES, KINDS, LENGTH, TER, NoiseSpec, histogram_of
from postedit.synthesis.phase import Phase
from postedit.synthesis.profile import Profile, measure_profile
from postedit.synthesis.profile_file import MOST_WORDS
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tables import TextSample, matched_tables, plain_tables

_PROFILE: Final = "profile.json"

_SAMPLE_LINES: Final = 100_000
"""Lines of the text from which its words and lengths are taken: memory does not grow with the text."""

_TRIAL_LINES: Final = 20_000
"""Lines on which TER is tried out before work starts."""

_TRIALS: Final = 6
"""Times the number of edits is set right, where a TER is asked for."""

_NEAR: Final = 0.01
"""Relative difference of TER that is near enough ..."""

_CHANCE: Final = 2.0
"""... or so many standard errors: where few edits are asked for, a trial cannot tell more."""

_STEP: Final = 4.0
"""Times that the number of edits is multiplied by from one trial to the next, at most."""

_FAR: Final = 0.05
"""Relative difference of TER from which on it has not been reached."""


def _as_list(value: Any) -> Any:
    return value or None if value is None or isinstance(value, list | tuple) else [value]


class NoiseConfig(SynthConfig):
    """The `[synth]` section with `kind = "noise"`: triplets from parallel text by edits on its target side."""

    kind: Literal["noise"] = Field("noise", description="which way to make triplets")
    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their translations, line by line; they become the post-edits")
    mode: Literal["matched", "plain"] = Field(
        "matched",
        description='"matched": edits like those of real triplets; "plain": of any word, all kinds alike often',
    )
    real: Annotated[list[TripletFiles] | None, BeforeValidator(_as_list)] = Field(
        None, description="matched: the real triplets, named as in `[data]`; their profile is kept as OUT.profile.json"
    )
    profile: str | None = Field(None, description="matched: a profile that was kept, in place of the triplets")
    ter: float | None = Field(
        None,
        gt=0,
        description="TER of all triplets together, in per cent; matched: as many edits as real, if not given",
    )
    lengths: Literal["all", "real"] = Field(
        "all",
        description='"real": leave out lines, so that lengths are distributed as those of the real triplets; "all": '
        "leave out no line for its length",
    )
    max_words: int = Field(100, ge=1, le=MOST_WORDS, description="a line with more words is left out (paper 001, 4.1)")

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.mode == "plain":
            if self.real or self.profile:
                raise ValueError(
                    'mode = "plain" looks at no real triplets; leave real and profile out, or use "matched"'
                )
            if self.ter is None:
                raise ValueError('mode = "plain" needs ter, in per cent')
            if self.lengths == "real":
                raise ValueError('lengths = "real" needs real triplets, which mode = "plain" does not look at')
        elif (self.real is None) == (self.profile is None):
            raise ValueError('mode = "matched" needs one of real and profile')
        return self

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with the files."""
        folder = self.folder(base)
        real = None if self.real is None else [files.under(folder) for files in self.real]
        paths = {name: self.input(name, folder, name) for name in ("src", "pe", "profile") if getattr(self, name)}
        inputs = {f"synth.{name}": path for name, path in paths.items()}
        inputs |= {f"synth.real ({path.name})": path for files in real or [] for path in files.paths}
        problems = [f"{option}: {problem}" for option, path in inputs.items() if (problem := path_problem(path))]
        problems += [f"synth.real: {files.name} has no mt" for files in real or [] if files.mt is None]
        resolved = self.model_copy(
            update={"dir": str(folder), "real": real, **{name: str(path) for name, path in paths.items()}}
        )
        return resolved, problems + self.overwritten(inputs)

    @property
    def kept(self) -> Sequence[str]:
        """The profile, if it is measured."""
        return () if self.real is None else (_PROFILE,)

    def phases(self) -> list[Phase]:
        """Return the one thing to be done."""
        return [Phase("noise", self.prefix, ("src", "mt", "pe"), self.prepare)]

    def prepare(self) -> Job:
        """Look at the inputs and return what is to be done; the profile, if it was measured, is kept as a file.

        Raises:
            DataError: if inputs cannot be read, their lines are unequally many, real triplets show no edits, or the
                text has no lines of their lengths, where that is asked for.
            RecipeError: if the TER asked for cannot be reached.
            OutputError: if the profile cannot be kept.
        """
        return _prepare(self)


def _prepare(config: NoiseConfig) -> Job:
    source = open_aligned({"src": located(config.src), "pe": located(config.pe)}, config.chunk_lines)
    lines = _sample(located(config.pe), source.total)
    sample = TextSample.of(lines)
    if not sample.words:
        raise DataError(
            f"{config.pe}: has no words (in {len(lines):,} lines from all over it); nothing can be made of it"
        )
    profile = _profile(config)
    spec = NoiseSpec(_tables(config, profile, sample), config.seed, config.max_words)
    if config.ter is not None:
        spec = _with_ter(config.ter, spec, lines[:: max(1, len(lines) // _TRIAL_LINES)])
    identity = {
        "recipe": config.model_dump(mode="json", exclude_none=True),
        "versions": {"postedit": postedit.__version__, "numpy": np.__version__, "numba": version("numba")},
        "profile": _fingerprint(profile),
    }
    return Job(source, spec, ("src", "mt", "pe"), identity, lambda counts: _manifest(counts, profile))


def _sample(path: Path, total: int) -> list[str]:
    """Return lines from all over the text."""
    return list(islice(read_lines(path), 0, None, -(-total // _SAMPLE_LINES)))


def _profile(config: NoiseConfig) -> Profile | None:
    """Return the profile to match: one that was kept, or one measured now and kept."""
    if config.profile is not None:
        return Profile.load(located(config.profile))
    if config.real is None:
        return None
    for files in config.real:
        check_files(files)
    triplets = read_triplets(config.real, DataReport())
    profile = measure_profile((triplet.mt, triplet.pe) for triplet in triplets)
    profile.save(config.prefix.with_name(f"{config.prefix.name}.{_PROFILE}"))
    return profile


def _tables(config: NoiseConfig, profile: Profile | None, sample: TextSample) -> Tables:
    if profile is None:
        return plain_tables(sample)
    return matched_tables(profile, sample, thin=config.lengths == "real")


def _with_ter(ter: float, spec: NoiseSpec, lines: Sequence[str]) -> NoiseSpec:
    """Return the same noise, with as many edits as make TER what is asked for: some cancel each other, so it is tried.

    Raises:
        RecipeError: if it cannot be reached.
    """
    many = list(islice(cycle(lines), max(_TRIAL_LINES, len(lines))))
    text = encode_lines(many)
    trial = Chunk(0, 0, len(many), {"src": text, "pe": text})
    before = found = 0.0
    for _ in range(_TRIALS):
        found, words = _tried(spec, trial)
        if not words:
            raise RecipeError(f"synth.max_words = {spec.max_words} leaves out every line of the text; allow more words")
        chance = _CHANCE * math.sqrt(100 * ter / words)  # of so many edits, 100 / words of TER each
        if abs(found - ter) <= max(_NEAR * ter, chance):
            return spec
        if before < ter and found < before * (1 + _NEAR):
            break  # more is asked for, and no more comes out
        scale = spec.tables.scale * min(ter / found if found else math.inf, _STEP)
        before, spec = found, replace(spec, tables=spec.tables._replace(scale=scale))
    if abs(found / ter - 1) <= _FAR:
        return spec
    most = max(before, found)
    raise RecipeError(
        f"synth.ter = {ter:g} cannot be reached: edits cancel each other, and a line has only so many words; on "
        f"{trial.read:,} lines of the text TER was {most:.0f} at most, so ask for less than that"
    )


def _tried(spec: NoiseSpec, trial: Chunk) -> tuple[float, int]:
    """Return the TER, in per cent, of noise in a text, and of how many words it is."""
    counts = spec(trial).counts
    words = counts["words"]
    return 100 * sum(counts[kind] for kind in KINDS) / max(1, words), words


def _fingerprint(profile: Profile | None) -> str | None:
    """Return SHA-256, in hexadecimal, over what a profile says."""
    return None if profile is None else hashlib.sha256(profile.to_json().encode()).hexdigest()


def _manifest(counts: Mapping[str, int], profile: Profile | None) -> dict[str, Any]:
    """Return what came out, beside what real triplets are like."""
    histogram = histogram_of(counts, TER)
    left_out = {name: counts.get(name, 0) for name in FATES if name != "kept"}
    totals = {"triplets": counts.get("kept", 0), "edited as drawn": counts.get("as drawn", 0)}
    made = {**totals, **describe_edits(counts), "histogram": histogram}
    manifest: dict[str, Any] = {"left_out": left_out, "made": made, "signature": ter_signature()}
    if profile is None or not histogram:
        return manifest
    real = real_histogram(profile)
    expected = expected_histogram(profile, histogram_of(counts, LENGTH))
    manifest["real"] = {"triplets": profile.triplets, **describe_edits(profile_counts(profile)), "histogram": real}
    manifest["ks_ter"] = round(distance(histogram, real), 4)
    manifest["ks_ter_at_these_lengths"] = round(distance(histogram, expected), 4)
    return manifest
