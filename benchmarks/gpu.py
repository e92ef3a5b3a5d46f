"""What `benchmarks/gpu.sh` runs on a machine with an NVIDIA GPU, one verb a stage.

    check    the same model, weights and batch on the CPU and on the GPU: do the log-probabilities agree?
    speed    training tokens a second, in bf16 and fp32
    unpack   the triplets that were carried
    train    a recipe, for a slice of time that later slices go on from
    pack     what must come back: log, scores, and the model in parts of a limited size

Each writes its findings as JSON into the results folder. Any of them also runs on a CPU (`--device cpu`).
"""

import argparse
import hashlib
import io
import json
import os
import platform
import signal
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accelerate
import torch
from rich.console import Console
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

import postedit
from postedit.core.config import load_config
from postedit.core.errors import DataError, PosteditError
from postedit.core.files import atomic_folder, atomic_write, explain_os_errors
from postedit.core.model import Seq2Seq
from postedit.core.symbols import EOS, PAD, SYMBOLS
from postedit.core.types import Batch, Stream, Target
from postedit.folder import ModelFolder
from postedit.jobs.run import train as train_recipe
from postedit.recipe import load_recipe
from postedit.recipe_checks import largest_vocabularies
from postedit.train.compiling import compile_layers, compiled_in_updates, layers_of
from postedit.train.config import TrainConfig
from postedit.train.optimisers import build_optimizer
from postedit.train.update import Updater

# Largest difference of a log-probability (natural logarithm) in fp32 that different orders of summation explain;
# in bf16 (8 bits of mantissa) a difference says nothing about correctness, so it is only reported.
FP32_TOLERANCE = 1e-3
FP32_GRADIENT_TOLERANCE = 1e-3  # of a parameter's gradient, relative to its largest entry

RECIPES = Path(__file__).resolve().parent.parent / "recipes"

SAVE_MINUTES = 3.0  # between checkpoints: what a call that is cut off, because preparing the data took long, may lose


ROWS, PIECES = 1_000, 25  # sentences of a batch whose speed is measured, and pieces of each text
CHECKED_ROWS = 8
BF16_PEAKS = {"A100-SXM4": 312.0, "H100 80GB HBM3": 989.0, "NVIDIA H200": 989.0}
"""Dense matrix products of bf16 by NVIDIA's data sheets, in 10^12 operations a second."""

SPEED_RECIPES = ("transference-small", "transference", "m-cgru-small", "m-cgru")
TINY_RECIPES = ("demo",)  # for trying it out on a CPU


def check(device: torch.device, results: Path) -> bool:
    """Compare log-probabilities, loss and gradients of every small recipe's model on the CPU and on `device`."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    rows = []
    for path in sorted(RECIPES.glob("*-small.toml")):
        name = path.stem
        model = _model(name).eval()
        batch = _batch(model, CHECKED_ROWS, ragged=True)
        here = _evaluate(model, batch, torch.device("cpu"))
        there = _evaluate(model, batch, device)
        rough = _evaluate(model, batch, device, torch.bfloat16)
        rows.append(
            {
                "model": name,
                "log_probs_fp32": _difference(here.log_probs, there.log_probs),
                "loss_fp32": abs(here.loss - there.loss) / abs(here.loss),
                "gradients_fp32": max(
                    float((there.gradients[key] - gradient).abs().max() / gradient.abs().max().clamp(min=1e-12))
                    for key, gradient in here.gradients.items()
                    if float(gradient.abs().max()) > 1e-6
                ),
                "log_probs_bf16": _difference(here.log_probs, rough.log_probs),
            }
        )
        passed = rows[-1]["log_probs_fp32"] <= FP32_TOLERANCE and rows[-1]["gradients_fp32"] <= FP32_GRADIENT_TOLERANCE
        rows[-1]["passed"] = passed
        print("check", json.dumps(rows[-1]), flush=True)
    tolerances = {"log_probs_fp32": FP32_TOLERANCE, "gradients_fp32": FP32_GRADIENT_TOLERANCE}
    _write(results / "check.json", {"machine": _machine(device), "tolerances": tolerances, "models": rows})
    return all(row["passed"] for row in rows)


@dataclass(frozen=True)
class _Evaluation:
    log_probs: Tensor
    loss: float
    gradients: dict[str, Tensor]


def _evaluate(model: Seq2Seq, batch: Batch, device: torch.device, dtype: torch.dtype | None = None) -> _Evaluation:
    model, batch = model.to(device), batch.to(device)
    model.zero_grad(set_to_none=True)
    with torch.autocast(device.type, dtype, enabled=dtype is not None):
        assert batch.target is not None
        with torch.no_grad():
            output, _ = model.decode(batch.target.inputs, model.encode(batch))
            log_probs = output.log_probs[batch.target.mask].float().cpu()
        result = model(batch)
    result.loss.backward()
    gradients = {name: p.grad.float().cpu() for name, p in model.named_parameters() if p.grad is not None}
    return _Evaluation(log_probs, float(result.loss.detach()), gradients)


def _difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def speed(device: torch.device, results: Path, recipes: Sequence[str], rows_a_batch: int, seconds: float) -> None:
    """Measure training tokens a second of each recipe's model, with the trainer's own update.

    On a GPU, where compiling takes a minute, Transformers are compiled too, in bf16.
    """
    ways: list[dict[str, Any]] = [{"precision": "bf16"}, {"precision": "fp32"}]
    if device.type == "cuda":
        ways.insert(1, {"precision": "bf16", "compile": True})
    rows = []
    for name in recipes:
        for way in ways:
            if way.get("compile") and not layers_of(_model(name)):
                continue
            row = {"recipe": name, "compile": False, **way}
            try:
                row |= _speed(name, way, device, rows_a_batch, seconds)
            except Exception as error:  # the compiler's may be any; the other rows are worth having without it
                if not way.get("compile"):
                    raise
                row["error"] = str(error)
            rows.append(row)
            print("speed", json.dumps(row), flush=True)
            _write(results / "speed.json", {"machine": _machine(device), "models": rows})


def _speed(
    name: str, way: Mapping[str, Any], device: torch.device, rows: int, seconds: float
) -> dict[str, float | None]:
    """Train on batches of much the same size and return how fast that was, host and device together.

    Operations are those of matrix products and attention, forward and backward, two for each multiply-add.
    """
    config = load_config(TrainConfig, {**way, "max_steps": 1}, "speed")
    model = _model(name).to(device).train()
    if config.compile:
        torch.compiler.reset()  # of what an earlier model left, which counts too
        compile_layers(model, device)
    updater = Updater(model, build_optimizer(model, config), config, accelerate.Accelerator(cpu=device.type == "cpu"))
    batches = [_batch(model, rows, pieces=PIECES + more) for more in (0, 1, -1, 2, -2)]
    with compiled_in_updates(config.compile):
        return _speed_of(updater, batches, rows, seconds)


def _speed_of(updater: Updater, batches: Sequence[Batch], rows: int, seconds: float) -> dict[str, float | None]:
    model, device = updater.model, updater.accelerator.device
    start = time.perf_counter()
    for step, batch in enumerate(batches):  # the first updates compile or choose kernels, and take memory
        updater.update(step, [batch], rate=1e-4)
    updater.totals()
    began = time.perf_counter() - start
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    start, steps = time.perf_counter(), 0
    while steps == 0 or time.perf_counter() - start < seconds:
        updater.update(steps, [batches[steps % len(batches)]], rate=1e-4)
        steps += 1
        if steps % 10 == 0:
            updater.failure()  # waits for the device, so that the clock sees what was done
    tokens = updater.totals().tokens
    took = time.perf_counter() - start
    memory = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else 0.0
    with FlopCounterMode(display=False) as counter:
        updater.update(steps, [batches[0]], rate=1e-4)
    rate = counter.get_total_flops() * steps / took / 1e12
    peak = next((peak for name, peak in BF16_PEAKS.items() if name in _machine(device).get("gpu", "")), None)
    return {
        "first_updates_seconds": round(began, 1),
        "tokens_per_second": round(tokens / took),
        "tflops": round(rate, 5),
        "share_of_bf16_peak": None if peak is None else round(rate / peak, 3),
        "minutes_for_500000_triplets": round(500_000 / (rows * steps / took) / 60, 2),
        "updates_per_second": round(steps / took, 2),
        "labels_per_update": tokens / steps,
        "peak_gib": round(memory, 2),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def _model(name: str) -> Seq2Seq:
    """Return the model of a recipe, with fresh weights."""
    torch.manual_seed(1)
    recipe = load_recipe(RECIPES / f"{name}.toml", check_data=False)
    return recipe.architecture.build(recipe.model, largest_vocabularies(recipe.text))


def _batch(model: Seq2Seq, rows: int, *, pieces: int = PIECES, ragged: bool = False) -> Batch:
    vocabularies = model.spec.vocabularies
    sizes = {name: vocabularies.streams[name].size for name in model.spec.inputs}
    streams = {name: Stream(*_text(size, rows, pieces, ragged=ragged)) for name, size in sizes.items()}
    return Batch(streams, Target(*_text(vocabularies.target.size, rows, pieces, ragged=ragged)))


def _text(vocabulary: int, rows: int, pieces: int, *, ragged: bool) -> tuple[Tensor, Tensor]:
    ids = torch.randint(len(SYMBOLS), vocabulary, (rows, pieces))
    lengths = torch.randint(2, pieces + 1, (rows,)) if ragged else torch.full((rows,), pieces)
    mask = torch.arange(pieces) < lengths.unsqueeze(1)
    ids[torch.arange(rows), lengths - 1] = EOS
    return ids.masked_fill(~mask, PAD), mask


def unpack(bundle: Path, target: Path, name: str | None) -> Path:
    """Unpack the triplets of a bundle, into a folder of `target` named after their sum; return the one to train on.

    Raises:
        DataError: if the bundle is damaged, or it is not clear which of its folders is meant.
    """
    archive = bundle / "triplets.tar.xz"
    try:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        expected = (bundle / "triplets.sha256").read_text(encoding="utf-8").split()[0]
    except FileNotFoundError as error:
        raise DataError(f"{error.filename}: missing; `make gpu-bundle` writes it, carry the whole folder") from None
    if digest != expected:
        raise DataError(f"{archive}: damaged on the way (its SHA-256 sum is another); carry it again")
    target /= digest[:12]  # another bundle is other data
    if not target.is_dir():
        with atomic_folder(target) as folder, tarfile.open(archive, "r:xz") as tar:
            tar.extractall(folder, filter="data")
    names = sorted(path.name for path in target.iterdir())
    if name is None and len(names) == 1:
        return target / names[0]
    if name not in names:
        raise DataError(f"GPU_DATA must name the folder of triplets to train on: one of {', '.join(names)}")
    return target / name


def train(recipe: Path, run: Path, results: Path, minutes: float, overrides: Sequence[str]) -> None:
    """Go on training `recipe`, in all its stages, in the folder `run`, and stop after `minutes` as Ctrl-C would."""
    resolved = load_recipe(recipe, [f"train.save_minutes={SAVE_MINUTES}", *overrides])
    before = minutes_spent(run)
    console = Console(force_terminal=False, width=120)
    clock = threading.Timer(60.0 * minutes, os.kill, [os.getpid(), signal.SIGINT])
    clock.start()
    finished = True
    try:
        train_recipe(resolved, run, resume=(run / "recipe.toml").exists(), console=console)
    except KeyboardInterrupt as interruption:
        finished = False
        print(interruption, flush=True)
    finally:
        clock.cancel()
    after = minutes_spent(run)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    spent = {"before": before, "after": after}
    found = {"machine": _machine(device), "minutes": spent, "finished": finished, "dev": last_dev_scores(run)}
    _write(results / "slice.json", found)
    print(f"trained from minute {before:.1f} to {after:.1f}{', to the end' if finished else ''}", flush=True)


def parts_of(run: Path) -> list[Path]:
    """Return the folders with checkpoints of a run: its own, or those of its stages in the order of their work."""
    stages = sorted((run / "stages").glob("*/log.jsonl"), key=lambda path: path.stat().st_mtime)
    return [path.parent for path in stages] or [run]


def minutes_spent(run: Path) -> float:
    """Return the minutes of training that the newest checkpoints of a run hold, 0.0 if there are none."""
    newest = [max(part.glob("checkpoints/step-*/state.json"), default=None) for part in parts_of(run)]
    states = [json.loads(path.read_text(encoding="utf-8")) for path in newest if path is not None]
    return sum(float(state["run"]["seconds"]) for state in states) / 60.0


def last_dev_scores(run: Path) -> dict[str, Any]:
    """Return the last validation of each stage."""
    found: dict[str, Any] = {}
    for part in parts_of(run):
        log = part / "log.jsonl"
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
        if validations := [row for row in rows if "dev_nll" in row]:
            found[part.name] = validations[-1]
    return found


def pack(run: Path, results: Path, part_bytes: int, first: int, count: int) -> None:
    """Put records and the model of `run` into `results`, in files that are small enough to travel.

    `records.tar.xz` holds log, resolved recipe and scores. `model.tar.NN`, joined in order, are a tar file of the
    model folder with weights in bfloat16, half the size; `model.json` says how many parts there are, with sums.

    Args:
        run: of `train`.
        results: where the files go.
        part_bytes: size of a part.
        first: number of the first part to write.
        count: how many parts to write at most.
    """
    records = [path for path in sorted(run.rglob("*")) if path.suffix in {".jsonl", ".json", ".toml"}]
    small = [path for path in records if "checkpoints" not in path.parts and "model" not in path.parts]
    with atomic_write(results / "records.tar.xz", "wb") as file, tarfile.open(fileobj=file, mode="w:xz") as tar:
        for path in small:
            tar.add(path, path.relative_to(run))
    model = next((part / "model" for part in [run, *reversed(parts_of(run))] if (part / "model").exists()), None)
    if model is None:
        print("no model yet: there was no validation so far; the next slices write one")
        return
    packed = _pack_model(model)
    parts = [packed[start : start + part_bytes] for start in range(0, len(packed), part_bytes)]
    for number, part in enumerate(parts):
        if first <= number < first + count:
            with atomic_write(results / f"model.tar.{number:02d}", "wb") as file:
                file.write(part)
    sums = [hashlib.sha256(part).hexdigest() for part in parts]
    _write(results / "model.json", {"bytes": len(packed), "sha256": sums, "join": "cat model.tar.?? | tar x"})
    left = [str(number) for number in range(len(parts)) if not first <= number < first + count]
    if left:
        print(f"the model has {len(parts)} parts; still to be packed: {', '.join(left)} (GPU_STAGES=pack GPU_PARTS)")


def _pack_model(folder: Path) -> bytes:
    """Return a tar file of a model folder with its weights rounded to bfloat16; any postedit can load it."""
    with tempfile.TemporaryDirectory() as temporary:
        rounded = Path(temporary) / "model"
        ModelFolder.load(folder).save(rounded, torch.bfloat16)
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            tar.add(rounded, "model")
        return content.getvalue()


def _machine(device: torch.device) -> dict[str, str]:
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}
    versions = {"python": platform.python_version(), "torch": torch.__version__, "postedit": postedit.__version__}
    return {**gpu, "cpu": platform.machine(), **versions}


def _write(path: Path, values: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, default=str) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", type=Path, required=True)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check")
    speed_verb = verbs.add_parser("speed")
    speed_verb.add_argument("--seconds", type=float, default=8.0)
    speed_verb.add_argument("--recipes", nargs="*", default=[], help="names of recipes; a chosen few if none is given")
    unpack_verb = verbs.add_parser("unpack")
    unpack_verb.add_argument("bundle", type=Path)
    unpack_verb.add_argument("target", type=Path)
    unpack_verb.add_argument("--name")
    train_verb = verbs.add_parser("train")
    train_verb.add_argument("recipe", type=Path)
    train_verb.add_argument("run", type=Path)
    train_verb.add_argument("--minutes", type=float, default=9.0)
    train_verb.add_argument("--finish", type=float, default=1.5)
    train_verb.add_argument("--used-seconds", type=float, default=0.0)
    train_verb.add_argument("--set", action="append", default=[], dest="overrides")
    pack_verb = verbs.add_parser("pack")
    pack_verb.add_argument("run", type=Path)
    pack_verb.add_argument("--part-mib", type=float, default=15.0)
    pack_verb.add_argument("--first", type=int, default=0)
    pack_verb.add_argument("--count", type=int, default=4)
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except PosteditError as error:
        print(f"gpu.py {options.verb}: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    device = torch.device(options.device)
    results: Path = options.results
    with explain_os_errors(results):
        results.mkdir(parents=True, exist_ok=True)
    match options.verb:
        case "check":
            return 0 if check(device, results) else 1
        case "speed":
            real = device.type == "cuda"
            recipes = options.recipes or (SPEED_RECIPES if real else TINY_RECIPES)
            speed(device, results, recipes, ROWS if real else CHECKED_ROWS, options.seconds)
        case "unpack":
            print(unpack(options.bundle, options.target, options.name).resolve())
        case "train":
            minutes = options.minutes - options.finish - options.used_seconds / 60.0
            if minutes <= 0.0:
                print("no time is left for training in this slice; the next one goes on")
                return 0
            train(options.recipe, options.run, results, minutes, options.overrides)
        case "pack":
            pack(options.run, results, int(options.part_mib * 2**20), options.first, options.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
