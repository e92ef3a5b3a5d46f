"""Progress reports of a run, on the console and in the log."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from postedit.core.wording import counted, duration
from postedit.train.config import TrainConfig
from postedit.train.optimisers import learning_rate
from postedit.train.run_log import Display, RunLog
from postedit.train.train_state import TrainState, ValidatedModel
from postedit.train.update import Totals


class Report:
    """Reports training and validation, and measures the speed.

    Args:
        folder: the run folder; None in all processes except the main one, which alone writes.
        display: the console.
        config: the `[train]` section.
        state: the state in which the run starts or resumes.
        corpus_size: triplets in an epoch.
    """

    def __init__(
        self, folder: Path | None, display: Display, config: TrainConfig, state: TrainState, corpus_size: int
    ) -> None:
        self._log = None if folder is None else RunLog(folder, state.step, state.validated)
        self._display, self._config, self._corpus_size = display, config, corpus_size
        self._sums = Totals()
        self._since = perf_counter()
        self._first = (state.step, state.seconds)

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()

    def add(self, totals: Totals) -> None:
        """Add the sums of more updates to the next report."""
        self._sums = self._sums.plus(totals)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        """Exclude the time of the block from the speed of training."""
        started = perf_counter()
        try:
            yield
        finally:
            self._since += perf_counter() - started

    def between(self, state: TrainState) -> None:
        """Update the progress line of a terminal between two lines of the log."""
        if self._display.is_live and self._sums.tokens > 0.0:
            self._show(state, self._measure(state))

    def training(self, state: TrainState) -> None:
        """Report the updates since the last call."""
        if self._sums.tokens == 0.0:  # a resumed run is at a step that was reported before
            return
        values = self._measure(state)
        self._show(state, values)
        self._sums, self._since = Totals(), perf_counter()
        speed, padding = round(values["tokens_per_second"], 1), round(values["padding"], 4)
        self._write("train", state, {**values, "tokens_per_second": speed, "padding": padding})

    def validation(self, state: TrainState, scored: ValidatedModel, improved: bool) -> None:
        """Report a validation."""
        scores = ", ".join(f"{name} {value:.3f}" for name, value in scored.metrics.items())
        verdict = "the best so far" if improved else f"no better for {counted(state.stale, 'validation')}"
        self._display.say(f"step {state.step:,} · dev {scores} · {verdict}")
        self._write("dev", state, {f"dev_{name}": value for name, value in scored.metrics.items()} | {"best": improved})

    def _write(self, group: str, state: TrainState, values: Mapping[str, float]) -> None:
        if self._log is not None:
            place = {"step": state.step, "epoch": state.position.epoch, "seconds": round(state.seconds, 3)}
            self._log.write(group, {**place, **values})

    def _measure(self, state: TrainState) -> dict[str, float]:
        """Return the values of a training line, by the names that `RunLog` lists."""
        sums = self._sums
        values = {
            "loss": sums.loss / sums.tokens,
            "nll": sums.nll / sums.tokens,
            "lr": learning_rate(self._config, state.step, state.plateau),
            "grad_norm": sums.norm,
            "tokens_per_second": sums.tokens / (perf_counter() - self._since),
            "padding": sums.padding / sums.positions,
        }
        return values | {"risk": sums.risk / sums.tokens} if self._config.has_risk else values

    def _show(self, state: TrainState, values: Mapping[str, float]) -> None:
        done, remaining = self._outlook(state)
        risk = f" · risk {values['risk']:.3f}" if "risk" in values else ""
        self._display.show(
            f"step {state.step:,} · loss {values['loss']:.3f}{risk} · "
            f"{values['tokens_per_second']:,.0f} target tokens/s · {values['padding']:.1%} padding · "
            f"lr {values['lr']:.2e} · {duration(remaining)} left",
            done,
        )

    def _outlook(self, state: TrainState) -> tuple[float, float]:
        """Return the share of the run that is done, and an estimate of the remaining seconds."""
        config, (first_step, first_seconds) = self._config, self._first
        seconds_a_step = (state.seconds - first_seconds) / max(state.step - first_step, 1)
        shares, remaining = [], []
        if config.max_steps is not None:
            shares.append(state.step / config.max_steps)
            remaining.append((config.max_steps - state.step) * seconds_a_step)
        if config.max_epochs is not None:
            epochs = state.position.epoch + state.position.seen / max(self._corpus_size, 1)
            shares.append(epochs / config.max_epochs)
            remaining.append((config.max_epochs / epochs - 1.0) * state.step * seconds_a_step)
        if config.max_minutes is not None:
            shares.append(state.seconds / (60.0 * config.max_minutes))
            remaining.append(60.0 * config.max_minutes - state.seconds)
        return min(max(shares), 1.0), max(min(remaining), 0.0)
