"""The training loop."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from math import inf
from pathlib import Path
from time import perf_counter

import torch
from accelerate import Accelerator
from rich.console import Console

from postedit.core.errors import OutputError, RecipeError, TrainingError
from postedit.core.files import explain_os_errors
from postedit.core.model import Seq2Seq
from postedit.data.batching import BatchStream, UpdateBatches, UpdateSize, prefetch
from postedit.data.corpus import Corpus
from postedit.data.triplets import SamplingWeight
from postedit.train.best import BestWeights
from postedit.train.checkpoints import Checkpoint, Checkpoints, read_state
from postedit.train.config import TrainConfig
from postedit.train.ema import MovingAverage
from postedit.train.failure import Spell, explain_rise, save_divergence, save_failure
from postedit.train.fingerprint import identity
from postedit.train.losses import build_loss
from postedit.train.optimisers import build_optimizer
from postedit.train.resume import find_checkpoint, with_changed_data
from postedit.train.risk import Propose
from postedit.train.run_log import Display
from postedit.train.run_report import Report
from postedit.train.runtime import (
    Interruption,
    bound_kernel_cache,
    check_bf16,
    fast_fp32,
    keep_freed_memory,
    return_freed_memory,
    rounds_fast_fp32,
    slow_bf16,
    spare_processes,
)
from postedit.train.schedules import learning_rate
from postedit.train.selection import ModelSelection
from postedit.train.snapshot import Snapshots, processes_of
from postedit.train.stopping import Agenda, is_due
from postedit.train.torch_compile import compile_layers, compiled_in_updates
from postedit.train.train_result import TrainResult
from postedit.train.train_state import Scored, TrainState
from postedit.train.update import Attempt, Updater
from postedit.train.validation import ScoreDev, Validator


class Trainer:
    """Trains a model in a run folder, where it keeps checkpoints, the best weights, logs and the exported model.

    Randomness in training comes from torch's generators alone, which are seeded here. Built on `accelerate`: started
    by `accelerate launch` or `torchrun`, processes share the work.

    Args:
        model: freshly initialised, or pretrained.
        corpus: what to learn from.
        dev: what to validate on.
        config: the `[train]` section.
        folder: the run folder.
        score_dev: decodes the dev set and returns scores by name (`ter`, `bleu`, `chrf`); None if only the loss counts.
        export: writes a loadable model folder; called at each new best, and at the end.
        console: for progress and messages.
        propose: finds the candidates of minimum risk training; None if there is none.
        sampling_weights: one for each part of the corpus; by default each part is read once an epoch.
        initialise: gives the model what training starts from; called unless a run is resumed.
        spell: gives the texts of a batch that made training fail.

    Raises:
        RecipeError: if the metric needs decoding and `score_dev` is None, a risk needs candidates and `propose` is
            None, the device has no bf16 that is wanted, or what is to be compiled cannot be.
    """

    def __init__(
        self,
        model: Seq2Seq,
        corpus: Corpus,
        dev: Corpus,
        config: TrainConfig,
        folder: Path,
        score_dev: ScoreDev | None,
        export: Callable[[Seq2Seq, Path], None],
        console: Console,
        propose: Propose | None = None,
        sampling_weights: Sequence[SamplingWeight] = (),
        initialise: Callable[[Seq2Seq], None] = Seq2Seq.load_initial_weights,
        spell: Spell | None = None,
    ) -> None:
        if config.metric != "loss" and score_dev is None:
            raise RecipeError(f'train.metric = "{config.metric}" needs the dev set to be decoded; use "loss"')
        # Precision is chosen around forward, not by accelerate, which would change the model's forward for good.
        self.accelerator = Accelerator(mixed_precision="no")
        if config.precision == "bf16":
            check_bf16(self.accelerator.device)
        self.model = model.to(self.accelerator.device)
        self.corpus = corpus
        self.config = config
        self.folder = folder
        self.sampling_weights = tuple(sampling_weights)
        self.initialise = initialise
        self.spell = spell
        self.state = TrainState()
        self.agenda = Agenda(config, self.accelerator)
        self.checkpoints = Checkpoints(folder / "checkpoints", config.keep_last)
        self.best = BestWeights(folder / "best")
        self.ema = MovingAverage(self.model, config.ema) if config.ema else None
        self.optimizer = build_optimizer(model, config)
        if config.compile:
            compile_layers(self.model, self.accelerator.device)
        self.loss = build_loss(self.model, config, propose)
        # Wrapped, it averages gradients over the processes.
        shared = self.accelerator.prepare_model(self.loss) if self.accelerator.num_processes > 1 else self.loss
        self.updater = Updater(shared, self.optimizer, config, self.accelerator)
        self.snapshots = Snapshots(self.model, self.optimizer, self.ema, self.accelerator)
        self.validator = Validator(dev, score_dev, config, self.accelerator)
        self.selection = ModelSelection(
            self.validator,
            config,
            self.best,
            lambda model: export(model, self.model_folder),
            self._breakable,
            self.accelerator,
        )
        self.identity = identity(model, corpus, dev, config, sampling_weights)
        self._display = Display(console, enabled=self._is_main)
        self._interruption = Interruption()
        self._saved_step = 0
        self._saved_at = self._started_at = perf_counter()

    @property
    def _is_main(self) -> bool:
        return bool(self.accelerator.is_main_process)

    @property
    def _judged(self) -> Seq2Seq:
        """The model that is validated and exported: with the moving average of the weights, if there is one."""
        return self.model if self.ema is None else self.ema.model

    @property
    def model_folder(self) -> Path:
        """Where the exported model is: the best one so far, from the first validation on."""
        return self.folder / "model"

    def run(self, resume: bool = False, accept_changed_data: bool = False) -> TrainResult:
        """Train until an end is reached, and export the best model.

        Args:
            resume: go on from the newest checkpoint in the folder, or start if there is none. On the CPU the
                result is, to the bit, that of a run that was never stopped.
            accept_changed_data: go on with other data than that of the checkpoint: with another training corpus, at the
                start of an epoch; with another dev set, on which what was best counts no more.

        Raises:
            RecipeError: if the run to resume was started with other data or another recipe.
            OutputError: if something cannot be written; the message names the last good checkpoint.
            TrainingError: if the loss is not a number, or the memory of a GPU is full.
            KeyboardInterrupt: after Ctrl-C or SIGTERM, when the checkpoint is written.
        """
        keep_freed_memory()
        bound_kernel_cache()
        if self.config.fast_fp32 and rounds_fast_fp32():
            self._display.say("train.fast_fp32: this processor has AMX, so factors are rounded to bfloat16")
        slow = slow_bf16(self.accelerator.device) if self.config.precision == "bf16" else None
        for warning in (slow, spare_processes(self.accelerator.num_processes)):
            if warning is not None:
                self._display.say(warning)
        compiled = compiled_in_updates(self.config.compile)
        with fast_fp32(self.config.fast_fp32), compiled, self._interruption, self._display:
            try:
                stream, report = self._start(resume, accept_changed_data)
                with report:
                    with closing(stream):
                        reason = self._train(stream, report)
                    return self._finish(reason, report)
            except OutputError as error:
                raise OutputError(f"{error}\n{self._how_to_go_on()}") from error
            except torch.OutOfMemoryError as error:
                full = f"the memory of {self.accelerator.device} is full at step {self.state.step}"
                raise TrainingError(
                    f"{full}. {self._how_to_go_on()}, if another program has taken some of it and gives it back. "
                    f"Otherwise lower train.batch_tokens{self._how_to_keep_updates()}, and train into another folder, "
                    f"from nothing{self._or_the_best()}"
                ) from error
            except KeyboardInterrupt:
                self._display.say(f"Interrupted at step {self.state.step:,}. {self._how_to_go_on()}")
                raise

    def _start(self, resume: bool, accept_changed_data: bool) -> tuple[Generator[UpdateBatches, None, None], Report]:
        """Begin or go on: weights, optimiser, random states, log; return what is to come and the report."""
        torch.manual_seed(self.config.seed + self.accelerator.process_index)
        checkpoint = find_checkpoint(self.checkpoints, resume, self.identity, accept_changed_data, self._display.say)
        if checkpoint is not None:
            self._restore(checkpoint)
        else:
            self.initialise(self.model)
            if self._is_main:
                self.best.remove_all_but(())
        self.model.train()
        with explain_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._saved_step = self.state.step
        self._saved_at = perf_counter()
        self._started_at = self._saved_at - self.state.seconds
        stream = BatchStream(
            self.corpus,
            self.model.spec.inputs,
            self.config.batch_tokens,
            self.config.seed,
            rank=self.accelerator.process_index,
            world=self.accelerator.num_processes,
            position=self.state.position,
            sampling_weights=self.sampling_weights,
        )
        folder = self.folder if self._is_main else None
        rows = sum(stream.sampler.rows_per_part(stream.sampler.next_nonempty_epoch(self.state.position.epoch)))
        report = Report(folder, self._display, self.config, self.state, rows)
        return prefetch(stream.updates(self._update_size())), report

    def _update_size(self) -> UpdateSize:
        """Return the size of all updates of the run, which it keeps when it is resumed with other processes."""
        processes = self.accelerator.num_processes
        if self.state.update_batches == 0:
            self.state.update_batches = self.config.accumulate * processes
        batches = self.state.update_batches
        if self.config.update_tokens is None and batches % processes:
            self._display.say(
                f"Batches of an update: {batches}, as when the run was started; {processes} processes cannot share "
                "them equally, so some will wait for the others"
            )
        return UpdateSize(batches, self.config.update_tokens)

    def _train(self, stream: Iterator[UpdateBatches], report: Report) -> str:
        """Make updates until an end is reached, and return which.

        At a pause the host waits for the device; only there is anything read, written or decided, in this order,
        so that a checkpoint holds what the validation at its step has changed.
        """
        while True:
            if self.agenda.is_pause(self.state, self._saved_step):
                self._account(report)
                if is_due(self.state.step, self.config.log_every):
                    report.training(self.state, self._learning_rate())
                    return_freed_memory()
                else:
                    report.between(self.state, self._learning_rate())
                with report.off_the_clock():
                    if is_due(self.state.step, self.config.validate_every):
                        self._validate(report)
                    interrupted = self.agenda.any_process(self._interruption.requested)
                    if (
                        interrupted
                        or is_due(self.state.step, self.config.save_every)
                        or self.agenda.is_save_time(self._saved_at)
                    ):
                        self._save()
                if interrupted:
                    raise KeyboardInterrupt
                if (reason := self.agenda.end(self.state)) is not None:
                    return reason
            self._update(stream)

    def _update(self, stream: Iterator[UpdateBatches]) -> None:
        portion = next(stream)
        self.state.position = portion.position
        self.state.step += 1
        self.updater.update(self.state.step, portion.batches, self._learning_rate(), portion.counts)
        if self.ema is not None:
            self.ema.update(self.model)

    def _learning_rate(self) -> float:
        return learning_rate(self.config, self.state.step, self.state.plateau)

    def _account(self, report: Report) -> None:
        """Wait for the device, and take stock of the updates since the last pause.

        Raises:
            TrainingError: if the loss or the gradient of one of them was not finite, or the loss is far too high.
        """
        lowest = self.state.lowest
        too_high = inf if lowest is None or not self.config.diverges else self.config.diverges * max(lowest, 1.0)
        attempt = self.updater.failure(too_high)
        if attempt is not None:
            raise TrainingError(f"{self._explain(attempt)}. {self._how_to_start_over()}")
        totals = self.updater.totals()
        if totals.tokens:
            risen = self.state.trend.rise(totals.loss, totals.tokens, self.state.step)
            if risen is not None and self.config.diverges:
                why = explain_rise(risen, self.state.trend.lowest or 0.0, self.state.step)
                raise TrainingError(f"{why}. {self._how_to_start_over()}")
            self.state.lowest = min(totals.loss / totals.tokens, inf if lowest is None else lowest)
        report.add(totals)
        self.state.target_tokens += round(totals.tokens)
        self.state.seconds = perf_counter() - self._started_at

    def _explain(self, attempt: Attempt) -> TrainingError:
        """Keep the batch of an update that failed, and return why it did."""
        if attempt.failed:
            return save_failure(attempt, self.loss, self.config, self.accelerator, self.folder, self.spell)
        process = self.accelerator.process_index
        return save_divergence(attempt, self.state.lowest or 0.0, self.folder, process, self.spell)

    def _validate(self, report: Report) -> None:
        """Validate if this step was not validated yet, and draw the conclusions.

        A signal breaks it off, to be done when the run is resumed.
        """
        if self.state.validated == self.state.step:
            return
        try:
            scored = self.selection.validate(self._judged, self.state.step)
        except KeyboardInterrupt:
            if not self._interruption.requested:
                raise
            return
        improved = self.selection.take_up(scored, self._judged, self.state)
        report.validation(self.state, scored, improved)

    def _breakable(self) -> AbstractContextManager[None]:
        """Return a context that a signal breaks off, where no other process would wait for this one."""
        return self._interruption.at_once(self.accelerator.num_processes == 1)

    def _save(self) -> None:
        """Write a checkpoint, unless the last one is of this step."""
        if self._saved_step == self.state.step:
            return
        checkpoint = self.snapshots.take({"identity": self.identity, "run": self.state.to_dict()})
        if self._is_main:
            self.checkpoints.save(self.state.step, checkpoint)
            self.best.remove_all_but([*self.state.kept, *self._kept_by_checkpoints()])
        self._saved_step = self.state.step
        self._saved_at = perf_counter()

    def _kept_by_checkpoints(self) -> list[Scored]:
        states = [read_state(path) for path in self.checkpoints.paths()]
        return [scored for state in states if state is not None for scored in TrainState.from_dict(state["run"]).kept]

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.state = with_changed_data(
            TrainState.from_dict(checkpoint.state["run"]), checkpoint, self.identity, self._display.say
        )
        missing = [scored for scored in self.state.kept if not self.best.path(scored).exists()]
        if missing:
            self.state.best = tuple(scored for scored in self.state.best if scored not in missing)
            self.state.last = tuple(scored for scored in self.state.last if scored not in missing)
            names = ", ".join(scored.file_name for scored in missing)
            self._display.say(f"{self.best.folder}: {names} is gone, and counts as one of the best no more")
        self.snapshots.bring_back(checkpoint, self.state.step)
        processes = processes_of(checkpoint)
        if self.state.update_batches == 0:  # a checkpoint of an earlier version
            self.state.update_batches = self.config.accumulate * processes
        if processes != self.accelerator.num_processes:
            self._display.say(
                "The number of processes is another than before: dropout will differ from what it would have been"
            )
        self._display.say(f"Resumed at step {self.state.step:,}")

    def _finish(self, reason: str, report: Report) -> TrainResult:
        """Validate where training ended, and export the best single model or the average, whichever is better on dev.

        The checkpoint is written before that validation, which belongs to this end and not to a longer run.
        """
        self._save()
        self._validate(report)
        # Asking all processes also makes them wait for the main one, whose files of best weights they read next.
        if self.agenda.any_process(self._interruption.requested):
            raise KeyboardInterrupt
        choice = self.selection.choose(self.model, self.state)
        return TrainResult(
            reason=reason,
            steps=self.state.step,
            epochs=self.state.position.epoch,
            target_tokens=self.state.target_tokens,
            seconds=perf_counter() - self._started_at,
            single=choice.single,
            average=choice.average,
            exported=choice.exported,
            model_folder=self.model_folder,
        )

    def _how_to_go_on(self) -> str:
        paths = self.checkpoints.paths()
        if not paths:
            return "There is no checkpoint yet; the same command with --resume starts from the beginning"
        return f"The last checkpoint is {paths[0]}; run the same command with --resume to go on from there"

    def _how_to_start_over(self) -> str:
        """Say what to do after a failure that --resume alone would only repeat."""
        paths = self.checkpoints.paths()
        last = f"The last checkpoint is {paths[0]}, but --resume alone" if paths else "--resume alone"
        change = "change the recipe and train into another folder, from nothing"
        return f"{last} would come to the same end: {change}{self._or_the_best()}"

    def _or_the_best(self) -> str:
        model = self.model_folder
        return f', or from the best model so far (train.init = "{model}")' if model.exists() else ""

    def _how_to_keep_updates(self) -> str:
        """Say how an update has as many labels as before from smaller batches."""
        counted = self.config.update_tokens is None
        return ", and raise train.accumulate to keep as many labels in an update" if counted else ""
