"""Runs that fail, or are broken off: what is said, and what is kept."""

import errno
import json
import math
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.summary.writer.record_writer import RecordWriter
from tiny_run import Scores, TinyModel, in_process, log, quiet, shown, trainer, weights

from postedit.core.errors import OutputError, RecipeError, TrainingError
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import load_tensors, model_tensors
from postedit.core.types import Batch, LabelLoss
from postedit.train import runtime
from postedit.train.failure import lost_processes_told
from postedit.train.run_log import RunLog
from postedit.train.runtime import bf16_time_ratio, check_bf16
from postedit.train.train_state import LossTrend


def test_a_full_gpu_is_explained(tmp_path: Path, corpora: Path) -> None:
    class Hungry(TinyModel):
        def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
            raise torch.OutOfMemoryError

    advice = r"lower train\.batch_tokens, and raise train\.accumulate .*, and train in another folder, from scratch$"
    with pytest.raises(TrainingError, match=advice):
        trainer(tmp_path / "one", corpora, {}, model=Hungry()).run()
    with pytest.raises(TrainingError, match=r"lower train\.batch_tokens, and train in another folder"):
        trainer(tmp_path / "two", corpora, {"update_tokens": 20}, model=Hungry()).run()


def test_the_end_of_another_process_points_to_its_message() -> None:
    told = RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:9")
    sentence = "another process of this run has ended; see its message"
    with pytest.raises(TrainingError, match=sentence), lost_processes_told(2):
        raise told
    for processes, error in ((1, told), (2, RuntimeError("shapes differ"))):
        with pytest.raises(RuntimeError) as caught, lost_processes_told(processes):
            raise error
        assert caught.value is error


def test_fast_fp32_needs_a_pytorch_that_has_it(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(type(torch.backends.mkldnn), "matmul", raising=False)
    with pytest.raises(RecipeError, match="fast_fp32 needs PyTorch"):
        trainer(tmp_path, corpora, {"fast_fp32": True}).run()


@pytest.mark.slow
def test_a_damaged_checkpoint_costs_only_what_came_after_the_one_before(tmp_path: Path, corpora: Path) -> None:
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
    for folder in whole, damaged:
        trainer(folder, corpora, {}).run()
    newest = damaged / "checkpoints" / "step-00000012" / "model.safetensors"
    newest.write_bytes(newest.read_bytes()[:-100])
    console = quiet()
    trainer(damaged, corpora, {}, console=console).run(resume=True)
    assert "step-00000012 is damaged" in shown(console)
    assert "Resumed at step 9" in shown(console)
    assert weights(damaged) == weights(whole)


class Explosive(TinyModel):
    """The loss of one batch is not a number: of the `number`-th that it sees, and of the same one again."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.countdown = number
        self.culprit: Batch | None = None

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        self.countdown -= self.training
        if self.countdown == 0 and self.culprit is None:
            self.culprit = batch
        culprit = self.culprit is not None and batch.streams["src"].ids is self.culprit.streams["src"].ids
        result = super().forward(batch, smoothing)
        return result._replace(loss=result.loss * math.nan) if culprit else result


def test_a_nan_stops_the_run_and_keeps_the_batch(tmp_path: Path, corpora: Path) -> None:
    torch.manual_seed(42)
    model = Explosive(number=8)
    run = trainer(tmp_path, corpora, {"accumulate": 2, "save_every": 3}, model=model)
    with pytest.raises(TrainingError) as error:
        run.run()
    assert "step 4: the loss is not a finite number" in str(error.value)
    assert str(tmp_path / "nan-batch.safetensors") in str(error.value)
    assert "step-00000003" in str(error.value)
    assert model.culprit is not None
    assert model.culprit.target is not None
    saved = load_tensors(tmp_path / "nan-batch.safetensors")
    assert {name.split("/")[0] for name in saved} == {"1"}
    assert torch.equal(saved["1/src/ids"], model.culprit.streams["src"].ids)
    assert torch.equal(saved["1/pe/mask"], model.culprit.target.mask)
    described = json.loads((tmp_path / "nan-batch.json").read_text())
    assert described["step"] == 4
    assert described["certain"] is True
    (batch,) = described["batches"]
    assert batch["number"] == 1
    assert batch["ids"]["mt"] == [ids[ids != 0].tolist() for ids in model.culprit.streams["mt"].ids]
    before = load_tensors(tmp_path / "checkpoints" / "step-00000003" / "model.safetensors")
    for name, tensor in model_tensors(model).items():
        assert torch.equal(tensor, before[name])


@pytest.mark.slow
def test_an_unwritable_checkpoint_loses_nothing(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, full = tmp_path / "whole", tmp_path / "full"
    trainer(whole, corpora, {}).run()
    run = trainer(full, corpora, {})
    save = run.checkpoints.save

    def save_until_full(step: int, checkpoint: Any) -> Path:
        if step > 6:
            raise OutputError("checkpoints/x: cannot be written: the disk is full; free some space and run again")
        return save(step, checkpoint)

    monkeypatch.setattr(run.checkpoints, "save", save_until_full)
    with pytest.raises(OutputError, match="disk is full") as error:
        run.run()
    assert f"The last checkpoint is {full / 'checkpoints' / 'step-00000006'}" in str(error.value)
    assert "--resume" in str(error.value)
    trainer(full, corpora, {}).run(resume=True)
    assert weights(full) == weights(whole)


@pytest.mark.slow
def test_a_real_failure_to_write_is_an_output_error(tmp_path: Path, corpora: Path) -> None:
    process = in_process(tmp_path, corpora, {"max_steps": 4, "save_every": 2}, largest_file=1500)
    process.join(1800)
    assert process.exitcode == 1
    told = (tmp_path / "error.txt").read_text()
    assert told.startswith("OutputError: ")
    assert "cannot be written: the file is larger than this system allows here" in told
    assert not [path for path in tmp_path.rglob("*") if "tmp" in path.name]


def test_ctrl_c_in_validation_breaks_it_off_and_resuming_does_it(tmp_path: Path, corpora: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings = {"max_steps": 6, "validate_every": 3, "save_every": 100, "metric": "ter", "average": "none"}
    trainer(whole, corpora, settings, score_dev=Scores(2.0, 1.0)).run()

    def press(_: Seq2Seq) -> Mapping[str, float]:
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the signal must break validation off")

    handler = signal.getsignal(signal.SIGINT)
    console = quiet()
    with pytest.raises(KeyboardInterrupt):
        trainer(broken, corpora, settings, score_dev=press, console=console).run()
    assert signal.getsignal(signal.SIGINT) is handler
    assert "Interrupted at step 3. The last checkpoint is" in shown(console)
    trainer(broken, corpora, settings, score_dev=Scores(2.0, 1.0)).run(resume=True)
    assert weights(broken) == weights(whole)
    assert [line["step"] for line in log(broken)] == [line["step"] for line in log(whole)]


def test_a_signal_while_the_last_files_are_written_is_not_lost(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"max_steps": 2, "validate_every": 2, "save_every": 2}
    made = trainer(tmp_path, corpora, settings)
    export = made.selection.export_best

    def press(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return export(*arguments)

    monkeypatch.setattr(made.selection, "export_best", press)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert trainer(tmp_path, corpora, settings).run(resume=True).steps == 2


def test_a_failure_of_tensorboard_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    printed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", printed.append)
    monkeypatch.setattr(RecordWriter, "write", full)

    def end_threads() -> None:
        for thread in threading.enumerate():
            if type(thread).__name__ == "_AsyncWriterThread":
                thread.join(60)

    def begin() -> None:
        run_log = RunLog(tmp_path, 0, 0)
        end_threads()  # the thread says that it is done before it says that it failed
        run_log.write("train", {"step": 1, "loss": 2.0})

    with pytest.raises(OutputError, match="the disk is full"):
        begin()
    end_threads()
    assert not printed


class Exploding(TinyModel):
    """Loses its mind after some passes of training."""

    passes = 0

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        found = super().forward(batch, smoothing)
        self.passes += self.training
        return found._replace(loss=found.loss * 30.0) if self.passes > 8 else found


@pytest.mark.parametrize("accumulate", [1, 2])
def test_an_exploding_loss_ends_training_and_its_batch_is_kept(tmp_path: Path, corpora: Path, accumulate: int) -> None:
    settings = {"max_steps": 30, "save_every": 1, "keep_last": 1, "accumulate": accumulate, "validate_every": 100}
    step = 8 // accumulate + 1
    run = trainer(tmp_path, corpora, settings, model=Exploding())
    with pytest.raises(TrainingError) as caught:
        run.run()
    message = str(caught.value)
    assert f"step {step}: training diverges: the loss is" in message
    assert f"The batch is in {tmp_path}/diverged-batch.safetensors" in message
    assert f"The last checkpoint is {tmp_path}/checkpoints/step-0000000{step - 1}, but --resume alone would" in message
    assert load_tensors(tmp_path / "diverged-batch.safetensors")
    description = json.loads((tmp_path / "diverged-batch.json").read_text())
    assert (description["step"], len(description["batches"])) == (step, 1)


def test_the_batch_is_described_in_words(tmp_path: Path, corpora: Path) -> None:
    def spell(side: str, ids: Sequence[int]) -> str:
        return f"{side}: {len(ids)}"

    for settings, model, name in (({}, Exploding(), "diverged"), ({"accumulate": 2}, Explosive(number=8), "nan")):
        folder = tmp_path / name
        with pytest.raises(TrainingError):
            trainer(folder, corpora, {"max_steps": 30, **settings}, model=model, spell=spell).run()
        (batch,) = json.loads((folder / f"{name}-batch.json").read_text())["batches"]
        assert batch["text"] == {side: [f"{side}: {len(ids)}" for ids in rows] for side, rows in batch["ids"].items()}
        assert batch["text"].keys() == {"src", "mt", "pe"}


class Sinking(TinyModel):
    """Unlearns little by little, from some update on."""

    def __init__(self) -> None:
        super().__init__()
        self.updates = 0

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        found = super().forward(batch, smoothing)
        self.updates += self.training
        more = max(0, self.updates - 30) * 0.1
        return found._replace(loss=found.loss + more * found.tokens)


@pytest.mark.slow
def test_a_loss_that_rises_for_good_ends_training(tmp_path: Path, corpora: Path) -> None:
    """No update is ten times the lowest, but a stretch is two nats above it."""
    settings = {"max_steps": 200, "save_every": 20, "validate_every": 20}
    run = trainer(tmp_path, corpora, settings, model=Sinking())
    with pytest.raises(TrainingError) as caught:
        run.run()
    message = str(caught.value)
    assert "step 80: training diverges: the mean loss of the last updates, 20 or more, is" in message
    assert f'train.init = "{tmp_path / "model"}"' in message
    assert "--resume alone would fail in the same way" in message
    assert [path.name for path in run.checkpoints.paths()] == ["step-00000060", "step-00000040"]
    model = Sinking()
    assert (
        trainer(tmp_path / "other", corpora, {**settings, "max_steps": 70, "diverges": 0.0}, model=model).run().steps
        == 70
    )


def test_means_are_of_whole_stretches() -> None:
    trend = LossTrend(10)
    assert trend.rise(900.0, 100.0, 20) is None
    assert trend.lowest is None
    assert trend.rise(100.0, 900.0, 30) is None
    assert trend.lowest == 1.0
    assert trend.rise(400.0, 100.0, 55) is None
    assert trend.rise(401.0, 100.0, 75) == pytest.approx(4.01)
    assert (trend.lowest, trend.start) == (1.0, 75)


class Uneven(TinyModel):
    """Finds one batch in five next to impossible, and one in five trivial."""

    updates = 0

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        found = super().forward(batch, smoothing)
        self.updates += self.training
        more = {0: 6.0, 1: -2.0}.get(self.updates % 5, 0.0)
        return found._replace(loss=found.loss + more * found.tokens)


@pytest.mark.slow
def test_uneven_batches_are_no_rise(tmp_path: Path, corpora: Path) -> None:
    settings = {"max_steps": 100, "validate_every": 1000, "log_every": 1}
    assert trainer(tmp_path, corpora, settings, model=Uneven()).run().steps == 100


def test_divergence_may_be_let_be(tmp_path: Path, corpora: Path) -> None:
    assert trainer(tmp_path, corpora, {"diverges": 0.0}, model=Exploding()).run().steps == 12


@pytest.mark.parametrize(
    ("precision", "ratio", "warns"), [("bf16", 1.6, True), ("bf16", 0.6, False), ("fp32", 1.6, False)]
)
def test_bf16_that_is_slower_than_fp32_is_warned_of(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch, precision: str, ratio: float, warns: bool
) -> None:
    monkeypatch.setattr(runtime, "bf16_time_ratio", lambda: ratio)
    console = quiet()
    trainer(tmp_path, corpora, {"max_steps": 1, "precision": precision}, console=console).run()
    assert ("take 1.6 times as long" in shown(console)) == warns
    assert ('start again with train.precision = "fp32"' in shown(console)) == warns


def test_the_time_of_bf16_is_relative_to_that_of_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, clock = {torch.bfloat16: 3.0, torch.float32: 2.0}, [0.0]

    def multiplied(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        clock[0] += seconds[one.dtype]
        return one

    monkeypatch.setattr(torch, "matmul", multiplied)
    monkeypatch.setattr(runtime.time, "perf_counter", lambda: clock[0])
    assert bf16_time_ratio(size=2, repeats=3) == 1.5


def test_bf16_is_refused_where_it_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "an old GPU")
    check_bf16(torch.device("cpu"))
    with pytest.raises(
        RecipeError, match=r'train\.precision = "bf16": an old GPU does not compute in bfloat16; use "fp32"'
    ):
        check_bf16(torch.device("cuda"))
