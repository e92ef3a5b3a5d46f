"""Law 12: killed and resumed training ends bit-equal on the CPU."""

import json
import os
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_run import in_process, train

from postedit.data.batching import Position
from postedit.train.checkpoints import Checkpoints
from postedit.train.resume import with_changed_data
from postedit.train.train_state import LossTrend, Plateau, TrainState, ValidatedModel

SCHEDULES: dict[str, dict[str, Any]] = {
    "inverse-sqrt": {"schedule": "inverse-sqrt", "accumulate": 2, "optimizer": "adamw", "weight_decay": 0.1},
    "plateau": {"schedule": "plateau", "plateau_patience": 1, "patience": 20, "keep_best": 2, "lr": 0.05},
}
SLOW_SCHEDULES: dict[str, dict[str, Any]] = {
    "sgd": {
        "schedule": "constant", "optimizer": "sgd", "momentum": 0.9, "ema": 0.9, "average": "last", "keep_best": 3,
    },
    "adafactor": {"schedule": "linear", "optimizer": "adafactor", "ema": 0.99},
    "risk": {"schedule": "constant", "risk": {"weight": 0.7}},
    "rdrop": {"schedule": "constant", "rdrop": 2.0, "warmup_steps": 0},
}  # fmt: skip


def finish(folder: Path, corpora: Path, settings: dict[str, Any], **options: Any) -> int | None:
    """Train in a process, and return how it ended."""
    process = in_process(folder, corpora, settings, **options)
    process.join(1800)
    return process.exitcode


def content(folder: Path) -> dict[str, bytes]:
    """All weights a run leaves, and its state but for the clock."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in [*folder.rglob("*.safetensors"), folder / "best" / "best.json"]
    }
    for path in folder.glob("checkpoints/*/state.json"):
        state = json.loads(path.read_text())
        del state["run"]["seconds"]
        files[str(path.relative_to(folder))] = json.dumps(state).encode()
    return files


def logged_steps(folder: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", [*SCHEDULES, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_SCHEDULES)])
def test_killed_and_resumed_training_ends_bit_equal(tmp_path: Path, corpora: Path, name: str) -> None:
    settings = {**SCHEDULES, **SLOW_SCHEDULES}[name] | {"max_steps": 30, "save_every": 5, "validate_every": 4}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert finish(whole, corpora, settings) == 0
    assert finish(killed, corpora, settings, kill_at=13) == -signal.SIGKILL
    assert finish(killed, corpora, settings, kill_at=24, resume=True) == -signal.SIGKILL
    assert finish(killed, corpora, settings, resume=True) == 0
    assert "Resumed at step 10" in (killed / "console.txt").read_text()
    assert "Resumed at step 20" in (killed / "console.txt").read_text()
    assert content(killed) == content(whole)
    assert logged_steps(killed) == logged_steps(whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_step_and_leaves_a_checkpoint(tmp_path: Path, corpora: Path, number: signal.Signals) -> None:
    settings = {"max_steps": 1000, "save_every": 1000, "validate_every": 1000, "log_every": 1}
    process = in_process(tmp_path, corpora, settings, slow=0.05)
    console = tmp_path / "console.txt"
    while not (console.exists() and "step 1 " in console.read_text()):
        assert process.is_alive()
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(1800)
    assert process.exitcode == 1  # an uncaught KeyboardInterrupt
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    step = json.loads((checkpoint / "state.json").read_text())["run"]["step"]
    assert 1 <= step < 1000
    assert (
        f"Interrupted at step {step}. The last checkpoint is {checkpoint}; run the same command with --resume"
        in console.read_text()
    )


def test_a_checkpoint_holds_the_whole_state() -> None:
    best = ValidatedModel(8, 1.5, {"nll": 1.5})
    state = TrainState(
        step=9,
        position=Position(2, 40, 7, 9999),
        target_tokens=77,
        seconds=1.25,
        validated=8,
        stale=3,
        plateau=Plateau(1, 2),
        best=(best,),
        last=(best, best),
        lowest=1.0,
        trend=LossTrend(5, 2.0, 3.0, 0.5),
        update_batches=4,
    )
    values = asdict(state)
    assert not [name for name, value in asdict(TrainState()).items() if values[name] == value]
    assert TrainState.from_dict(json.loads(json.dumps(values))) == state


@pytest.mark.parametrize(
    ("other", "position", "stale"),
    [
        ({"dev": "x"}, Position(2, 40, 7, 9999), 0),
        ({"corpus": "x"}, Position(3), 2),
        ({"shares": "x", "dev": "x"}, Position(3), 0),
        ({}, Position(2, 40, 7, 9999), 2),
    ],
)
def test_only_another_corpus_costs_the_rest_of_an_epoch(other: dict[str, str], position: Position, stale: int) -> None:
    now = {"corpus": "a", "shares": "b", "dev": "c"}
    best = (ValidatedModel(8, 1.5, {"nll": 1.5}),)
    state = TrainState(step=9, position=Position(2, 40, 7, 9999), stale=3, plateau=Plateau(1, 2), lowest=1.0)
    state = replace(state, best=best, last=best, validated=8)
    checkpoint = SimpleNamespace(state={"identity": now})
    said: list[str] = []
    found = with_changed_data(state, checkpoint, now | other, said.append)  # type: ignore[arg-type]
    assert (found.position, found.plateau) == (position, Plateau(1, stale))
    assert found.stale == (0 if "dev" in other else 3)
    assert (found.best, found.last, found.validated) == (((), (), 0) if "dev" in other else (best, best, 8))
    assert found.lowest == (None if set(other) - {"dev"} else 1.0)
    assert len(said) == len(other)


def test_checkpoints_that_a_failed_disk_left_are_removed(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"max_steps": 6, "save_every": 2, "validate_every": 3, "keep_last": 1}
    with monkeypatch.context() as failing:
        failing.setattr(Checkpoints, "tidy", lambda self, step: None)
        train(tmp_path / "run", corpora, settings)
    checkpoints = Checkpoints(tmp_path / "run/checkpoints", 1)
    assert len(checkpoints.paths()) > 1
    train(tmp_path / "run", corpora, settings, resume=True)
    assert [path.name for path in checkpoints.paths()] == ["step-00000006"]
