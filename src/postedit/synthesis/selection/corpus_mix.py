"""Mixing of several corpora into one: each is repeated a number of times, or until it is a given share of the whole."""

import hashlib
import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.errors import DataError, RecipeError
from postedit.data.blocks import blocks_of
from postedit.data.lines import encode_lines, one_line
from postedit.data.triplets import Triplet, TripletFiles, check_files, read_triplets
from postedit.distributed.chunks import Chunk
from postedit.distributed.pipeline import Job, Phase
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.selection.histogram_matching import uniform_by_line
from postedit.synthesis.triplet_counts import count_triplets, summary
from postedit.text.config import SIDES

MAX_COPIES: Final = 100_000
"""Most copies of a triplet, more than any training run sees; a higher number is probably a typing error."""

_BLOCK: Final = 1 << 16  # triplets whose random numbers are drawn together


class CorpusConfig(Config):
    """A corpus and its amount."""

    files: TripletFiles = Field(description="triplets, named as in `[data]`")
    copies: float = Field(
        1.0, gt=0, le=MAX_COPIES, description="copies of each triplet; 0.1: a random tenth of the triplets"
    )
    share: float | None = Field(
        None, gt=0, lt=1, description="instead of copies: the share of this corpus in the whole output"
    )

    @model_validator(mode="after")
    def _check_amount(self) -> Self:
        if self.share is not None and "copies" in self.model_fields_set:
            raise ValueError("share: sets the number of copies, as copies does; leave one of them out")
        return self


class MixConfig(SynthConfig):
    """The `[synth]` section with `kind = "mix"`: one corpus from several."""

    kind: Literal["mix"] = Field("mix", description="how triplets are made")
    corpus: Annotated[list[CorpusConfig], Field(min_length=1)] = Field(description="[[synth.corpus]], one per corpus")
    seed: int = Field(1, ge=0, lt=2**63, description="random seed; selects triplets where copies is not a whole number")

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        shares = [corpus.share for corpus in self.corpus if corpus.share is not None]
        if shares and (sum(shares) >= 1 or len(shares) == len(self.corpus)):
            raise ValueError("corpus: the shares must leave room for at least one corpus without a share")
        return self

    def located_triplets(self, folder: Path) -> dict[str, Any]:
        """Return the corpora with absolute paths."""
        return {"corpus": [corpus.model_copy(update={"files": corpus.files.under(folder)}) for corpus in self.corpus]}

    def triplet_inputs(self) -> Sequence[tuple[str, TripletFiles]]:
        """Return the files of the corpora, each with its option."""
        return [(f"synth.corpus.{number}", corpus.files) for number, corpus in enumerate(self.corpus)]

    def phases(self) -> list[Phase]:
        """Return the only phase."""
        return [Phase("mixture", self.triplets, self.prepare)]

    def prepare(self) -> Job:
        """Measure the corpora and return the job.

        Raises:
            DataError: if they cannot be read, or one has no usable triplet.
            RecipeError: if nothing, or too many copies, would be taken from a corpus.
        """
        warnings: list[str] = []
        mixed = MixedCorpora(_parts(self, warnings.append), self.chunk_lines, warnings)
        settings = {**self.settings(), "corpora": [part.describe(mixed.total) for part in mixed.parts]}
        return Job(mixed, _count, settings, lambda counts: summary(counts, []))


@dataclass(frozen=True, slots=True)
class _Part:
    """A corpus with its amount in numbers."""

    files: TripletFiles
    triplets: int  # number of usable triplets
    copies: float  # copies of each triplet
    taken: int  # resulting number of triplets
    seed: int  # selects triplets for the fractional part of `copies`
    fingerprint: str  # SHA-256 digest of the text, in hexadecimal

    def read(self) -> Iterator[Triplet]:
        """Yield each triplet as often as the whole part of `copies`, and once more with the probability of the rest."""
        for _ in range(math.floor(self.copies)):
            yield from read_triplets(self.files)
        if rate := self.copies % 1:
            for number, block in enumerate(blocks_of(read_triplets(self.files), _BLOCK)):
                chosen = uniform_by_line(self.seed, number * _BLOCK, len(block)) < rate
                yield from compress(block, chosen)

    def describe(self, total: int) -> dict[str, Any]:
        """Return the manifest entry of the corpus, for a mixture of `total` triplets."""
        amount = {"copies": round(self.copies, 4), "taken": self.taken, "share": round(self.taken / total, 4)}
        return {"files": self.files.name, "triplets": self.triplets, **amount}


@dataclass(frozen=True, slots=True)
class MixedCorpora:
    """A chunk source that interleaves corpora evenly: every stretch contains them in the proportions of the whole."""

    parts: Sequence[_Part]
    chunk_lines: int
    warnings: Sequence[str] = ()

    @property
    def total(self) -> int:
        """The number of triplets."""
        return sum(part.taken for part in self.parts)

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """The SHA-256 digest of each corpus, in hexadecimal."""
        return {part.files.name: part.fingerprint for part in self.parts}

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from number `first` on; earlier ones are read and skipped."""
        placed = (self._with_places(number, part) for number, part in enumerate(self.parts))
        triplets = (triplet for _, _, triplet in heapq.merge(*placed, key=lambda entry: entry[:2]))
        rest = islice(triplets, first * self.chunk_lines, None)
        for number, block in enumerate(blocks_of(rest, self.chunk_lines), start=first):
            sides = [encode_lines([one_line(getattr(triplet, side)) for triplet in block]) for side in SIDES]
            yield Chunk(number, number * self.chunk_lines, len(block), dict(zip(SIDES, sides)))

    def _with_places(self, number: int, part: _Part) -> Iterator[tuple[float, int, Triplet]]:
        """Yield the triplets of a corpus with equally spaced places between 0 and 1, and the number of the corpus."""
        for place, triplet in enumerate(part.read()):
            yield (place + 0.5) / part.taken, number, triplet


def _count(chunk: Chunk) -> Chunk:
    return chunk.with_lines({}, count_triplets(chunk.lines("mt"), chunk.lines("pe")))


def _parts(config: MixConfig, warn: Callable[[str], None]) -> list[_Part]:
    pairs = [(corpus, _size_and_digest(corpus.files, warn)) for corpus in config.corpus]
    without_share = sum(corpus.copies * triplets for corpus, (triplets, _) in pairs if corpus.share is None)
    rest = 1.0 - sum(corpus.share or 0.0 for corpus in config.corpus)
    parts = []
    for number, (corpus, (triplets, fingerprint)) in enumerate(pairs):
        copies = corpus.copies if corpus.share is None else corpus.share / rest * without_share / triplets
        seed, rate = config.seed + number, copies % 1
        taken = math.floor(copies) * triplets
        for start in range(0, triplets, _BLOCK) if rate else ():
            taken += int((uniform_by_line(seed, start, min(_BLOCK, triplets - start)) < rate).sum())
        if copies > MAX_COPIES:
            raise RecipeError(
                f"synth.corpus.{number}: a share of {corpus.share:g} takes {copies:,.0f} copies of each of its "
                f"{triplets:,} triplets; at most {MAX_COPIES:,} are allowed. Reduce it, or take more of the others"
            )
        if not taken:
            raise RecipeError(f"synth.corpus.{number}: of {triplets:,} triplets none is taken; ask for more of them")
        parts.append(_Part(corpus.files, triplets, copies, taken, seed, fingerprint))
    return parts


def _size_and_digest(files: TripletFiles, warn: Callable[[str], None]) -> tuple[int, str]:
    """Return the number of usable triplets, and the SHA-256 digest of their text."""
    check_files(files, warn)
    count, digest = 0, hashlib.sha256()
    for triplet in read_triplets(files):
        digest.update("\t".join((triplet.src, triplet.mt, triplet.pe, "")).encode())
        count += 1
    if not count:
        raise DataError(f"{files.name}: has no usable triplet")
    return count, digest.hexdigest()
