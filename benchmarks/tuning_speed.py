"""Measure the speed of MERT and batch MIRA on n-best lists, and of MERT's line search against plain NumPy.

    python benchmarks/tuning_speed.py [--sentences N] [--outputs N] [--rounds N]

The lists are generated: five features are random numbers, and the number of errors depends on four of them, with noise.
The two line searches must find the same loss. They take turns, and medians are shown.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np

from postedit.evaluate.metrics import additive_metric
from postedit.tuning.mert_mira import line_optimum, mert, mira
from postedit.tuning.nbest_lists import NBestLists


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--outputs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}\n")
    print("| metric | one line, ms | the same in NumPy, ms | ratio | mert, s | mira, s | loss before, mert, mira |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for metric in ("ter", "bleu"):
        print(row(metric, made_up(options.sentences, options.outputs, metric), options.rounds))


def row(metric: str, lists: NBestLists, rounds: int) -> str:
    start, lower = np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.full(5, -np.inf)
    axis = np.eye(5)[1]
    assert abs(line_optimum(lists, start, axis).loss - plain_line(lists, start, axis)) < 1e-9
    work: list[Callable[[], object]] = [
        lambda: line_optimum(lists, start, axis),
        lambda: plain_line(lists, start, axis),
        lambda: mert(lists, start, lower),
        lambda: mira(lists, start, lower),
    ]
    times = [[seconds(task) for task in work] for _ in range(rounds)]
    line, plain, by_mert, by_mira = map(statistics.median, zip(*times))
    found = (start, mert(lists, start, lower), mira(lists, start, lower))
    losses = ", ".join(f"{lists.loss(weights):.2f}" for weights in found)
    speed = f"{1e3 * line:.1f} | {1e3 * plain:.0f} | {plain / line:.0f} | {by_mert:.1f} | {by_mira:.1f}"
    return f"| {metric} | {speed} | {losses} |"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def made_up(sentences: int, outputs: int, metric: str) -> NBestLists:
    rng = np.random.default_rng(0)
    size = sentences * outputs
    features = rng.standard_normal((size, 5))
    quality = features @ np.array([1.0, 0.5, -0.3, 0.2, 0.0]) + 2.0 * rng.standard_normal(size)
    words = np.repeat(rng.integers(10, 30, sentences), outputs)
    edits = np.clip(np.round(5.0 - quality), 0, words)
    if metric == "ter":
        counts = [edits, words]
    else:
        matches = [np.maximum(words - n - (n + 1) * edits, 0) for n in range(4)]
        counts = [*matches, *(words - n for n in range(4)), words, words]
    first = np.arange(0, size + 1, outputs)
    return NBestLists(features, np.stack(counts, 1).astype(float), first, additive_metric(metric))


def plain_line(lists: NBestLists, weights: np.ndarray, direction: np.ndarray) -> float:
    """Return the minimum loss along a line, following each sentence's upper envelope from corner to corner in NumPy."""
    heights, slopes = lists.features @ weights, lists.features @ direction
    corners, changes = [], []
    total = np.zeros(lists.statistics.shape[1])
    for begin, end in zip(lists.first, lists.first[1:]):
        height, slope, counts = heights[begin:end], slopes[begin:end], lists.statistics[begin:end]
        top = int(np.lexsort((-height, slope))[0])
        total += counts[top]
        while True:
            steeper = np.flatnonzero(slope > slope[top])
            if not len(steeper):
                break
            at = (height[top] - height[steeper]) / (slope[steeper] - slope[top])
            following = int(steeper[np.argmin(at)])
            corners.append(at.min())
            changes.append(counts[following] - counts[top])
            top = following
    order = np.argsort(corners, kind="stable")
    sums = total + np.concatenate([np.zeros((1, len(total))), np.cumsum(np.array(changes)[order], 0)])
    return float(lists.metric.loss(sums).min())


if __name__ == "__main__":
    main()
