"""What a recipe is done in: one phase or several, each with files of its own."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postedit.synthesis.engine import Job
from postedit.synthesis.outputs import check_outputs, output_files


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the work that can be finished before the next begins.

    Args:
        name: what it does, in a few words.
        prefix: what the names of its files start with.
        sides: the sides that it writes.
        prepare: looks at the inputs, those of earlier phases among them, and returns what is to be done.
        spread: whether it is spread over all cores unless the user says otherwise; a translator has threads itself.
    """

    name: str
    prefix: Path
    sides: Sequence[str]
    prepare: Callable[[], Job]
    spread: bool = True

    def finished(self, job: Job) -> bool:
        """Return whether an earlier run has done this very job."""
        try:
            manifest: Any = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        wanted = json.loads(json.dumps({**job.identity, "input": dict(job.source.fingerprints)}))
        return isinstance(manifest, dict) and all(manifest.get(name) == value for name, value in wanted.items())

    @property
    def files(self) -> list[Path]:
        """All files that are written, those of unfinished work too."""
        return output_files(self.prefix, self.sides)

    @property
    def manifest(self) -> Path:
        """The file that appears when all others are whole."""
        return self.prefix.with_name(f"{self.prefix.name}.json")


def check_phases(phases: Sequence[Phase], *, resume: bool) -> None:
    """Find out before any work whether all files can be written, and no earlier work would be lost.

    Raises:
        OutputError: if not.
    """
    for phase in phases:
        check_outputs(phase.prefix, phase.sides, resume=resume)
