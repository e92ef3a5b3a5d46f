"""Models in a Ray cluster: loaded once a worker; made triplets survive the end of workers and of the command."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import psutil
import pytest
import tomli_w
import torch
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.core.files import load_json
from postedit.core.search_config import SearchConfig
from postedit.distributed.executors import RayExecutor
from postedit.distributed.pipeline import run_job
from postedit.folder import ModelFolder

SAMPLE = Path(__file__).parents[3] / "examples" / "mlqe-pe.en-de" / "train"
SIDES = ("src", "mt", "pe")
LINES = 160


def counting(build: Callable[[int], Any], folder: Path, number: int) -> Any:
    """Build a worker that writes a letter into a file of its process for each model that it loads."""
    load = ModelFolder.load

    def counted(path: Path, device: Any = "cpu") -> ModelFolder:
        with (folder / str(os.getpid())).open("a") as file:
            file.write("x")
        return load(path, device)

    ModelFolder.load = counted  # type: ignore[method-assign]
    return build(number)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return what lists, for each worker process of the cluster that loads models, how many."""
    (tmp_path / "loads").mkdir()
    inner = RayExecutor.map

    def counted(self: RayExecutor, build: Callable[[int], Any], items: Any) -> Any:
        return inner(self, partial(counting, build, tmp_path / "loads"), items)

    monkeypatch.setattr(RayExecutor, "map", counted)
    return lambda: [path.read_text() for path in (tmp_path / "loads").iterdir()]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Return the prefix of some real triplets."""
    for side in SIDES:
        lines = Path(f"{SAMPLE}.{side}").read_text("utf-8").splitlines()[:LINES]
        Path(f"{tmp_path}/in.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path / "in"


def writing_model(reads: str) -> ModelFolder:
    """Return a small model that reads src or mt alone, and writes some words: its other tokens have no probability."""
    import tiny_models  # here, as workers, which import this module, cannot find it

    made = tiny_models.folder("transformer", input=reads)
    (known,) = made.processor.encode_batch("pe", ["the house goes it das Haus geht"])
    bias = torch.full((made.model.spec.vocabularies.target.size,), -1e4)
    bias[known] = torch.linspace(0, 1, len(known))
    made.model.get_parameter("head.bias").data.copy_(bias)
    return replace(made, search=SearchConfig(max_ratio=0.2, max_extra=4, max_input=200))


def recipe(folder: Path, kind: str, out: str) -> Path:
    """Write a recipe that makes triplets with small models, many chunks of few lines."""
    writing_model("mt" if kind == "errors" else "src").save(folder / "model")
    translator = {"kind": "postedit", "model": str(folder / "model"), "beam": 2}
    texts = {"src": "in.src", "pe": "in.pe", "translator": translator}
    if kind == "roundtrip":
        texts = {"text": "in.pe", "back": translator, "forward": translator}
    if kind == "errors":
        texts = {"src": "in.src", "pe": "in.pe", "model": translator["model"]}
    options = {"kind": kind, **texts, "real": ["in"], "mismatch": 1.0, "out": str(folder / out), "chunk_lines": 4}
    path = folder / f"{out}.toml"
    path.write_text(tomli_w.dumps({"synth": {**options, "dir": str(folder)}}))
    return path


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output


def made(folder: Path, out: str) -> dict[str, bytes]:
    """Return the content of all files of triplets, by their endings."""
    found = [path for path in folder.glob(f"{out}.*") if path.suffix[1:] in SIDES]
    return {path.name.removeprefix(out): path.read_bytes() for path in found}


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Leave the check for sound text as it is, in all processes alike."""


@pytest.mark.slow
def test_a_model_is_loaded_once_a_worker(
    ray: Any, tmp_path: Path, texts: Path, tiny_folders: Path, loads: Callable[[], list[str]]
) -> None:
    files = ["--src", f"{texts}.src", "--mt", f"{texts}.mt", "--out", tmp_path / "out"]
    small = ["--set", "chunk_lines=4", "--set", "search.max_extra=2"]
    run("edit", tiny_folders / "transference", *files, *small, "--engine", "ray", "--workers", 2)
    assert loads() == ["x", "x"], "of two workers with forty windows"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forward", "errors"])
def test_a_model_that_makes_triplets_is_loaded_once_a_worker(
    ray: Any, tmp_path: Path, texts: Path, loads: Callable[[], list[str]], kind: str
) -> None:
    run("synth", recipe(tmp_path, kind, "out"), "--engine", "ray", "--workers", 2)
    assert loads() == ["x", "x"], "of two workers with forty chunks; selection needs no model"


def slow(build: Callable[[int], Any], number: int) -> Callable[[Any], Any]:
    """Build a worker that takes its time, so that a test can end it in the middle of its work."""
    work = build(number)

    def after_a_pause(item: Any) -> Any:
        time.sleep(0.2)
        return work(item)

    return after_a_pause


def run_slowly(*arguments: object) -> None:
    """Run a command, in a process of its own, whose workers are slow and which saves its progress at every chunk."""
    run_job.__kwdefaults__["save_seconds"] = 0.0  # type: ignore[index]
    inner = RayExecutor.map
    RayExecutor.map = lambda self, build, items: inner(self, partial(slow, build), items)  # type: ignore[method-assign]
    run(*arguments)


def wait_for(folder: Path, chunks: int, process: SpawnProcess) -> None:
    """Wait until so many chunks are translated."""
    journal, end = folder / "out.translated.partial.json", time.monotonic() + 300
    while not journal.exists() or load_json(journal)["chunks"] < chunks:
        assert process.is_alive()
        assert time.monotonic() < end, "it is too slow"
        time.sleep(0.02)


def a_worker() -> psutil.Process:
    """Return the process of an actor of the cluster, whose processes this one has started."""
    found = psutil.Process().children(recursive=True)
    return next(child for child in found if "ray::_Actor" in " ".join(child.cmdline()))


@pytest.mark.faults
@pytest.mark.parametrize("kind", ["forward", "roundtrip"])
def test_translations_survive_the_end_of_a_worker_and_of_the_command(
    ray: Any, tmp_path: Path, texts: Path, kind: str
) -> None:
    run("synth", recipe(tmp_path, kind, "whole"), "--workers", 1)
    command = ["synth", recipe(tmp_path, kind, "out"), "--workers", 2, "--engine", "ray"]
    address = ["--address", ray.get_runtime_context().gcs_address]
    process = get_context("spawn").Process(target=run_slowly, args=(*command, *address), daemon=True)
    process.start()
    wait_for(tmp_path, 3, process)
    a_worker().kill()
    wait_for(tmp_path, 20, process)  # what the worker had, too
    process.kill()
    process.join()
    done = load_json(tmp_path / "out.translated.partial.json")["chunks"]
    assert 20 <= done < LINES // 4
    run(*command, "--resume")
    assert made(tmp_path, "out") == made(tmp_path, "whole")
    assert len(made(tmp_path, "out")) == (7 if kind == "roundtrip" else 6)
