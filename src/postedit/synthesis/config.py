"""Base class of the `[synth]` sections."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator

import postedit
from postedit.core.config import Config
from postedit.core.files import prefix_problem, with_home
from postedit.data.far_outputs import unsent
from postedit.data.lines import path_problem
from postedit.data.text_paths import is_far, located, with_column
from postedit.data.triplets import Triplet, TripletFiles, check_files, read_triplets
from postedit.distributed.pipeline import Phase
from postedit.distributed.resumable_outputs import OutputFiles
from postedit.text.config import SIDES


class SynthConfig(Config):
    """A `[synth]` section; each `kind` has a subclass of its own."""

    dir: str = Field(".", description="folder that input paths are relative to, itself relative to the recipe")
    out: str = Field(description="writes OUT.src, OUT.mt, OUT.pe and OUT.json; relative to the current folder")
    seed: int = Field(1, ge=0, lt=2**63, description="random seed")
    chunk_lines: int = Field(4096, ge=1, description="lines processed together; does not change the output")

    text_columns: ClassVar[Mapping[str, str]] = {}
    """Options that name a text file, each with the column to read if it is a Parquet file."""

    @field_validator("out")
    @classmethod
    def _check_out(cls, out: str) -> str:
        if problem := prefix_problem(out):
            raise ValueError(problem)
        return out

    @property
    def place(self) -> Path:
        """The path prefix of the output files; for a URL, they are written locally first (see `far_outputs`)."""
        return located(self.out) if is_far(self.out) else with_home(self.out)

    @property
    def extra_files(self) -> Sequence[str]:
        """Names of further output files, without the prefix."""
        return ()

    @property
    def triplets(self) -> OutputFiles:
        """The files of the final triplets."""
        return OutputFiles(unsent(self.place), SIDES, self.extra_files)

    def settings(self, *unrelated: str) -> dict[str, Any]:
        """Return the options and versions that determine an output, without the options `unrelated` to it.

        If the options of later phases are left out, an output stays valid when only those change.
        """
        recipe = self.model_dump(mode="json", exclude_none=True, exclude=set(unrelated))
        return {"recipe": recipe, "versions": {"postedit": postedit.__version__}}

    def resolve(self, base: Path) -> tuple[Self, list[str]]:
        """Return this section with absolute input paths, and a list of problems; `dir` is relative to `base`."""
        name = self.dir if is_far(self.dir) else str(with_home(self.dir))
        folder = located(name, base).resolve()
        texts = {
            option: located(with_column(value, column), folder)
            for option, column in self.text_columns.items()
            if (value := getattr(self, option))
        }
        paths = {option: str(path) for option, path in texts.items()}
        resolved = self.model_copy(update={"dir": str(folder), **self.located_triplets(folder), **paths})
        triplets = resolved.triplet_inputs()
        inputs = [(f"synth.{option}", path) for option, path in texts.items()]
        inputs += [(f"{option} ({path.name})", path) for option, files in triplets for path in files.paths]
        problems = [f"{option}: {problem}" for option, path in inputs if (problem := path_problem(path))]
        problems += [f"{option}: {files.name} has no mt" for option, files in triplets if files.mt is None]
        outputs = {path.absolute().resolve() for phase in self.phases() for path in phase.files.all}
        outputs |= {self.place.with_name(f"{self.place.name}.{side}") for side in SIDES}
        problems += [
            f"synth.out: {self.out} would overwrite {path}, which is {option}; choose another name"
            for option, path in inputs
            if path.resolve() in outputs
        ]
        return resolved, [*problems, *resolved.problems()]

    # Most kinds have an option `real` that names real triplets; it may be None.

    def located_triplets(self, folder: Path) -> dict[str, Any]:
        """Return the options that name files of triplets, with paths relative to `folder` made absolute."""
        real: Sequence[TripletFiles] | None = getattr(self, "real", None)
        return {"real": [files.under(folder) for files in real]} if real else {}

    def triplet_inputs(self) -> Sequence[tuple[str, TripletFiles]]:
        """Return the files of triplets that are read, each with its option."""
        return [("synth.real", files) for files in getattr(self, "real", None) or ()]

    def read_real(self) -> Iterator[Triplet]:
        """Check the files of the real triplets, and return an iterator over the triplets.

        Raises:
            DataError: if they cannot be read.
        """
        for _, files in self.triplet_inputs():
            check_files(files)
        return read_triplets([files for _, files in self.triplet_inputs()])

    def problems(self) -> list[str]:
        """Return problems that do not concern input and output files."""
        return []

    @abstractmethod
    def phases(self) -> list[Phase]:
        """Return the phases in order; the last one writes the triplets."""
