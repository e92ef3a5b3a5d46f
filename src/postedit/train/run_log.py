"""Records of a run: the progress line on the console, `log.jsonl`, and TensorBoard event files."""

import json
import threading
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from torch.utils.tensorboard.writer import SummaryWriter

from postedit.core.files import atomic_write, explain_os_errors


class RunLog:
    """The log of a run: `log.jsonl`, with one JSON object per line, and TensorBoard event files.

    All lines have `step`, `epoch` and `seconds` (of the whole run). Training lines add `loss` and `nll` (nats per
    label), `lr`, `grad_norm`, `tokens_per_second`, `padding` (share of padding in the batches of the main process) and,
    with minimum risk training, `risk` (expected cost). Validation lines add `best` and the dev scores, named
    `dev_...`. Numbers that are not finite are null.

    Args:
        folder: the run folder.
        step: step at which the run starts or resumes. Later records are removed, because a resumed run repeats them.
        validated: step of the last validation of the run. A later validation at `step`, such as the one at the end
            of a run, is removed from `log.jsonl` too: a resumed run repeats it, and a longer run would not have it.

    Raises:
        OutputError: if the folder cannot be written, or the disk is full; `write` and `close` raise it too.
    """

    def __init__(self, folder: Path, step: int, validated: int) -> None:
        self.path = folder / "log.jsonl"
        self._trim(step, validated)
        with explain_os_errors(self.path):
            self._file = self.path.open("a", encoding="utf-8", newline="\n")
            self._print_failure, threading.excepthook = threading.excepthook, self._leave_to_main_thread
            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, group: str, values: Mapping[str, float]) -> None:
        """Record `values`, among them `step`; TensorBoard shows them under `group`."""
        with explain_os_errors(self.path):
            finite = {name: value if isfinite(value) else None for name, value in values.items()}
            self._file.write(json.dumps(finite, allow_nan=False) + "\n")
            self._file.flush()
            step = int(values["step"])
            for name, value in values.items():
                if name not in {"step", "best"}:
                    self._board.add_scalar(f"{group}/{name.removeprefix('dev_')}", value, step)

    def close(self) -> None:
        """Flush and close the files."""
        with explain_os_errors(self.path):
            self._file.close()
            self._board.close()
            threading.excepthook = self._print_failure

    def _leave_to_main_thread(self, failure: threading.ExceptHookArgs) -> None:
        """Print the failure of a thread, unless it is TensorBoard's writer, whose failure the main thread raises."""
        if type(failure.thread).__name__ != "_AsyncWriterThread":
            self._print_failure(failure)

    def _trim(self, step: int, validated: int) -> None:
        if not self.path.exists():
            return
        lines = self.path.read_text("utf-8", errors="replace").split("\n")
        kept = [line for line in lines if _is_before(line, step, validated)]
        with atomic_write(self.path) as file:
            file.writelines(f"{line}\n" for line in kept)


def _is_before(line: str, step: int, validated: int) -> bool:
    """Return whether a line of the log was written before a run reached this state; False for a truncated line."""
    try:
        values = json.loads(line)
        at: float = values["step"]
        return at < step or (at == step and ("best" not in values or validated >= step))
    except (ValueError, KeyError, TypeError):  # a kill truncated the line
        return False


class Display:
    """Progress on a console: one line that is updated on a terminal, plain lines elsewhere.

    Args:
        console: receives the progress.
        enabled: False in all processes except the main one.
    """

    def __init__(self, console: Console, enabled: bool) -> None:
        self.console, self.enabled = console, enabled
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> "Display":
        if self.enabled and self.console.is_terminal:
            columns = (BarColumn(bar_width=20), TextColumn("{task.description}"))
            self._progress = Progress(*columns, console=self.console, transient=True)
            self._task = self._progress.add_task("the first steps", total=None)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def is_live(self) -> bool:
        """Whether the progress line can be updated in place."""
        return self._progress is not None

    def show(self, line: str, done: float) -> None:
        """Show the progress of training; `done` is the share of the run that is done, 0 to 1."""
        if self._progress is not None:
            self._progress.update(self._task, description=line, completed=done, total=1.0)
        else:
            self.say(line)

    def say(self, text: str) -> None:
        """Print a line that later progress does not replace."""
        if self.enabled:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
