"""Compare the speed of int8 decoding with that of another checkout of this repository.

    python benchmarks/decoding_versions.py OTHER MODEL DATA [--sentences N] [--batch N] [--repeats N]

OTHER is a checkout of an older commit (`git worktree add`). Each checkout runs its own `benchmarks/decoding.py` in a
process of its own, with the same sentences and outputs. The two take turns, so the comparison is valid on a machine
whose speed changes from hour to hour. Figures are medians of the milliseconds of CPU time per sentence, and of the
ratios of neighbouring turns, with one thread.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SEARCHES = ("encoders alone", "greedy", "mt as draft", "mt as draft, shortlist", "beam 5")

WORKER = """
import gc, sys, time, torch
from pathlib import Path
checkout, model, data, sentences, size = sys.argv[1:]
sys.path.insert(0, checkout + "/benchmarks")
import decoding
torch.set_num_threads(1)
cpu = torch.device("cpu")
found = decoding.prepare(Path(model), data, int(sentences), cpu)
torch.manual_seed(1)
int8 = {one.name: one for one in decoding.ours(cpu) if one.name.startswith("transference int8, ")}
for one in int8.values():
    one.decode(found, int(size))
gc.collect()
gc.freeze()
print("ready", flush=True)
for line in sys.stdin:
    start = time.process_time()
    int8["transference int8, " + line.strip()].decode(found, int(size))
    print(1e3 * (time.process_time() - start) / len(found), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="another checkout")
    parser.add_argument("model", type=Path, help="folder of a trained model")
    parser.add_argument("data", help="prefix of .src and .mt")
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    settings = [str(options.model.resolve()), str(Path(options.data).resolve()), options.sentences, options.batch]
    workers = [started(checkout, *map(str, settings)) for checkout in (options.other.resolve(), HERE)]
    print("| batch | search | other, ms | this, ms | ratio |\n|---:|---|---:|---:|---:|")
    for search in SEARCHES:
        rounds = [[asked(worker, search) for worker in workers] for _ in range(options.repeats)]
        other, this = (statistics.median(times) for times in zip(*rounds, strict=True))
        ratio = statistics.median(theirs / ours for theirs, ours in rounds)
        print(f"| {options.batch} | {search} | {other:.1f} | {this:.1f} | {ratio:.2f} |", flush=True)


def started(checkout: Path, *settings: str) -> "subprocess.Popen[str]":
    """Start a process that runs the code of a checkout, and return it once it is ready for requests."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(checkout), *settings],
        env=os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    said(worker)
    return worker


def asked(worker: "subprocess.Popen[str]", search: str) -> float:
    """Let a worker run a search once, and return its milliseconds of CPU time per sentence."""
    assert worker.stdin is not None
    worker.stdin.write(search + "\n")
    worker.stdin.flush()
    return float(said(worker))


def said(worker: "subprocess.Popen[str]") -> str:
    """Return the next line that a worker prints; exit if it has ended."""
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("a checkout cannot be run; see above")
    return line


if __name__ == "__main__":
    main()
