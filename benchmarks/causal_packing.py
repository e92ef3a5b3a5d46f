"""Compare training a causal language model on several segments per row with training on one segment per row.

    OMP_NUM_THREADS=1 python benchmarks/causal_packing.py [PREFIX] [--pack N ...] [--batch-tokens N] [--rounds N] ...

A small Llama with random weights reads random tokens: in each text as many as the same line of PREFIX.src, .mt or .pe
has words. Batches are as in training: of similar length, within a budget of tokens. Each round makes one pass over the
same batches with each value of `model.pack`, the tokens per row; 0 stands for one segment per row. The table gives the
share of padding in what the network reads, the tokens without padding per second of CPU time (median over rounds, after
one warm-up round), and the loss of the first batch, which must be the same in all rows. Gradients are computed, but the
weights stay as they are.
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import transformers
from torch import Tensor

from postedit.core.config import load_config
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS
from postedit.core.types import Batch
from postedit.data.collate import Ragged, collate, length_batches
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.models.causal import Causal, CausalConfig
from postedit.nn.slot_attention import SlotCall

PAD_ROW, BOS_ROW, EOS_ROW, MARKS = 0, 1, 2, (3, 4, 5)
ROWS = 2000


def small_model(hidden: int, layers: int, pack: int) -> Causal:
    """Return a Llama with random weights, the same for each value of `pack`."""
    settings = {
        "model_type": "llama", "vocab_size": ROWS, "hidden_size": hidden, "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers, "num_attention_heads": hidden // 32, "num_key_value_heads": hidden // 64,
        "max_position_embeddings": 4000, "pad_token_id": PAD_ROW, "bos_token_id": BOS_ROW, "eos_token_id": EOS_ROW,
    }  # fmt: skip
    # A prompt about as long as that of the recipes.
    prompt = {"prompt": [[BOS_ROW] + 24 * [MARKS[0]], 6 * [MARKS[1]], 6 * [MARKS[2]]], "texts": ["src", "mt"]}
    network = {"settings": settings, "pad": PAD_ROW, "eos": EOS_ROW, "controls": [BOS_ROW, *MARKS], **prompt}
    config = load_config(CausalConfig, {"checkpoint": "none", "network": network, "pack": pack}, "benchmark")
    info = VocabularyInfo(ROWS + 4, "tokens of the benchmark")
    torch.manual_seed(1)
    return Causal(config, Vocabularies({"src": info, "mt": info}, info)).train()


def batches_of(prefix: str, batch_tokens: int, most: int) -> list[Batch]:
    """Return batches of random tokens with the lengths of real texts."""
    rng, first = random.Random(1), len(SPECIAL_TOKENS) + 8
    texts: dict[str, list[list[int]]] = {"src": [], "mt": [], "pe": []}
    for one in read_triplets(TripletFiles.of(prefix)):
        for side, rows in texts.items():
            rows.append([rng.randrange(first, ROWS) for _ in getattr(one, side).split()] + [EOS])
    ragged = {side: Ragged.of(rows) for side, rows in texts.items()}
    lengths = np.maximum.reduce([rows.lengths for rows in ragged.values()])
    chosen = length_batches(lengths, batch_tokens)
    rng.shuffle(chosen)
    return [collate({side: rows.take(part) for side, rows in ragged.items()}, ["src", "mt"]) for part in chosen[:most]]


class Cells:
    """Counts the token positions that the network reads, padding included."""

    def __init__(self) -> None:
        self.count = 0
        run = SlotCall.run

        def noted(call: SlotCall, network: object, rows: Tensor) -> Tensor:
            self.count += rows.numel()
            return run(call, network, rows)

        SlotCall.run = noted  # type: ignore[method-assign]


def one_pass(model: Causal, batches: Sequence[Batch]) -> float:
    """Compute the loss and gradients of all batches, and return the CPU time in seconds."""
    started = time.process_time()
    for batch in batches:
        model.zero_grad()
        found = model(batch)
        (found.loss / found.tokens).backward()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", nargs="?", default="examples/mlqe-pe.en-zh/train")
    parser.add_argument("--pack", type=int, nargs="+", default=[0, 256, 512, 1024])
    parser.add_argument("--batch-tokens", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=20, help="most batches in a pass")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    batches = batches_of(options.prefix, options.batch_tokens, options.batches)
    models = {pack: small_model(options.hidden, options.layers, pack) for pack in options.pack}
    prompt = sum(map(len, next(iter(models.values())).config.network.prompt))
    segments = sum(batch.rows for batch in batches)
    # Of src, mt and pe, only pe keeps its EOS, and the last token of the prompt is read as the BOS of pe.
    real = segments * (prompt - 1 - 2) + sum(int(one.mask.sum()) for batch in batches for one in batch.streams.values())
    real += sum(int(batch.target.mask.sum()) for batch in batches if batch.target is not None)
    cells, reads, times = Cells(), dict[int, int](), {pack: list[float]() for pack in models}
    for number in range(options.rounds + 1):
        for pack, model in models.items():
            before = cells.count
            seconds = one_pass(model, batches)
            reads[pack] = cells.count - before
            if number:
                times[pack].append(seconds)
    size = sum(parameter.numel() for parameter in next(iter(models.values())).parameters())
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}, ", end="")
    print(f"transformers {transformers.__version__}; {size:,} parameters; {Path(options.prefix).parent.name}: ", end="")
    print(f"{segments:,} segments in {len(batches)} batches of {options.batch_tokens:,} tokens\n")
    print("| tokens a row | padding % | tokens a second of processor time | times | loss of the first batch |")
    print("|---|---:|---:|---:|---:|")
    base = statistics.median(times[options.pack[0]])
    for pack, model in models.items():
        seconds, found = statistics.median(times[pack]), model(batches[0])
        loss = float(found.nll / found.tokens)
        share = 100.0 * (1.0 - real / reads[pack])
        print(f"| {pack or 'one segment'} | {share:.1f} | {real / seconds:,.0f} | {base / seconds:.2f} | {loss:.6f} |")


if __name__ == "__main__":
    main()
