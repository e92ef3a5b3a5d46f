"""Triplets from parallel text and a translator: src, its translation as mt, the reference as pe.

So eSCAPE was made (Negri et al. 2018), on which Pal et al. 2020, 4.1 train.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import Field

import postedit
from postedit.core.config import Config
from postedit.data.lines import path_problem
from postedit.data.location import located
from postedit.synthesis.chunk import Chunk, Stage
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.engine import Job
from postedit.synthesis.phase import Phase
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tally import blank, describe, tally
from postedit.synthesis.translators import Translator, TranslatorConfig, open_translator

SIDES: Final = ("src", "mt", "pe")
BLANK: Final = "blank on a side"


class ForwardConfig(SynthConfig):
    """The `[synth]` section with `kind = "forward"`: triplets from parallel text and a translator."""

    kind: Literal["forward"] = Field("forward", description="which way to make triplets")
    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their translations by people, line by line; they become the post-edits")
    translator: TranslatorConfig = Field(description="what translates src into mt")
    chunk_lines: int = Field(
        1000, ge=1, description="lines that are translated together; what an interruption costs at most"
    )

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute, and what is wrong with the files."""
        folder = self.folder(base)
        paths = {side: self.input(side, folder, side) for side in ("src", "pe")}
        inputs = {f"synth.{side}": path for side, path in paths.items()}
        problems = [f"{option}: {found}" for option, path in inputs.items() if (found := path_problem(path))]
        resolved = self.model_copy(update={"dir": str(folder), **{side: str(path) for side, path in paths.items()}})
        return resolved, problems + self.overwritten(inputs)

    def phases(self) -> list[Phase]:
        """Return the one thing to be done."""
        return [Phase("translation", self.prefix, SIDES, self.prepare, spread=False)]

    def prepare(self) -> Job:
        """Look at the inputs and return what is to be done.

        Raises:
            DataError: if inputs cannot be read, or their lines are unequally many.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        return Job(
            source, ForwardSpec(self.translator), SIDES, identity(self), lambda counts: describe(counts, [BLANK])
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


def with_triplets(chunk: Chunk, texts: Mapping[str, list[str]]) -> Chunk:
    """Return the chunk with these triplets, but for those with a blank side, and what is to be counted of them."""
    left_out = blank(*texts.values())
    kept = {side: [text for text, out in zip(lines, left_out) if not out] for side, lines in texts.items()}
    counts = tally(kept["mt"], kept["pe"])
    counts[BLANK] = int(left_out.sum())
    made = replace(chunk, sides={}, counts=dict(counts))
    for side, lines in kept.items():
        made = made.with_lines(side, lines)
    return made


def identity(config: Config) -> dict[str, Any]:
    """Return what determines triplets besides the texts they are made from."""
    return {
        "recipe": config.model_dump(mode="json", exclude_none=True),
        "versions": {"postedit": postedit.__version__},
    }
