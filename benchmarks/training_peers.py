"""Compare training speed with joeynmt and Hugging Face's Trainer: same sizes, same batches of ids, from mt to pe.

    python -m venv PEERS   # a separate venv for joeynmt's old pins; importlib_metadata is an undeclared dependency
    PEERS/bin/pip install torch==VERSION joeynmt==2.3.0 importlib_metadata
    python benchmarks/training_peers.py --joeynmt PEERS/bin/python [--data PREFIX] [--batches N] [--rounds N] ...

Transformer: 3+3 layers of width 256, inner width 1,024, 4 heads, one vocabulary with tied embeddings. Recurrent: a
bidirectional GRU and a GRU decoder with additive attention, width 256. All use dropout 0.1, label smoothing 0.1, Adam,
and gradients clipped to norm 1. For postedit, the update of `postedit train` is measured; for the others, what their
own loops do with a batch; "bare loop" is the model of Trainer without Trainer. Each system is a process of its own,
which first trains on all batches once as a warm-up. Then they take turns, one round over all batches each, so that
other work on the machine affects all alike. Speeds are given per CPU second (of all threads) and per second of
wall-clock time. Ratios are medians of the ratios of CPU times in each round. Target tokens do not include padding.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
import training_speed
from peer_loops import FAMILIES, write_batches

PEERS = ("joeynmt", "Trainer", "bare loop")


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to train one family of models at one precision."""

    family: str
    system: str
    precision: str


@dataclass(frozen=True, slots=True)
class Round:
    """The times of a round, in seconds."""

    cpu: float
    wall: float


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batches.npz"
        batches, processor = training_speed.load_batches(options)
        vocabulary = processor.vocabularies.target.size
        write_batches(path, batches, vocabulary)
        tokens = sum(int(batch.target.mask.sum()) for batch in batches if batch.target)
        print(
            f"{platform.processor() or platform.machine()}, torch {torch.__version__}, {options.threads} thread(s); "
            f"{len(batches)} batches, {tokens / len(batches):,.0f} labels each, vocabulary {vocabulary}, "
            f"{options.rounds} rounds\n"
        )
        for family in options.families:
            contest(family, path, tokens, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    examples = Path(__file__).parent.parent / "examples" / "mlqe-pe.en-de" / "train"
    parser.add_argument("--data", default=str(examples), help="prefix of .src, .mt and .pe")
    parser.add_argument("--joeynmt", help="Python interpreter with joeynmt; left out if not given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch-tokens", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=4, dest="steps")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    return parser.parse_args()


def contest(family: str, path: Path, tokens: int, options: argparse.Namespace) -> None:
    """Run all systems of a family in turn, and print their times."""
    processes = {contender: start(contender, path, options) for contender in contenders(family, options)}
    rounds: dict[Contender, list[Round]] = defaultdict(list)
    try:
        for process in processes.values():
            turn(process)
        for _ in range(options.rounds):
            for contender, process in processes.items():
                rounds[contender].append(turn(process))
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    report(rounds, tokens)


def contenders(family: str, options: argparse.Namespace) -> list[Contender]:
    peers = [peer for peer in PEERS if peer == "joeynmt" or family == "transformer"]
    found = [Contender(family, peer, precision) for peer in peers for precision in ("fp32", "bf16")]
    ours = [Contender(family, "postedit", precision) for precision in ("fp32", "fast fp32", "bf16")]
    return [contender for contender in found if options.joeynmt or contender.system != "joeynmt"] + ours


def start(contender: Contender, path: Path, options: argparse.Namespace) -> subprocess.Popen[str]:
    python = options.joeynmt if contender.system == "joeynmt" else sys.executable
    loops = Path(__file__).parent / "peer_loops.py"
    command = [python, str(loops), contender.family, contender.system, contender.precision, str(path)]
    environment = os.environ | {"OMP_NUM_THREADS": str(options.threads), "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def turn(process: subprocess.Popen[str]) -> Round:
    """Let one system train on all batches once, and return its times."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("{"):
            return Round(**json.loads(line))
    raise SystemExit(f"{process.args} ended with {process.wait()}")


def report(rounds: dict[Contender, list[Round]], tokens: int) -> None:
    first = next(iter(rounds))
    print(f"| {first.family} | precision | target tokens / CPU s | / s | ratio to {first.system}, {first.precision} |")
    print("| --- | --- | ---: | ---: | ---: |")
    for contender, found in rounds.items():
        cpu, wall = (tokens / statistics.median(seconds) for seconds in zip(*((r.cpu, r.wall) for r in found)))
        ratio = statistics.median(base.cpu / own.cpu for base, own in zip(rounds[first], found, strict=True))
        print(f"| {contender.system} | {contender.precision} | {cpu:,.0f} | {wall:,.0f} | {ratio:.2f} |")
    print()


if __name__ == "__main__":
    main()
