"""Triplets from monolingual target-language text: translated there and back, each sentence is the pe of its own mt.

The artificial data of Junczys-Dowmunt and Grundkiewicz (2016; 2017, section 5.1) was made in three steps: select
sentences of the domain, translate them into the source language and back, and select triplets that match the TER
statistics of real ones. As Jauregi Unanue et al. describe it (2018, section 4.2), the first step keeps sentences of low
perplexity under one language model; here it keeps those of a low difference of two cross-entropies. Each step is a
phase with files of its own, so an interruption loses no finished phase.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from postedit.core.errors import DataError
from postedit.data.text_paths import located
from postedit.distributed.chunks import Chunk, Stage, open_aligned
from postedit.distributed.pipeline import Job, Phase
from postedit.distributed.resumable_outputs import OutputFiles
from postedit.synthesis.selection.domain_selection import NOT_SELECTED, select_sentences
from postedit.synthesis.selection.histogram_matching import MatchingConfig, RealTriplets
from postedit.synthesis.translation.parallel_text import MATCHING_OPTIONS, Translation, model_setting
from postedit.synthesis.translation.translator_config import TextTranslatorConfig
from postedit.synthesis.translation.translators import translator_fingerprints
from postedit.synthesis.triplet_counts import BLANK, TOO_LONG, summary

_MODELS: Final = ("inside.arpa", "outside.arpa")


class RoundtripConfig(MatchingConfig):
    """The `[synth]` section with `kind = "roundtrip"`: triplets from monolingual target-language text."""

    kind: Literal["roundtrip"] = Field("roundtrip", description="how triplets are made")
    text: str = Field(description="file of sentences of the target language; they become the post-edits")
    real: Annotated[RealTriplets, Field(min_length=1)] = Field(
        description="real triplets, named as in `[data]`: they define the domain, and the output is to resemble them"
    )
    out: str = Field(description="writes OUT.src, OUT.mt, OUT.pe and OUT.json, also OUT.chosen.* and OUT.translated.*")
    back: TextTranslatorConfig = Field(description="translates into the source language")
    forward: TextTranslatorConfig = Field(description="translates into the target language")
    choose: float = Field(
        1.0, gt=0, le=1, description="share of the sentences to translate, those most like the domain; 1: all"
    )
    order: int = Field(3, ge=2, le=6, description="order of the n-gram models that select sentences")

    text_columns: ClassVar[Mapping[str, str]] = {"text": "pe"}

    @property
    def chosen(self) -> OutputFiles:
        """The files of the selected sentences."""
        return OutputFiles(self.triplets.named("chosen"), ("pe",))

    @property
    def extra_files(self) -> Sequence[str]:
        """The two n-gram models."""
        return [f"chosen.{name}" for name in _MODELS]

    def phases(self) -> list[Phase]:
        """Return the three phases in order."""
        return [
            Phase("selection of sentences", self.chosen, self.prepare_selection),
            Phase("translation", self.candidates, self.prepare_translation, multithreaded=True),
            self.matching_phase(),
        ]

    def prepare_selection(self) -> Job:
        """Select sentences, and return the job that writes them.

        Raises:
            DataError: if the files cannot be read, or no real triplet is usable.
            RecipeError: if KenLM is needed but not installed.
        """
        source = open_aligned({"pe": located(self.text)}, self.chunk_lines)
        settings = {**self.settings("back", "forward", "mismatch", "seed"), "phase": "choose"}
        stage: Stage = _keep_all
        if self.choose < 1:
            domain = [triplet.pe for triplet in self.read_real()]
            if not domain:
                raise DataError("synth.real: has no usable triplet, so there is no domain to select sentences of")
            inside, outside = (self.chosen.named(name) for name in _MODELS)
            stage = select_sentences(
                located(self.text), source.total, domain, share=self.choose, order=self.order, models=(inside, outside)
            )
            settings["chosen"] = hashlib.sha256(stage.kept).hexdigest()

        def manifest(counts: Mapping[str, int]) -> dict[str, Any]:
            left_out = {NOT_SELECTED: counts.get(NOT_SELECTED, 0)}
            return {"made": {"triplets": counts.get("kept", 0)}, "left_out": left_out}

        return Job(source, stage, settings, manifest)

    def prepare_translation(self) -> Job:
        """Return the job that translates the selected sentences; the models are identified by their content.

        Raises:
            DataError: if the sentences cannot be read.
            PosteditError: if a model is not found or cannot be read.
        """
        source = open_aligned({"pe": self.chosen.named("pe")}, self.chunk_lines)
        models = {"back": translator_fingerprints(self.back), "forward": translator_fingerprints(self.forward)}
        known = {name: fingerprints for name, fingerprints in models.items() if fingerprints}
        settings = {**self.settings("choose", "order", *MATCHING_OPTIONS), "phase": "translate", **model_setting(known)}
        stage = Translation(self.forward, self.back)
        return Job(source, stage, settings, lambda counts: summary(counts, [BLANK, TOO_LONG]))


def _keep_all(chunk: Chunk) -> Chunk:
    return chunk.with_lines({}, {"kept": chunk.size})
