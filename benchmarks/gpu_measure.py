"""The measurements of `gpu.py` on models with random weights: agreement of CPU and GPU, and training speed."""

import json
import math
import platform
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accelerate
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

import postedit
from postedit.core.config import load_config
from postedit.core.errors import PosteditError
from postedit.core.files import atomic_write
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS, PAD, SPECIAL_TOKENS
from postedit.core.types import Batch, Stream, Target
from postedit.recipe import load_recipe
from postedit.recipe_checks import largest_vocabularies
from postedit.train.config import TrainConfig
from postedit.train.optimisers import build_optimizer
from postedit.train.torch_compile import compile_layers, compiled_in_updates, layers_of
from postedit.train.update import Updater

# Largest difference between log-probabilities in fp32, in nats, that the order of summation explains.
# In bf16 (8 bits of mantissa) a difference is no evidence of an error, so it is only reported.
FP32_TOLERANCE = 1e-3
# Largest error of the gradient of a parameter in fp32, relative to its largest entry. Rounding may move an input of a
# ReLU across 0, on the CPU too; so both are compared with fp64, and twice the CPU's error also passes, up to a limit.
FP32_GRADIENT_TOLERANCE = 1e-3
FP32_GRADIENT_LIMIT = 0.02

RECIPES = Path(__file__).resolve().parent.parent / "recipes"

ROWS, TOKENS = 1_000, 25  # sentences, and tokens of each text, in a batch whose speed is measured
CHECKED_ROWS = 8
BF16_PEAKS = {"A100-SXM4": 312.0, "H100 80GB HBM3": 989.0, "NVIDIA H200": 989.0}
"""Peak speed of dense bf16 matrix products by NVIDIA's data sheets, in 10^12 operations per second."""

SPEED_RECIPES = ("transference-small", "transference", "m-cgru-small", "m-cgru")
TINY_RECIPES = ("demo",)  # for a trial run on a CPU


def check(device: torch.device, results: Path, recipes: Sequence[str] = ()) -> bool:
    """Compare the log-probabilities, loss and gradients of each recipe's model on the CPU and on `device`.

    Without `recipes`, all small ones are checked. Gradients of both are compared with those in fp64 on the CPU. Return
    whether all models pass.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    tolerances = {"log_probs_fp32": FP32_TOLERANCE, "gradients_fp32": FP32_GRADIENT_TOLERANCE}
    rows: list[dict[str, Any]] = []
    for name in recipes or sorted(path.stem for path in RECIPES.glob("*-small.toml")):
        try:
            row = _compared(name, device)
        except Exception as error:  # a device may raise anything; continue with the other models
            row = {"error": repr(error), "passed": False}
        rows.append({"model": name, **row})
        print("check", json.dumps(rows[-1]), flush=True)
        findings = {"machine": machine(device), "finished": False, "tolerances": tolerances, "models": rows}
        write(results / "check.json", findings)
    write(results / "check.json", {**findings, "finished": True})
    return all(row["passed"] for row in rows)


def _compared(name: str, device: torch.device) -> dict[str, Any]:
    """Return the largest differences between a recipe's model on the CPU and on `device`, and whether they pass."""
    model = _model(name).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):  # cuDNN supports the backward pass in training mode only
            module.train()
            module.dropout = 0.0
    batch = _batch(model, CHECKED_ROWS, ragged=True)
    cpu = torch.device("cpu")
    here, there = _evaluate(model, batch, cpu), _evaluate(model, batch, device)
    rough = _evaluate(model, batch, device, torch.bfloat16)
    exact = _evaluate(model.double(), batch, cpu)
    found = {
        "log_probs_fp32": _difference(here.log_probs, there.log_probs),
        "loss_fp32": abs(here.loss - there.loss) / abs(here.loss),
        "gradients_fp32": _gradient_error(there, exact),
        "gradients_cpu": _gradient_error(here, exact),
        "log_probs_bf16": _difference(here.log_probs, rough.log_probs),
    }
    tolerated = max(FP32_GRADIENT_TOLERANCE, min(2 * found["gradients_cpu"], FP32_GRADIENT_LIMIT))
    found["gradients_tolerated"] = tolerated
    close = found["log_probs_fp32"] <= FP32_TOLERANCE and found["gradients_fp32"] <= tolerated
    return {**found, "passed": close}


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
    # Copies: a gradient that stays with its parameter moves to the next device with it.
    gradients = {n: p.grad.float().cpu().clone() for n, p in model.named_parameters() if p.grad is not None}
    return _Evaluation(log_probs, float(result.loss.detach()), gradients)


def _gradient_error(found: _Evaluation, exact: _Evaluation) -> float:
    """Return the largest error of any gradient, relative to the largest entry in its exact tensor; NaN is largest."""
    largest = {name: float(gradient.abs().max()) for name, gradient in exact.gradients.items()}
    errors = [
        _difference(found.gradients[name], gradient) / largest[name]
        for name, gradient in exact.gradients.items()
        if largest[name] > 1e-6
    ]
    return max(errors, key=lambda value: math.inf if math.isnan(value) else value)


def _difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def speed(device: torch.device, results: Path, recipes: Sequence[str], rows_a_batch: int, seconds: float) -> bool:
    """Measure the training tokens per second of each recipe's model, with the trainer's own update.

    On a GPU, Transformers are also measured compiled, in bf16; compiling takes a minute. Return whether all succeeded.
    """
    ways: list[dict[str, Any]] = [{"precision": "bf16"}, {"precision": "fp32"}]
    if device.type == "cuda":
        ways.insert(1, {"precision": "bf16", "compile": True})
    rows = []
    for name in recipes:
        for way in ways:
            row = {"recipe": name, "compile": False, **way}
            try:
                if way.get("compile") and not layers_of(_model(name)):
                    continue
                row |= _speed(name, way, device, rows_a_batch, seconds)
            except PosteditError:
                raise
            except Exception as error:  # compilers and full memories may raise anything; continue with the other rows
                row["error"] = repr(error)
            rows.append(row)
            print("speed", json.dumps(row), flush=True)
            write(results / "speed.json", {"machine": machine(device), "finished": False, "models": rows})
    write(results / "speed.json", {"machine": machine(device), "finished": True, "models": rows})
    return not any("error" in row for row in rows)


def _speed(
    name: str, way: Mapping[str, Any], device: torch.device, rows: int, seconds: float
) -> dict[str, float | None]:
    """Train on batches of nearly equal size, and return the speed of host and device together.

    Operations counted are those of matrix products and attention, forward and backward, two for each multiply-add.
    """
    config = load_config(TrainConfig, {**way, "max_steps": 1}, "speed")
    model = _model(name).to(device).train()
    if config.compile:
        torch.compiler.reset()  # compiled code of earlier models counts towards the cache limit
        compile_layers(model, device)
    updater = Updater(model, build_optimizer(model, config), config, accelerate.Accelerator(cpu=device.type == "cpu"))
    batches = [_batch(model, rows, tokens=TOKENS + more) for more in (0, 1, -1, 2, -2)]
    with compiled_in_updates(config.compile):
        return _speed_of(updater, batches, rows, seconds)


def _speed_of(updater: Updater, batches: Sequence[Batch], rows: int, seconds: float) -> dict[str, float | None]:
    model, device = updater.model, updater.accelerator.device
    start = time.perf_counter()
    for step, batch in enumerate(batches):  # the first updates compile or choose kernels, and allocate memory
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
            updater.failure()  # waits for the device, so that the clock includes its work
    tokens = updater.totals().tokens
    took = time.perf_counter() - start
    memory = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else 0.0
    waits = _waits(updater, batches[0], steps) if device.type == "cuda" else None
    with FlopCounterMode(display=False) as counter:
        updater.update(steps, [batches[0]], rate=1e-4)
    rate = counter.get_total_flops() * steps / took / 1e12
    peak = next((peak for name, peak in BF16_PEAKS.items() if name in machine(device).get("gpu", "")), None)
    return {
        "first_updates_seconds": round(began, 1),
        "tokens_per_second": round(tokens / took),
        "tflops": round(rate, 5),
        "share_of_bf16_peak": None if peak is None else round(rate / peak, 3),
        "minutes_for_500000_triplets": round(500_000 / (rows * steps / took) / 60, 2),
        "updates_per_second": round(steps / took, 2),
        "labels_per_update": tokens / steps,
        "peak_gib": round(memory, 2),
        "waits_of_the_host_in_an_update": waits,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def _waits(updater: Updater, batch: Batch, step: int) -> int:
    """Return how often the host waits for the GPU in an update; it should be 0."""
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            updater.update(step, [batch], rate=1e-4)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("called a synchronizing" in str(warning.message) for warning in caught)


def _model(name: str) -> Seq2Seq:
    """Return the model of a recipe, with random weights."""
    torch.manual_seed(1)
    recipe = load_recipe(RECIPES / f"{name}.toml", check_data=False)
    return recipe.architecture.build(recipe.model, largest_vocabularies(recipe.text))


def _batch(model: Seq2Seq, rows: int, *, tokens: int = TOKENS, ragged: bool = False) -> Batch:
    vocabularies = model.spec.vocabularies
    sizes = {name: vocabularies.streams[name].size for name in model.spec.inputs}
    streams = {name: Stream(*_text(size, rows, tokens, ragged=ragged)) for name, size in sizes.items()}
    return Batch(streams, Target(*_text(vocabularies.target.size, rows, tokens, ragged=ragged)))


def _text(vocabulary: int, rows: int, tokens: int, *, ragged: bool) -> tuple[Tensor, Tensor]:
    ids = torch.randint(len(SPECIAL_TOKENS), vocabulary, (rows, tokens))
    lengths = torch.randint(2, tokens + 1, (rows,)) if ragged else torch.full((rows,), tokens)
    mask = torch.arange(tokens) < lengths.unsqueeze(1)
    ids[torch.arange(rows), lengths - 1] = EOS
    return ids.masked_fill(~mask, PAD), mask


def machine(device: torch.device) -> dict[str, str]:
    """Return the names of the GPU, if any, and the CPU, and the versions of Python, PyTorch and postedit."""
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}
    versions = {"python": platform.python_version(), "torch": torch.__version__, "postedit": postedit.__version__}
    return {**gpu, "cpu": platform.machine(), **versions}


def write(path: Path, values: dict[str, Any]) -> None:
    """Write findings as JSON."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, default=str) + "\n")
