"""Memory and speed of cleaning and statistics, for corpora of very different sizes (Linux only).

    python benchmarks/data_memory.py [--triplets 10000 1000000 10000000] [--workers N] [--folder FOLDER]

Triplets are made up: words of a vocabulary of 50,000 by Zipf's law, 5 to 30 a line, mt with one word in ten replaced.
For each size `postedit data clean` (all filters but that of languages, which asks a model about every line) and
`postedit data stats` run as commands of their own; the memory is the peak of the largest of their processes.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from itertools import islice, product
from pathlib import Path
from time import perf_counter

import numpy as np

BLOCK = 100_000
VOCABULARY = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triplets", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to put the corpora (they are deleted at the end)")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command:
        measure(options.command)
        return
    print("| triplets | command | seconds | triplets/s | peak memory of a process |")
    print("|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "clean.toml").write_text("[language]\non = false\n", encoding="utf-8")
        workers = ["--workers", str(options.workers)]
        for triplets in options.triplets:
            corpus = folder / "corpus"
            write(corpus, triplets)
            clean = [
                "clean",
                str(corpus),
                "--out",
                str(folder / "cleaned"),
                "--recipe",
                str(folder / "clean.toml"),
                *workers,
            ]
            for command in (clean, ["stats", str(corpus), *workers]):
                run(command, triplets)
            for path in folder.glob("cleaned*"):
                path.unlink()
    print(f"\n{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {options.workers} workers")


def write(corpus: Path, triplets: int) -> None:
    """Write made-up triplets."""
    rng = np.random.default_rng(1)
    words = np.array(["".join(letters) for letters in islice(product("aeiounrstl", repeat=5), VOCABULARY)])
    chance = 1.0 / np.arange(1, VOCABULARY + 1)
    edges = np.cumsum(chance / chance.sum())
    with (
        corpus.with_suffix(".src").open("w", encoding="utf-8") as src,
        corpus.with_suffix(".mt").open("w", encoding="utf-8") as mt,
        corpus.with_suffix(".pe").open("w", encoding="utf-8") as pe,
    ):
        for start in range(0, triplets, BLOCK):
            lengths = rng.integers(5, 31, min(BLOCK, triplets - start))
            total = int(lengths.sum())
            drawn = np.minimum(np.searchsorted(edges, rng.random(total)), VOCABULARY - 1)
            changed = np.where(rng.random(total) < 0.1, rng.integers(0, VOCABULARY, total), drawn)
            ends = np.cumsum(lengths)[:-1]
            for file, ids in ((src, (drawn * 7 + 3) % VOCABULARY), (mt, changed), (pe, drawn)):
                file.writelines(" ".join(line) + "\n" for line in np.split(words[ids], ends))


def run(command: list[str], triplets: int) -> None:
    """Run a command in a process that measures it, and print a row."""
    measured = [sys.executable, __file__, "--command", *command]
    seconds, kilobytes = map(
        float, subprocess.run(measured, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    )
    rate = f"{triplets / seconds:,.0f}"
    print(f"| {triplets:,} | data {command[0]} | {seconds:.1f} | {rate} | {kilobytes / 1024:.0f} MB |", flush=True)


def measure(command: list[str]) -> None:
    """Run a command of `postedit data`; print its seconds, and the peak of its largest process in kilobytes."""
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "postedit", "data", *command],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    print(perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


if __name__ == "__main__":
    main()
