"""Model selection: dev scores, the weights of the best models, and the model that is exported."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from itertools import islice
from math import exp, inf
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn

from postedit.core.errors import ModelFolderError, TrainingError
from postedit.core.files import explain_os_errors, save_json
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_model_tensors, load_tensors, model_tensors, save_sealed_tensors
from postedit.core.types import LabelLoss
from postedit.data.batching import ordered_batches
from postedit.data.corpus import Corpus
from postedit.train.averaging import average_weights
from postedit.train.config import TrainConfig
from postedit.train.runtime import same_randomness_after
from postedit.train.train_state import TrainState, ValidatedModel
from postedit.train.update import move

ScoreDev = Callable[[Seq2Seq], Mapping[str, float]]
"""Decodes the dev set and returns its scores by name, such as `ter` and `bleu`."""


class BestWeights:
    """A folder with the weights of the best models: `step-00001000.safetensors` and `best.json`.

    The file of a model that is no longer among the best is kept while a checkpoint names it, because a run that resumes
    from that checkpoint needs it. Methods that write raise `OutputError` if a file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.average = folder / "average.safetensors"

    def path(self, scored: ValidatedModel) -> Path:
        """Return the weights file of `scored`."""
        return self.folder / scored.file_name

    def is_whole(self, scored: ValidatedModel) -> bool:
        """Return whether the weights file of `scored` exists and is undamaged.

        Raises:
            OSError: if the disk or its connection fails, which says nothing about the file.
        """
        try:
            load_tensors(self.path(scored))
        except ModelFolderError:
            with suppress(FileNotFoundError), self.path(scored).open("rb") as file:
                file.read(1)
            return False
        return True

    def forget(self, lost: Iterable[ValidatedModel], best: Iterable[ValidatedModel], metric: str) -> None:
        """Remove what is left of the weights of `lost`, and list `best` without them."""
        for scored in lost:
            self.path(scored).unlink(missing_ok=True)
        self.write_list(best, metric)

    def save(self, scored: ValidatedModel, model: nn.Module) -> None:
        """Write the weights of `scored`."""
        with explain_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        save_sealed_tensors(self.path(scored), model_tensors(model))

    def write_list(self, best: Iterable[ValidatedModel], metric: str) -> None:
        """Write `best.json`: the files of the best models, best first, with their scores."""
        entries = [asdict(scored) | {"file": scored.file_name} for scored in best]
        save_json(self.folder / "best.json", {"metric": metric, "best": entries})

    def remove_all_but(self, needed: Iterable[ValidatedModel]) -> None:
        """Remove the weights of every model that is not in `needed`, and leftovers of a kill."""
        names = {scored.file_name for scored in needed}
        for path in [*self.folder.glob("step-*.safetensors"), *self.folder.glob(".step-*.tmp")]:
            if path.name not in names:
                path.unlink(missing_ok=True)


class ModelSelection:
    """Validates models of a run, keeps the weights of the best, and exports them.

    Args:
        dev: the dev set; each process computes the loss of some of its batches.
        score_dev: decodes and scores the dev set; called in the main process only.
        config: the `[train]` section.
        best: the folder of the best weights.
        export: writes the model folder of the run; called in the main process only.
        interruptible: returns a context within which a signal may stop validation.
        accelerator: the device and the other processes.
    """

    def __init__(
        self,
        dev: Corpus,
        score_dev: ScoreDev | None,
        config: TrainConfig,
        best: BestWeights,
        export: Callable[[Seq2Seq], None],
        interruptible: Callable[[], AbstractContextManager[None]],
        accelerator: Accelerator,
    ) -> None:
        self.dev, self._score_dev, self._config, self._best = dev, score_dev, config, best
        self._export, self._interruptible, self._accelerator = export, interruptible, accelerator

    def validate(self, model: Seq2Seq, step: int) -> ValidatedModel:
        """Validate the model at `step`, and return it with its scores.

        Raises:
            KeyboardInterrupt: if a signal stopped the validation.
            ValueError: if `score_dev` does not return the metric of the run.
        """
        with self._interruptible():
            metrics = self.scores(model)
        name = "nll" if self._config.metric == "loss" else self._config.metric
        if name not in metrics:
            raise ValueError(f"score_dev must return the metric {name}; it returned {', '.join(metrics)}")
        return ValidatedModel(step, metrics[name], metrics)

    def scores(self, model: Seq2Seq) -> dict[str, float]:
        """Return `nll` (nats per label), `perplexity`, and the scores of the decoded dev set.

        Random states and the model's mode are restored afterwards, so validation does not affect training.
        """
        training = model.training
        model.eval()
        try:
            with same_randomness_after(self._accelerator.device), torch.no_grad():
                nll = self._nll(model)
                decoded: list[Mapping[str, float]] = [{}]
                if self._score_dev is not None:
                    decoded = [dict(self._score_dev(model)) if self._accelerator.is_main_process else {}]
                    broadcast_object_list(decoded)
                return {"nll": nll, "perplexity": exp(nll) if nll < 700.0 else inf} | {
                    name: float(value) for name, value in decoded[0].items()
                }
        finally:
            model.train(training)

    def _nll(self, model: Seq2Seq) -> float:
        device = self._accelerator.device
        # nll and labels; the sum over batches is kept on the device
        sums = torch.zeros(2, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device)
        batches = ordered_batches(self.dev, model.spec.streams, self._config.batch_tokens)
        for batch in islice(batches, self._accelerator.process_index, None, self._accelerator.num_processes):
            with torch.autocast(device.type, torch.bfloat16, enabled=self._config.precision == "bf16"):
                result: LabelLoss = model(move(batch, device))
            sums += torch.stack([result.nll.to(sums.dtype), result.tokens.to(sums.dtype)])
        nll_sum, tokens = self._accelerator.reduce(sums, "sum").tolist()
        return float(nll_sum / tokens)

    def record(self, scored: ValidatedModel, model: Seq2Seq, state: TrainState) -> bool:
        """Record a validation in the state of the run, and write the weights that are to be kept.

        Returns:
            Whether the model is the best so far; if so, it has been exported.
        """
        comparable = (one for one in (*state.best, scored) if one.score == one.score)  # NaN never counts
        sign = -1.0 if self._config.higher_is_better else 1.0
        # Models that leave every mt as it is all have its TER; the loss tells which of them has learnt more.
        ranked = sorted(comparable, key=lambda one: (sign * one.score, one.metrics["nll"], one.step))
        state.best = tuple(ranked[: self._config.keep_best])
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

    def export_best(self, model: Seq2Seq, state: TrainState) -> tuple[ValidatedModel | None, bool]:
        """Export the best single model or the average, whichever is better on dev, and load its weights into `model`.

        Without `average_if_better`, the average is exported whenever there is one.

        Returns:
            The average with its scores, or None if there was nothing to average; and whether it was exported.

        Raises:
            TrainingError: if no model has a score that is a number.
            KeyboardInterrupt: if a signal stopped the validation of the average.
        """
        if not state.best:
            raise TrainingError("no validation gave a score that is a number, so there is no model to export")
        single, average = state.best[0], self._average(model, state)
        sign = -1.0 if self._config.higher_is_better else 1.0
        average_wins = average is not None and (
            not self._config.average_if_better or sign * average.score < sign * single.score
        )
        load_model_tensors(model, load_tensors(self._best.average if average_wins else self._best.path(single)))
        if self._accelerator.is_main_process:
            self._export(model)
        self._accelerator.wait_for_everyone()
        return average, average_wins

    def _average(self, model: Seq2Seq, state: TrainState) -> ValidatedModel | None:
        """Load the average of the best or last models into `model` and validate it; None if there is none."""
        chosen = {"best": state.best, "last": state.last, "none": ()}[self._config.average]
        if len(chosen) < 2:
            return None
        weights = average_weights([self._best.path(scored) for scored in chosen])
        if self._accelerator.is_main_process:
            save_sealed_tensors(self._best.average, weights)
        self._accelerator.wait_for_everyone()
        load_model_tensors(model, weights)
        return self.validate(model, state.step)
