"""Measure the speed of resampling and of the HTML report.

    python benchmarks/score_speed.py [--sentences N] [--resamples N] [--rounds N] [--report N]

Two systems with random texts are compared. Resampling: 10,000 bootstrap and 10,000 randomisation resamples of 2,000
sentences, on one core, against a loop that draws and sums one resample at a time (extrapolated from a twentieth of
them). Report: a page of N sentences is written and, if Chromium is installed, opened. The time to open it is that of
the whole browser process, which starts, loads the page, takes a screenshot and ends, beside the same for an empty page.
Medians are shown.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from postedit.evaluate import analyses
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.metrics import AdditiveBLEU, AdditiveTER
from postedit.evaluate.significance import compare
from postedit.evaluate.test_set import TestSet, evaluate_systems
from postedit.explain.score_page import score_page

_SHARE = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sentences", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--report", type=int, default=100_000)
    options = parser.parse_args()
    os.sched_setaffinity(0, {0})
    pe, systems = texts(options.sentences)
    print("| metric | resampling, s | a loop, s (estimate) | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name, metric in (("TER", AdditiveTER()), ("BLEU", AdditiveBLEU()), ("chrF", AdditiveCHRF())):
        counts = [metric.statistics(system, pe) for system in systems]
        ours = median(partial(compare, counts, metric.loss, options.resamples), options.rounds)
        theirs = _SHARE * median(partial(loop, counts, metric.loss, options.resamples // _SHARE), options.rounds)
        print(f"| {name} | {ours:.2f} | {theirs:.1f} | {theirs / ours:.0f} |")
    os.sched_setaffinity(0, set(range(os.cpu_count() or 1)))
    report(options.report, options.rounds)


def texts(count: int) -> tuple[list[str], list[list[str]]]:
    generator = random.Random(1)
    words = [f"wort{number}" for number in range(5_000)]
    pe = [" ".join(generator.choices(words, k=generator.randint(5, 35))) for _ in range(count)]
    systems = [
        [" ".join(word if generator.random() > rate else "x" for word in line.split()) for line in pe]
        for rate in (0.25, 0.2)
    ]
    return pe, systems


def loop(counts: list[np.ndarray], loss: Callable[[np.ndarray], np.ndarray], resamples: int) -> None:
    generator = np.random.default_rng(1)
    first, second = counts
    for _ in range(resamples):
        rows = generator.integers(0, len(first), len(first))
        loss(first[rows].sum(0)) - loss(second[rows].sum(0))
        swap = generator.random(len(first)) < 0.5
        loss(np.where(swap[:, None], second, first).sum(0)) - loss(np.where(swap[:, None], first, second).sum(0))


def median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report(count: int, rounds: int) -> None:
    pe, (mt, output) = texts(count)
    test = TestSet(pe, mt, mt)
    start = time.perf_counter()
    systems = evaluate_systems(test, {"output": output})
    examined = time.perf_counter()
    page = score_page("Report", test, systems, [analyses.overview([system.scores for system in systems])])
    written = time.perf_counter()
    size = len(page.encode()) / 1e6
    print(f"\n{count:,} sentences: scores {examined - start:.1f} s, page {written - examined:.1f} s, {size:.0f} MB")
    browser = shutil.which("chromium")
    if browser is None:
        print("no chromium: the page is not opened")
        return
    with tempfile.TemporaryDirectory() as name:
        path, empty = Path(name) / "report.html", Path(name) / "empty.html"
        path.write_text(page, encoding="utf-8")
        empty.write_text("<!doctype html>", encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={name}/profile"]

        def opened(target: Path) -> Callable[[], object]:
            shot = f"--screenshot={name}/shot.png"
            return lambda: subprocess.run([*command, shot, target.as_uri()], capture_output=True, check=True)

        opened(empty)()
        nothing, all_of_it = median(opened(empty), rounds), median(opened(path), rounds)
        print(f"chromium: {all_of_it:.2f} s, of which {nothing:.2f} s for an empty page")


if __name__ == "__main__":
    main()
