"""Triplets made of parallel text, whatever makes mt: src and pe are given, and of what comes out some may be chosen."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field

from postedit.data.lines import path_problem
from postedit.data.text_paths import located
from postedit.synthesis.choice import prepare_fit
from postedit.synthesis.chunk import StageSpec
from postedit.synthesis.engine import Job
from postedit.synthesis.phase import Phase
from postedit.synthesis.source import open_aligned
from postedit.synthesis.tally import describe
from postedit.synthesis.translated import BLANK, OF_CHOICE, SIDES, TranslatedConfig, identity


class ParallelConfig(TranslatedConfig):
    """What the sections say that make triplets of parallel text."""

    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their translations by people, line by line; they become the post-edits")
    out: str = Field(
        description="OUT.src, OUT.mt, OUT.pe and OUT.json are written, and with real triplets OUT.translated on the way"
    )
    work: ClassVar[str] = "translation"
    """What messages call the making of mt."""
    left_out: ClassVar[Sequence[str]] = (BLANK,)
    """Reasons for which a line may give no triplet."""
    later: ClassVar[Sequence[str]] = OF_CHOICE
    """Options that do not concern how mt is made."""

    @abstractmethod
    def stage(self) -> StageSpec:
        """Return what makes the stage that adds mt to chunks of src and pe."""

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
        """Return what is to be done: mt is made for all, and of that some may be chosen."""
        if not self.real:
            return [Phase(self.work, self.prefix, SIDES, self.prepare, spread=False)]
        return [
            Phase(self.work, self.translated, SIDES, self.prepare, spread=False),
            Phase("choice of triplets", self.prefix, SIDES, lambda: prepare_fit(self)),
        ]

    def prepare(self) -> Job:
        """Look at the inputs and return what is to be done.

        Raises:
            DataError: if inputs cannot be read, or their lines are unequally many.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        return Job(source, self.stage(), SIDES, self.said(), lambda counts: describe(counts, self.left_out))

    def said(self) -> dict[str, Any]:
        """Return what determines the triplets besides the texts they are made from."""
        return identity(self, *self.later)
