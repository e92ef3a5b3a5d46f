"""Measure the memory of `postedit train`, step by step, for corpora of very different sizes (Linux only).

    python benchmarks/training_memory.py [--triplets 100000 1000000 7000000] [--updates 50] [--folder FOLDER]

The triplets are generated: 5 to 30 words per line, drawn by Zipf's law from two million different words, with one word
in ten replaced in mt. Each step of `postedit train` runs in a process of its own: reading and checking all files and
learning the vocabulary; writing the memory-mapped corpus; and updates of a small model, followed by a validation and an
export. The table gives, for each process, the peak of its resident memory (VmHWM) and of the part that no file backs
(RssAnon, sampled every 10 ms); the system can drop the other pages when memory is short.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

BLOCK = 100_000
VOCABULARY = 2_000_000
LOOK_SECONDS = 0.01
MEGABYTE = 1_000_000
STEPS = {
    "start": "start of Python with all libraries",
    "vocabulary": "check, vocabulary",
    "corpus": "corpus",
    "training": "training",
}
RECIPE = """
[model]
name = "transference"
layers_src = 1
layers_mt = 1
layers_pe = 1
dim = 64
heads = 2
feed_forward = 128
share_embeddings = "all"

[text.vocabulary]
size = 8000

[data]
train = "train"
dev = "dev"

[train]
max_steps = {updates}
batch_tokens = 4000
validate_every = 1000000
log_every = 10
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triplets", type=int, nargs="+", default=[100_000, 1_000_000, 7_000_000])
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where to write the corpora (deleted at the end)")
    parser.add_argument("--measure", nargs=2, metavar=("STEP", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return
    print_row(["triplets", "step", "seconds", "triplets/s", "peak MB", "of it anonymous"])
    print_row(["---:", "---", "---:", "---:", "---:", "---:"])
    for triplets in options.triplets:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            write(folder / "train", triplets, seed=1)
            write(folder / "dev", 100, seed=2)
            (folder / "recipe.toml").write_text(RECIPE.format(updates=options.updates), encoding="utf-8")
            for step, words in STEPS.items():
                command = [sys.executable, __file__, "--measure", step, name]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                rate = f"{triplets / found['seconds']:,.0f}" if step in ("vocabulary", "corpus") else ""
                numbers = [f"{found['peak']:,.0f}", f"{found['anonymous']:,.0f}"]
                print_row([f"{triplets:,}", words, f"{found['seconds']:.1f}", rate, *numbers])
    import torch

    versions = f"Python {platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}"
    print(f"\n{platform.machine()}, {platform.system()}, {versions}")


def print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def write(prefix: Path, triplets: int, seed: int) -> None:
    """Generate triplets and write them to `prefix`.{src,mt,pe}."""
    rng = np.random.default_rng(seed)
    words = vocabulary()
    chance = 1.0 / np.arange(1, VOCABULARY + 1)
    edges = np.cumsum(chance / chance.sum())
    files = [prefix.with_suffix(f".{side}").open("w", encoding="utf-8") for side in ("src", "mt", "pe")]
    for start in range(0, triplets, BLOCK):
        lengths = rng.integers(5, 31, min(BLOCK, triplets - start))
        ends = np.cumsum(lengths)
        src, pe, other = (np.searchsorted(edges, rng.random(int(ends[-1]))) for _ in range(3))
        mt = np.where(rng.random(len(pe)) < 0.1, other, pe)
        for file, numbers in zip(files, (src, mt, pe)):
            drawn = [words[number] for number in np.minimum(numbers, VOCABULARY - 1).tolist()]
            file.writelines(" ".join(drawn[a:b]) + "\n" for a, b in zip(ends - lengths, ends))
    for file in files:
        file.close()


def vocabulary() -> list[str]:
    """Return `VOCABULARY` generated words, the shortest and most frequent first."""
    syllables = [first + second for first in "bdfghklmnprstvwz" for second in "aeiouy"]
    words = []
    for number in range(VOCABULARY):
        word, rest = syllables[number % len(syllables)], number // len(syllables)
        while rest:
            rest, last = divmod(rest, len(syllables))
            word += syllables[last]
        words.append(word)
    return words


def measure(step: str, folder: Path) -> dict[str, float]:
    """Run one step, and return its seconds and the memory peaks of this process in megabytes."""
    from rich.console import Console

    from postedit.jobs.run_preparation import learn_text, locked_run, write_corpora
    from postedit.jobs.training import train
    from postedit.recipe import load_recipe

    anonymous = [memory("RssAnon")]
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            anonymous[0] = max(anonymous[0], memory("RssAnon"))

    recipe = load_recipe(folder / "recipe.toml")
    console, run = Console(stderr=True), folder / "run"
    watcher = threading.Thread(target=look)
    watcher.start()
    start = perf_counter()
    try:
        if step == "vocabulary":
            with locked_run(recipe, run, resume=False):
                learn_text(recipe, run, None, console)
        elif step == "corpus":
            write_corpora(recipe.data, "tokens", run, console)
        elif step == "training":
            train(recipe, run, resume=True, console=console)
    finally:
        done.set()
        watcher.join()
    return {"seconds": perf_counter() - start, "peak": memory("VmHWM"), "anonymous": anonymous[0]}


def memory(name: str) -> float:
    """Return a value of /proc/self/status in megabytes; VmHWM is the peak of VmRSS."""
    lines = Path("/proc/self/status").read_text().split("\n")
    kibibytes = next(line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kibibytes) * 1024 / MEGABYTE


if __name__ == "__main__":
    main()
