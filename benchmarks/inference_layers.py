"""Measure the effect of weight layout and weight type: milliseconds per decoder call, and changed outputs.

    python benchmarks/inference_layers.py MODEL... --data PREFIX [--sentences N] [--threads N] [--repeats N]

MODEL is a folder, or `base`: a Transformer of base size (6+6 layers, 32,000 tokens) with random weights. The kinds of
weights take turns on the same calls: N rows of K tokens each, in the middle of an output. `plain` is the model as it
was trained; `whole` is PyTorch's dynamic quantisation, which has one scale per activation tensor. Times are medians of
CPU time. The last line of a model gives the share of positions where the most probable token differs between a batch
that reads all tokens in one call and a single row that reads token by token.
"""

import argparse
import copy
import platform
import statistics
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from postedit.core.config import load_config
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS
from postedit.core.types import Batch, Stream
from postedit.data.collate import collate
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.folder import ModelFolder
from postedit.models import ARCHITECTURES
from postedit.nn import inference
from postedit.nn.inference import PackedLinear, prepare_for_inference
from postedit.nn.int8 import Int8Linear

CALLS = ((1, 1), (1, 8), (1, 16), (5, 1), (32, 1), (160, 1))
KINDS = ("plain", "float32", "bf16", "int8", "whole")
BASE_WORDS = 32_000
PAST = 12  # tokens decoded before the call


class Whole(nn.Module):
    """PyTorch's dynamic int8 linear layer, with one scale for all activations of a call."""

    min_weights = Int8Linear.min_weights

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Round `weight` to int8, with one scale per output."""
        super().__init__()
        scales = weight.abs().amax(1) / 127.0
        zeros = torch.zeros(len(weight), dtype=torch.long)
        rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(rounded, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, computed in int8."""
        return torch.ops.quantized.linear_dynamic(x, self.packed)


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore")  # torch.ao warns that it is deprecated
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    print("\n| model | rows x tokens | " + " | ".join(f"{kind}, ms" for kind in KINDS) + " |")
    print("|---|---|" + "---|" * len(KINDS))
    with torch.inference_mode():
        for name in options.models:
            measure(name, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders, or base")
    parser.add_argument("--data", help="prefix of .src and .mt, for model folders")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--smallest", type=int, help="fewest weights of layers to replace; default: as `edit`")
    return parser.parse_args()


def measure(name: str, options: argparse.Namespace) -> None:
    if options.smallest is not None:
        PackedLinear.min_weights = Int8Linear.min_weights = Whole.min_weights = options.smallest
    model, batch = base() if name == "base" else trained(Path(name), options.data)
    models = {kind: variant(model, kind) for kind in KINDS}
    for rows, width in CALLS:
        part = Batch({side: stream.select(torch.arange(rows)) for side, stream in batch.streams.items()})
        written = torch.randint(6, model.spec.vocabularies.target.size, (rows, PAST + width))
        written[:, 0] = BOS
        states = {}
        for kind, one in models.items():
            _, states[kind] = one.decode(written[:, :PAST], one.encode(part))
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(options.repeats + 2):
            for kind, one in models.items():
                start = time.process_time()
                one.decode(written[:, PAST:], states[kind])[0].log_probs  # noqa: B018
                seconds[kind].append(time.process_time() - start)
        times = [1000 * statistics.median(seconds[kind][2:]) for kind in KINDS]
        print(f"| {name} | {rows} x {width} | " + " | ".join(f"{t:.2f}" for t in times) + " |", flush=True)
    shares = " | ".join(f"{company(one, batch):.2%}" for one in models.values())
    print(f"| {name} | unlike in company | {shares} |")


def variant(model: Seq2Seq, kind: str) -> Seq2Seq:
    model = copy.deepcopy(model)
    if kind == "whole":
        inference._replace(model, Whole, Whole.min_weights)
    elif kind != "plain":
        prepare_for_inference(model, kind)
    return model


def company(model: Seq2Seq, batch: Batch) -> float:
    """Return the share of positions where the most probable token of a row alone differs from that in a batch."""
    rows, width = min(batch.rows, 32), 16
    tokens = torch.randint(6, model.spec.vocabularies.target.size, (rows, width))
    tokens[:, 0] = BOS
    part = Batch({side: stream.select(torch.arange(rows)) for side, stream in batch.streams.items()})
    together = model.decode(tokens, model.encode(part))[0].log_probs.argmax(-1)
    unlike = 0
    for row in range(rows):
        own = {side: _row(stream, row) for side, stream in part.streams.items()}
        state = model.encode(Batch(own))
        for at in range(width):
            output, state = model.decode(tokens[row : row + 1, at : at + 1], state)
            unlike += int(output.log_probs[0, 0].argmax() != together[row, at])
    return unlike / (rows * width)


def _row(stream: Stream, row: int) -> Stream:
    length = int(stream.lengths[row])
    return Stream(stream.ids[row : row + 1, :length], stream.mask[row : row + 1, :length])


def base() -> tuple[Seq2Seq, Batch]:
    """Return a Transformer of base size, and 160 sentences of random words."""
    torch.manual_seed(1)
    info = VocabularyInfo(BASE_WORDS, "base")
    architecture = ARCHITECTURES["transformer"]
    config = load_config(architecture.config_class, {"share_embeddings": "mt-pe", "input": "mt"}, "base")
    model = architecture.build(config, Vocabularies({"src": info, "mt": info}, info)).eval().requires_grad_(False)
    texts = [torch.randint(6, BASE_WORDS, (length,)).tolist() for length in torch.randint(12, 30, (160,)).tolist()]
    return model, collate({"mt": texts}, ["mt"])


def trained(path: Path, data: str) -> tuple[Seq2Seq, Batch]:
    """Return a model and the first 160 sentences of the data."""
    folder = ModelFolder.load(path)
    triplets: Sequence = list(read_triplets(TripletFiles.of(data)))[:160]
    inputs = folder.model.spec.inputs
    sides = {name: folder.processor.encode_batch(name, [getattr(one, name) for one in triplets]) for name in inputs}
    return folder.model, collate(sides, inputs)


if __name__ == "__main__":
    main()
