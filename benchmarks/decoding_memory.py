"""Compare the memory use of greedy search with mt as draft with that of search token by token (Linux only).

    python benchmarks/decoding_memory.py MODEL DATA [--sentences N] [--batch N ...] [--repeats N] [--dtype TYPE]

DATA is the prefix of .src and .mt. Each search runs in a process of its own, on the same batches of similar length,
longest first. The searches take turns, and the medians of their peaks are compared: the peak of the whole process, and
its excess over the memory that the process holds once the model is loaded, prepared for inference, and has edited the
batch of the shortest sentences.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MEGABYTE = 1_000_000
WAYS = ("token by token", "mt as draft")


class Peak(NamedTuple):
    """The memory of a process in bytes: its peak, and what it held before the search."""

    total: int
    before: int

    @property
    def above(self) -> int:
        """The memory added by the search."""
        return self.total - self.before


def main() -> None:
    options = parse()
    if options.way:
        print(json.dumps(measured(options, options.batch[0])))
        return
    import torch

    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, one thread")
    print(
        f"{options.model}, {options.dtype}, {options.sentences:,} sentences of {options.data}, "
        f"median of {options.repeats}\n"
    )
    print("| batch | search | peak RSS | ratio | above the loaded model | ratio |")
    print("|---:|---|---:|---:|---:|---:|", flush=True)
    for size in options.batch:
        peaks: dict[str, list[Peak]] = {way: [] for way in WAYS}
        for _ in range(options.repeats):
            for way in WAYS:
                peaks[way].append(in_a_process(way, options, size))
        base = median(peaks[WAYS[0]])
        for way in WAYS:
            found = median(peaks[way])
            print(
                f"| {size} | {way} | {found.total / MEGABYTE:.0f} MB | {found.total / base.total:.2f} "
                f"| {found.above / MEGABYTE:.0f} MB | {found.above / base.above:.2f} |",
                flush=True,
            )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a trained model")
    parser.add_argument("data", help="prefix of .src and .mt")
    parser.add_argument("--sentences", type=int, default=1_000)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=("float32", "bf16", "int8"), default="float32", help="type of the weights")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    return parser.parse_args()


def median(peaks: Sequence[Peak]) -> Peak:
    return Peak(*(int(statistics.median(values)) for values in zip(*peaks)))


def in_a_process(way: str, options: argparse.Namespace, size: int) -> Peak:
    command = [sys.executable, __file__, str(options.model), options.data, "--way", way, "--batch", str(size)]
    command += ["--sentences", str(options.sentences), "--dtype", options.dtype]
    return Peak(*json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def measured(options: argparse.Namespace, size: int) -> Peak:
    """Run a search in this process, and return its peak."""
    import torch
    from draft_equality import grouped, halves

    from postedit.folder import ModelFolder
    from postedit.nn.inference import prepare_for_inference
    from postedit.search import DraftSearch, greedy

    torch.set_num_threads(1)
    folder = ModelFolder.load(options.model)
    model = prepare_for_inference(folder.model, options.dtype)
    groups = list(grouped(folder, options.data, options.sentences, size))
    search = DraftSearch(model, size)
    shortest = min(groups, key=lambda group: int(group.limits.max()))
    greedy(model, shortest.batch, shortest.limits)
    forget_peak()
    before = memory("VmRSS")
    if options.way == "mt as draft":
        for _ in search(halves(groups)):
            pass
    else:
        for group in groups:
            greedy(model, group.batch, group.limits)
    return Peak(memory("VmHWM"), before)


def forget_peak() -> None:
    """Reset the recorded peak of this process, so that loading the model does not count."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int:
    """Return a memory field of /proc/self/status in bytes; VmHWM is the peak of VmRSS."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
