"""Check that every TER edit count equals that of sacrebleu, on real pairs and on difficult generated ones.

    python benchmarks/ter_equality.py FOLDER... [--pairs N] [--hard N] [--share S] [--workers N]

FOLDER holds `*.mt` and `*.pe`, also in subfolders. Difficult pairs are long, have few different words, punctuation,
other scripts, moved blocks or an empty side. For each pair, with the defaults of sacrebleu, the number of edits and the
length are compared, both as counted and from the edit script. A share of the pairs, drawn anew each time, is compared
with every other combination of options: case, normalisation, punctuation, Asian support. If any pair differs, the
program exits with status 1.
"""

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import sacrebleu
from sacrebleu.metrics.ter import TER as Reference  # noqa: N811

from postedit.evaluate.ter import TER

Pair = tuple[str, str]
BLOCK = 500
ODD = (
    "Wort",
    "WORT",
    "wort.",
    "..0",
    "(w1)",
    "5's",
    "a-1-.,",
    "&quot;w2",
    "&amp;lt;",
    "3,5",
    "中文",
    "文字。",
    "カナw1",
    "ひら、",
)
"""Words that the options of TER split or change."""


class Options(NamedTuple):
    """Options of TER in sacrebleu, with its defaults."""

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False


OTHERS = [Options(*values) for values in product((False, True), repeat=4) if any(values)]


class Block(NamedTuple):
    """A batch of pairs to compare."""

    pairs: Sequence[Pair]
    options: Options


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, help="real pairs, drawn from all; all if not given")
    parser.add_argument("--hard", type=int, default=5000, help="number of generated, difficult pairs")
    parser.add_argument(
        "--share", type=float, default=0.05, help="share of the pairs for each set of options but the first"
    )
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    pairs = real(options.folders)
    if options.pairs is not None and options.pairs < len(pairs):
        pairs = random.Random(1).sample(pairs, options.pairs)
    pairs += hard(options.hard)
    blocks = divided(pairs, Options())
    for number, others in enumerate(OTHERS):
        blocks += divided(random.Random(number).sample(pairs, round(options.share * len(pairs))), others)
    started, differing = time.perf_counter(), 0
    with ProcessPoolExecutor(options.workers) as pool:
        for done, found in enumerate(pool.map(compare, blocks), start=1):
            differing += len(found)
            for pair in found[:3]:
                print("differs:", blocks[done - 1].options, pair)
            if done % 20 == 0:
                print(f"{done:,} of {len(blocks):,} blocks, {time.perf_counter() - started:.0f} s", flush=True)
    more = sum(len(block.pairs) for block in blocks) - len(pairs)
    print(
        f"sacrebleu {sacrebleu.__version__}: {len(pairs):,} pairs, {options.hard:,} of them hard, by default, and "
        f"{more:,} in {len(OTHERS)} other sets of options; {differing} differ"
    )
    raise SystemExit(differing > 0)


def divided(pairs: Sequence[Pair], options: Options) -> list[Block]:
    return [Block(pairs[start : start + BLOCK], options) for start in range(0, len(pairs), BLOCK)]


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
        words = [rng.choice(ODD) if rng.random() < 0.1 else word for word in words]
        moved = list(words)
        for _ in range(rng.randrange(7)):
            start, place, length = (rng.randrange(len(moved) + 1) for _ in range(3))
            block = moved[start : start + length % 13]
            del moved[start : start + len(block)]
            moved[place:place] = block
        moved = [rng.choice(words) if rng.random() < 0.1 else word for word in moved]
        found.append((" ".join(moved if rng.random() < 0.95 else []), " ".join(words)))
    return found


def compare(block: Block) -> list[Pair]:
    """Return the pairs whose number of edits or length differs from that of sacrebleu."""
    ours, theirs = TER(**block.options._asdict()), Reference(**block.options._asdict())
    texts = [mt for mt, _ in block.pairs], [pe for _, pe in block.pairs]
    differing = []
    for pair, counts, script in zip(block.pairs, ours.counts(*texts), ours.edits(*texts), strict=True):
        score = theirs.sentence_score(pair[0], [pair[1]])
        if (counts.edits, counts.length) != (score.num_edits, score.ref_length) or script.count != counts:
            differing.append(pair)
    return differing


if __name__ == "__main__":
    main()
