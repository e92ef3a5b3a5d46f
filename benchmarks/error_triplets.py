"""Triplets whose errors a model of errors makes: what it draws as mt of a post-edit.

    python benchmarks/error_triplets.py MODEL TEXT OUT [--temperature T] [--top-k K] [--seed N]

MODEL is a model that was trained on triplets with mt and pe exchanged
(`--set 'data.train=[{src="train.src", mt="train.pe", pe="train.mt"}]'`), so that it writes what a translator would have
got wrong. TEXT is the prefix of .src and .pe; OUT.src, OUT.mt and OUT.pe are written. Texts are drawn, not searched
for: the most probable mt of a post-edit is the post-edit itself.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch

from postedit.core.errors import PosteditError
from postedit.core.files import atomic_write
from postedit.data.batching import collate, length_batches
from postedit.data.lines import read_aligned
from postedit.decode import Sampling, length_limits, sample
from postedit.folder import ModelFolder
from postedit.nn.inference import prepare_for_inference

SECONDS_BETWEEN_REPORTS = 20.0


def draw(folder: ModelFolder, src: list[str], pe: list[str], sampling: Sampling) -> list[str]:
    """Return a drawn mt for each line; a line without words, or too long for the model's settings, stays as pe is."""
    model, processor, settings = folder.model, folder.processor, folder.decode.search()
    ids = {"src": processor.encode_batch("src", src), "mt": processor.encode_batch("mt", pe)}
    lengths = np.array([max(map(len, pair)) for pair in zip(ids["src"], ids["mt"], strict=True)], dtype=np.int64)
    usable = np.flatnonzero((np.array([len(words) for words in ids["mt"]]) > 0) & (lengths <= folder.decode.max_input))
    drawn, done = list(pe), 0
    started = reported = time.monotonic()
    for places in length_batches(lengths[usable], folder.decode.batch_tokens):
        rows = usable[places]
        batch = collate({side: [ids[side][row] for row in rows] for side in model.spec.inputs}, model.spec.inputs)
        limits = length_limits(batch, settings.max_ratio, settings.max_extra, model.spec.writes, model.spec.longest)
        for row, (output,) in zip(rows, sample(model, batch, limits, sampling), strict=True):
            drawn[row] = processor.render(pe[row], output.tokens).text
        done += len(rows)
        if (now := time.monotonic()) - reported > SECONDS_BETWEEN_REPORTS:
            reported, rate = now, done / (now - started)
            left = (len(usable) - done) / rate / 60.0
            print(f"{done:,} of {len(usable):,} lines, {rate:.0f} a second, {left:.1f} minutes left", file=sys.stderr)
    return drawn


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", help="prefix of .src and .pe")
    parser.add_argument("out", help="prefix of the triplets")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        folder = ModelFolder.load(options.model)
        src, pe = read_aligned(Path(f"{options.text}.src"), Path(f"{options.text}.pe")).values()
        torch.manual_seed(options.seed)
        prepare_for_inference(folder.model.eval())
        drawn = draw(folder, src, pe, Sampling(temperature=options.temperature, top_k=options.top_k))
        for side, lines in {"src": src, "mt": drawn, "pe": pe}.items():
            with atomic_write(Path(f"{options.out}.{side}"), "w") as file:
                file.writelines(f"{line}\n" for line in lines)
    except PosteditError as error:
        print(f"error_triplets.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
