"""What a run shows and writes while it goes: a line of progress, `log.jsonl`, TensorBoard."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from torch.utils.tensorboard.writer import SummaryWriter

from postedit.core.files import atomic_write, explain_os_errors

Value = int | float | bool


class RunLog:
    """The records of a run: `log.jsonl`, one JSON object a line, and TensorBoard event files.

    Lines of training hold `step`, `epoch`, `seconds` (of the whole run), `loss` and `nll` (nats per label), `lr`,
    `grad_norm`, `tokens_per_second`, `padding` (share of the batches of the main process that holds no token) and, with
    minimum risk training, `risk` (expected cost); lines of validation `step`, `epoch`, `seconds`, `best` and the dev
    scores, named `dev_...`. What is not a finite number is null.

    Args:
        folder: of the run.
        step: what is recorded after this step is removed: a resumed run records those steps anew.

    Raises:
        OutputError: if the folder cannot be written.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / "log.jsonl"
        self._trim(step)
        with explain_os_errors(self.path):
            self._file = self.path.open("a", encoding="utf-8", newline="\n")
            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, group: str, values: Mapping[str, Value]) -> None:
        """Record `values`, among them `step`; TensorBoard shows them under `group`.

        Raises:
            OutputError: if they cannot be written, or the disk is full.
        """
        with explain_os_errors(self.path):
            finite = {name: value if isfinite(value) else None for name, value in values.items()}
            self._file.write(json.dumps(finite, allow_nan=False) + "\n")
            self._file.flush()
            step = int(values["step"])
            for name, value in values.items():
                if name not in {"step", "best"}:
                    self._board.add_scalar(f"{group}/{name.removeprefix('dev_')}", value, step)

    def close(self) -> None:
        """Write what is not on the disk yet, and close the files.

        Raises:
            OutputError: if it cannot be written, or the disk is full.
        """
        with explain_os_errors(self.path):
            self._file.close()
            self._board.close()

    def _trim(self, step: int) -> None:
        if not self.path.exists():
            return
        lines = self.path.read_text("utf-8", errors="replace").split("\n")
        kept = [line for line in lines if _step_of(line) <= step]
        with atomic_write(self.path) as file:
            file.writelines(f"{line}\n" for line in kept)


def _step_of(line: str) -> float:
    """Return the step of a line of the log; infinity for a line that a kill cut short."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


@dataclass(frozen=True, slots=True)
class Speed:
    """What the line of progress shows.

    Args:
        step: updates done.
        loss: per label, in nats.
        risk: expected cost, where it is minimised.
        tokens_per_second: labels learnt from per second.
        padding: share of the batches that holds no token, 0 to 1.
        lr: learning rate.
        done: share of the run that is done, 0 to 1, or None if its end is unknown.
        remaining: seconds to the end, or None.
    """

    step: int
    loss: float
    risk: float | None
    tokens_per_second: float
    padding: float
    lr: float
    done: float | None
    remaining: float | None

    def __str__(self) -> str:
        eta = "" if self.remaining is None else f" · {duration(self.remaining)} left"
        risk = "" if self.risk is None else f" · risk {self.risk:.3f}"
        return (
            f"step {self.step:,} · loss {self.loss:.3f}{risk} · {self.tokens_per_second:,.0f} target tokens/s"
            f" · {self.padding:.1%} padding · lr {self.lr:.2e}{eta}"
        )


class Display:
    """Progress on a console: one line that is renewed on a terminal, plain lines elsewhere.

    Args:
        console: where to show it.
        enabled: False in all processes but the main one.
    """

    def __init__(self, console: Console, enabled: bool) -> None:
        self.console = console
        self.enabled = enabled
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> "Display":
        if self.enabled and self.console.is_terminal:
            columns = (BarColumn(bar_width=20), TextColumn("{task.description}"))
            self._progress = Progress(*columns, console=self.console, transient=True)
            self._task = self._progress.add_task("the first steps", total=None)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def is_live(self) -> bool:
        """Whether there is a line that can be renewed as often as one likes."""
        return self._progress is not None

    def show(self, speed: Speed) -> None:
        """Show how training goes."""
        if self._progress is not None:
            total = None if speed.done is None else 1.0
            self._progress.update(self._task, description=str(speed), completed=speed.done or 0.0, total=total)
        else:
            self.say(str(speed))

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self.enabled:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Return `seconds` as a person says them: `42 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
