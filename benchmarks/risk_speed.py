"""Measure where minimum risk training spends its time, and how many plain updates one of its updates costs.

    python benchmarks/risk_speed.py RUN [--batch-tokens N] [--candidates N] [--updates N] [--threads N]

RUN is the folder of a finished run, whose model, triplets and precision are used. Sampling and beam search take turns
with plain updates on the same batches. Times are medians per update, without the optimiser step.
"""

import argparse
import platform
import statistics
from collections import defaultdict
from pathlib import Path
from time import perf_counter

import torch

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.data.batching import BatchStream
from postedit.data.corpus import Corpus
from postedit.editing.risk_candidates import CandidateSearch
from postedit.folder import ModelFolder
from postedit.recipe import Recipe, load_recipe
from postedit.search import Hypothesis
from postedit.train.config import RiskConfig
from postedit.train.losses import Candidate, RiskLoss, inference_mode

SEARCHES = ("sample", "beam")
PARTS = ("search", "text and TER", "text and BLEU", "forward", "backward", "plain update")


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    folder, recipe = ModelFolder.load(options.run / "model"), load_recipe(options.run / "recipe.toml", check_data=False)
    model = folder.model.requires_grad_(True).train()
    corpus = Corpus.open(options.run / "corpus" / "train.arrow")
    stream = iter(BatchStream(corpus, model.spec.inputs, options.batch_tokens, seed=1))
    times: dict[str, list[dict[str, float]]] = defaultdict(list)
    found: dict[str, int] = defaultdict(int)
    for number in range(options.updates + 1):
        batch, _ = next(stream)
        for search in SEARCHES:
            parts, count = measure(model, folder, recipe, batch, search, options.candidates)
            if number:  # the first one is a warm-up
                times[search].append(parts)
                found[search] += count
    print(
        f"{options.run.name}, {options.batch_tokens} tokens a batch, {recipe.train.precision}, "
        f"{options.candidates} candidates a sentence, {options.threads} thread(s), torch {torch.__version__}, "
        f"{platform.processor() or platform.machine()}\n"
    )
    print("| candidates | " + " | ".join(f"{part} s" for part in PARTS) + " | TER share % | candidates/s | updates |")
    print("| --- |" + " ---: |" * (len(PARTS) + 3))
    for search, rounds in times.items():
        middle = {part: statistics.median(parts[part] for parts in rounds) for part in PARTS}
        whole = [
            sum(parts[part] for part in PARTS if part not in ("text and BLEU", "plain update")) for parts in rounds
        ]
        share = statistics.median(100.0 * parts["text and TER"] / total for parts, total in zip(rounds, whole))
        ratio = statistics.median(total / parts["plain update"] for parts, total in zip(rounds, whole))
        speed = found[search] / sum(parts["search"] for parts in rounds)
        cells = [f"{middle[part]:.3f}" for part in PARTS]
        print(f"| {search} | {' | '.join(cells)} | {share:.2f} | {speed:.0f} | {ratio:.1f} |")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--batch-tokens", type=int, default=600)
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def measure(
    model: Seq2Seq, folder: ModelFolder, recipe: Recipe, batch: Batch, search: str, count: int
) -> tuple[dict[str, float], int]:
    """Return the seconds of each part of an update, and the number of candidates that the search found."""
    assert batch.target is not None
    config = RiskConfig.model_validate({"search": search, "candidates": count, "reference": True})
    proposer = CandidateSearch(config, recipe.search, folder.processor)
    found: list[list[Hypothesis]] = []
    judged: dict[str, list[list[Candidate]]] = {}
    parts: dict[str, float] = {}
    smoothing = recipe.train.label_smoothing
    references = [tuple(ids[mask][:-1].tolist()) for ids, mask in zip(batch.target.ids, batch.target.mask)]
    with torch.autocast("cpu", torch.bfloat16, enabled=recipe.train.precision == "bf16"):
        with inference_mode(model), timed(parts, "search"):
            found = proposer.search(model, batch)
        outputs = [
            list(dict.fromkeys([reference, *(one.tokens for one in some)]))
            for reference, some in zip(references, found)
        ]
        for cost in ("ter", "bleu"):
            judge = CandidateSearch(config.model_copy(update={"cost": cost}), recipe.search, folder.processor)
            with timed(parts, f"text and {cost.upper()}"):
                judged[cost] = judge.judge(outputs, references)
        loss = RiskLoss(model, lambda *_: judged["ter"], config.weight, config.sharpness)
        with timed(parts, "forward"):
            result = loss(batch, smoothing)
        with timed(parts, "backward"):
            result.loss.backward()
        with timed(parts, "plain update"):
            model(batch, smoothing).loss.backward()
    model.zero_grad(set_to_none=True)
    return parts, sum(len(some) for some in found)


class timed:  # noqa: N801  # used like a statement
    """Records the seconds of its block."""

    def __init__(self, parts: dict[str, float], name: str) -> None:
        self.parts, self.name = parts, name

    def __enter__(self) -> None:
        self.since = perf_counter()

    def __exit__(self, *_: object) -> None:
        self.parts[self.name] = perf_counter() - self.since


if __name__ == "__main__":
    main()
