"""Measure what a fused optimiser, an allocator that keeps freed memory, and compiled layers gain on a CPU.

    python benchmarks/update_speed.py [--data PREFIX] [--threads N] [--batch-tokens N] [--steps N] [--repeats N]

Each turn is a process of its own, since the allocator is configured when a process starts. The variants take turns, and
medians are shown. All make the same updates of the two models of `training_speed.py` on the same real batches, in fp32.
Only the Transformer has layers to compile; compilation time does not count.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections import defaultdict

import torch
import training_speed

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, LabelLoss
from postedit.train.runtime import keep_freed_memory
from postedit.train.torch_compile import compile_layers, compiled_in_updates, in_update, layers_of

VARIANTS = ("plain", "fused Adam", "fused Adam, memory kept", "fused Adam, memory kept, layers compiled")


def main() -> None:
    options, turn = parse()
    if turn is not None:
        print(json.dumps(measure(turn, options)))
        return
    speeds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(options.repeats):
        for variant in VARIANTS:
            command = [sys.executable, __file__, *sys.argv[1:], "--turn", variant]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for name, speed in json.loads(output).items():
                speeds[name, variant].append(speed)
    print(
        f"{platform.processor() or platform.machine()}, {options.threads} thread(s), torch {torch.__version__}, fp32\n"
    )
    print("| model | updates | target tokens/s | gain |")
    print("| --- | --- | ---: | ---: |")
    for (name, variant), found in speeds.items():
        gain = statistics.median(x / y for x, y in zip(found, speeds[name, VARIANTS[0]]))
        print(f"| {name} | {variant} | {statistics.median(found):,.0f} | {gain:.2f} |")


def parse() -> tuple[argparse.Namespace, str | None]:
    turns = argparse.ArgumentParser(add_help=False)
    turns.add_argument("--turn", choices=VARIANTS)
    turn, others = turns.parse_known_args()
    sys.argv[1:] = others
    return training_speed.parse(), turn.turn


def measure(variant: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the target tokens per second of each model."""
    torch.set_num_threads(options.threads)
    if variant in VARIANTS[2:]:
        keep_freed_memory()
    batches, processor = training_speed.load_batches(options)
    tokens = sum(int(batch.target.mask.sum()) for batch in batches if batch.target)
    speeds = {}
    compiled = variant == VARIANTS[3]
    for made in training_speed.make_variants(processor):
        if (made.precision, made.loss_name) != ("fp32", "chunked") or (compiled and not layers_of(made.model)):
            continue
        if variant == VARIANTS[0]:
            made.optimizer = torch.optim.Adam(made.model.parameters(), 1e-4)
        if compiled:
            plain = made.loss
            made.loss = lambda model, batch, plain=plain: _compiled(plain, model, batch)
            compile_layers(made.model, torch.device("cpu"))
        with compiled_in_updates(compiled):
            training_speed.run_round(made, batches if compiled else batches[:1])
            speeds[made.name] = tokens / training_speed.run_round(made, batches)[0]
    return speeds


def _compiled(loss: training_speed.Loss, model: Seq2Seq, batch: Batch) -> LabelLoss:
    with in_update(batch, True):
        return loss(model, batch)


if __name__ == "__main__":
    main()
