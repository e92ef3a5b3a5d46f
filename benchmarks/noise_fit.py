"""How similar are artificial triplets to real ones? Measure distances between their edits, as found by TER.

    python benchmarks/noise_fit.py SRC PE --real PREFIX... [--tokenize EN DE] [--workers N]

SRC and PE are parallel text; PREFIX.mt and PREFIX.pe are real triplets. Noise is applied to all lines of PE, and to a
selection whose lengths are distributed as in the real triplets (`lengths = "real"`). Both outputs are compared with the
real triplets and, since short lines cannot have the TER of long ones, with the real triplets weighted so that their
lengths are distributed as in the output.
"""

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from postedit.core.config import load_config
from postedit.core.processes import LocalExecutor
from postedit.data.lines import read_lines
from postedit.distributed.pipeline import run_job
from postedit.evaluate.ter import count_edits
from postedit.synthesis.noise.edit_profile import EditProfile
from postedit.synthesis.noise.noise_recipe import NoiseConfig
from postedit.synthesis.noise.noise_tables import sentences_by_length
from postedit.text.words import splitter

NAMES = ("TER", "shifts", "substitutions", "insertions", "deletions")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("src", type=Path)
    parser.add_argument("pe", type=Path)
    parser.add_argument("--real", nargs="+", required=True)
    parser.add_argument("--tokenize", nargs=2, metavar="LANGUAGE", help="tokenise SRC and PE by Moses rules")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    print("| real triplets | lines of the text | triplets | | " + " | ".join(NAMES) + " |")
    print("| --- | --- | ---: | --- |" + " ---: |" * len(NAMES))
    with tempfile.TemporaryDirectory() as folder:
        texts = [options.src, options.pe]
        if options.tokenize:
            texts = [tokenized(path, code, Path(folder)) for path, code in zip(texts, options.tokenize)]
        for real in options.real:
            for lengths in ("real", "all"):
                report(real, lengths, texts, Path(folder) / "made", options.workers)


def tokenized(path: Path, language: str, folder: Path) -> Path:
    words = splitter("moses", language).words
    out = folder / path.name
    out.write_text("".join(" ".join(words(line)) + "\n" for line in read_lines(path)), encoding="utf-8")
    return out


def report(real: str, lengths: str, texts: Sequence[Path], out: Path, workers: int) -> None:
    values = {"src": str(texts[0]), "pe": str(texts[1]), "real": real, "out": str(out), "lengths": lengths}
    config, _ = load_config(NoiseConfig, values, "options").resolve(Path.cwd())
    run_job(config.prepare(), config.triplets, LocalExecutor(workers))
    profile = EditProfile.load(Path(f"{out}.profile.json"))
    sentences, ranges = sentences_by_length(profile)
    rates, counts = table(sentences)
    ours, our_counts = table(measured(Path(f"{out}.mt"), Path(f"{out}.pe")))
    even = np.ones(len(rates))
    weights = like(ranges, our_counts[:, 0], len(rates))
    name, size = Path(real).parent.name, len(ours)
    row(f"{name} | {'of the real lengths' if lengths == 'real' else 'all'} | {size:,} | real, mean", means(counts))
    row(" | | | made, mean", means(our_counts))
    row(" | | | KS to the real ones", [f"{ks(rates[:, k], even, ours[:, k]):.3f}" for k in range(5)])
    row(" | | | KS at the lengths made", [f"{ks(rates[:, k], weights, ours[:, k]):.3f}" for k in range(5)])


def measured(mt: Path, pe: Path) -> NDArray[np.int64]:
    """Return the length and the number of edits by kind of each sentence in two files, found by TER: Int64[N,5]."""
    edits = []
    pairs = zip(read_lines(mt), read_lines(pe))
    while block := list(islice(pairs, 1 << 16)):
        edits += count_edits([pair[0] for pair in block], [pair[1] for pair in block])
    return np.array([[e.length, e.shifts, e.substitutions, e.insertions, e.deletions] for e in edits])


def table(sentences: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the edits per word of each sentence, total and by kind, and its words and edits: [N,5] and Int64[N,6]."""
    edits = np.column_stack([sentences[:, 1:].sum(1), sentences[:, 1:]])
    return edits / sentences[:, :1], np.column_stack([sentences[:, 0], edits])


def means(counts: NDArray[np.int64]) -> list[str]:
    return [f"{100 * edits / counts[:, 0].sum():.2f}" for edits in counts[:, 1:].sum(0)]


def like(ranges: NDArray[np.int64], lengths: NDArray[np.int64], sentences: int) -> NDArray[np.float64]:
    """Return weights of the real sentences that give them the distribution of `lengths`: Float64[sentences]."""
    weights = np.zeros(sentences)
    for length, count in zip(*np.unique(lengths, return_counts=True)):
        first, last = ranges[min(length, len(ranges) - 1)]
        weights[first:last] += count / (last - first)
    return weights


def ks(real: NDArray[np.float64], weights: NDArray[np.float64], made: NDArray[np.float64]) -> float:
    """Return the Kolmogorov-Smirnov distance between weighted real values and artificial ones."""
    order = np.argsort(real)
    real, weights, made = real[order], np.concatenate([[0.0], np.cumsum(weights[order])]), np.sort(made)
    places = np.union1d(real, made)
    theirs = weights[np.searchsorted(real, places, "right")] / weights[-1]
    return float(np.abs(theirs - np.searchsorted(made, places, "right") / len(made)).max())


def row(start: str, cells: Sequence[str]) -> None:
    print(f"| {start} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
