"""A run's account of itself: keeps the clock, and tells the console and the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from postedit.train.config import TrainConfig
from postedit.train.run_log import Display, RunLog, Speed
from postedit.train.train_state import Scored, TrainState
from postedit.train.update import Totals


class Report:
    """Tells how training goes.

    Args:
        folder: of the run; None in all processes but the main one, which alone writes.
        display: the console.
        config: for when the run ends.
        state: of the run at its start, or where it resumes.
        corpus_size: triplets in an epoch.
    """

    def __init__(
        self, folder: Path | None, display: Display, config: TrainConfig, state: TrainState, corpus_size: int
    ) -> None:
        self._log = None if folder is None else RunLog(folder, state.step)
        self._display = display
        self._config = config
        self._corpus_size = corpus_size
        self._sums = Totals()
        self._since = perf_counter()
        self._first = (state.step, state.seconds)

    def add(self, totals: Totals) -> None:
        """Add the sums of some more updates to what the next line tells."""
        self._sums = self._sums.plus(totals)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        """Do not count the time of the block in the speed of training."""
        started = perf_counter()
        try:
            yield
        finally:
            self._since += perf_counter() - started

    def between(self, state: TrainState, rate: float) -> None:
        """Renew the line of a terminal between two lines of the log."""
        if self._display.is_live and self._sums.tokens > 0.0:
            self._display.show(self._speed(state, rate))

    def training(self, state: TrainState, rate: float) -> None:
        """Tell of the updates since the last call; `rate` is the learning rate of the last."""
        sums = self._sums
        if sums.tokens == 0.0:  # a resumed run stands at a step that was told of before
            return
        speed = self._speed(state, rate)
        self._display.show(speed)
        self._sums, self._since = Totals(), perf_counter()
        values = {
            "loss": speed.loss,
            "nll": sums.nll / sums.tokens,
            "lr": rate,
            "grad_norm": sums.norm,
            "tokens_per_second": round(speed.tokens_per_second, 1),
            "padding": round(speed.padding, 4),
        }
        self._write("train", state, values if speed.risk is None else values | {"risk": speed.risk})

    def validation(self, state: TrainState, scored: Scored, improved: bool) -> None:
        """Tell of a validation."""
        scores = ", ".join(f"{name} {value:.3f}" for name, value in scored.metrics.items())
        verdict = "the best so far" if improved else f"no better for {state.stale} validations"
        self._display.say(f"step {state.step:,} · dev {scores} · {verdict}")
        self._write("dev", state, {f"dev_{name}": value for name, value in scored.metrics.items()} | {"best": improved})

    def __enter__(self) -> "Report":
        return self

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()

    def _write(self, group: str, state: TrainState, values: dict[str, float]) -> None:
        if self._log is not None:
            place = {"step": state.step, "epoch": state.position.epoch, "seconds": round(state.seconds, 3)}
            self._log.write(group, place | values)

    def _speed(self, state: TrainState, rate: float) -> Speed:
        sums = self._sums
        done, remaining = self._outlook(state)
        tokens_per_second = sums.tokens / (perf_counter() - self._since)
        risk = sums.risk / sums.tokens if self._config.has_risk else None
        padding = sums.padding / sums.places
        return Speed(state.step, sums.loss / sums.tokens, risk, tokens_per_second, padding, rate, done, remaining)

    def _outlook(self, state: TrainState) -> tuple[float | None, float | None]:
        """Return the share of the run that is done, and the seconds that remain, as far as they can be told."""
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
        return (min(max(shares), 1.0), max(min(remaining), 0.0)) if shares else (None, None)
