"""The script for machines with a GPU, run on the CPU with a tiny recipe: it must work on the first occasion."""

import copy
import importlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from postedit import PostEditor

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples/mlqe-pe.en-de"
CHECKED = "flat-attention-small"
"""The model that is compared."""
BY_FAMILY = ("m-cgru-hard-small", "copycat-src-small", "cross-encoder-small", "edit-operations-src-small")
"""Models that the whole script compares, of several families."""
TINY = """
[model]
name = "transference"
layers_src = 1
layers_mt = 1
layers_pe = 1
dim = 32
heads = 2
feed_forward = 64

[text.vocabulary]
size = 400

[data]
train = "train"
dev = "dev"

[train]
max_steps = 6
batch_tokens = 2000
save_every = 5
validate_every = 1000
"""

# Imports what all stages do, in a Python that lacks all that the note of the bundle does not name.
WITH_WHAT_IT_SAYS = """
import re, sys
from importlib.metadata import packages_distributions, requires, PackageNotFoundError
sys.path.insert(0, "benchmarks")
import gpu_bundle

def normal(name):
    return re.sub("[-_.]+", "-", name).lower()

there, waiting = {normal(name) for name in gpu_bundle.OFTEN_MISSING}, list(gpu_bundle.PRESENT)
while waiting:
    name = normal(waiting.pop())
    if name not in there:
        there.add(name)
        try:
            needs = requires(name) or ()
        except PackageNotFoundError:  # for another system
            continue
        waiting += [re.match(r"[\\w.-]+", need).group() for need in needs if "extra ==" not in need]
modules = packages_distributions()
lacking = {module for module, names in modules.items() if not there & set(map(normal, names))} - {"postedit"}
assert {"pytest", "matplotlib"} <= lacking

class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in lacking:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for module in lacking & set(sys.modules):
    del sys.modules[module]
sys.meta_path.insert(0, Bare())
import gpu, gpu_measure, sacremoses
import postedit.editing.post_editor, postedit.jobs.training, postedit.train.run_report
from torch.utils.tensorboard import SummaryWriter
"""


@pytest.fixture(scope="module")
def python(programs: Path) -> str:
    """Return a Python that starts fast."""
    return str(programs / "python")


def variables(**environment: str) -> dict[str, str]:
    """Return the environment of a command."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **environment}


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    environment = variables(**environment)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def interrupted(command: list[str], folder: Path) -> tuple[int, str]:
    """Interrupt a command once it has logged an update in `folder`; return the exit code and what it says."""
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, env=variables(), **streams)
    while process.poll() is None and not any(path.stat().st_size for path in folder.rglob("log.jsonl")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    return process.returncode, said


def bundle_of(python: str, folder: Path, *data: Path) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "benchmarks/gpu_bundle.py")
    return run([python, script, *map(str, data), "--out", str(folder)])


def small_sample(folder: Path) -> Path:
    folder.mkdir()
    for part, lines in (("train", 200), ("dev", 8)):
        for side in ("src", "mt", "pe"):
            text = (SAMPLE / f"{part}.{side}").read_text(encoding="utf-8").split("\n")[:lines]
            (folder / f"{part}.{side}").write_text("\n".join(text) + "\n", encoding="utf-8")
    return folder


def prepared(python: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a tiny recipe, and the settings of the script for it: the CPU, a Python, and a bundle."""
    assert bundle_of(python, folder / "bundle", small_sample(folder / "data")).returncode == 0
    return unprepared(python, folder)


def unprepared(python: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the same for stages that look at no triplets."""
    recipe = folder / "tiny.toml"
    recipe.write_text(TINY, encoding="utf-8")
    settings = {
        "GPU_DEVICE": "cpu",
        "GPU_PYTHON": python,
        "GPU_BUNDLE": str(folder / "bundle"),
        "GPU_RUN": str(folder / "runs/tiny"),
    }
    return recipe, settings


class TestBundle:
    @pytest.mark.slow
    def test_packing_is_repeatable_and_lists_the_files_to_carry(self, python: str, tmp_path: Path) -> None:
        data = small_sample(tmp_path / "data")
        first, second = bundle_of(python, tmp_path / "one", data), bundle_of(sys.executable, tmp_path / "two", data)
        assert first.returncode == second.returncode == 0, first.stderr
        assert (tmp_path / "one/triplets.tar.xz").read_bytes() == (tmp_path / "two/triplets.tar.xz").read_bytes()
        with tarfile.open(tmp_path / "one/triplets.tar.xz") as tar:
            content = tar.extractfile("data/dev.pe")
            assert content is not None
            assert content.read() == (data / "dev.pe").read_bytes()
        assert "pip download" in first.stdout
        assert "pydantic==" in first.stdout

    @pytest.mark.slow
    def test_the_listed_packages_suffice(self) -> None:
        done = run([sys.executable, "-c", WITH_WHAT_IT_SAYS])
        assert done.returncode == 0, done.stderr

    def test_missing_side_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
        data = small_sample(tmp_path / "data")
        (data / "dev.mt").unlink()
        assert importlib.import_module("gpu_bundle").main([str(data), "--out", str(tmp_path / "out")]) == 1
        assert "missing dev.mt" in capsys.readouterr().err


@pytest.mark.slow
def test_two_slices_resume_each_other_and_return_a_model(python: str, tmp_path: Path) -> None:
    recipe, settings = prepared(python, tmp_path)
    settings |= {
        "GPU_CHECK_RECIPES": " ".join(BY_FAMILY),
        "GPU_SPEED_SECONDS": "0.2",
        "GPU_SLICE_MINUTES": "60",  # the slices end by max_steps below, however slow the machine is
        "GPU_PART_MIB": "0.05",
        "GPU_PARTS": "0 1000",
    }
    spent = []
    for number in (1, 2):
        results = tmp_path / f"results{number}"
        command = ["bash", "benchmarks/gpu.sh", str(results), str(recipe), f"train.max_steps={6 * number}"]
        done = run(command, **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        spent.append(json.loads((results / "slice.json").read_text())["minutes"])
        checked = json.loads((results / "check.json").read_text())["models"]
        assert [(model["model"], model["passed"]) for model in checked] == [(name, True) for name in BY_FAMILY]
    assert spent[0]["before"] == 0.0
    assert 0.0 < spent[0]["after"] == spent[1]["before"] < spent[1]["after"]
    speeds = json.loads((tmp_path / "results1/speed.json").read_text())["models"]
    assert {row["precision"] for row in speeds} == {"bf16", "fp32"}
    assert all(row["tflops"] > 0 and row["minutes_for_500000_triplets"] > 0 for row in speeds)

    parts = sorted(results.glob("model.tar.*"))
    assert len(parts) == len(json.loads((results / "model.json").read_text())["sha256"]) > 1
    assert all(part.stat().st_size <= 0.05 * 2**20 for part in parts)
    (tmp_path / "model.tar").write_bytes(b"".join(part.read_bytes() for part in parts))
    with tarfile.open(tmp_path / "model.tar") as tar:
        tar.extractall(tmp_path / "back", filter="data")
    edited = PostEditor.load(tmp_path / "back/model", device="cpu").edit(src=["A house ."], mt=["Ein Haus ."])
    assert len(edited) == 1
    with tarfile.open(results / "records.tar.xz") as tar:
        assert any(name.endswith(".jsonl") for name in tar.getnames())


@pytest.mark.slow
def test_prepared_corpora_are_trained_on_to_the_end_of_the_schedule(python: str, tmp_path: Path) -> None:
    recipe, settings = prepared(python, tmp_path)
    linear = '[train]\nschedule = "linear"\nlog_every = 2\nwarmup_steps = 2\nlr = 1e-3'
    recipe.write_text(TINY.replace("[train]", linear), encoding="utf-8")
    script = [python, str(ROOT / "benchmarks/gpu_bundle.py"), str(tmp_path / "data")]
    done = run([*script, "--recipe", str(recipe), "--out", settings["GPU_BUNDLE"]])
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "bundle/triplets.tar.xz") as tar:
        names = tar.getnames()
    assert {"prepared/corpus/train.arrow", "prepared/text/text.json", "data/dev.pe"} < set(names)
    assert "data/train.pe" not in names
    command = ["bash", "benchmarks/gpu.sh", str(tmp_path / "results"), str(recipe)]
    settings |= {"GPU_STAGES": "train", "GPU_SLICE_MINUTES": "60"}
    early = run(command, **settings, GPU_LAST="1")
    assert "its speed is not known yet" in early.stderr
    assert run(command, **settings).returncode == 0
    log = tmp_path / "runs/tiny/train/log.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    # As of a machine that makes some twenty updates in a slice; they take seconds here, so that time never ends it.
    log.write_text("".join(json.dumps({**row, "seconds": 150.0 * row["step"]}) + "\n" for row in rows))
    last = run(command, **settings, GPU_LAST="1")
    assert last.returncode == 0, last.stdout + last.stderr
    recipe.write_text(TINY.replace("[train]", linear).replace("400", "500"), encoding="utf-8")
    other = run(command, **settings | {"GPU_RUN": str(tmp_path / "runs/other")})
    assert "of another recipe, with another [text]" in other.stderr
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert 16 < rows[-1]["step"] < 30
    assert json.loads((tmp_path / "results/slice.json").read_text())["finished"] is True
    assert [row["lr"] for row in rows if "lr" in row][-1] < 1e-4


@pytest.mark.slow
def test_decoding_before_there_is_a_model_says_so(python: str, tmp_path: Path) -> None:
    recipe, settings = prepared(python, tmp_path)
    command = ["bash", "benchmarks/gpu.sh", str(tmp_path / "results"), str(recipe)]
    done = run(command, **settings, GPU_STAGES="decode")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no model to decode with yet" in done.stdout


@pytest.mark.slow
def test_an_interrupted_slice_resumes_through_all_stages(python: str, tmp_path: Path) -> None:
    recipe, data = tmp_path / "tiny.toml", small_sample(tmp_path / "data")
    stages = '[[stage]]\nname = "generic"\n[[stage]]\nname = "tuned"\n[stage.train]\nmax_steps = 3\n'
    recipe.write_text(TINY + stages, encoding="utf-8")
    script = [python, str(ROOT / "benchmarks/gpu.py"), "--device", "cpu", "--results", str(tmp_path)]
    command = [*script, "train", str(recipe), str(tmp_path / "run"), f"--set=data.dir={data}"]
    endless = [*command, "--set=train.max_steps=100000", "--set=train.log_every=1", "--minutes", "60"]
    code, said = interrupted(endless, tmp_path / "run")
    assert code == 0, said
    assert json.loads((tmp_path / "slice.json").read_text())["finished"] is False
    assert run([*script, "pack", str(tmp_path / "run")]).returncode == 0
    done = run([*command, "--minutes", "60"])
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "slice.json").read_text())
    assert found["finished"] is True
    assert found["dev"]["generic"]["step"] >= 6
    assert found["dev"]["tuned"]["step"] == 3
    assert run([*script, "pack", str(tmp_path / "run"), "--part-mib", "60"]).returncode == 0
    assert (tmp_path / "model.tar.00").exists()


def test_the_clock_of_a_slice_interrupts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(gpu, "train_recipe", lambda *_, **__: time.sleep(300))
    recipe, data = tmp_path / "tiny.toml", small_sample(tmp_path / "data")
    recipe.write_text(TINY, encoding="utf-8")
    gpu.train(recipe, tmp_path / "run", tmp_path, 0.001, [f"data.dir={data}"], last=False, prepared=tmp_path / "none")
    assert json.loads((tmp_path / "slice.json").read_text())["finished"] is False


@pytest.mark.slow
def test_speed_of_compiled_layers_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    gpu = importlib.import_module("gpu_measure")
    counter = CompileCounterWithBackend("aot_eager")
    monkeypatch.setattr(gpu, "compile_layers", partial(gpu.compile_layers, backend=counter))
    way = {"precision": "fp32", "compile": True}
    with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
        row = gpu._speed("transformer-mt-small", way, torch.device("cpu"), rows=4, seconds=0.1)
    assert row["tokens_per_second"] > 0
    assert counter.frame_count > 1


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("compile", True, [7, "RuntimeError('no room')", 7, 7, 7]),
        ("precision", "fp32", [7, 7, "RuntimeError('no room')", 7, "RuntimeError('no room')"]),
        ("precision", "none", [7, 7, 7, 7, 7]),
    ],
)
def test_a_speed_that_cannot_be_measured_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str, value: object, found: list[object]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    gpu = importlib.import_module("gpu_measure")

    def speed(_name: str, way: dict[str, Any], *_: object) -> dict[str, float]:
        if way.get(option) == value:
            raise RuntimeError("no room")
        return {"tokens_per_second": 7}

    monkeypatch.setattr(gpu, "_speed", speed)
    monkeypatch.setattr(gpu, "machine", lambda _: {})
    whole = gpu.speed(torch.device("cuda"), tmp_path, ["transformer-mt-small", "m-cgru-small"], 4, 0.1)
    findings = json.loads((tmp_path / "speed.json").read_text())
    assert [row.get("error", row.get("tokens_per_second")) for row in findings["models"]] == found
    assert whole == (found == [7, 7, 7, 7, 7])
    assert findings["finished"]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the measurements of the script."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("gpu_measure")


@pytest.fixture(scope="module")
def evaluated() -> list[Any]:
    """Return what a comparison finds: on the CPU, on the device (which is the CPU, too), there in bf16, and in fp64."""
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        gpu = importlib.import_module("gpu_measure")
        evaluate = gpu._evaluate
        patch.setattr(gpu, "_evaluate", lambda *given: found.append(evaluate(*given)) or found[-1])
        assert gpu._compared(CHECKED, torch.device("cpu"))["passed"]
    return found


@pytest.fixture
def evaluations(gpu: Any, evaluated: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let the next comparison find copies of these, which a test may change, without a model."""
    copies = [copy.deepcopy(one) for one in evaluated]
    waiting = iter(copies)
    monkeypatch.setattr(gpu, "_model", lambda _: torch.nn.Identity())
    monkeypatch.setattr(gpu, "_batch", lambda *_, **__: None)
    monkeypatch.setattr(gpu, "_evaluate", lambda *_: next(waiting))
    return copies


@pytest.mark.slow
def test_a_model_that_the_device_refuses_costs_no_other_check(
    gpu: Any, evaluations: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compared = gpu._compared

    def refused(name: str, device: torch.device) -> dict[str, Any]:
        if name.startswith("copycat"):
            raise RuntimeError("no kernel")
        return compared(name, device) if name == CHECKED else {"passed": True}

    monkeypatch.setattr(gpu, "_compared", refused)
    assert gpu.check(torch.device("cpu"), tmp_path) is False
    rows = {row["model"]: row for row in json.loads((tmp_path / "check.json").read_text())["models"]}
    assert rows["copycat-small"] == {"model": "copycat-small", "error": "RuntimeError('no kernel')", "passed": False}
    assert rows[CHECKED]["gradients_fp32"] == rows[CHECKED]["gradients_cpu"]
    assert rows["transference-small"]["passed"]


@pytest.mark.parametrize(
    ("wrong", "factor", "passes"),
    [([1], 1.01, False), ([0, 1], 1.01, True), ([0], 1.01, True), ([], 1.01, True), ([0, 1], 1.05, False)],
)
def test_the_device_may_be_as_far_from_exact_gradients_as_the_cpu(
    gpu: Any, evaluations: list[Any], wrong: list[int], factor: float, passes: bool
) -> None:
    for number in wrong:  # 0: on the CPU, 1: on the device
        for gradient in evaluations[number].gradients.values():
            gradient *= factor
    assert gpu._compared(CHECKED, torch.device("cpu"))["passed"] is passes


def test_a_gradient_that_is_no_number_does_not_pass(gpu: Any, evaluations: list[Any]) -> None:
    last = list(evaluations[1].gradients)[-1]
    evaluations[1].gradients[last].fill_(torch.nan)
    assert gpu._compared(CHECKED, torch.device("cpu"))["passed"] is False


def test_gradients_that_are_compared_do_not_move_with_the_model(gpu: Any) -> None:
    model = gpu._model("flat-attention-small").eval()
    found = gpu._evaluate(model, gpu._batch(model, 2), torch.device("cpu"))
    stored = {parameter.grad.data_ptr() for parameter in model.parameters() if parameter.grad is not None}
    assert stored
    assert stored.isdisjoint(gradient.data_ptr() for gradient in found.gradients.values())


def test_a_check_that_died_is_made_anew(tmp_path: Path) -> None:
    recipe, settings = unprepared(sys.executable, tmp_path)
    run_folder = tmp_path / "runs/tiny"
    python = tmp_path / "python"
    done = '{"finished": true, "models": []}'
    (tmp_path / "found.json").write_text('{"finished": false, "models": [1]}')
    python.write_text(f"#!/bin/sh\ncp {tmp_path}/found.json {tmp_path}/results/check.json\nexit 139\n")
    python.chmod(0o755)
    command = ["bash", "benchmarks/gpu.sh", str(tmp_path / "results"), str(recipe)]
    settings |= {"GPU_STAGES": "check", "GPU_PYTHON": str(python)}
    first = run(command, **settings)
    assert "CHECK FAILED" in first.stdout
    assert not (run_folder / "check.json").exists()
    (tmp_path / "found.json").write_text(done)
    run(command, **settings)
    assert (run_folder / "check.json").read_text() == done


@pytest.mark.slow
def test_slice_without_time_for_training_says_so_and_ends_well(python: str, tmp_path: Path) -> None:
    script = str(ROOT / "benchmarks/gpu.py")
    command = [python, script, "--results", str(tmp_path), "train", "none.toml", str(tmp_path / "run")]
    done = run([*command, "--minutes", "2", "--finish", "1.5", "--used-seconds", "60"])
    assert done.returncode == 0, done.stderr
    assert "the next one goes on" in done.stdout


@pytest.mark.slow
def test_pack_of_a_run_without_a_model_says_so(python: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    script = str(ROOT / "benchmarks/gpu.py")
    done = run([python, script, "--results", str(tmp_path), "pack", str(tmp_path / "run")])
    assert done.returncode == 0, done.stderr
    assert "no model yet" in done.stdout
    assert not list(tmp_path.glob("model.tar.*"))


@pytest.mark.slow
def test_damaged_bundle_is_refused(python: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    assert bundle_of(python, bundle, small_sample(tmp_path / "data")).returncode == 0
    (bundle / "triplets.tar.xz").write_bytes((bundle / "triplets.tar.xz").read_bytes()[:-10])
    script = str(ROOT / "benchmarks/gpu.py")
    done = run([python, script, "--results", str(tmp_path), "unpack", str(bundle), str(tmp_path / "data2")])
    assert done.returncode == 1
    assert "damaged on the way" in done.stderr
    assert not (tmp_path / "data2").exists()
