"""Measure the training speed of two models, the gain from the chunked loss, and the time share of the output layer.

    python benchmarks/training_speed.py [--data PREFIX] [--threads N] [--batch-tokens N] [--steps N] [--repeats N]

The chunked loss never holds the log-probabilities [N,K,V] of a whole batch. Every variant makes the same updates on the
same real batches. The variants take turns, so that other work on the machine affects all alike, and medians are shown.
Target tokens do not include padding.
"""

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, LabelLoss
from postedit.data.batching import BatchStream
from postedit.data.corpus import write_corpus
from postedit.data.report import DataReport
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.models import ARCHITECTURES
from postedit.nn.heads import SoftmaxDistribution
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor
from postedit.train.runtime import keep_freed_memory

SMOOTHING = 0.1
SIZES = {
    "transference": dict(layers_src=3, layers_mt=3, layers_pe=3, dim=256, heads=4, feed_forward=1024),
    "m-cgru": dict(embedding=256, hidden=256, attention=256),
}
SHARED = dict(share_embeddings="all", tie_output=True)
Loss = Callable[[Seq2Seq, Batch], LabelLoss]


@dataclass
class Variant:
    """One way to train, and the seconds of each of its rounds, in total and in the output layer."""

    name: str
    precision: str
    loss_name: str
    loss: Loss
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    seconds: list[float]
    head_seconds: list[float]


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    batches, processor = load_batches(options)
    tokens = sum(int(batch.target.mask.sum()) for batch in batches if batch.target)
    variants = list(make_variants(processor))
    for variant in variants:
        run_round(variant, batches[:1])  # warm-up
    for _ in range(options.repeats):
        for variant in variants:
            seconds, head = run_round(variant, batches)
            variant.seconds.append(seconds)
            variant.head_seconds.append(head)
    report(variants, tokens, len(batches), options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    examples = Path(__file__).parent.parent / "examples" / "mlqe-pe.en-de" / "train"
    parser.add_argument("--data", default=str(examples), help="prefix of .src, .mt and .pe")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch-tokens", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=8, help="updates per round")
    parser.add_argument("--repeats", type=int, default=5, help="number of rounds")
    return parser.parse_args()


def load_batches(options: argparse.Namespace) -> tuple[list[Batch], TextProcessor]:
    files = TripletFiles.of(options.data)
    config = TextConfig(vocabulary=VocabularyConfig(size=8000))
    processor = TextProcessor.fit(config, lambda: read_triplets(files))
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder) / "train.arrow", [read_triplets(files)], processor, 128, DataReport())
        stream = iter(BatchStream(corpus, ("src", "mt"), options.batch_tokens, seed=1))
        return [next(stream)[0] for _ in range(options.steps)], processor


def make_variants(processor: TextProcessor) -> Iterator[Variant]:
    losses: dict[str, Loss] = {"chunked": lambda model, batch: model(batch, SMOOTHING), "[N,K,V]": whole_loss}
    for name, sizes in SIZES.items():
        architecture = ARCHITECTURES[name]
        for precision in ("fp32", "bf16"):
            for loss_name, loss in losses.items():
                torch.manual_seed(1)
                config = architecture.config_class.model_validate({**sizes, **SHARED})
                model = architecture.build(config, processor.vocabularies).train()
                optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=True)
                yield Variant(name, precision, loss_name, loss, model, optimizer, [], [])


def whole_loss(model: Seq2Seq, batch: Batch) -> LabelLoss:
    """Return the same loss as the model, computed from all log-probabilities [N,K,V], padding included."""
    assert batch.target is not None
    output, _ = model.decode(batch.target.inputs, model.encode(batch))
    with head_clock():
        log_probs = output.log_probs
        nll = -log_probs.gather(2, batch.target.ids.unsqueeze(2)).squeeze(2)
        smooth = -log_probs.mean(2)
        mask = batch.target.mask
        loss = (((1 - SMOOTHING) * nll + SMOOTHING * smooth) * mask).sum()
        return LabelLoss(loss, (nll.detach() * mask).sum(), mask.sum())


HEAD_SECONDS = [0.0]


@contextmanager
def head_clock() -> Iterator[None]:
    start = time.perf_counter()
    yield
    HEAD_SECONDS[0] += time.perf_counter() - start


def run_round(variant: Variant, batches: list[Batch]) -> tuple[float, float]:
    """Make one update per batch; return the total seconds, and those in the output layer and the loss."""
    HEAD_SECONDS[0] = 0.0
    start = time.perf_counter()
    for batch in batches:
        with torch.autocast("cpu", torch.bfloat16, enabled=variant.precision == "bf16"):
            loss = variant.loss(variant.model, batch)
        (loss.loss / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(variant.model.parameters(), 1.0, foreach=True)
        variant.optimizer.step()
        variant.optimizer.zero_grad()
    return time.perf_counter() - start, HEAD_SECONDS[0]


def time_the_head() -> None:
    """Make `head_clock` time the output layer: the forward pass of the chunked loss also computes its gradients."""
    original = SoftmaxDistribution.label_loss

    def timed(self: SoftmaxDistribution, *arguments: object) -> LabelLoss:
        with head_clock():
            return original(self, *arguments)  # type: ignore[arg-type]

    SoftmaxDistribution.label_loss = timed  # type: ignore[method-assign]


def report(variants: list[Variant], tokens: int, steps: int, options: argparse.Namespace) -> None:
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    print(f"{steps} updates of {tokens / steps:.0f} target tokens, median of {options.repeats} rounds\n")
    print("| model | precision | loss | target tokens/s | gain | output layer |")
    print("|---|---|---|---|---|---|")
    for chunked, whole in zip(variants[::2], variants[1::2], strict=True):
        ratio = statistics.median(w / c for c, w in zip(chunked.seconds, whole.seconds, strict=True))
        share = statistics.median(h / s for h, s in zip(chunked.head_seconds, chunked.seconds, strict=True))
        for variant, gain, part in ((whole, "1.00", ""), (chunked, f"{ratio:.2f}", f"{share:.0%}")):
            speed = tokens / statistics.median(variant.seconds)
            print(f"| {variant.name} | {variant.precision} | {variant.loss_name} | {speed:,.0f} | {gain} | {part} |")


if __name__ == "__main__":
    time_the_head()
    main()
