"""Measure the cost in TER and the gain in speed of each weight type, for trained models on a CPU.

    python benchmarks/inference_dtypes.py MODEL... --data PREFIX [--sentences N] [--threads N] [--repeats N]

The types take turns. Speeds are from the median CPU time of whole calls of `edit`, which include text processing. The
"unlike" columns are the shares of outputs that differ: from float32 with the same search, and from the same type with
one sentence per batch, where tensors have other shapes.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Sequence

import torch

from postedit import PostEditor
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.nn.inference import PRECISIONS

SEARCHES = ((1, 1), (1, 4000), (4, 4000))  # beam, tokens in a batch


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    triplets = list(read_triplets(TripletFiles.of(options.data)))[: options.sentences]
    src, mt, pe = ([getattr(triplet, side) for triplet in triplets] for side in ("src", "mt", "pe"))
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    print(f"{len(triplets)} sentences of {options.data}; unedited MT: TER {edit_rate(count_edits(mt, pe)):.2f}\n")
    print("| model | beam | batch | weights | TER | sentences/s | ratio | unlike float32 | unlike batch 1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in options.models:
        editors = {dtype: PostEditor.load(model, device="cpu", dtype=dtype) for dtype in PRECISIONS}
        alone: dict[str, list[str]] = {}
        for beam, budget in SEARCHES:
            seconds: dict[str, list[float]] = {dtype: [] for dtype in PRECISIONS}
            outputs: dict[str, list[str]] = {}
            for _ in range(options.repeats):
                for dtype, editor in editors.items():
                    start = time.process_time()
                    outputs[dtype] = [one.text for one in editor.edit(src, mt, beam=beam, batch_tokens=budget)]
                    seconds[dtype].append(time.process_time() - start)
            if budget == 1:
                alone = outputs
            for dtype in PRECISIONS:
                ter = edit_rate(count_edits(outputs[dtype], pe))
                speed = len(src) / statistics.median(seconds[dtype])
                ratio = statistics.median(a / b for a, b in zip(seconds["float32"], seconds[dtype], strict=True))
                company = f"{unlike(outputs[dtype], alone[dtype]):.1%}" if beam == 1 and budget > 1 else ""
                print(
                    f"| {model} | {beam} | {budget} | {dtype} | {ter:.2f} "
                    f"| {speed:,.1f} | {ratio:.2f} | {unlike(outputs[dtype], outputs['float32']):.1%} | {company} |",
                    flush=True,
                )


def unlike(some: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of texts that differ."""
    return sum(a != b for a, b in zip(some, others, strict=True)) / len(some)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--data", required=True, help="prefix of .src, .mt and .pe")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
