"""What the `[synth]` sections of all kinds have in common."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator

from postedit.core.config import Config
from postedit.core.files import prefix_problem
from postedit.data.text_paths import is_far, located, with_column
from postedit.synthesis.phase import Phase


class SynthConfig(Config):
    """A `[synth]` section; each kind of it is a class of its own."""

    dir: str = Field(".", description="folder that the paths of inputs start from, itself relative to the recipe's")
    out: str = Field(description="OUT.src, OUT.mt, OUT.pe and OUT.json are written; relative to the current folder")
    seed: int = Field(1, ge=0, lt=2**63, description="another seed gives other triplets")
    chunk_lines: int = Field(4096, ge=1, description="lines that are worked on together; changes no output")

    @field_validator("out")
    @classmethod
    def _begins_names(cls, out: str) -> str:
        if problem := prefix_problem(out):
            raise ValueError(problem)
        return out

    @property
    def prefix(self) -> Path:
        """What the names of the outputs start with."""
        return Path(self.out).expanduser()

    def folder(self, base: Path) -> Path:
        """Return where the paths of inputs start from, if `dir` is relative to `base`."""
        name = self.dir if is_far(self.dir) else str(Path(self.dir).expanduser())
        return located(name, base).resolve()

    def input(self, option: str, folder: Path, column: str) -> Path:
        """Return the path of the input that an option names; of a Parquet file, unless it says another, that column."""
        return located(with_column(getattr(self, option), column), folder)

    @property
    def kept(self) -> Sequence[str]:
        """What the names of further files that are written end with, after the prefix and a point."""
        return ()

    def overwritten(self, inputs: Mapping[str, Path]) -> list[str]:
        """Return a problem for each of the inputs, named by their options, that an output would replace."""
        outputs = {path.absolute().resolve() for phase in self.phases() for path in phase.files}
        outputs |= {Path(f"{self.prefix.absolute()}.{name}").resolve() for name in self.kept}
        return [
            f"synth.out: {self.out} would overwrite {path}, which is {option}; choose another name"
            for option, path in inputs.items()
            if path.resolve() in outputs
        ]

    @abstractmethod
    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with the paths of inputs made absolute against `base`, and what is wrong with them."""

    @abstractmethod
    def phases(self) -> list[Phase]:
        """Return what is to be done, in order; the last phase writes the triplets."""
