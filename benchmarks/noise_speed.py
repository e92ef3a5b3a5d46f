"""Measure the speed and memory of `postedit synth` with matched noise (`kind = "noise"`), each run in its own process.

    python benchmarks/noise_speed.py PREFIX [--lines N...] [--workers N...]

PREFIX.src, PREFIX.mt and PREFIX.pe are real triplets: their profile is matched, and their src and pe, repeated, are
the text. "work" is the time spent on the lines; "start" is the time before, to measure the profile and read the text.
CPU time is that of all processes together, including the start of the workers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("prefix")
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--one", nargs=2, metavar=("TEXT", "WORKERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.prefix, Path(options.one[0]), int(options.one[1]))
        return
    print(
        "| lines | workers | start s | work s | triplets/s | CPU us a triplet | triplets/s a core | peak MB a process |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for lines in options.lines:
        for workers in options.workers:
            with tempfile.TemporaryDirectory() as folder:
                text = Path(folder) / "text"
                for side in ("src", "pe"):
                    repeated(Path(f"{options.prefix}.{side}"), text.with_suffix(f".{side}"), lines)
                command = [sys.executable, __file__, options.prefix, "--one", str(text), str(workers)]
                print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


def repeated(source: Path, target: Path, lines: int) -> None:
    whole = source.read_bytes().splitlines(keepends=True)
    with target.open("wb") as file:
        file.writelines(islice(cycle(whole), lines))


def one(prefix: str, text: Path, workers: int) -> None:
    # Worker processes import this file too; keep imports of the main process out of it.
    from postedit.core.config import load_config
    from postedit.core.processes import LocalExecutor
    from postedit.distributed.pipeline import run_job
    from postedit.synthesis.noise.noise_recipe import NoiseConfig

    values = {"src": f"{text}.src", "pe": f"{text}.pe", "real": prefix, "out": f"{text}.made"}
    config, _ = load_config(NoiseConfig, values, "options").resolve(Path.cwd())
    started = time.monotonic()
    job = config.prepare()
    begun, busy_before = time.monotonic(), processor()
    run_job(job, config.triplets, LocalExecutor(workers))
    seconds, busy_seconds = time.monotonic() - begun, processor() - busy_before
    made = json.loads(Path(f"{text}.made.json").read_text(encoding="utf-8"))["made"]["triplets"]
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(
        f"| {made:,} | {workers} | {begun - started:.1f} | {seconds:.1f} | {made / seconds:,.0f} | "
        f"{1e6 * busy_seconds / made:.1f} | {made / busy_seconds:,.0f} | {peak:,.0f} |"
    )


def processor() -> float:
    """Return the seconds of CPU time used by this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
