"""Several processes that share a run."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from free_ports import free_port
from tiny_run import in_process, log

from postedit.core.tensor_files import load_tensors
from postedit.train.runtime import spare_processes


def run_processes(folder: Path, corpora: Path, settings: Mapping[str, Any], count: int, resume: bool = False) -> None:
    """Train without dropout in `count` processes that know each other, or in one that is alone."""
    group = {"ACCELERATE_USE_CPU": "true", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    group |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    places = [group | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)] if count > 1 else [{}]
    processes = [
        in_process(folder, corpora, settings, dropout=0.0, resume=resume, environment=environment)
        for environment in places
    ]
    for process in processes:
        process.join(1800)
        assert process.exitcode == 0


def assert_same_course(one: Path, other: Path) -> None:
    """Assert that two runs had the same losses, gradients and dev scores at the same steps, and end alike."""
    for line, counterpart in zip(log(one), log(other), strict=True):
        for name in {"step", "nll", "risk", "dev_nll", "grad_norm"} & line.keys():
            assert counterpart[name] == pytest.approx(line[name], rel=1e-4)
    last = f"best/step-{log(one)[-1]['step']:08d}.safetensors"
    expected = load_tensors(one / last)
    for name, tensor in load_tensors(other / last).items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-6)


PROCESSES: dict[str, Any] = {"max_steps": 8, "validate_every": 4, "save_every": 4, "eps": 0.1}


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param({"ema": 0.5}, id="plain"),
        pytest.param({"risk": {"search": "beam"}}, id="risk", marks=pytest.mark.slow),
        pytest.param({"precision": "bf16"}, id="bf16", marks=pytest.mark.slow),
        pytest.param({"compile": True}, id="compiled", marks=pytest.mark.slow),
    ],
)
def test_two_processes_do_what_one_does_with_two_batches(tmp_path: Path, corpora: Path, loss: dict[str, Any]) -> None:
    run_processes(tmp_path / "one", corpora, PROCESSES | loss | {"accumulate": 2}, 1)
    run_processes(tmp_path / "two", corpora, PROCESSES | loss, 2)
    assert_same_course(tmp_path / "one", tmp_path / "two")
    assert all(("risk" in line) == ("risk" in loss and "loss" in line) for line in log(tmp_path / "two"))
    rng = load_tensors(tmp_path / "two" / "checkpoints" / "step-00000008" / "rng.safetensors")
    assert set(rng) == {"0/cpu", "1/cpu"}
    assert not torch.equal(rng["0/cpu"], rng["1/cpu"])


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [10, 70], ids=["less than a batch", "batches that cannot be shared equally"])
def test_updates_by_tokens_are_the_same_on_any_number_of_processes(tmp_path: Path, corpora: Path, tokens: int) -> None:
    settings = PROCESSES | {"update_tokens": tokens, "batch_tokens": 50, "log_every": 1}
    for count in (1, 2):
        run_processes(tmp_path / str(count), corpora, settings, count)
    assert_same_course(tmp_path / "1", tmp_path / "2")


@pytest.mark.slow
@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("size", [{"accumulate": 2}, {"update_tokens": 70}], ids=["batches", "tokens"])
def test_a_run_goes_on_with_another_number_of_processes(
    tmp_path: Path, corpora: Path, before: int, size: dict[str, int]
) -> None:
    settings = PROCESSES | size
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_processes(whole, corpora, settings, before)
    run_processes(parts, corpora, settings | {"max_steps": 4}, before)
    run_processes(parts, corpora, settings, 3 - before, resume=True)
    assert_same_course(whole, parts)
    states = [json.loads((run / "checkpoints/step-00000008/state.json").read_text())["run"] for run in (whole, parts)]
    assert states[0]["position"] == states[1]["position"]
    assert states[0]["target_tokens"] == states[1]["target_tokens"]


@pytest.mark.slow
def test_processes_that_cannot_share_an_update_equally_are_reported(tmp_path: Path, corpora: Path) -> None:
    run_processes(tmp_path, corpora, PROCESSES | {"max_steps": 4}, 1)
    run_processes(tmp_path, corpora, PROCESSES, 2, resume=True)
    told = (tmp_path / "console.txt").read_text()
    assert "Batches of an update: 1, as when the run was started; 2 processes cannot share them equally" in told
    assert "The number of processes has changed" in told


def test_more_processes_than_cores_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert spare_processes(2) is None
    assert spare_processes(3) == "3 processes share 2 processor cores and will wait for each other; start 2 at most"
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert spare_processes(8) is None  # on four machines
