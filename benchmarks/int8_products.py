"""Compare our int8 products and layers on a CPU with those of oneDNN and PyTorch.

    python benchmarks/int8_products.py [--repeats N]

Prints tables of microseconds, with one thread, as the minimum of `--repeats` runs (the machine may be shared): byte
products, over so many different weights (60 MB) that they exceed the second-level cache, by oneDNN, by AMX tiles, and
without tiles (VNNI, AVX2 or ordinary vectors); whole linear layers, PyTorch's in float32 and ours in int8; attention of
8 heads of width 64 to keys and values in pages; and the maximum of 32,000 scores. To measure as on other processors,
set NUMBA_CPU_NAME, NUMBA_CPU_FEATURES and ONEDNN_MAX_CPU_ISA.
"""

import argparse
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from postedit.nn.int8 import Int8Linear
from postedit.nn.int8.integer_products import multiply, pack_weights, tile_config
from postedit.nn.int8.paged_attention import PagedKeyValues, attend
from postedit.nn.int8.paged_cache import PAGE_PADDING

BEYOND_CACHE = 60 * 2**20
PRODUCTS = [
    (rows, inputs, outputs) for inputs, outputs in ((512, 512), (2048, 512)) for rows in (1, 4, 16, 24, 96, 128)
]
WIDTHS, ROWS = (32, 64, 128, 256, 512), (1, 16, 128)
VOCABULARY, ROWS_OF_SCORES = 32_000, 13
HEADS, DIM, ATTENTIONS = 8, 512, ((1, 4, 25), (1, 24, 24), (32, 1, 25), (32, 4, 25), (16, 25, 25), (8, 60, 60))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print(f"{platform.machine()}, torch {torch.__version__}, numpy {np.__version__}\n")
    print("| rows x in x out | oneDNN | tiles | without tiles | GB/s of weights, the best of ours |")
    print("|---|---:|---:|---:|---:|")
    for size in PRODUCTS:
        products(*size, repeats)
    print("\n| layer | rows | float32 | int8 |\n|---|---:|---:|---:|")
    for width in WIDTHS:
        layers(width, repeats)
    print("\n| sentences x tokens, slots | attention |\n|---|---:|")
    for shape in ATTENTIONS:
        attention(*shape, repeats)
    scores = torch.randn(ROWS_OF_SCORES, VOCABULARY)
    by_torch = best(lambda: scores.topk(3, 1), repeats)
    print(f"\nhighest of {VOCABULARY:,}, {ROWS_OF_SCORES} times: topk(3) {by_torch:.0f}, ", end="")
    print(f"NumPy's argmax {best(lambda: scores.numpy().argmax(1), repeats):.0f}")


def products(rows: int, inputs: int, outputs: int, repeats: int) -> None:
    """Print a row of the first table."""
    rng = np.random.default_rng(1)
    weights = [
        rng.integers(-127, 128, (outputs, inputs)).astype(np.int8) for _ in range(BEYOND_CACHE // (inputs * outputs))
    ]
    x = rng.integers(1, 256, (-(-rows // 16) * 16, inputs)).astype(np.uint8)
    sums, ours = np.empty((len(x), outputs), np.int32), [pack_weights(weight) for weight in weights]
    theirs = [torch.ops.onednn.qlinear_prepack(torch.from_numpy(weight), None) for weight in weights]
    ones, zeros, given = torch.ones(outputs), torch.zeros(outputs, dtype=torch.long), torch.from_numpy(x[:rows])

    def onednn() -> None:
        for weight in theirs:
            torch.ops.onednn.qlinear_pointwise(
                given, 1.0, 128, weight, ones, zeros, None, 1.0, 0, torch.float32, "none", [], ""
            )

    def own(by: Any) -> None:
        for weight in ours:
            multiply(x, rows, weight, sums, by)

    by_tiles = best(lambda: own(tile_config()), repeats) / len(weights) if tile_config().size else None
    found = [by_tiles, best(lambda: own(np.empty(0, np.uint8)), repeats) / len(weights)]
    rate = inputs * outputs / min(one for one in found if one is not None) / 1e3
    cells = " | ".join("" if one is None else f"{one:.0f}" for one in (best(onednn, repeats) / len(weights), *found))
    print(f"| {rows} x {inputs:,} x {outputs:,} | {cells} | {rate:.1f} |", flush=True)


def layers(width: int, repeats: int) -> None:
    """Print rows of the second table: a square layer that fits the cache."""
    layer = nn.Linear(width, width).requires_grad_(False)
    rounded = Int8Linear(layer.weight, layer.bias)
    for rows in ROWS:
        x = torch.randn(rows, width)
        exact, fast = (best(lambda: [one(x) for _ in range(100)], repeats) / 100 for one in (layer, rounded))  # noqa: B023
        print(f"| {width} x {width} | {rows} | {exact:.1f} | {fast:.1f} |", flush=True)


def attention(sentences: int, tokens: int, slots: int, repeats: int) -> None:
    """Print a row of the third table: all slots are visible, and keys and values lie in one page."""
    q, rows = torch.randn(sentences * tokens, DIM).numpy(), np.arange(sentences * tokens)
    page = torch.randn(sentences * slots * 2 * DIM + PAGE_PADDING).bfloat16()
    key_values = PagedKeyValues(
        np.array([page.data_ptr()]), 1 + np.arange(sentences * slots).reshape(sentences, slots), HEADS
    )
    mask, found, weights = np.ones((1, 1, slots), np.bool_), np.empty_like(q), np.empty((0, 0, 0), np.float32)
    taken = best(lambda: [attend(q, key_values, mask, rows, tokens, found, weights) for _ in range(20)], repeats) / 20
    print(f"| {sentences} x {tokens}, {slots} | {taken:.0f} |", flush=True)


def best(call: Callable[[], Any], repeats: int) -> float:
    """Return the minimum microseconds of a call."""
    call()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e6 * min(found)


if __name__ == "__main__":
    main()
