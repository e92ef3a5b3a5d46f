"""Is every edit count that of sacrebleu? Real pairs of all kinds, and made ones that are hard.

    python benchmarks/ter_equality.py FOLDER... [--hard N] [--workers N]

FOLDER holds `*.mt` and `*.pe`, perhaps deeper down. Hard pairs are long, of few different words, with blocks moved, or
have an empty side. Each pair is compared in edits and length, case-sensitive
and not. A difference ends it with status 1.
"""

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import sacrebleu
from sacrebleu.metrics.ter import TER as Reference  # noqa: N811

from postedit.evaluate.ter import TER

Pair = tuple[str, str]
BLOCK = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--hard", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    pairs = real(options.folders) + hard(options.hard)
    blocks = [pairs[start : start + BLOCK] for start in range(0, len(pairs), BLOCK)]
    started, differing = time.perf_counter(), 0
    with ProcessPoolExecutor(options.workers) as pool:
        for done, found in enumerate(pool.map(compare, blocks), start=1):
            differing += len(found)
            for pair in found[:3]:
                print("differs:", pair)
            if done % 20 == 0:
                print(f"{done * BLOCK:,} of {len(pairs):,} pairs, {time.perf_counter() - started:.0f} s", flush=True)
    print(f"sacrebleu {sacrebleu.__version__}: {len(pairs):,} pairs, {options.hard:,} of them hard; {differing} differ")
    raise SystemExit(differing > 0)


def real(folders: Sequence[Path]) -> list[Pair]:
    found: list[Pair] = []
    for mt in sorted(path for folder in folders for path in folder.rglob("*.mt")):
        pe = mt.with_suffix(".pe")
        if pe.exists():
            texts = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in (mt, pe))
            found += zip(*texts, strict=True)
    return found


def hard(count: int) -> list[Pair]:
    rng = random.Random(1)
    found = []
    for _ in range(count):
        words = [f"w{rng.randrange(rng.choice((2, 5, 20, 200)))}" for _ in range(rng.choice((0, 3, 20, 60, 110)))]
        moved = list(words)
        for _ in range(rng.randrange(7)):
            start, place, length = (rng.randrange(len(moved) + 1) for _ in range(3))
            block = moved[start : start + length % 13]
            del moved[start : start + len(block)]
            moved[place:place] = block
        moved = [rng.choice(words) if rng.random() < 0.1 else word for word in moved]
        found.append((" ".join(moved if rng.random() < 0.95 else []), " ".join(words)))
    return found


def compare(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs whose edits or length differ."""
    differing = []
    for case_sensitive in (True, False):
        ours = TER(case_sensitive=case_sensitive).edits([mt for mt, _ in pairs], [pe for _, pe in pairs])
        theirs = Reference(case_sensitive=case_sensitive)
        for pair, counts in zip(pairs, ours):
            score = theirs.sentence_score(pair[0], [pair[1]])
            if (counts.edits, counts.length) != (score.num_edits, score.ref_length):
                differing.append(pair)
    return differing


if __name__ == "__main__":
    main()
