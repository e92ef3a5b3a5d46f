"""Transformer layers in int8: the compiled kernels say what PyTorch's operators say, and padding is not looked at."""

import copy
import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from postedit.nn import int8_kernels as kernels
from postedit.nn import int8_panels, int8_products, vectors
from postedit.nn.attention import KeyValue
from postedit.nn.int8 import Int8Linear, Int8TransformerLayer, replace_layers
from postedit.nn.rows import Packing
from postedit.nn.transformer import Norm, Read, TransformerLayer, TransformerStack

_SIZES = st.integers(1, 40)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=25)
@given(rows=_SIZES, width=st.integers(1, 300), seed=st.integers(0, 999), size=st.sampled_from([1e-20, 1.0, 1e20]))
def test_rounding_is_within_half_a_step(rows: int, width: int, seed: int, size: float) -> None:
    x = random(rows, width, seed=seed) * size
    filled, scales = np.zeros((rows, -(-width // 16) * 16), np.uint8), np.zeros(rows, np.float32)
    kernels.round_rows(x.numpy(), 0, rows, filled, scales)
    rounded = filled[:, :width]
    steps = torch.from_numpy(scales).unsqueeze(1)
    assert (rounded >= 1).all()
    torch.testing.assert_close(steps, x.abs().amax(1, keepdim=True) / 127, rtol=1e-5, atol=1e-30)
    back = (torch.from_numpy(rounded).float() - 128) * steps
    assert ((back - x).abs() <= steps * 0.501).all()


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 300),
    inputs=st.integers(1, 200),
    outputs=st.integers(1, 600),
    seed=st.integers(0, 999),
    zero=st.booleans(),
)
def test_a_linear_layer_is_that_of_the_rounded_numbers(
    rows: int, inputs: int, outputs: int, seed: int, zero: bool
) -> None:
    x, weight, bias = random(rows, inputs, seed=seed), random(outputs, inputs, seed=seed + 1), random(outputs)
    if zero:
        x[0], weight[0] = 0.0, 0.0
    steps, scales = (each.abs().amax(1, keepdim=True).clamp(min=1e-30) / 127 for each in (weight, x))
    expected = F.linear(x.div(scales).round() * scales, weight.div(steps).round() * steps, bias)
    found = Int8Linear(weight, bias)(x)
    torch.testing.assert_close(
        found, expected, rtol=1e-3, atol=1e-2 * math.sqrt(inputs)
    )  # a half is rounded either way
    torch.testing.assert_close(found[:1], Int8Linear(weight, bias)(x[:1]), rtol=0, atol=0)


def test_what_is_no_number_does_not_become_one() -> None:
    assert Int8Linear(random(3, 20), None)(torch.full((1, 20), math.nan)).isnan().all()


@settings(deadline=None, max_examples=25)
@given(rows=_SIZES, width=st.integers(2, 300), seed=st.integers(0, 999))
def test_normalisation(rows: int, width: int, seed: int) -> None:
    x, weight, bias = random(rows, width, seed=seed) * 7 + 3, random(width, seed=seed + 1), random(width, seed=seed + 2)
    normal = np.empty_like(x.numpy())
    kernels.normalise_rows(x.numpy(), kernels.Norm(weight.numpy(), bias.numpy(), np.float32(1e-5)), normal)
    expected = F.layer_norm(x, (width,), weight, bias)
    torch.testing.assert_close(torch.from_numpy(normal), expected, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 4),
    queries=st.integers(1, 6),
    slots=st.integers(1, 23),
    heads=st.integers(1, 3),
    width=st.integers(1, 20),
    seed=st.integers(0, 999),
    size=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_attention(rows: int, queries: int, slots: int, heads: int, width: int, seed: int, size: float) -> None:
    q, k, v = (random(rows, heads, count, width, seed=seed + i) for i, count in enumerate((queries, slots, slots)))
    q *= size
    k, v = k.bfloat16().float(), v.bfloat16().float()
    mask = random(rows, queries, slots, seed=seed) > 0
    mask[:, :, slots // 2] = True
    scores = (q @ k.transpose(-1, -2) / math.sqrt(width)).masked_fill(~mask.unsqueeze(1), -math.inf).softmax(-1)
    mixed = np.empty((rows * queries, heads * width), np.float32)
    means = np.zeros((rows, queries, slots), np.float32)
    places = np.arange(rows * queries)
    halves = (part.bfloat16().view(torch.uint16).numpy() for part in (k, v))
    kernels.attend(q.numpy(), *halves, mask.numpy(), places, mixed, means)
    expected = (scores @ v).transpose(1, 2).flatten(2).flatten(0, 1)
    torch.testing.assert_close(torch.from_numpy(mixed), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.from_numpy(means), scores.mean(1), rtol=1e-4, atol=1e-6)
    assert (means[~mask.numpy()] == 0).all()


def layers(norm: Norm) -> tuple[TransformerLayer, Int8TransformerLayer]:
    torch.manual_seed(1)
    layer = TransformerLayer(64, 4, 96, 0.0, norm, reads=1).requires_grad_(False).eval()
    return layer, Int8TransformerLayer(layer)


def test_a_token_that_may_look_at_nothing_finds_zeros() -> None:
    q, mask = random(1, 2, 3, 16), torch.tensor([[[True, True], [False, False], [False, True]]])
    halves = random(1, 2, 2, 16).bfloat16().view(torch.uint16).numpy()
    mixed, means = np.ones((3, 32), np.float32), np.zeros((1, 3, 2), np.float32)
    kernels.attend(q.numpy(), halves, halves, mask.numpy(), np.arange(3), mixed, means)
    assert (mixed[1] == 0).all()
    assert (means[0, 1] == 0).all()
    assert (mixed[[0, 2]] != 0).all()
    kernels.attend(q.numpy(), halves[:, :, :0], halves[:, :, :0], mask[:, :, :0].numpy(), np.arange(3), mixed, means)
    assert (mixed == 0).all()


@pytest.mark.parametrize(("heads", "width"), [(5, 5), (2, 24), (3, 20), (1, 130)])
def test_heads_of_any_width_get_their_share(heads: int, width: int) -> None:
    x, weight = random(4, 40), random(3 * heads * width, 40, seed=2)
    layer, norm = Int8Linear(weight, random(len(weight))), kernels.Norm(np.ones(1), np.zeros(1), np.float32(0))
    queries = np.zeros((1, 2, heads, 3, width), np.float32)
    kept = np.zeros((2, 2, heads, 3, width), np.uint16)
    kernels.share(x.numpy(), False, norm, layer.weights, np.array([0, 2, 3, 4]), queries, kept)
    expected = layer(x).view(4, 3, heads, width)
    for row, (sentence, token) in enumerate([(0, 0), (0, 2), (1, 0), (1, 1)]):
        assert torch.equal(torch.from_numpy(queries[0, sentence, :, token]), expected[row, 0])
        found = torch.from_numpy(kept[:, sentence, :, token]).view(torch.bfloat16)
        assert torch.equal(found, expected[row, 1:].bfloat16())
    assert not queries[0, 0, :, 1].any()


def test_rows_that_do_not_stand_one_after_the_other() -> None:
    layer, x = Int8Linear(random(20, 30), None), random(30, 40, seed=2)
    for strided in (x.T, x[:, :30].T[:, ::1], random(40, 60)[:, ::2], random(1, 30).expand(5, 30)):
        assert torch.equal(layer(strided), layer(strided.contiguous()))
    assert layer(x[:0, :30]).shape == (0, 20)


def test_a_copy_asks_for_tiles_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = Int8Linear(random(20, 30), random(20)), random(3, 30, seed=2)
    monkeypatch.setattr(kernels, "tiles", lambda: np.empty(0, np.uint8))
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert not copied.weights.tiles.size
        assert torch.equal(copied(x), layer(x))


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 133,144"):
        Int8Linear(torch.zeros(1, 133_145), None)


def test_kernels_from_before_a_change_of_the_products_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for part in (kernels, int8_panels, int8_products, vectors):
        name = part.__name__.rpartition(".")[2]
        monkeypatch.setattr(part, "__file__", str(tmp_path / f"{name}.py"))
        (tmp_path / f"{name}.py").touch()
    for name, age in (("int8_kernels.linear-1.py311.nbi", 60), ("int8_kernels.feed-1.py311.nbi", -60)):
        (kept / name).touch()
        changed = (tmp_path / "vectors.py").stat().st_mtime - age
        os.utime(kept / name, (changed, changed))
    kernels._forget_older_kernels()
    assert [path.name for path in kept.iterdir()] == ["int8_kernels.feed-1.py311.nbi"]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_layer_says_what_it_said_but_for_rounding(norm: Norm) -> None:
    exact, fast = layers(norm)
    x, memory = random(3, 5, 64), random(3, 7, 64, seed=2)
    mask = torch.ones(3, 1, 7, dtype=torch.bool)
    found = []
    for layer in (exact, fast):
        entry = layer.enter(x)
        found.append(layer(entry, entry.own, None, [Read(layer.project_read(memory), mask)], need_weights=True))
    for a, b in zip(
        (found[0].x_NKD, *found[0].weights, *found[0].reads), (found[1].x_NKD, *found[1].weights, *found[1].reads)
    ):
        assert a.shape == b.shape
        assert (a - b).norm() / a.norm() < 0.03


def test_padding_is_not_looked_at() -> None:
    _, fast = layers("pre")
    real = torch.tensor([[True, True, True, False], [True, False, True, True]])
    x, packing = random(2, 4, 64), Packing.of(real)
    entry = fast.enter(packing.pack(x), packing)
    lost = ~real[:, None, :, None]
    own = KeyValue(*(part.masked_fill(lost, 1e20) for part in entry.own))
    output = fast(entry, own, real.unsqueeze(1), [Read(own, real.unsqueeze(1))], True, packing)
    alone = fast.enter(x[:1, :3])
    expected = fast(alone, alone.own, None, [Read(alone.own, torch.ones(1, 1, 3, dtype=torch.bool))], True)
    assert torch.equal(output.unpacked(packing).x_NKD[:1, :3], expected.x_NKD)
    assert torch.equal(output.weights[0][:1, :3, :3], expected.weights[0])
    assert not output.x_NKD.isnan().any()


def test_layers_that_are_too_small_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TransformerStack(2, 64, 4, 96, 0.0, "pre")
    replace_layers(stack)
    assert all(type(layer) is TransformerLayer for layer in stack.layers)
    monkeypatch.setattr(Int8Linear, "smallest", 1)
    replace_layers(stack)
    assert all(type(layer) is Int8TransformerLayer for layer in stack.layers)
