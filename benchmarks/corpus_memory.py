"""Measure the memory of a process that reads a training corpus, for corpora of very different sizes (Linux only).

    python benchmarks/corpus_memory.py [--triplets 100000 2000000] [--batches 1000] [--folder FOLDER]

For each size, one process writes a corpus of random ids. Another opens it, draws training batches (`--batches`), and
goes on to the end of a pass over the whole corpus. No two sizes share a process.
"""

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

BATCH_TOKENS = 4000
MEGABYTE = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--triplets", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--batches", type=int, default=1000, help="training batches drawn before the whole pass")
    parser.add_argument("--folder", type=Path, help="where to write the corpora (deleted at the end)")
    parser.add_argument("--measure", nargs=2, metavar=("write|read", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        verb, path = options.measure
        result = write(Path(path), options.triplets[0]) if verb == "write" else read(Path(path), options.batches)
        print(json.dumps(result))
        return
    names = ["triplets", "file MB", "write s", "peak RSS writing", "RSS opened", f"RSS after {options.batches} batches"]
    print_row([*names, "peak RSS of a whole pass", "tokens/s of the pass"])
    print_row(["---:"] * 8)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for triplets in options.triplets:
            path = Path(folder) / f"{triplets}.arrow"
            written = measure("write", path, triplets, options.batches)
            found = measure("read", path, triplets, options.batches)
            numbers = [written["peak"], found["opened"], found["batches"], found["pass"]]
            cells = [f"{triplets:,}", f"{path.stat().st_size / MEGABYTE:.0f}", f"{written['seconds']:.1f}"]
            print_row([*cells, *(f"{number:.0f} MB" for number in numbers), f"{found['rate']:,.0f}"])
    import numpy
    import pyarrow
    import torch

    versions = f"numpy {numpy.__version__}, pyarrow {pyarrow.__version__}, torch {torch.__version__}"
    print(f"\n{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {versions}, one thread")


def print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def measure(verb: str, path: Path, triplets: int, batches: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--triplets", str(triplets), "--batches", str(batches), "--measure", verb]
    output = subprocess.run([*command, str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, float] = json.loads(output)
    return result


def write(path: Path, triplets: int) -> dict[str, float]:
    from postedit.data.corpus import write_corpus
    from postedit.data.triplets import Triplet

    def made_up() -> Iterator[Triplet]:
        for number in range(triplets):
            yield Triplet(str(number), str(number), str(number), "made up", number)

    start = perf_counter()
    write_corpus(path, [made_up()], MadeUpProcessor(), 256)  # type: ignore[arg-type]
    return {"seconds": perf_counter() - start, "peak": memory("VmHWM")}


class MadeUpProcessor:
    """Gives every text one of 5,000 rows of random ids; text processing is not measured here."""

    def __init__(self) -> None:
        draw = random.Random(1)
        self._rows = [
            [*(draw.randrange(6, 32_000) for _ in range(min(100, round(draw.gammavariate(3, 8))))), 2]
            for _ in range(5000)
        ]

    def vocabulary(self, side: str) -> SimpleNamespace:
        """Return a stub with the parts of a vocabulary that a corpus needs."""
        return SimpleNamespace(fingerprint=f"made up {side}")

    def encode_batch(self, side: str, texts: Sequence[str]) -> list[list[int]]:
        """Return the row for each number in `texts`."""
        shift = {"src": 0, "mt": 1, "pe": 2}[side]
        return [self._rows[(int(text) * 7 + shift) % len(self._rows)] for text in texts]


def read(path: Path, batches: int) -> dict[str, float]:
    import torch

    from postedit.data.batching import BatchStream
    from postedit.data.corpus import Corpus

    torch.set_num_threads(1)
    corpus = Corpus.open(path)
    result = {"opened": memory("VmRSS")}
    tokens = 0
    start = perf_counter()
    for number, (batch, position) in enumerate(BatchStream(corpus, ("src", "mt"), BATCH_TOKENS, seed=1), start=1):
        tokens += sum(int(stream.mask.sum()) for stream in batch.streams.values())
        tokens += int(batch.target.mask.sum()) if batch.target else 0
        if number == batches:
            result["batches"] = memory("VmRSS")
        if position.epoch and number >= batches:
            break
    return result | {"pass": memory("VmHWM"), "rate": tokens / (perf_counter() - start)}


def memory(name: str) -> float:
    """Return a value of /proc/self/status in megabytes; VmHWM is the peak of VmRSS."""
    lines = Path("/proc/self/status").read_text().split("\n")
    kibibytes = next(line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kibibytes) * 1024 / MEGABYTE


if __name__ == "__main__":
    main()
