"""COMET and xCOMET, computed by the `comet-score` command of unbabel-comet.

The command runs as a separate program, because it needs other versions of libraries and loads pickles.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from postedit.core.errors import PosteditError

COMMAND: Final = "comet-score"


class UnavailableError(PosteditError):
    """A metric cannot be computed here; the message says why."""


@dataclass(frozen=True, slots=True)
class Comet:
    """A COMET model, given by a name such as "Unbabel/wmt22-comet-da" or by the path of a checkpoint."""

    model: str

    def score(self, systems: Sequence[Sequence[str]], src: Sequence[str], pe: Sequence[str]) -> list[float]:
        """Return the score of each system, given its outputs: the mean over sentences, on the scale of the model.

        Raises:
            UnavailableError: if the command is not installed or fails, for example because the model is missing.
        """
        import torch

        command = shutil.which(COMMAND)
        if command is None:
            raise UnavailableError(f"the command {COMMAND} is not there; install unbabel-comet and put it on the PATH")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            outputs = [_write(folder / f"system{index}", lines) for index, lines in enumerate(systems)]
            sides = ["-s", _write(folder / "src", src), "-r", _write(folder / "pe", pe)]
            result = folder / "scores.json"
            gpus = str(int(torch.cuda.is_available()))  # the command expects a GPU by default
            options = ["--model", self.model, "--gpus", gpus, "--quiet", "--to_json", str(result)]
            arguments = [command, *sides, "-t", *outputs, *options]
            done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode or not result.exists():
                lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
                raise UnavailableError(f"{COMMAND} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
            scores = json.loads(result.read_text(encoding="utf-8"))
            return [fmean(row["COMET"] for row in scores[output]) for output in outputs]


def _write(path: Path, lines: Sequence[str]) -> str:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line.replace("\r", " ") + "\n" for line in lines)
    return str(path)
