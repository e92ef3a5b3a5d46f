"""Triplets from parallel text, src and pe: a translator makes mt from src, or an error model makes mt from pe.

eSCAPE was made with a translator (Negri et al. 2018); Pal et al. (2020, section 4.1) train on it. Such a translation is
often much farther from the reference than real mt is from its post-edit, so triplets can be selected to match real
ones.

An error model is trained like any other model, but on real triplets with mt and pe swapped. Its most probable output
is close to pe itself, whereas random samples have errors like those of real mt. The idea comes from noised and sampled
back-translation (Xie et al. 2018 for grammatical error correction, Edunov et al. 2018 for translation).
"""

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import torch
from pydantic import Field

from postedit.core.errors import DataError, PosteditError
from postedit.data.text_paths import located
from postedit.distributed.chunks import Chunk, Stage, open_aligned
from postedit.distributed.pipeline import Job, Phase
from postedit.search import Sampling
from postedit.synthesis.selection.histogram_matching import MatchingConfig
from postedit.synthesis.translation.translator_config import TextTranslatorConfig
from postedit.synthesis.translation.translators import (
    TextTranslator,
    model_fingerprints,
    open_translator,
    text_of,
    translator_fingerprints,
)
from postedit.synthesis.triplet_counts import BLANK, TOO_LONG, summary, triplet_chunk

if TYPE_CHECKING:
    from postedit.core.editor import PostEdit
    from postedit.editing.post_editor import PostEditor

BROKEN: Final = "drawn with broken characters"

MATCHING_OPTIONS: Final = ("real", "mismatch", "seed")
"""Options that affect only the selection of triplets."""


class ParallelTextConfig(MatchingConfig):
    """Options of the sections that make triplets from parallel text."""

    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their human translations, line by line; they become the post-edits")
    out: str = Field(
        description="writes OUT.src, OUT.mt, OUT.pe and OUT.json; with real triplets, also OUT.translated.*"
    )

    text_columns: ClassVar[Mapping[str, str]] = {"src": "src", "pe": "pe"}
    phase_name: ClassVar[str] = "translation"  # the phase that makes mt
    left_out: ClassVar[Sequence[str]] = (BLANK, TOO_LONG)  # names of the counts of lines that give no triplet
    later_options: ClassVar[Sequence[str]] = MATCHING_OPTIONS  # options that do not affect mt

    @abstractmethod
    def stage(self) -> Stage:
        """Return the stage that adds mt to chunks of src and pe."""

    def phases(self) -> list[Phase]:
        """Return the phase that makes mt and, if there are real triplets, the one that selects from its output."""
        files = self.candidates if self.real else self.triplets
        first = Phase(self.phase_name, files, self.prepare, multithreaded=True)
        return [first, self.matching_phase()] if self.real else [first]

    def prepare(self) -> Job:
        """Read the inputs and return the job that makes mt.

        Raises:
            DataError: if inputs cannot be read or differ in length.
            PosteditError: if the model that makes mt is not found or cannot be read.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        return Job(source, self.stage(), self.job_settings(), lambda counts: summary(counts, self.left_out))

    def job_settings(self) -> dict[str, Any]:
        """Return the settings that determine mt."""
        return self.settings(*self.later_options)


class ForwardConfig(ParallelTextConfig):
    """The `[synth]` section with `kind = "forward"`: triplets from parallel text and a translator."""

    kind: Literal["forward"] = Field("forward", description="how triplets are made")
    translator: TextTranslatorConfig = Field(description="translates src into mt")

    def stage(self) -> Stage:
        """Return the stage that translates src."""
        return Translation(self.translator)

    def job_settings(self) -> dict[str, Any]:
        """Return the settings that determine mt; the model is identified by the digests of its files.

        Raises:
            PosteditError: if the model is not found or cannot be read.
        """
        return {**super().job_settings(), **model_setting(translator_fingerprints(self.translator))}


def model_setting(fingerprints: Collection[Any]) -> dict[str, Any]:
    """Return the setting that identifies the models of a job; empty if there are no fingerprints."""
    return {"model": fingerprints} if fingerprints else {}


@dataclass(frozen=True)
class Translation:
    """A stage that translates src into mt; with `back`, src is a translation of pe."""

    forward: TextTranslatorConfig
    back: TextTranslatorConfig | None = None

    @cached_property
    def _translators(self) -> tuple[TextTranslator | None, TextTranslator]:
        return open_translator(self.back) if self.back else None, open_translator(self.forward)

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        back, forward = self._translators
        pe = chunk.lines("pe")
        src = back.translate(pe) if back else chunk.lines("src")
        mt = forward.translate([text or "" for text in src])
        return triplet_chunk(chunk, src, mt, pe)


class ErrorsConfig(ParallelTextConfig):
    """The `[synth]` section with `kind = "errors"`: triplets from parallel text and an error model."""

    kind: Literal["errors"] = Field("errors", description="how triplets are made")
    model: str = Field(
        description="error model, trained on triplets with mt and pe swapped: a folder, relative to the current one, "
        "or a hub id"
    )
    temperature: float = Field(
        1.0, ge=0.01, le=100, description="sampling temperature: above 1 more errors, below 1 fewer"
    )
    top_k: int = Field(20, ge=0, description="sample from the most probable tokens only; 0: from all")
    device: Literal["cpu", "cuda"] = Field("cpu", description="device of the model")
    seed: int = Field(1, ge=0, lt=2**63, description="random seed of the samples, and of the selection of triplets")
    chunk_lines: int = Field(
        1000,
        ge=1,
        description="lines sampled together; at most so many are lost by an interruption. Another value gives other "
        "samples",
    )

    phase_name: ClassVar[str] = "sampling of errors"
    left_out: ClassVar[Sequence[str]] = (BLANK, TOO_LONG, BROKEN)
    later_options: ClassVar[Sequence[str]] = ("real", "mismatch")

    def problems(self) -> list[str]:
        """Return the problems of the section, such as an unavailable device."""
        found = super().problems()
        if self.device == "cuda" and not torch.cuda.is_available():
            found.append("synth.device: is cuda, but PyTorch finds no GPU here; write cpu")
        return found

    def stage(self) -> Stage:
        """Return the stage that samples mt."""
        sampling = Sampling(temperature=self.temperature, top_k=self.top_k)
        return ErrorSampling(self.model, sampling, self.seed, self.device)

    def job_settings(self) -> dict[str, Any]:
        """Return the settings that determine mt; the model is identified by its content.

        Raises:
            DataError: if the model is not found or cannot be read.
        """
        try:
            return {**super().job_settings(), **model_setting(model_fingerprints(self.model))}
        except PosteditError as error:
            raise DataError(f"synth.model: {error}") from None


def _is_broken(drawn: "PostEdit") -> bool:
    return drawn.skipped == "damaged" or "\0" in drawn.text


def _load(model: str, device: str) -> "PostEditor":
    from postedit.editing.post_editor import PostEditor

    try:
        editor = PostEditor.load_corrector(model, device=device)
    except PosteditError as error:
        raise DataError(f"synth.model: {error}") from None
    if "mt" not in editor.abilities.inputs:
        raise DataError(
            f"synth.model: {model} reads src only, so it translates and is not an error model; use kind = "
            '"forward", or a model trained on triplets with mt and pe swapped'
        )
    return editor


@dataclass(frozen=True)
class ErrorSampling:
    """A stage that samples an mt for each pe from an error model."""

    model: str
    sampling: Sampling
    seed: int
    device: str

    @cached_property
    def _editor(self) -> "PostEditor":
        return _load(self.model, self.device)

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        src, pe = chunk.lines("src"), chunk.lines("pe")
        device = self._editor.device
        # A seed for each chunk, so that its samples do not depend on earlier ones.
        digest = hashlib.blake2b(f"{self.seed} {chunk.first_line}".encode(), digest_size=7).digest()
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(int.from_bytes(digest, "big"))
            drawn = self._editor.draw(src, pe, self.sampling)
        rows = zip(src, map(text_of, drawn), pe, drawn, strict=True)
        kept = [triplet for *triplet, one in rows if not _is_broken(one)]
        made = triplet_chunk(chunk, *zip(*kept)) if kept else triplet_chunk(chunk, [], [], [])
        return made.with_lines({}, {**made.counts, BROKEN: len(drawn) - len(kept)})
