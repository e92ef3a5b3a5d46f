"""Triplets from parallel text and a translator: src, its translation as mt, the reference as pe.

So eSCAPE was made (Negri et al. 2018), on which Pal et al. 2020, 4.1 train. What a translator writes is often much
farther from the reference than from a post-edit; where real triplets are given, those are kept that are edited alike.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from postedit.data.lines import path_problem
from postedit.data.location import located
from postedit.synthesis.choice import prepare_fit
from postedit.synthesis.chunk import Chunk, Stage
from postedit.synthesis.engine import Job
from postedit.synthesis.phase import Phase
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tally import describe
from postedit.synthesis.translated import BLANK, OF_CHOICE, SIDES, TranslatedConfig, identity, with_triplets
from postedit.synthesis.translators import Translator, TranslatorConfig, open_translator


class ForwardConfig(TranslatedConfig):
    """The `[synth]` section with `kind = "forward"`: triplets from parallel text and a translator."""

    kind: Literal["forward"] = Field("forward", description="which way to make triplets")
    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their translations by people, line by line; they become the post-edits")
    translator: TranslatorConfig = Field(description="what translates src into mt")
    out: str = Field(
        description="OUT.src, OUT.mt, OUT.pe and OUT.json are written, and with real triplets OUT.translated on the way"
    )

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with the files."""
        folder = self.folder(base)
        paths = {side: str(self.input(side, folder, side)) for side in ("src", "pe")}
        real = [files.under(folder) for files in self.real]
        resolved = self.model_copy(update={"dir": str(folder), "real": real, **paths})
        inputs = {f"synth.{side}": located(path) for side, path in paths.items()} | resolved.real_inputs()
        problems = [f"{option}: {found}" for option, path in inputs.items() if (found := path_problem(path))]
        return resolved, problems + resolved.real_problems() + self.overwritten(inputs)

    def phases(self) -> list[Phase]:
        """Return what is to be done: all is translated, and of that some may be chosen."""
        if not self.real:
            return [Phase("translation", self.prefix, SIDES, self.prepare, spread=False)]
        return [
            Phase("translation", self.translated, SIDES, self.prepare, spread=False),
            Phase("choice of triplets", self.prefix, SIDES, lambda: prepare_fit(self)),
        ]

    def prepare(self) -> Job:
        """Look at the inputs and return what is to be done.

        Raises:
            DataError: if inputs cannot be read, or their lines are unequally many.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        return Job(
            source,
            ForwardSpec(self.translator),
            SIDES,
            identity(self, *OF_CHOICE),
            lambda counts: describe(counts, [BLANK]),
        )


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
