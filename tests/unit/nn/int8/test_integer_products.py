"""Integer products are exact, with every kind of instruction."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from postedit.nn.int8 import integer_products
from postedit.nn.int8.integer_products import ALIGNMENT, multiply, pack_weights, tile_config

_NO_TILES = np.empty(0, np.uint8)


def round_up(size: int, to: int) -> int:
    return -(-size // to) * to


def sums(x: NDArray[np.uint8], weight: NDArray[np.int8], by: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return x W; padding of x and of the result is filled with arbitrary values."""
    (rows, inputs), outputs = x.shape, len(weight)
    whole = np.full((round_up(rows, 16), round_up(inputs, ALIGNMENT)), 255, np.uint8)
    whole[:rows, :inputs] = x
    found = np.full((round_up(rows, 16), round_up(outputs, ALIGNMENT)), -1, np.int32)
    multiply(whole, rows, pack_weights(weight), found, by)
    return found[:rows, :outputs]


@settings(max_examples=60)
@given(
    rows=st.integers(1, 70),
    inputs=st.integers(1, 300),
    outputs=st.integers(1, 300),
    seed=st.integers(0, 999),
    extreme=st.booleans(),
)
def test_sums_are_exact_with_and_without_tiles(rows: int, inputs: int, outputs: int, seed: int, extreme: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (rows, inputs)).astype(np.uint8)
    weight = rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    if extreme:
        x[...], weight[...] = 255, 127
    expected = x.astype(np.int64) @ weight.T.astype(np.int64)
    for by in (tile_config(), _NO_TILES):
        np.testing.assert_array_equal(sums(x, weight, by), expected)


@pytest.mark.slow  # compiles more
@pytest.mark.parametrize(("processor", "features"), [("haswell", "+avx,+avx2,+fma"), ("generic", "")])
def test_processors_without_tiles_and_vnni_give_the_same_sums(processor: str, features: str, tmp_path: Path) -> None:
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import test_integer_products
import test_modules
from postedit.nn.int8 import integer_products
assert not integer_products.tile_config().size
assert not integer_products._VNNI
assert integer_products._AVX2 == (sys.argv[2] == "haswell")
test_integer_products.test_sums_are_exact_with_and_without_tiles.hypothesis.inner_test(37, 70, 90, 1, False)
test_integer_products.test_sums_are_exact_with_and_without_tiles.hypothesis.inner_test(5, 300, 130, 1, True)
if sys.argv[2] == "generic":  # the other kernels are the same, and take long to compile
    sys.exit(print("the same"))
test_modules.test_int8_linear_is_the_linear_layer_of_rounded_numbers.hypothesis.inner_test(37, 70, 90, 1, False)
test_modules.test_paged_attention_agrees_with_pytorch.hypothesis.inner_test(2, 5, 23, 3, 20, 1, 1.0)
test_modules.test_int8_stack_agrees_with_pytorch_up_to_rounding("pre", 1, 3)
print("the same")
"""
    settings = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent), processor],
        env=os.environ | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the same\n"


def test_packed_weights_are_aligned_and_padded_with_zeros() -> None:
    weight = np.full((3, 5), 7, np.int8)
    found = pack_weights(weight)
    assert found.shape == (4, 16, 16, 4)
    assert found.ctypes.data % 64 == 0
    assert int(found.sum(dtype=np.int64)) == weight.size * 7


@pytest.mark.parametrize("allowed", [True, False])
def test_tile_config_is_empty_without_permission(monkeypatch: pytest.MonkeyPatch, allowed: bool) -> None:
    monkeypatch.setattr(integer_products, "_TILES_ALLOWED", allowed)
    assert tile_config().size == (64 if allowed else 0)
