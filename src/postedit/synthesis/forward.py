"""Triplets from parallel text and a translator: src, its translation as mt, the reference as pe.

So eSCAPE was made (Negri et al. 2018), on which Pal et al. 2020, 4.1 train. What a translator writes is often much
farther from the reference than from a post-edit; where real triplets are given, those are kept that are edited alike.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from postedit.synthesis.chunk import Chunk, Stage, StageSpec
from postedit.synthesis.parallel import ParallelConfig
from postedit.synthesis.translated import with_triplets
from postedit.synthesis.translators import Translator, TranslatorConfig, open_translator


class ForwardConfig(ParallelConfig):
    """The `[synth]` section with `kind = "forward"`: triplets from parallel text and a translator."""

    kind: Literal["forward"] = Field("forward", description="which way to make triplets")
    translator: TranslatorConfig = Field(description="what translates src into mt")

    def stage(self) -> StageSpec:
        """Return what makes the stage that translates src."""
        return ForwardSpec(self.translator)


@dataclass(frozen=True, slots=True)
class ForwardSpec:
    """Makes the stage that translates src."""

    translator: TranslatorConfig

    def build(self) -> Stage:
        """Return the stage, its translator loaded."""
        return _Forward(open_translator(self.translator))


@dataclass(frozen=True, slots=True)
class _Forward:
    translator: Translator

    def __call__(self, chunk: Chunk) -> Chunk:
        src, pe = chunk.lines("src"), chunk.lines("pe")
        return with_triplets(chunk, {"src": src, "mt": self.translator.translate(src), "pe": pe})
