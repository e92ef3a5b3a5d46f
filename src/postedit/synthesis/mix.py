"""One corpus of several: each taken several times, or as large a share of the whole as is asked for."""

import hashlib
import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.errors import DataError, RecipeError
from postedit.data.lines import path_problem
from postedit.data.report import DataReport
from postedit.data.resumable_file import encode_lines
from postedit.data.triplets import Triplet, TripletFiles, check_files, read_triplets
from postedit.synthesis.chunk import Chunk, Stage
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.engine import Job
from postedit.synthesis.fitting import draws
from postedit.synthesis.phase import Phase
from postedit.synthesis.tally import describe, tally
from postedit.synthesis.translated import SIDES, identity

_BLOCK: Final = 1 << 16
"""Triplets whose draws are made together."""

MOST_COPIES: Final = 100_000
"""More of one triplet than any training run sees; who asks for that has mistyped it."""


class CorpusConfig(Config):
    """A corpus, and how much of it."""

    files: TripletFiles = Field(description="triplets, named as in `[data]`")
    copies: float = Field(
        1.0, gt=0, le=MOST_COPIES, description="how often each triplet is taken; 0.1: one in ten, chosen by the seed"
    )
    share: float | None = Field(
        None, gt=0, lt=1, description="in place of copies: the part of the whole that this corpus shall be"
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.share is not None and "copies" in self.model_fields_set:
            raise ValueError("share: says how often triplets are taken, as copies does; leave one of them out")
        return self


class MixConfig(SynthConfig):
    """The `[synth]` section with `kind = "mix"`: one corpus of several."""

    kind: Literal["mix"] = Field("mix", description="which way to make triplets")
    corpus: Annotated[list[CorpusConfig], Field(min_length=1)] = Field(description="[[synth.corpus]], one a corpus")
    seed: int = Field(1, ge=0, lt=2**63, description="another seed chooses others where copies is not a whole number")

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        shares = [corpus.share for corpus in self.corpus if corpus.share is not None]
        if shares and (sum(shares) >= 1 or len(shares) == len(self.corpus)):
            raise ValueError("corpus: the shares must leave room for at least one corpus without a share")
        return self

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with the files."""
        folder = self.folder(base)
        corpora = [corpus.model_copy(update={"files": corpus.files.under(folder)}) for corpus in self.corpus]
        inputs = {
            f"synth.corpus.{number} ({path.name})": path
            for number, corpus in enumerate(corpora)
            for path in corpus.files.paths
        }
        problems = [f"{option}: {found}" for option, path in inputs.items() if (found := path_problem(path))]
        problems += [
            f"synth.corpus.{number}: {corpus.files.name} has no mt"
            for number, corpus in enumerate(corpora)
            if corpus.files.mt is None
        ]
        resolved = self.model_copy(update={"dir": str(folder), "corpus": corpora})
        return resolved, problems + self.overwritten(inputs)

    def phases(self) -> list[Phase]:
        """Return the one thing to be done."""
        return [Phase("mixture", self.prefix, SIDES, self.prepare)]

    def prepare(self) -> Job:
        """Look at the corpora and return what is to be done.

        Raises:
            DataError: if they cannot be read.
            RecipeError: if nothing would be taken of one.
        """
        mixture = Mixture(_parts(self), self.chunk_lines)
        said = {**identity(self), "corpora": [_describe(part, mixture.total) for part in mixture.parts]}
        return Job(mixture, MixSpec(), SIDES, said, lambda counts: describe(counts, []))


@dataclass(frozen=True, slots=True)
class _Part:
    """A corpus as it goes in.

    Args:
        files: its triplets.
        triplets: how many of them can be used.
        copies: how often each is taken.
        taken: how many triplets that makes.
        seed: for the choice of a part of them.
        fingerprint: SHA-256 of the texts, in hexadecimal.
    """

    files: TripletFiles
    triplets: int
    copies: float
    taken: int
    seed: int
    fingerprint: str

    def read(self) -> Iterator[Triplet]:
        """Yield what is taken."""
        whole = math.floor(self.copies)
        passes = (read_triplets(self.files, DataReport()) for _ in range(whole))
        return chain(chain.from_iterable(passes), self._some(self.copies - whole))

    def _some(self, rate: float) -> Iterator[Triplet]:
        """Yield the triplets that the seed chooses, each with probability `rate`."""
        if not rate:
            return
        triplets, first = read_triplets(self.files, DataReport()), 0
        while block := list(islice(triplets, _BLOCK)):
            chosen = draws(self.seed, first, len(block)) < rate
            yield from (triplet for triplet, kept in zip(block, chosen) if kept)
            first += len(block)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A source of triplets from several corpora, evenly spread: any stretch has them in the proportions of all."""

    parts: Sequence[_Part]
    chunk_lines: int

    @property
    def total(self) -> int:
        """How many triplets there are."""
        return sum(part.taken for part in self.parts)

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """SHA-256 of the texts of each corpus, in hexadecimal."""
        return {part.files.name: part.fingerprint for part in self.parts}

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on; those before are read over."""
        triplets = self._triplets()
        start = first * self.chunk_lines
        next(islice(triplets, start, start), None)
        number = first
        while block := list(islice(triplets, self.chunk_lines)):
            sides = {side: encode_lines([getattr(triplet, side) for triplet in block]) for side in SIDES}
            yield Chunk(number, number * self.chunk_lines, len(block), sides)
            number += 1

    def _triplets(self) -> Iterator[Triplet]:
        spread = (self._spread(number, part) for number, part in enumerate(self.parts))
        return (triplet for _, _, triplet in heapq.merge(*spread, key=lambda placed: placed[:2]))

    def _spread(self, number: int, part: _Part) -> Iterator[tuple[float, int, Triplet]]:
        """Yield the triplets of a corpus with places at equal distances between 0 and 1."""
        for place, triplet in enumerate(part.read()):
            yield (place + 0.5) / part.taken, number, triplet


class MixSpec:
    """Makes the stage that changes nothing and counts."""

    def build(self) -> Stage:
        """Return the stage."""
        return _counted


def _counted(chunk: Chunk) -> Chunk:
    return Chunk(
        chunk.number, chunk.first_line, chunk.read, chunk.sides, dict(tally(chunk.lines("mt"), chunk.lines("pe")))
    )


def _parts(config: MixConfig) -> list[_Part]:
    looked_at = [_looked_through(corpus.files) for corpus in config.corpus]
    fixed = sum(
        corpus.copies * triplets for corpus, (triplets, _) in zip(config.corpus, looked_at) if corpus.share is None
    )
    rest = 1.0 - sum(corpus.share or 0.0 for corpus in config.corpus)
    parts = []
    for number, (corpus, (triplets, fingerprint)) in enumerate(zip(config.corpus, looked_at)):
        copies = corpus.copies if corpus.share is None else corpus.share / rest * fixed / triplets
        seed = config.seed + number
        part = copies - math.floor(copies)
        taken = math.floor(copies) * triplets + _chosen(seed, triplets, part)
        if copies > MOST_COPIES:
            raise RecipeError(
                f"synth.corpus.{number}: a share of {corpus.share:g} takes each of {triplets:,} triplets {copies:,.0f} "
                f"times; at most {MOST_COPIES:,} are allowed: ask for a smaller share, or for more of the others"
            )
        if not taken:
            raise RecipeError(f"synth.corpus.{number}: of {triplets:,} triplets none is taken; ask for more of them")
        parts.append(_Part(corpus.files, triplets, copies, taken, seed, fingerprint))
    return parts


def _chosen(seed: int, triplets: int, rate: float) -> int:
    starts = range(0, triplets, _BLOCK) if rate else ()
    return sum(int((draws(seed, start, min(_BLOCK, triplets - start)) < rate).sum()) for start in starts)


def _looked_through(files: TripletFiles) -> tuple[int, str]:
    """Return how many triplets can be used, and SHA-256 of their texts."""
    check_files(files)
    count, digest = 0, hashlib.sha256()
    for triplet in read_triplets(files, DataReport()):
        digest.update("\t".join((triplet.src, triplet.mt, triplet.pe, "")).encode())
        count += 1
    if not count:
        raise DataError(f"{files.name}: has no triplet that can be used")
    return count, digest.hexdigest()


def _describe(part: _Part, total: int) -> dict[str, Any]:
    return {
        "files": part.files.name,
        "triplets": part.triplets,
        "copies": round(part.copies, 4),
        "taken": part.taken,
        "share": round(part.taken / total, 4),
    }
