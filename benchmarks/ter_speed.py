"""Compare the speed of `postedit.evaluate.ter.TER` with `sacrebleu.metrics.TER`, in whole calls on the same strings.

    python benchmarks/ter_speed.py FOLDER... [--threads N] [--rounds N] [--pairs N]

FOLDER holds `*.mt` and `*.pe`. Speed is measured on two texts: the segments as they are, and pairs of about 60 words
with a TER near 40 that are made from them (segments joined, some words of mt replaced and blocks moved). The two
implementations must compute the same corpus score. They take turns, and medians are shown.
"""

import argparse
import os
import platform
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import sacrebleu
from sacrebleu.metrics.ter import TER as Reference  # noqa: N811

from postedit.evaluate.ter import TER

Pairs = tuple[list[str], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=16_000)
    options = parser.parse_args()
    os.sched_setaffinity(0, set(range(options.threads)))
    print(
        f"{platform.processor() or platform.machine()}, sacrebleu {sacrebleu.__version__}, {options.threads} core(s)\n"
    )
    print("| text | pairs | words a reference | TER | sacrebleu, pairs/s | ours, pairs/s | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    TER().corpus_score(["a b"], [["b a"]])  # compile the kernels
    real = read(options.folders, options.pairs)
    for name, (hypotheses, references) in {
        "as they are": real,
        "60 words": lengthened(real, options.pairs // 32),
    }.items():
        words = sum(len(text.split()) for text in references) / len(references)
        score, theirs, ours = measure(hypotheses, references, options.rounds)
        rates = f"{len(references) / theirs:,.0f} | {len(references) / ours:,.0f} | {theirs / ours:.0f}"
        print(f"| {name} | {len(references):,} | {words:.1f} | {score:.2f} | {rates} |")


def read(folders: Sequence[Path], count: int) -> Pairs:
    texts: Pairs = ([], [])
    for mt in sorted(path for folder in folders for path in folder.glob("*.mt")):
        for side, path in zip(texts, (mt, mt.with_suffix(".pe"))):
            side += path.read_text(encoding="utf-8").split("\n")[:-1]
    return texts[0][:count], texts[1][:count]


def lengthened(pairs: Pairs, count: int) -> Pairs:
    """Join segments into at most `count` pairs of about 60 words, and edit the hypotheses so that TER is near 40."""
    rng = random.Random(1)
    hypotheses: list[str] = []
    references: list[str] = []
    h: list[str] = []
    r: list[str] = []
    words = [word for text in pairs[1] for word in text.split()]
    for mt, pe in zip(*pairs):
        h += mt.split()
        r += pe.split()
        if len(r) < 55:
            continue
        for _ in range(len(r) // 12):
            h[rng.randrange(len(h))] = rng.choice(words)
        for _ in range(len(r) // 15):
            start, length = rng.randrange(len(h)), rng.randint(1, 5)
            block = h[start : start + length]
            del h[start : start + length]
            place = rng.randrange(len(h) + 1)
            h[place:place] = block
        hypotheses.append(" ".join(h))
        references.append(" ".join(r))
        h, r = [], []
        if len(references) == count:
            break
    return hypotheses, references


def measure(hypotheses: list[str], references: list[str], rounds: int) -> tuple[float, float, float]:
    """Return the score, and the median seconds of sacrebleu and of our TER."""
    seconds: tuple[list[float], list[float]] = ([], [])
    scores = set()
    for _ in range(rounds):
        for taken, metric in zip(seconds, (Reference(case_sensitive=True), TER(case_sensitive=True))):
            started = time.perf_counter()
            score = metric.corpus_score(hypotheses, [references])
            taken.append(time.perf_counter() - started)
            scores.add((score.num_edits, score.ref_length, score.score))
    if len(scores) != 1:
        raise SystemExit(f"the scores differ: {scores}")
    return scores.pop()[2], statistics.median(seconds[0]), statistics.median(seconds[1])


if __name__ == "__main__":
    main()
