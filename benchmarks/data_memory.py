"""Measure the memory and speed of corpus commands, for corpora of very different sizes (Linux only).

    python benchmarks/data_memory.py [--triplets 10000 1000000 10000000] [--workers N]
        [--commands clean stats edit score extract] [--engines local ray] [--folder FOLDER]

The triplets are generated: 5 to 30 words per line, drawn by Zipf's law from a vocabulary of 50,000; mt has one word in
ten replaced. For each size, these commands run (the first two by default): `postedit data clean` (all filters except
the language filter, which runs a model on every line), `postedit data stats`, `postedit edit none`, which changes
nothing, `postedit score` of mt (100 resamples), and `postedit data extract` from one TMX file. Memory is the peak
resident memory that the system reports (VmHWM): of the main process, of the largest process, and of all processes
together, which counts shared memory more than once.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import islice, product
from pathlib import Path

import numpy as np
import psutil

BLOCK = 100_000
VOCABULARY = 50_000
LOOK_SECONDS = 0.2
COMMANDS = ("clean", "stats", "edit", "score", "extract")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triplets", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=["clean", "stats"])
    parser.add_argument("--engines", nargs="+", choices=("local", "ray"), default=["local"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to write the triplets (deleted at the end)")
    options = parser.parse_args()
    head = "triplets | command | engine | seconds | triplets/s | peak MB of the command"
    print(f"| {head} | of the largest process | of all processes |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "clean.toml").write_text("[language]\non = false\n", encoding="utf-8")
        workers = ["--workers", str(options.workers)]
        for triplets in options.triplets:
            corpus = folder / "corpus"
            write(corpus, triplets)
            if "extract" in options.commands:
                write_tmx(corpus)
            out = ["--out", str(folder / "made")]
            arguments = {
                "clean": ["data", "clean", str(corpus), *out, "--recipe", str(folder / "clean.toml")],
                "stats": ["data", "stats", str(corpus)],
                "edit": ["edit", "none", "--src", f"{corpus}.src", "--mt", f"{corpus}.mt", *out],
                "score": ["score", f"{corpus}.mt", "--pe", f"{corpus}.pe", "--resamples", "100"],
                "extract": ["data", "extract", f"{corpus}.tmx", "--parallel", *out, "--languages", "en:de"],
            }
            for command, engine in product(options.commands, options.engines):
                run([*arguments[command], *workers, "--engine", engine], engine, triplets)
                for path in folder.glob("made*"):
                    path.unlink()
    print(f"\n{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {options.workers} workers")


def write(corpus: Path, triplets: int) -> None:
    """Generate triplets and write them to `corpus`.{src,mt,pe}."""
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


def write_tmx(corpus: Path) -> None:
    """Write src and pe as a TMX file; the words need no escaping."""
    with (
        corpus.with_suffix(".src").open(encoding="utf-8") as src,
        corpus.with_suffix(".pe").open(encoding="utf-8") as pe,
        corpus.with_suffix(".tmx").open("w", encoding="utf-8") as tmx,
    ):
        tmx.write('<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n')
        for pair in zip(src, pe, strict=True):
            sides = zip(("en", "de"), pair, strict=True)
            segments = "".join(f'<tuv xml:lang="{code}"><seg>{text.strip()}</seg></tuv>' for code, text in sides)
            tmx.write(f"<tu>{segments}</tu>\n")
        tmx.write("</body></tmx>\n")


def run(command: list[str], engine: str, triplets: int) -> None:
    """Run a postedit command, and print a row of the table."""
    started, peaks = time.perf_counter(), dict[int, int]()
    process = subprocess.Popen(
        [sys.executable, "-m", "postedit", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    while process.poll() is None:
        look(process.pid, peaks)
        time.sleep(LOOK_SECONDS)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with status {process.returncode}")
    found = peaks[process.pid], max(peaks.values()), sum(peaks.values())
    own, largest, together = (f"{kilobytes / 1024:,.0f}" for kilobytes in found)
    rate = f"{triplets / seconds:,.0f}"
    name = " ".join(command[: 1 + (command[0] == "data")])
    row = [f"{triplets:,}", name, engine, f"{seconds:.1f}", rate, own, largest, together]
    print(f"| {' | '.join(row)} |", flush=True)


def look(process: int, peaks: dict[int, int]) -> None:
    """Record the peak resident memory, in kilobytes, of a process and all its children."""
    with suppress(psutil.Error):
        started = psutil.Process(process).children(recursive=True)
        for number in (process, *(one.pid for one in started)):
            with suppress(OSError):  # the process has ended
                status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
                peak = next((int(line.split()[1]) for line in status.split("\n") if line.startswith("VmHWM")), 0)
                peaks[number] = max(peak, peaks.get(number, 0))  # a zombie process has none


if __name__ == "__main__":
    main()
