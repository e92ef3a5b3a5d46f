"""Model selection: which models of a run are kept, and which of them is exported, by their scores on dev."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from accelerate import Accelerator

from postedit.core.errors import TrainingError
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_model_tensors, load_tensors, save_tensors
from postedit.train.averaging import average_weights
from postedit.train.best import BestWeights, rank
from postedit.train.config import TrainConfig
from postedit.train.train_state import Scored, TrainState
from postedit.train.validation import Validator


@dataclass(frozen=True, slots=True)
class Choice:
    """The model of a run that is exported in the end.

    Args:
        single: the best single model.
        average: the average of the best or last models; None if there was nothing to average.
        exported: the better one of the two.
    """

    single: Scored
    average: Scored | None
    exported: Literal["single", "average"]


class ModelSelection:
    """Validates models of a run, keeps the weights of the best, and exports them.

    Args:
        validator: scores a model on dev.
        config: the `[train]` section.
        best: the folder of the weights that are kept.
        export: writes the model folder of the run; called in the main process only.
        breakable: a context within which a signal may break validation off.
        accelerator: the device and the other processes.
    """

    def __init__(
        self,
        validator: Validator,
        config: TrainConfig,
        best: BestWeights,
        export: Callable[[Seq2Seq], None],
        breakable: Callable[[], AbstractContextManager[None]],
        accelerator: Accelerator,
    ) -> None:
        self._validator, self._config, self._best = validator, config, best
        self._export, self._breakable, self._accelerator = export, breakable, accelerator

    def validate(self, model: Seq2Seq, step: int) -> Scored:
        """Return a model of that step with its scores.

        Raises:
            KeyboardInterrupt: if a signal broke it off.
        """
        with self._breakable():
            metrics = self._validator.validate(model)
        name = "nll" if self._config.metric == "loss" else self._config.metric
        if name not in metrics:
            raise ValueError(f"score_dev must return the metric {name}; it returned {', '.join(metrics)}")
        return Scored(step, metrics[name], metrics)

    def take_up(self, scored: Scored, model: Seq2Seq, state: TrainState) -> bool:
        """Draw the conclusions of a validation into the state of the run, and write what is to be kept of the model.

        Returns:
            Whether it is the best so far, and so exported.
        """
        state.best = rank([*state.best, scored], self._config.keep_best, self._config.higher_is_better)
        if self._config.average == "last":
            state.last = (*state.last, scored)[-self._config.keep_best :]
        improved = scored in state.best[:1]
        state.stale = 0 if improved else state.stale + 1
        state.plateau = state.plateau.after(improved, self._config.plateau_patience)
        state.validated = state.step
        if self._accelerator.is_main_process and scored in state.kept:
            self._best.save(scored, model)
            self._best.write_list(state.best, self._config.metric)
            if improved:
                self._export(model)
        return improved

    def choose(self, model: Seq2Seq, state: TrainState) -> Choice:
        """Export the best single model or the average, whichever is better on dev; `model` then has its weights.

        Raises:
            TrainingError: if there is none with a score that is a number.
            KeyboardInterrupt: if a signal broke the validation of the average off.
        """
        if not state.best:
            raise TrainingError("no validation gave a score that is a number, so there is no model to export")
        single, average = state.best[0], self._average(model, state)
        average_wins = average is not None and self._is_better(average, single)
        load_model_tensors(model, load_tensors(self._best.average if average_wins else self._best.path(single)))
        if self._accelerator.is_main_process:
            self._export(model)
        self._accelerator.wait_for_everyone()
        return Choice(single, average, "average" if average_wins else "single")

    def _average(self, model: Seq2Seq, state: TrainState) -> Scored | None:
        """Give the model the average of the best or last ones, and validate it; None if there is nothing to average."""
        chosen = {"best": state.best, "last": state.last, "none": ()}[self._config.average]
        if len(chosen) < 2:
            return None
        weights = average_weights([self._best.path(scored) for scored in chosen])
        if self._accelerator.is_main_process:
            save_tensors(self._best.average, weights)
        self._accelerator.wait_for_everyone()
        load_model_tensors(model, weights)
        return self.validate(model, state.step)

    def _is_better(self, one: Scored, other: Scored) -> bool:
        return one.score > other.score if self._config.higher_is_better else one.score < other.score
