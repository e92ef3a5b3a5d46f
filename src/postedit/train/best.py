"""The best models of a run on dev, kept as weights to choose from and to average at the end."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from torch import nn

from postedit.core.files import explain_os_errors
from postedit.core.tensor_files import model_tensors, save_json, save_tensors
from postedit.train.train_state import Scored


def rank(candidates: Iterable[Scored], keep: int, higher_is_better: bool) -> tuple[Scored, ...]:
    """Return the best `keep` candidates, best first; of equal scores the earlier comes first, a NaN never counts."""
    comparable = [candidate for candidate in candidates if candidate.score == candidate.score]
    sign = -1.0 if higher_is_better else 1.0
    return tuple(sorted(comparable, key=lambda scored: (sign * scored.score, scored.step))[:keep])


class BestWeights:
    """A folder with the weights of the best models: `step-00001000.safetensors` and `best.json`.

    A file that fell out of the best is removed only when no checkpoint names it any more, as a run that resumes
    from that checkpoint would miss it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def average(self) -> Path:
        """The file of the averaged weights."""
        return self.folder / "average.safetensors"

    def path(self, scored: Scored) -> Path:
        """Return the file of weights of `scored`."""
        return self.folder / scored.file_name

    def save(self, scored: Scored, model: nn.Module) -> None:
        """Write the weights of `scored`.

        Raises:
            OutputError: if they cannot be written, or the disk is full.
        """
        with explain_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        save_tensors(self.path(scored), model_tensors(model))

    def write_list(self, best: Iterable[Scored], metric: str) -> None:
        """Write `best.json`: which files are the best now, best first, with their scores.

        Raises:
            OutputError: if it cannot be written, or the disk is full.
        """
        entries = [asdict(scored) | {"file": scored.file_name} for scored in best]
        save_json(self.folder / "best.json", {"metric": metric, "best": entries})

    def remove_all_but(self, needed: Iterable[Scored]) -> None:
        """Remove the weights of every model that is not in `needed`, and what a kill left half written."""
        names = {scored.file_name for scored in needed}
        for path in [*self.folder.glob("step-*.safetensors"), *self.folder.glob(".step-*.tmp")]:
            if path.name not in names:
                path.unlink(missing_ok=True)
