"""Measure the overhead of a Ray cluster on one machine against worker processes: `postedit synth`, `kind = "noise"`.

    python benchmarks/ray_overhead.py PREFIX [--lines N...] [--workers N] [--runs N]

PREFIX.src, PREFIX.mt and PREFIX.pe are real triplets: their profile is matched, and their src and pe, repeated, are the
text. The engines take turns and must write the same bytes. "start" is the time until the first chunk is done, including
the start of the worker processes or the cluster. The rate is that of the later chunks. Memory is that of all processes
together, with shared pages counted once.
"""

import argparse
import hashlib
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

SIDES = ("src", "mt", "pe")


@dataclass
class Measured:
    """The runs of one engine: seconds of the start, lines per second, peak megabytes, and digests of the outputs."""

    start: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("prefix")
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()

    from postedit.core.processes import LocalExecutor
    from postedit.distributed.executors import RayExecutor

    engines = {"processes": LocalExecutor(options.workers), "ray": RayExecutor(options.workers)}
    print("| lines | engine | start s | triplets/s | of processes | peak MB | bytes |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | --- |")
    for lines in options.lines:
        found = {name: Measured() for name in engines}
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "text"
            for side in ("src", "pe"):
                repeated(Path(f"{options.prefix}.{side}"), text.with_suffix(f".{side}"), lines)
            for _ in range(options.runs):
                for name, engine in engines.items():
                    measure(options.prefix, text, engine, found[name])
        same = len(set.union(*(one.digests for one in found.values()))) == 1
        for name, one in found.items():
            ratio = statistics.median(mine / theirs for mine, theirs in zip(one.rate, found["processes"].rate))
            print(
                f"| {lines:,} | {name} | {statistics.median(one.start):.1f} | {statistics.median(one.rate):,.0f} | "
                f"{ratio:.2f} | {max(one.megabytes):,.0f} | {'the same' if same else 'DIFFERENT'} |",
                flush=True,
            )


def repeated(source: Path, target: Path, lines: int) -> None:
    whole = source.read_bytes().splitlines(keepends=True)
    with target.open("wb") as file:
        file.writelines(islice(cycle(whole), lines))


def measure(prefix: str, text: Path, engine: Any, found: Measured) -> None:
    # Worker processes import this file too; keep imports of the main process out of it.
    from postedit.core.config import load_config
    from postedit.distributed.pipeline import run_job
    from postedit.synthesis.noise.noise_recipe import NoiseConfig

    values = {"src": f"{text}.src", "pe": f"{text}.pe", "real": prefix, "out": f"{text}.made"}
    config, _ = load_config(NoiseConfig, values, "options").resolve(Path.cwd())
    job = config.prepare()
    times, sizes = [(time.monotonic(), 0)], [0.0]

    def report(done: int) -> None:
        times.append((time.monotonic(), done))
        if len(times) % 20 == 0:
            sizes.append(megabytes())

    run_job(job, config.triplets, engine, report=report)
    (begun, _), (first, before), (last, after) = times[0], times[2], times[-1]  # the second is the report of zero lines
    found.start.append(first - begun)
    found.rate.append((after - before) / (last - first))
    found.megabytes.append(max(sizes))
    whole = b"".join(Path(f"{text}.made.{side}").read_bytes() for side in SIDES)
    found.digests.add(hashlib.sha256(whole).hexdigest())


def megabytes() -> float:
    """Return the proportional set size of this process and its children, in megabytes."""
    import psutil

    this = psutil.Process()
    total = 0.0
    for process in [this, *this.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:  # the process has just ended
            continue
    return total / 1e6


if __name__ == "__main__":
    main()
