"""What all triplets have in common that a translator makes: their sides, their counts, and likeness to real ones."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

import postedit
from postedit.core.config import Config
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, TripletFiles, check_files, read_triplets
from postedit.synthesis.chunk import Chunk
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.tally import blank, tally

SIDES: Final = ("src", "mt", "pe")
BLANK: Final = "blank on a side"


def _as_list(value: Any) -> Any:
    return value if value is None or isinstance(value, list | tuple) else [value]


RealTriplets = Annotated[list[TripletFiles], BeforeValidator(_as_list)]

OF_CHOICE: Final = ("real", "mismatch", "seed")
"""Options that concern the choice of triplets alone."""


class TranslatedConfig(SynthConfig):
    """What both kinds of sections say that have something translated."""

    real: RealTriplets = Field([], description="real triplets, named as in `[data]`, that those made shall be like")
    mismatch: float = Field(
        0.1, gt=0, le=1,
        description="how far the joint histogram of length and edit rate may be from the real one (total variation "
        "distance); 1 keeps all triplets",
    )  # fmt: skip
    seed: int = Field(1, ge=0, lt=2**63, description="another seed keeps other triplets")
    chunk_lines: int = Field(
        1000, ge=1, description="lines that are translated together; what an interruption costs at most"
    )

    @property
    def translated(self) -> Path:
        """What the names of all triplets' files start with, before some are chosen of them."""
        return self.prefix.with_name(f"{self.prefix.name}.translated")

    def real_inputs(self) -> dict[str, Path]:
        """Return the files of the real triplets, by what messages call them."""
        return {f"synth.real ({path.name})": path for files in self.real for path in files.paths}

    def real_problems(self) -> list[str]:
        """Return what is wrong with the real triplets, besides files that cannot be read."""
        if not self.real and "mismatch" in self.model_fields_set:
            return [
                "synth.mismatch: from what? Name real triplets in synth.real, or leave it out to keep all that are made"
            ]
        return [f"synth.real: {files.name} has no mt" for files in self.real if files.mt is None]

    def read_real(self) -> Iterator[Triplet]:
        """Yield the real triplets.

        Raises:
            DataError: if they cannot be read.
        """
        for files in self.real:
            check_files(files)
        return read_triplets(self.real, DataReport())


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


def identity(config: Config, *others: str) -> dict[str, Any]:
    """Return what determines triplets besides the texts they are made from.

    Args:
        config: the section.
        others: options that concern later phases alone, so that what is done stays done when they change.
    """
    return {
        "recipe": config.model_dump(mode="json", exclude_none=True, exclude=set(others)),
        "versions": {"postedit": postedit.__version__},
    }
