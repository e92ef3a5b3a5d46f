"""Triplets from text of the target language alone: translated there and back, it is mt beside its own post-edit.

As the artificial data of Junczys-Dowmunt and Grundkiewicz 2017, 5.1 and Jauregi Unanue et al. 2018, 4.2 was made:
sentences like those of the domain are chosen by the difference of two cross-entropies, translated into the source
language and back, and triplets are kept so that their TER statistics are those of real ones. Each of the three is a
phase with files of its own, so that an interruption costs no phase that is done.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from postedit.core.errors import DataError
from postedit.data.lines import path_problem, read_lines
from postedit.data.text_paths import located
from postedit.synthesis.choice import prepare_fit
from postedit.synthesis.chunk import Chunk, Stage
from postedit.synthesis.engine import Job
from postedit.synthesis.ngrams import CrossEntropyDifference, estimate
from postedit.synthesis.phase import Phase
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tally import describe
from postedit.synthesis.translated import (
    BLANK,
    OF_CHOICE,
    SIDES,
    RealTriplets,
    TranslatedConfig,
    identity,
    with_triplets,
)
from postedit.synthesis.translators import Translator, TranslatorConfig, open_translator

_MODELS: Final = ("inside.arpa", "outside.arpa")
_NOT_CHOSEN: Final = "less like the domain"


class RoundtripConfig(TranslatedConfig):
    """The `[synth]` section with `kind = "roundtrip"`: triplets from text of the target language alone."""

    kind: Literal["roundtrip"] = Field("roundtrip", description="which way to make triplets")
    text: str = Field(description="file of sentences of the target language; they become the post-edits")
    real: Annotated[RealTriplets, Field(min_length=1)] = Field(
        description="real triplets, named as in `[data]`: the domain of the sentences, and what triplets shall be like"
    )
    out: str = Field(
        description="OUT.src, OUT.mt, OUT.pe and OUT.json are written, and OUT.chosen and OUT.translated on the way"
    )
    back: TranslatorConfig = Field(description="translates into the source language")
    forward: TranslatorConfig = Field(description="translates into the target language")
    choose: float = Field(
        1.0, gt=0, le=1, description="part of the sentences to translate, those most like the domain; 1: all"
    )
    order: int = Field(3, ge=2, le=6, description="words of the longest n-grams of the models that choose")

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with the files."""
        folder = self.folder(base)
        text, real = self.input("text", folder, "pe"), [files.under(folder) for files in self.real]
        resolved = self.model_copy(update={"dir": str(folder), "text": str(text), "real": real})
        inputs = {"synth.text": text} | resolved.real_inputs()
        problems = [f"{option}: {found}" for option, path in inputs.items() if (found := path_problem(path))]
        return resolved, problems + resolved.real_problems() + self.overwritten(inputs)

    @property
    def kept(self) -> Sequence[str]:
        """The two n-gram models."""
        return [f"chosen.{name}" for name in _MODELS]

    def phases(self) -> list[Phase]:
        """Return all that is to be done, in order."""
        return [
            Phase("choice of sentences", chosen_prefix(self), ("pe",), lambda: prepare_choice(self)),
            Phase("translation", self.translated, SIDES, lambda: prepare_translation(self), spread=False),
            Phase("choice of triplets", self.prefix, SIDES, lambda: prepare_fit(self)),
        ]


def chosen_prefix(config: RoundtripConfig) -> Path:
    """Return what the names of the chosen sentences' files start with."""
    return config.prefix.with_name(f"{config.prefix.name}.chosen")


def _side(prefix: Path, side: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{side}")


# The first phase: sentences of the domain.


def chosen(differences: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return Bool[lines]: a share of the sentences, exact but for what is less than one sentence.

    Args:
        differences: Float64[lines], cross-entropy differences; infinite for lines that are never chosen. Those of the
            lowest are chosen, of equal ones the first.
        share: 0 to 1, of the others; one sentence is chosen at least, if there is any.
    """
    sentences = int(np.isfinite(differences).sum())
    count = min(sentences, max(1, round(share * sentences)))
    kept = np.zeros(len(differences), np.bool_)
    kept[np.argsort(differences, kind="stable")[:count]] = True
    return kept


@dataclass(frozen=True, slots=True)
class Choose:
    """The stage that keeps the sentences that were chosen, which needs no n-gram models where it runs.

    Args:
        kept: one bit a line of the text, whether it is kept, the first line in the highest bit.
    """

    kept: bytes

    @classmethod
    def of(cls, kept: NDArray[np.bool_]) -> Self:
        """Return the stage that keeps the lines where `kept`, Bool[lines], is true."""
        return cls(np.packbits(kept).tobytes())

    def build(self) -> Stage:
        """Return the stage."""
        return self

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the sentences of a chunk that are chosen."""
        first, last = chunk.first_line, chunk.first_line + chunk.read
        bits = np.unpackbits(np.frombuffer(self.kept, np.uint8)[first // 8 : -(-last // 8)])[first % 8 :]
        kept = [line for line, bit in zip(chunk.lines("pe"), bits) if bit]
        counts = {"kept": len(kept), _NOT_CHOSEN: chunk.read - len(kept)}
        return replace(chunk, counts=counts).with_lines("pe", kept)


@dataclass(frozen=True, slots=True)
class _KeepAll:
    def build(self) -> Stage:
        return lambda chunk: replace(chunk, counts={"kept": chunk.read})


def prepare_choice(config: RoundtripConfig) -> Job:
    """Estimate the two models and choose sentences by them.

    The other text is a sample of all sentences, as large as the text of the domain (Moore and Lewis 2010). Eight bytes
    a line of the text are held in memory.

    Raises:
        DataError: if the files cannot be read.
        RecipeError: if KenLM is not installed.
    """
    source = open_aligned({"pe": located(config.text)}, config.chunk_lines)
    said = {**identity(config, "back", "forward", "mismatch", "seed"), "phase": "choose"}

    def manifest(counts: Mapping[str, int]) -> dict[str, Any]:
        left_out = {_NOT_CHOSEN: counts.get(_NOT_CHOSEN, 0)}
        return {"made": {"triplets": counts.get("kept", 0)}, "left_out": left_out}

    if config.choose == 1:
        return Job(source, _KeepAll(), ("pe",), said, manifest)
    text, domain = located(config.text), [triplet.pe for triplet in config.read_real()]
    if not domain:
        raise DataError("synth.real: there is no triplet that can be used, so no domain to choose sentences of")
    step = max(1, source.total // len(domain))
    inside, outside = (_side(chosen_prefix(config), name) for name in _MODELS)
    estimate(domain, config.order, inside)
    estimate(islice(read_lines(text), 0, None, step), config.order, outside)
    difference = CrossEntropyDifference(inside, outside)
    differences = np.fromiter(
        (difference(line) if line.strip() else np.inf for line in read_lines(text)), np.float64, source.total
    )
    stage = Choose.of(chosen(differences, config.choose))
    return Job(source, stage, ("pe",), {**said, "chosen": hashlib.sha256(stage.kept).hexdigest()}, manifest)


# The second: there and back.


@dataclass(frozen=True, slots=True)
class RoundtripSpec:
    """Makes the stage that translates pe into src and that into mt."""

    back: TranslatorConfig
    forward: TranslatorConfig

    def build(self) -> Stage:
        """Return the stage, its translators loaded."""
        return _Roundtrip(open_translator(self.back), open_translator(self.forward))


@dataclass(frozen=True, slots=True)
class _Roundtrip:
    back: Translator
    forward: Translator

    def __call__(self, chunk: Chunk) -> Chunk:
        pe = chunk.lines("pe")
        src = self.back.translate(pe)
        return with_triplets(chunk, {"src": src, "mt": self.forward.translate(src), "pe": pe})


def prepare_translation(config: RoundtripConfig) -> Job:
    """Return what is to be done with the chosen sentences.

    Raises:
        DataError: if none was chosen.
    """
    source = open_aligned({"pe": _side(chosen_prefix(config), "pe")}, config.chunk_lines)
    said = {**identity(config, "choose", "order", *OF_CHOICE), "phase": "translate"}
    return Job(
        source, RoundtripSpec(config.back, config.forward), SIDES, said, lambda counts: describe(counts, [BLANK])
    )
