"""`postedit train` in two processes started by torchrun, as on several GPUs or machines."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomli_w

SAMPLE = Path(__file__).parents[2] / "examples" / "mlqe-pe.en-de"
TRAIN: dict[str, Any] = {
    "max_steps": 8,
    "batch_tokens": 1000,
    "update_tokens": 2000,
    "warmup_steps": 4,
    "eps": 1e-3,
    "validate_every": 4,
    "save_every": 4,
    "log_every": 1,
}
MODEL = {
    "name": "transference",
    **{f"layers_{side}": 1 for side in ("src", "mt", "pe")},
    **{"dim": 16, "heads": 2, "feed_forward": 32, "dropout": 0.0},
}


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """Return a recipe that learns from some triplets of the sample."""
    for name, count in (("train", 300), ("dev", 20)):
        for side in ("src", "mt", "pe"):
            lines = (SAMPLE / f"{name}.{side}").read_text("utf-8").splitlines(keepends=True)
            (tmp_path / f"{name}.{side}").write_text("".join(lines[:count]), "utf-8")
    values = {
        "model": MODEL,
        "text": {"vocabulary": {"size": 500}},
        "data": {"train": ["train"], "dev": "dev"},
        "train": TRAIN,
    }
    path = tmp_path / "recipe.toml"
    path.write_text(tomli_w.dumps(values))
    return path


def postedit(processes: int, *arguments: object) -> str:
    """Run the command in so many processes, and return what it says."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(torchrun if processes > 1 else []), "-m", "postedit", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


def course(folder: Path) -> list[dict[str, float]]:
    """Return the losses of a run, and its dev scores, by step."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: line[key] for key in ("step", "nll", "dev_nll", "dev_ter") if key in line} for line in lines]


@pytest.mark.slow
def test_a_run_of_two_processes_resumed_by_one_learns_the_same(recipe: Path, tmp_path: Path) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    postedit(1, "train", recipe, "--out", alone)
    postedit(2, "train", recipe, "--out", shared, "--set", "train.max_steps=4")
    said = postedit(1, "train", recipe, "--out", shared, "--resume")
    assert said.count("Trained 8 updates") == 1
    for one, other in zip(course(alone), course(shared), strict=True):
        assert other == pytest.approx(one, rel=1e-3)
    starts = json.loads((shared / "environment.json").read_text())["starts"]
    assert [start["processes"] for start in starts] == [2, 1]


def recorded(
    record: Path, steps: int, killed: int, processes: int, *arguments: object
) -> subprocess.CompletedProcess[str]:
    """Run `recorded_training.py` in so many processes to its end."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    script = [str(Path(__file__).with_name("recorded_training.py")), str(record), str(steps), str(killed)]
    command = [sys.executable, *(torchrun if processes > 1 else []), *script, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)


def seen(record: Path, first: int, last: int) -> dict[int, Counter[str]]:
    """Return the triplets that all processes learned from in the updates from `first` to `last`."""
    updates: dict[int, Counter[str]] = {number: Counter() for number in range(first, last + 1)}
    for path in record.parent.glob(f"{record.name}.*"):
        for line in path.read_text("utf-8").splitlines():
            number, triplet = line.split("\t")
            if first <= int(number) <= last:
                updates[int(number)][triplet] += 1
    return updates


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 3])
def test_one_of_two_processes_killed_and_nothing_is_lost_or_seen_twice(
    recipe: Path, tmp_path: Path, processes: int
) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    one, two, more = (tmp_path / f"record-{name}" for name in ("one", "two", "more"))
    undisturbed_run = recorded(one, 0, 0, 1, "train", recipe, "--out", alone)
    assert undisturbed_run.returncode == 0, undisturbed_run.stderr
    assert recorded(two, 0, 7, 2, "train", recipe, "--out", shared).returncode != 0
    steps = max(int(path.name.rpartition("-")[2]) for path in (shared / "checkpoints").iterdir())
    assert steps in (4, 6), "the last checkpoint, or one that the other process made at its end"
    resumed_run = recorded(more, steps, 0, processes, "train", recipe, "--out", shared, "--resume")
    assert resumed_run.returncode == 0, resumed_run.stderr
    undisturbed, whole = seen(one, 1, 8), {**seen(two, 1, steps), **seen(more, steps + 1, 8)}
    assert whole == undisturbed
    assert sum(map(Counter.total, undisturbed.values())) > 300, "more than an epoch"
    for resumed, plain in zip(course(shared), course(alone), strict=True):
        assert resumed == pytest.approx(plain, rel=1e-3)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="names of threads are asked of Linux")
def test_ended_processes_hold_no_connections(recipe: Path, tmp_path: Path) -> None:
    script = tmp_path / "threads.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from postedit.cli.main import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "names = [(Path('/proc/self/task') / one / 'comm').read_text() for one in os.listdir('/proc/self/task')]\n"
        "print('threads of a process:', *map(str.strip, names))\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    command += ["train", str(recipe), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("threads of a process:") == 2
    assert "gloo" not in done.stdout
