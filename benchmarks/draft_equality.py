"""Check that search with mt as draft gives the same outputs as greedy search.

    python benchmarks/draft_equality.py MODEL DATA... [--sentences N] [--double] [--batch N] [--shortlist N]

DATA are prefixes of .src and .mt. All sentences are decoded both ways, in batches of similar length; with drafts,
finished rows are refilled. Where two outputs differ, forced decoding of their common prefix gives the difference of the
log-probabilities of their next tokens. In single precision a near-tie is no error; in double precision no outputs
may differ. With a shortlist, outputs may differ, and their number is the result.
"""

import argparse
import platform
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import torch

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.folder import ModelFolder
from postedit.nn.inference import prepare_for_inference
from postedit.search import DraftGroup, DraftSearch, Hypothesis, greedy, length_limits

TIE = 1e-4
"""Largest difference, in nats, that the order of summation in single precision explains."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--sentences", type=int, help="number of sentences of each DATA; all if not given")
    parser.add_argument("--double", action="store_true", help="use double precision")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--shortlist", type=int, default=0)
    options = parser.parse_args()
    folder = ModelFolder.load(options.model)
    model = folder.model.double() if options.double else prepare_for_inference(folder.model)
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{options.model}, {'double' if options.double else 'single'} precision, {options.shortlist=}\n")
    print("| data | sentences | unchanged | tokens | calls a batch | fewer calls | others | of these no near-tie |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    faults = sum(compare(model, folder, data, options) for data in options.data)
    raise SystemExit(1 if faults and not options.shortlist else 0)


def compare(model: Seq2Seq, folder: ModelFolder, data: str, options: argparse.Namespace) -> int:
    """Print a row, and return the number of outputs that differ by more than a near-tie (with --double, at all)."""
    groups = list(grouped(folder, data, options.sentences, options.batch))
    expected = [hypothesis for group in groups for hypothesis in greedy(model, group.batch, group.limits)]
    search = DraftSearch(model, options.batch, shortlist=options.shortlist)
    found = [hypothesis for hypotheses in search(halves(groups)) for hypothesis in hypotheses]
    rows = [(group, row) for group in groups for row in range(group.batch.rows)]
    others = faults = 0
    for (group, row), one, other in zip(rows, expected, found, strict=True):
        if one.tokens != other.tokens:
            others += 1
            faults += options.double or margin(model, group, row, one, other) > TIE
    count = len(expected)
    unchanged = sum(list(group.drafts[row]) == list(one.tokens) for (group, row), one in zip(rows, expected))
    tokens = sum(len(hypothesis.token_scores) for hypothesis in expected)
    shares = f"{unchanged / count:.0%} | {tokens / count:.1f} | {search.calls * options.batch / count:.2f}"
    fewer = sum(max(len(h.token_scores) for h in part) for part in parts(expected, groups)) / search.calls
    print(f"| {data} | {count:,} | {shares} | {fewer:.2f} | {others} | {faults} |", flush=True)
    return faults


def parts(found: Sequence[Hypothesis], groups: Sequence[DraftGroup]) -> Iterator[Sequence[Hypothesis]]:
    """Yield the hypotheses of each group."""
    start = 0
    for group in groups:
        yield found[start : start + group.batch.rows]
        start += group.batch.rows


def grouped(folder: ModelFolder, data: str, count: int | None, size: int) -> Iterator[DraftGroup]:
    """Yield sentences in batches of similar length, longest first."""
    triplets = list(read_triplets(TripletFiles.of(data)))[:count]
    inputs, encode = folder.model.spec.inputs, folder.processor.encode_batch
    sides = {name: encode(name, [getattr(triplet, name) for triplet in triplets]) for name in inputs}
    drafts = [ids[:-1] for ids in encode("pe", [triplet.mt for triplet in triplets])]
    order = sorted(range(len(triplets)), key=lambda i: -len(drafts[i]))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        batch = collate({name: [ids[i] for i in rows] for name, ids in sides.items()}, inputs)
        limits = length_limits(batch, folder.search.max_ratio, folder.search.max_extra)
        yield DraftGroup(batch, [drafts[i] for i in rows], limits)


def halves(groups: Sequence[DraftGroup]) -> Iterator[DraftGroup]:
    """Yield the same sentences in groups of half the size, which can refill finished rows."""
    for group in groups:
        for rows in torch.arange(group.batch.rows).chunk(2):
            streams = {name: stream.select(rows) for name, stream in group.batch.streams.items()}
            yield DraftGroup(Batch(streams), [group.drafts[i] for i in rows.tolist()], group.limits[rows])


@torch.inference_mode()
def margin(model: Seq2Seq, group: DraftGroup, row: int, one: Hypothesis, other: Hypothesis) -> float:
    """Return by how many nats the log-probabilities of the first tokens that differ in two outputs differ."""
    pairs = list(zip((*one.tokens, EOS), (*other.tokens, EOS)))
    common = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    first, second = pairs[len(common)]
    streams = {name: stream.select(torch.tensor([row])) for name, stream in group.batch.streams.items()}
    output, _ = model.decode(torch.tensor([[BOS, *common]]), model.encode(Batch(streams)))
    said = output.log_probs[0, -1]
    return float((said[first] - said[second]).abs())


if __name__ == "__main__":
    start = time.perf_counter()
    try:
        main()
    finally:
        print(f"\n{time.perf_counter() - start:.0f} s")
