"""Measure what conservative search changes on a dev set, for better and for worse, for each penalty.

    python benchmarks/conservative_search.py MODEL... --data PREFIX [--sentences N] [--beam N]
        [--post-edit-penalty 0.5 ...] [--edit-cost 0.5 ...] [--max-edits 2 ...]

Each setting is tried alone. The first row of a model is its plain search. Use dev sets only: scores on the set that
chose a setting are biased.
"""

import argparse
import sys
from collections.abc import Iterator

import torch

from postedit import PostEditor
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.evaluate.scores import SystemScores, score_system
from postedit.search import SearchConfig


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    triplets = list(read_triplets(TripletFiles.of(options.data)))[: options.sentences]
    src, mt, pe = ([getattr(triplet, side) for triplet in triplets] for side in ("src", "mt", "pe"))
    print(f"{len(triplets)} sentences of {options.data}, beam {options.beam}\n")
    print("| model | search | TER | BLEU | changed | better | worse |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    print_row("", "unedited MT", score_system("", mt, pe, mt))
    for model in options.models:
        editor = PostEditor.load(model)
        for name, search in searches(editor.search.with_options(beam=options.beam), options):
            hypotheses = [result.text for result in editor.edit(src, mt, search=search)]
            print_row(f"`{model}`", name, score_system(name, hypotheses, pe, mt))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--data", required=True, help="prefix of .src, .mt and .pe")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--post-edit-penalty", type=float, nargs="*", default=[])
    parser.add_argument("--edit-cost", type=float, nargs="*", default=[])
    parser.add_argument("--max-edits", type=int, nargs="*", default=[])
    return parser.parse_args()


def searches(plain: SearchConfig, options: argparse.Namespace) -> Iterator[tuple[str, SearchConfig]]:
    """Yield the settings by the name of the option that is added to the plain ones."""
    yield "plain", plain
    yield from (
        (f"post-edit penalty {nats}", plain.with_options(post_edit_penalty=nats)) for nats in options.post_edit_penalty
    )
    yield from ((f"edit cost {nats}", plain.with_options(edit_cost=nats)) for nats in options.edit_cost)
    yield from ((f"at most {most} edits", plain.with_options(max_edits=most)) for most in options.max_edits)


def print_row(model: str, name: str, scores: SystemScores) -> None:
    changes = scores.changes
    assert changes is not None
    counts = f"{changes.changed} | {changes.better} | {changes.worse}"
    print(f"| {model} | {name} | {scores.ter:.2f} | {scores.bleu:.2f} | {counts} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
