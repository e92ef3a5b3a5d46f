"""Measure the decoding speed of trained models: greedy, greedy with mt as draft, and beam 5, at batch 1 and 32.

    python benchmarks/decoding_speed.py MODEL... --data PREFIX [--sentences N] [--threads N] [--repeats N]

The searches take turns on the same sentences. Figures are medians of whole rounds, which include encoding but no text
processing. The last column is the share of sentences whose output differs from that of greedy search.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.folder import ModelFolder
from postedit.search import Hypothesis, SearchConfig, beam_search, draft_decode, greedy, length_limits
from postedit.text.processor import TextProcessor

BEAM = SearchConfig(beam=5)
Search = Callable[[Seq2Seq, Batch, list[list[int]], torch.Tensor], list[Hypothesis]]
SEARCHES: dict[str, Search] = {
    "greedy": lambda model, batch, drafts, limits: greedy(model, batch, limits),
    "greedy, mt as draft": draft_decode,
    "beam 5": lambda model, batch, drafts, limits: [best for (best,) in beam_search(model, batch, limits, BEAM)],
}


@dataclass
class Result:
    """The seconds of each round, and the outputs."""

    seconds: list[float] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    triplets = list(read_triplets(TripletFiles.of(options.data)))[: options.sentences]
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    print(f"{len(triplets)} sentences of {options.data}, fp32, median of {options.repeats} rounds\n")
    print("| model | batch | search | sentences/s | ratio | outputs unlike greedy |")
    print("|---|---|---|---|---|---|")
    for path in options.models:
        folder = ModelFolder.load(path)
        for size in (1, 32):
            measure(folder, encode(folder.processor, triplets, folder.model.spec.inputs, size), size, options.repeats)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="model folders")
    parser.add_argument("--data", required=True, help="prefix of .src, .mt and .pe")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def encode(
    processor: TextProcessor, triplets: Sequence, inputs: tuple[str, ...], size: int
) -> list[tuple[Batch, list[list[int]]]]:
    """Return batches of `size` sentences of similar length, with their drafts."""
    sides = {name: processor.encode_batch(name, [getattr(triplet, name) for triplet in triplets]) for name in inputs}
    drafts = [ids[:-1] for ids in processor.encode_batch("pe", [triplet.mt for triplet in triplets])]
    order = sorted(range(len(triplets)), key=lambda i: len(drafts[i]))
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    return [
        (collate({name: [ids[i] for i in group] for name, ids in sides.items()}, inputs), [drafts[i] for i in group])
        for group in groups
    ]


def measure(folder: ModelFolder, batches: list[tuple[Batch, list[list[int]]]], size: int, repeats: int) -> None:
    """Time every search on `batches`, and print a row for each."""
    results = {name: Result() for name in SEARCHES}
    for _ in range(repeats):
        for name, search in SEARCHES.items():
            results[name].outputs = []
            start = time.perf_counter()
            for batch, drafts in batches:
                options = folder.search.max_ratio, folder.search.max_extra, folder.model.spec.writes
                limits = length_limits(batch, *options)
                results[name].outputs += [found.tokens for found in search(folder.model, batch, drafts, limits)]
            results[name].seconds.append(time.perf_counter() - start)
    base = results["greedy"]
    sentences = len(base.outputs)
    for name, result in results.items():
        speed = sentences / statistics.median(result.seconds)
        ratio = statistics.median(b / s for b, s in zip(base.seconds, result.seconds, strict=True))
        unlike = sum(a != b for a, b in zip(base.outputs, result.outputs, strict=True))
        print(
            f"| {folder.architecture.name} | {size} | {name} | {speed:,.1f} | {ratio:.2f} | {unlike / sentences:.1%} |"
        )


if __name__ == "__main__":
    main()
