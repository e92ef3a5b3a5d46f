"""The training loop."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from math import inf
from pathlib import Path
from time import perf_counter

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from rich.console import Console

from postedit.core.errors import OutputError, RecipeError, TrainingError
from postedit.core.files import explain_os_errors
from postedit.core.model import Seq2Seq
from postedit.data.batching import BatchStream, UpdateBatches, UpdateSize, prefetch
from postedit.data.corpus import Corpus
from postedit.data.triplets import SamplingWeight
from postedit.train.averaging import MovingAverage
from postedit.train.checkpoints import Checkpoint, Checkpoints, Snapshots, read_state
from postedit.train.config import TrainConfig
from postedit.train.failure import Spell, explain_rise, is_lost_process, save_divergence, save_failure
from postedit.train.losses import Propose, build_loss
from postedit.train.optimisers import build_optimizer, learning_rate
from postedit.train.resume import find_checkpoint, run_identity, with_changed_data
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
from postedit.train.selection import BestWeights, ModelSelection, ScoreDev
from postedit.train.stopping import StoppingRules, is_due
from postedit.train.torch_compile import compile_layers, compiled_in_updates
from postedit.train.train_state import TrainResult, TrainState
from postedit.train.update import Updater


class Trainer:
    """Trains a model in a run folder, which receives checkpoints, the best weights, logs and the exported model.

    All randomness in training comes from torch's generators, which are seeded here. With `accelerate launch` or
    `torchrun`, processes share the work.

    Args:
        model: the model to train, freshly initialised or pretrained.
        corpus: the training corpus.
        dev: the dev corpus.
        config: the `[train]` section.
        folder: the run folder.
        score_dev: decodes the dev set and returns scores by name (`ter`, `bleu`, `chrf`); None if only the loss counts.
        export: writes a loadable model folder; called at each new best, and at the end.
        console: console for progress and messages.
        propose: finds the candidates of minimum risk training; None if the recipe does not use it.
        sampling_weights: one for each part of the corpus; by default each part is read once an epoch.
        initialise: sets the initial weights; called unless a run is resumed.
        spell: returns the text of ids, for the report of a batch that made training fail; None: it has ids only.

    Raises:
        RecipeError: if the metric needs decoding and `score_dev` is None, a risk needs candidates and `propose` is
            None, the device does not compute in bf16 as the recipe asks, or the model cannot be compiled.
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
        # Autocast is set around forward, not by accelerate, which would change the model's forward permanently.
        self.accelerator = Accelerator(mixed_precision="no")
        if config.precision == "bf16":
            check_bf16(self.accelerator.device)
        self.model = model.to(self.accelerator.device)
        self.corpus, self.config, self.folder = corpus, config, folder
        self.sampling_weights = tuple(sampling_weights)
        self.initialise, self.spell = initialise, spell
        self.state = TrainState()
        self.stopping = StoppingRules(config, self.accelerator)
        self.checkpoints = Checkpoints(folder / "checkpoints", config.keep_last)
        self.best = BestWeights(folder / "best")
        self.ema = MovingAverage(self.model, config.ema) if config.ema else None
        self.optimizer = build_optimizer(model, config)
        if config.compile:
            compile_layers(self.model, self.accelerator.device)
        self.loss = build_loss(self.model, config, propose)
        # The wrapper averages gradients over the processes.
        shared = self.accelerator.prepare_model(self.loss) if self.accelerator.num_processes > 1 else self.loss
        self.updater = Updater(shared, self.optimizer, config, self.accelerator)
        self.snapshots = Snapshots(self.model, self.optimizer, self.ema, self.accelerator)
        self.selection = ModelSelection(
            dev,
            score_dev,
            config,
            self.best,
            lambda model: export(model, self.model_folder),
            # With several processes, a signal must not stop validation: the others would wait for this one.
            lambda: self._interruption.at_once(self.accelerator.num_processes == 1),
            self.accelerator,
        )
        self.identity = run_identity(model, corpus, dev, config, sampling_weights)
        self._is_main = bool(self.accelerator.is_main_process)
        self._display = Display(console, enabled=self._is_main)
        self._interruption = Interruption()
        self._saved_step = 0
        self._saved_at = self._started_at = perf_counter()

    @property
    def model_folder(self) -> Path:
        """The folder of the exported model: the best one so far, from the first validation on."""
        return self.folder / "model"

    def run(self, resume: bool = False, accept_changed_data: bool = False) -> TrainResult:
        """Train until one of the limits is reached, and export the best model.

        Args:
            resume: continue from the newest checkpoint in the folder, or start if there is none. On a CPU the result
                is bit-identical to that of a run that never stopped.
            accept_changed_data: continue with other data than those of the checkpoint. Another training corpus is read
                from the start of an epoch; with another dev set, earlier dev scores are dropped.

        Raises:
            RecipeError: if the run to resume was started with other data or another recipe.
            OutputError: if something cannot be written; the message names the last good checkpoint.
            TrainingError: if the loss is not finite or diverges, the memory of a GPU is full, or another process ends.
            KeyboardInterrupt: after Ctrl-C or SIGTERM, once the checkpoint is written.
        """
        keep_freed_memory()
        bound_kernel_cache()
        if self.config.fast_fp32 and rounds_fast_fp32():
            self._display.say("train.fast_fp32: this processor has AMX, so factors are rounded to bfloat16")
        slow = slow_bf16(self.accelerator.device) if self.config.precision == "bf16" else None
        for warning in filter(None, (slow, spare_processes(self.accelerator.num_processes))):
            self._display.say(warning)
        compiled = compiled_in_updates(self.config.compile)
        with fast_fp32(self.config.fast_fp32), compiled, self._interruption, self._display:
            try:
                stream, report = self._start(resume, accept_changed_data)
                with closing(report):
                    with closing(stream):
                        reason = self._train(stream, report)
                    result = self._finish(reason, report)
                if self.stopping.any_process(self._interruption.requested):  # while the last files were written
                    raise KeyboardInterrupt
                return result
            except OutputError as error:
                raise OutputError(f"{error}\n{self._resume_advice()}") from error
            except torch.OutOfMemoryError as error:
                counted = self.config.update_tokens is None
                keep = ", and raise train.accumulate to keep as many labels in an update" if counted else ""
                raise TrainingError(
                    f"the memory of {self.accelerator.device} is full at step {self.state.step}. "
                    f"{self._resume_advice()}, if another program has taken some of it and gives it back. "
                    f"Otherwise lower train.batch_tokens{keep}, and train in another folder, "
                    f"from scratch{self._best_model_advice()}"
                ) from error
            except RuntimeError as error:
                if self.accelerator.num_processes == 1 or not is_lost_process(error):
                    raise
                raise TrainingError(
                    f"another process of this run has ended, after step {self.state.step:,}. {self._resume_advice()}"
                ) from error
            except KeyboardInterrupt:
                self._display.say(f"Interrupted at step {self.state.step:,}. {self._resume_advice()}")
                raise

    def _start(self, resume: bool, accept_changed_data: bool) -> tuple[Generator[UpdateBatches, None, None], Report]:
        """Start or resume: set weights, optimiser, random states and log; return the batches and the report."""
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
        self._saved_step, self._saved_at = self.state.step, perf_counter()
        self._started_at = self._saved_at - self.state.seconds
        stream = BatchStream(
            self.corpus,
            self.model.spec.streams,
            self.config.batch_tokens,
            self.config.seed,
            rank=self.accelerator.process_index,
            world=self.accelerator.num_processes,
            position=self.state.position,
            sampling_weights=self.sampling_weights,
        )
        rows = sum(stream.sampler.rows_per_part(stream.sampler.next_nonempty_epoch(self.state.position.epoch)))
        report = Report(self.folder if self._is_main else None, self._display, self.config, self.state, rows)
        return prefetch(stream.updates(self._update_size())), report

    def _update_size(self) -> UpdateSize:
        """Return the size of an update, which does not change if a run is resumed with other numbers of processes."""
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
        """Make updates until a limit is reached, and describe that limit in words.

        At a pause, the host waits for the device. Results are read, files written and decisions made only then, in
        this order, so that a checkpoint contains the changes made by the validation at its step.
        """
        while True:
            if self.stopping.is_pause(self.state, self._saved_step):
                self._account(report)
                if is_due(self.state.step, self.config.log_every):
                    report.training(self.state)
                    return_freed_memory()
                else:
                    report.between(self.state)
                with report.off_the_clock():
                    if is_due(self.state.step, self.config.validate_every):
                        self._validate(report)
                    interrupted = self.stopping.any_process(self._interruption.requested)
                    due = interrupted or is_due(self.state.step, self.config.save_every)
                    if due or self.stopping.is_save_time(self._saved_at):
                        self._save()
                if interrupted:
                    raise KeyboardInterrupt
                if (reason := self.stopping.end(self.state)) is not None:
                    return reason
            portion = next(stream)
            self.state.position = portion.position
            self.state.step += 1
            rate = learning_rate(self.config, self.state.step, self.state.plateau)
            self.updater.update(self.state.step, portion.batches, rate, portion.counts)
            if self.ema is not None:
                self.ema.update(self.model)

    def _account(self, report: Report) -> None:
        """Wait for the device, and account for the updates since the last pause.

        Raises:
            TrainingError: if a loss or gradient was not finite, or the loss is far too high.
        """
        lowest = self.state.lowest
        too_high = inf if lowest is None or not self.config.diverges else self.config.diverges * max(lowest, 1.0)
        attempt = self.updater.failure(too_high)
        if attempt is not None and attempt.failed:
            error = save_failure(attempt, self.loss, self.config, self.accelerator, self.folder, self.spell)
            raise TrainingError(f"{error}. {self._restart_advice()}")
        if attempt is not None:
            error = save_divergence(attempt, lowest or 0.0, self.folder, self.accelerator.process_index, self.spell)
            raise TrainingError(f"{error}. {self._restart_advice()}")
        totals = self.updater.totals()
        if totals.tokens:
            risen = self.state.trend.rise(totals.loss, totals.tokens, self.state.step)
            if risen is not None and self.config.diverges:
                why = explain_rise(risen, self.state.trend.lowest or 0.0, self.state.step)
                raise TrainingError(f"{why}. {self._restart_advice()}")
            self.state.lowest = min(totals.loss / totals.tokens, inf if lowest is None else lowest)
        report.add(totals)
        self.state.target_tokens += round(totals.tokens)
        self.state.seconds = perf_counter() - self._started_at

    def _validate(self, report: Report) -> None:
        """Validate unless this step was validated before. After a signal stops it, the resumed run does it again."""
        if self.state.validated == self.state.step:
            return
        model = self.model if self.ema is None else self.ema.model
        try:
            scored = self.selection.validate(model, self.state.step)
        except KeyboardInterrupt:
            if not self._interruption.requested:
                raise
            return
        improved = self.selection.record(scored, model, self.state)
        report.validation(self.state, scored, improved)
        if self._saved_step == self.state.step:
            self._saved_step = 0  # that checkpoint lacks the result: a signal had stopped this validation

    def _save(self) -> None:
        """Write a checkpoint unless this step has one."""
        if self._saved_step == self.state.step:
            return
        self.state.seconds = perf_counter() - self._started_at  # including the validation at this step
        checkpoint = self.snapshots.take({"identity": self.identity, "run": asdict(self.state)})
        if self._is_main:
            self.checkpoints.save(self.state.step, checkpoint)
            self._remove_unnamed_weights()
        self._saved_step, self._saved_at = self.state.step, perf_counter()

    def _remove_unnamed_weights(self) -> None:
        """Remove the files of best weights that neither the current state nor a checkpoint names."""
        states = filter(None, map(read_state, self.checkpoints.paths()))
        named = [scored for state in states for scored in TrainState.from_dict(state["run"]).kept]
        self.best.remove_all_but([*self.state.kept, *named])

    def _restore(self, checkpoint: Checkpoint) -> None:
        saved = TrainState.from_dict(checkpoint.state["run"])
        self.state = with_changed_data(saved, checkpoint, self.identity, self._display.say)
        self.snapshots.restore(checkpoint, self.state.step)
        self._mend_best_weights()
        if self._is_main:  # the disk may have failed since the last checkpoint
            self.checkpoints.tidy(self.state.step)
            self._remove_unnamed_weights()
        if checkpoint.processes != self.accelerator.num_processes:
            self._display.say(
                "The number of processes has changed, so dropout will differ from that of an uninterrupted run"
            )
        self._display.say(f"Resumed at step {self.state.step:,}")

    def _mend_best_weights(self) -> None:
        """Rewrite the weights of this step if they are missing or damaged; forget other models with such weights."""
        damaged = [scored for scored in self.state.kept if not self.best.is_whole(scored)] if self._is_main else []
        (damaged,) = broadcast_object_list([damaged])  # processes may see a shared folder at different times
        lost = [scored for scored in damaged if scored.step != self.state.step]
        self.state.best = tuple(scored for scored in self.state.best if scored not in lost)
        self.state.last = tuple(scored for scored in self.state.last if scored not in lost)
        if not self.state.best:
            self.state.validated = 0
            self.state.last = tuple(scored for scored in self.state.last if scored.step != self.state.step)
        for scored in damaged:
            if scored not in lost and self._is_main:
                self.best.save(scored, self.model if self.ema is None else self.ema.model)
            outcome = "so it is no longer among the best models" if scored in lost else "so it was written again"
            self._display.say(f"{self.best.path(scored)}: gone or damaged, {outcome}")
        if lost and self._is_main:
            self.best.forget(lost, self.state.best, self.config.metric)

    def _finish(self, reason: str, report: Report) -> TrainResult:
        """Validate the last step, and export the best single model or the average, whichever is better on dev.

        The checkpoint comes first: a longer run that resumes from it would not validate at this step.
        """
        self._save()
        self._validate(report)
        # This also makes the other processes wait for the main one, whose best weights they read next.
        if self.stopping.any_process(self._interruption.requested):
            raise KeyboardInterrupt
        average, average_wins = self.selection.export_best(self.model, self.state)
        return TrainResult(
            reason=reason,
            steps=self.state.step,
            epochs=self.state.position.epoch,
            target_tokens=self.state.target_tokens,
            seconds=perf_counter() - self._started_at,
            single=self.state.best[0],
            average=average,
            exported="average" if average_wins else "single",
            model_folder=self.model_folder,
        )

    def _resume_advice(self) -> str:
        paths = self.checkpoints.paths()
        if not paths:
            return "There is no checkpoint yet; the same command with --resume starts from the beginning"
        return f"The last checkpoint is {paths[0]}; run the same command with --resume to continue from it"

    def _restart_advice(self) -> str:
        """Return advice for a failure that --resume alone would repeat."""
        paths = self.checkpoints.paths()
        last = f"The last checkpoint is {paths[0]}, but --resume alone" if paths else "--resume alone"
        change = "change the recipe and train in another folder, from scratch"
        return f"{last} would fail in the same way: {change}{self._best_model_advice()}"

    def _best_model_advice(self) -> str:
        model = self.model_folder
        return f', or from the best model so far (train.init = "{model}")' if model.exists() else ""
