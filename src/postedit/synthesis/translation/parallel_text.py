"""Triplets from parallel text: src and pe are given, and a translator makes mt from src.

eSCAPE was made this way (Negri et al. 2018); Pal et al. (2020, section 4.1) train on it. Such a translation is often
much farther from the reference than from a post-edit, so triplets can be selected to match real ones.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from postedit.data.text_paths import located
from postedit.distributed.chunks import Chunk, Stage, open_aligned
from postedit.distributed.pipeline import Job, Phase
from postedit.synthesis.selection.histogram_matching import MatchingConfig
from postedit.synthesis.translation.translators import Translator, TranslatorConfig, open_translator
from postedit.synthesis.triplet_counts import BLANK, summary, triplet_chunk

MATCHING_OPTIONS: Final = ("real", "mismatch", "seed")
"""Options that affect the selection of triplets only."""


class ParallelTextConfig(MatchingConfig):
    """Options of the sections that make triplets from parallel text."""

    src: str = Field(description="file of source sentences")
    pe: str = Field(description="file of their human translations, line by line; they become the post-edits")
    out: str = Field(
        description="writes OUT.src, OUT.mt, OUT.pe and OUT.json; with real triplets, also OUT.translated.*"
    )

    text_columns: ClassVar[Mapping[str, str]] = {"src": "src", "pe": "pe"}
    phase_name: ClassVar[str] = "translation"
    """Name of the phase that makes mt."""
    left_out: ClassVar[Sequence[str]] = (BLANK,)
    """Counts of lines that give no triplet."""
    later_options: ClassVar[Sequence[str]] = MATCHING_OPTIONS
    """Options that do not affect mt."""

    @abstractmethod
    def stage(self) -> Stage:
        """Return the stage that adds mt to chunks of src and pe."""

    def phases(self) -> list[Phase]:
        """Return the phase that makes mt and, with real triplets, the one that selects among its output."""
        if not self.real:
            return [Phase(self.phase_name, self.triplets, self.prepare, multithreaded=True)]
        first = Phase(self.phase_name, self.candidates, self.prepare, multithreaded=True)
        return [first, self.matching_phase()]

    def prepare(self) -> Job:
        """Read the inputs and return the job that makes mt.

        Raises:
            DataError: if inputs cannot be read or differ in length.
        """
        source = open_aligned({"src": located(self.src), "pe": located(self.pe)}, self.chunk_lines)
        return Job(source, self.stage(), self.job_settings(), lambda counts: summary(counts, self.left_out))

    def job_settings(self) -> dict[str, Any]:
        """Return the settings that determine mt."""
        return self.settings(*self.later_options)


class ForwardConfig(ParallelTextConfig):
    """The `[synth]` section with `kind = "forward"`: triplets from parallel text and a translator."""

    kind: Literal["forward"] = Field("forward", description="how triplets are made")
    translator: TranslatorConfig = Field(description="translates src into mt")

    def stage(self) -> Stage:
        """Return the stage that translates src."""
        return ForwardTranslation(self.translator)


@dataclass(frozen=True)
class ForwardTranslation:
    """A stage that translates src into mt."""

    config: TranslatorConfig

    @cached_property
    def _translator(self) -> Translator:
        return open_translator(self.config)

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        src = chunk.lines("src")
        return triplet_chunk(chunk, src, self._translator.translate(src), chunk.lines("pe"))
