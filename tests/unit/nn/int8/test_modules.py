"""Int8 Transformer layers: compiled kernels agree with PyTorch's operators and ignore padding."""

import copy
import math
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import DecoderCache, DenseKeyValueCache, KeyValue
from postedit.nn.inference import prepare_for_inference
from postedit.nn.int8 import (
    Int8Linear,
    Int8TransformerStack,
    epilogues,
    integer_products,
    paged_attention,
    paged_cache,
    simd,
)
from postedit.nn.int8 import fused_layers as kernels
from postedit.nn.int8.integer_products import ALIGNMENT
from postedit.nn.int8.paged_attention import PagedKeyValues, attend
from postedit.nn.int8.paged_cache import PAGE_BITS, PAGE_PADDING, PagedKeyValueCache
from postedit.nn.tensors import Packing
from postedit.nn.transformer import CrossOutput, Norm, StackConfig, TransformerStack

_SIZES = st.integers(1, 40)


def sized(dim: int, heads: int, feed_forward: int, norm: Norm = "pre") -> StackConfig:
    return StackConfig(dim=dim, heads=heads, feed_forward=feed_forward, dropout=0.0, norm=norm)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=25)
@given(rows=_SIZES, width=st.integers(1, 300), seed=st.integers(0, 999), size=st.sampled_from([1e-20, 1.0, 1e20]))
def test_quantisation_error_is_within_half_a_step(rows: int, width: int, seed: int, size: float) -> None:
    x = random(rows, width, seed=seed) * size
    filled, scales = np.zeros((rows, -(-width // 16) * 16), np.uint8), np.zeros(rows, np.float32)
    kernels.quantise_rows(x.numpy(), 0, rows, filled, scales)
    rounded = filled[:, :width]
    steps = torch.from_numpy(scales).unsqueeze(1)
    assert (rounded >= 1).all()
    torch.testing.assert_close(steps, x.abs().amax(1, keepdim=True) / 127, rtol=1e-5, atol=1e-30)
    back = (torch.from_numpy(rounded).float() - 128) * steps
    assert ((back - x).abs() <= steps * 0.501).all()


def halves(numbers: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Return the step where a number lies half-way between two multiples of it, else 0."""
    return steps * ((numbers / steps).frac().abs() - 0.5).abs().lt(1e-2)


@settings(max_examples=40)
@given(
    rows=st.integers(1, 300),
    inputs=st.integers(1, 200),
    outputs=st.integers(1, 600),
    seed=st.integers(0, 999),
    zero=st.booleans(),
)
def test_int8_linear_is_the_linear_layer_of_rounded_numbers(
    rows: int, inputs: int, outputs: int, seed: int, zero: bool
) -> None:
    x, weight, bias = random(rows, inputs, seed=seed), random(outputs, inputs, seed=seed + 1), random(outputs)
    if zero:
        x[0], weight[0] = 0.0, 0.0
    steps, scales = (each.abs().amax(1, keepdim=True).clamp(min=1e-30) / 127 for each in (weight, x))
    rounded_x, rounded_weight = x.div(scales).round() * scales, weight.div(steps).round() * steps
    expected = F.linear(rounded_x, rounded_weight, bias)
    found = Int8Linear(weight, bias)(x)
    # A number half-way between two steps may be rounded to either.
    either = F.linear(halves(x, scales), rounded_weight.abs()) + F.linear(rounded_x.abs(), halves(weight, steps))
    assert ((found - expected).abs() <= either + 1e-3 * expected.abs() + 1e-4 * math.sqrt(inputs)).all()
    torch.testing.assert_close(found[:1], Int8Linear(weight, bias)(x[:1]), rtol=0, atol=0)


def test_nan_inputs_give_nan_outputs() -> None:
    assert Int8Linear(random(3, 20), None)(torch.full((1, 20), math.nan)).isnan().all()


def test_the_widest_layer_adds_up_exactly() -> None:
    """Sums of bytes exceed 32 bits there, but what is left after the zero point is taken away does not."""
    x = torch.ones(2, 133_144)
    x[1] = -1.0
    torch.testing.assert_close(Int8Linear(x, None)(x), 133_144.0 * (2 * torch.eye(2) - 1), rtol=1e-6, atol=0)


@settings(max_examples=25)
@given(rows=_SIZES, width=st.integers(2, 300), seed=st.integers(0, 999))
def test_layer_normalisation_agrees_with_pytorch(rows: int, width: int, seed: int) -> None:
    x, weight, bias = random(rows, width, seed=seed) * 7 + 3, random(width, seed=seed + 1), random(width, seed=seed + 2)
    normal = np.empty_like(x.numpy())
    kernels.normalise_rows(x.numpy(), kernels.NormWeights(weight.numpy(), bias.numpy(), np.float32(1e-5)), normal)
    expected = F.layer_norm(x, (width,), weight, bias)
    torch.testing.assert_close(torch.from_numpy(normal), expected, rtol=1e-4, atol=1e-4)


def side_by_side(x_NHKE: Tensor) -> Tensor:
    return x_NHKE.transpose(1, 2).flatten(2).flatten(0, 1).contiguous()


def in_pages(k_NHSE: Tensor, v_NHSE: Tensor, real_NS: Tensor, seed: int = 0) -> PagedKeyValueCache:
    """Return keys and values of the real tokens, shuffled, in three pages, one of them empty."""
    tokens = torch.cat([side_by_side(k_NHSE), side_by_side(v_NHSE)], 1).bfloat16()
    order = torch.from_numpy(np.random.default_rng(seed).permutation(real_NS.flatten().nonzero().squeeze(1).numpy()))
    cut = len(order) // 2
    pages, slots = [], torch.zeros(real_NS.numel(), dtype=torch.long)
    for number, part in enumerate((order[:cut], order[:0], order[cut:])):
        room = torch.full((len(part) * tokens.size(1) + PAGE_PADDING,), math.nan, dtype=torch.bfloat16)
        pages.append(room[: len(part) * tokens.size(1)].view(1, -1, tokens.size(1)).copy_(tokens[part]))
        slots[part] = (number << PAGE_BITS) + torch.arange(1, len(part) + 1)
    return PagedKeyValueCache(tuple(pages), slots.view(real_NS.shape))


@settings(max_examples=40)
@given(
    rows=st.integers(1, 4),
    queries=st.integers(1, 6),
    slots=st.integers(1, 23),
    heads=st.integers(1, 3),
    width=st.integers(1, 20),
    seed=st.integers(0, 999),
    size=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_paged_attention_agrees_with_pytorch(
    rows: int, queries: int, slots: int, heads: int, width: int, seed: int, size: float
) -> None:
    q, k, v = (random(rows, heads, count, width, seed=seed + i) for i, count in enumerate((queries, slots, slots)))
    seen_by_none = random(rows, slots, seed=seed + 3) > 1
    q *= size
    k, v = k.bfloat16().float(), v.bfloat16().float()
    mask = (random(rows, queries, slots, seed=seed) > 0) & ~seen_by_none.unsqueeze(1)
    mask[:, :, slots // 2] = True
    seen_by_none[:, slots // 2] = False
    scores = (q @ k.transpose(-1, -2) / math.sqrt(width)).masked_fill(~mask.unsqueeze(1), -math.inf).softmax(-1)
    mixed = np.empty((rows * queries, heads * width), np.float32)
    means = np.zeros((rows, queries, slots), np.float32)
    positions = np.arange(rows * queries)
    kept = in_pages(k, v, ~seen_by_none, seed)
    key_values = PagedKeyValues(kept.addresses()[0], kept.slots_NS.numpy(), heads)
    attend(side_by_side(q).numpy(), key_values, mask.numpy(), positions, queries, mixed, means)
    expected = (scores @ v).transpose(1, 2).flatten(2).flatten(0, 1)
    torch.testing.assert_close(torch.from_numpy(mixed), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.from_numpy(means), scores.mean(1), rtol=1e-4, atol=1e-6)
    assert (means[~mask.numpy()] == 0).all()


def stacks(norm: Norm, layers: int = 2, memories: int = 1) -> tuple[TransformerStack, Int8TransformerStack]:
    """Return a stack whose parameters all differ, whatever was drawn before, and its int8 form."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        stack = sized(64, 4, 96, norm).stack(layers, memories).requires_grad_(False).eval()
    for number, parameter in enumerate(stack.parameters()):
        is_weight = parameter.dim() == 2
        parameter += random(*parameter.shape, seed=number) * (0.02 if is_weight else 0.5)
    return stack, Int8TransformerStack(stack)


@contextmanager
def rounded() -> Iterator[None]:
    """Make PyTorch's layers round as the kernels do."""

    def rounded_linear(layer: nn.Linear, x: Tensor) -> Tensor:
        def in_steps(rows: Tensor) -> Tensor:
            step = rows.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 127
            return (rows / step).round() * step

        return F.linear(in_steps(x), in_steps(layer.weight), layer.bias)

    def halves(attention: MultiHeadAttention, memory: Tensor, packing: Packing | None = None) -> KeyValue:
        return KeyValue(*(part.bfloat16().float() for part in project(attention, memory, packing)))

    project = MultiHeadAttention.project
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.Linear, "forward", rounded_linear)
        patch.setattr(MultiHeadAttention, "project", halves)
        yield


def test_a_query_that_may_attend_to_nothing_gets_zeros() -> None:
    q, mask = random(1, 2, 3, 16), torch.tensor([[[True, True], [False, False], [False, True]]])
    kept = in_pages(random(1, 2, 2, 16), random(1, 2, 2, 16), torch.ones(1, 2, dtype=torch.bool))
    key_values = PagedKeyValues(kept.addresses()[0], kept.slots_NS.numpy(), 2)
    queries, mixed, means = side_by_side(q).numpy(), np.ones((3, 32), np.float32), np.zeros((1, 3, 2), np.float32)
    attend(queries, key_values, mask.numpy(), np.arange(3), 3, mixed, means)
    assert (mixed[1] == 0).all()
    assert (means[0, 1] == 0).all()
    assert (mixed[[0, 2]] != 0).all()
    nothing = key_values._replace(slots=key_values.slots[:, :0])
    attend(queries, nothing, mask[:, :, :0].numpy(), np.arange(3), 3, mixed, means)
    assert (mixed == 0).all()


@pytest.mark.parametrize(("queried", "kept"), [(25, 50), (48, 96), (0, 300), (300, 20), (256, 256), (130, 0)])
def test_queries_and_key_values_are_split_at_any_width(queried: int, kept: int) -> None:
    x, weight = random(4, 40), random(queried + kept, 40, seed=2)
    layer, norm = Int8Linear(weight, random(len(weight))), kernels.NormWeights(np.ones(1), np.zeros(1), np.float32(0))
    queries, page = np.zeros((4, queried), np.float32), np.zeros((4, kept), np.uint16)
    kernels.project_queries_and_key_values(x.numpy(), False, norm, layer.weights, queries, page)
    assert torch.equal(torch.from_numpy(queries), layer(x)[:, :queried])
    assert torch.equal(torch.from_numpy(page).view(torch.bfloat16), layer(x)[:, queried:].bfloat16())


def test_strided_inputs_give_the_same_outputs() -> None:
    layer, x = Int8Linear(random(20, 30), None), random(30, 40, seed=2)
    for strided in (x.T, x[:, :30].T[:, ::1], random(40, 60)[:, ::2], random(1, 30).expand(5, 30)):
        assert torch.equal(layer(strided), layer(strided.contiguous()))
    assert layer(x[:0, :30]).shape == (0, 20)


def test_copies_request_their_own_tile_config(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = Int8Linear(random(20, 30), random(20)), random(3, 30, seed=2)
    monkeypatch.setattr(kernels, "tile_config", lambda: np.empty(0, np.uint8))
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert not copied.weights.tiles.size
        assert torch.equal(copied(x), layer(x))


def test_layers_with_too_many_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 133,144"):
        Int8Linear(torch.zeros(1, 133_145), None)


def test_kernels_older_than_their_modules_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for part in (kernels, paged_attention, epilogues, integer_products, paged_cache, simd):
        name = part.__name__.rpartition(".")[2]
        monkeypatch.setattr(part, "__file__", str(tmp_path / f"{name}.py"))
        (tmp_path / f"{name}.py").touch()
    for name, age in (("fused_layers.linear-1.py311.nbi", 60), ("fused_layers.feed_forward-1.py311.nbi", -60)):
        (kept / name).touch()
        changed = (tmp_path / "simd.py").stat().st_mtime - age
        os.utime(kept / name, (changed, changed))
    kernels._delete_stale_kernels()
    assert [path.name for path in kept.iterdir()] == ["fused_layers.feed_forward-1.py311.nbi"]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("rows", [3, 45])  # 45 are more than a block
@torch.inference_mode()
def test_int8_stack_agrees_with_pytorch_up_to_rounding(norm: Norm, count: int, rows: int) -> None:
    x, texts = random(rows, 6, 64), [random(rows, slots, 64, seed=slots) for slots in (7, 4)[:count]]
    masks = [random(*text.shape[:2]) < 0.5 for text in texts]
    for mask in masks:
        mask[:, 0] = True
    real = torch.ones(rows, 6, dtype=torch.bool)
    real[1, 4:] = False
    found = []
    for stack in stacks(norm, memories=count):
        with rounded():
            memories = [stack.project(text, masks[i], i) for i, text in enumerate(texts)]
            first = stack.encode(x, real, memories, need_weights=True)
            tokens, cache = torch.ones(rows, 4, dtype=torch.long), DecoderCache()
            _, cache = stack.decode(x[:, :4], cache.next_slots(tokens), cache, memories)
            cache = cache.rollback(1 + torch.arange(rows) % 4).select(torch.arange(rows).roll(1))
            last, _ = stack.decode(x[:, 4:], cache.next_slots(tokens[:, :2]), cache, memories)
        of_first = [part[real] for part in (first.x_NKD, *first.weights, *first.cross_outputs)]
        found.append([*of_first, last.x_NKD, *last.weights, *last.cross_outputs])
    for a, b in zip(*found, strict=True):
        assert a.shape == b.shape
        assert (a - b).norm() / a.norm() < 0.02


@torch.inference_mode()
def test_inputs_are_not_changed_and_copies_agree() -> None:
    _, fast = stacks("pre", memories=0)
    x, real = random(2, 3, 64), torch.ones(2, 3, dtype=torch.bool)
    before = x.clone()
    found = fast.encode(x, real).x_NKD
    assert torch.equal(x, before)
    for copied in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert copied.stack.inner.packed.ctypes.data % ALIGNMENT == 0
        assert torch.equal(copied.encode(x, real).x_NKD, found)


@torch.inference_mode()
def test_a_stack_needs_one_memory_per_cross_attention() -> None:
    _, fast = stacks("pre", memories=1)
    x, real = random(2, 3, 64), torch.ones(2, 3, dtype=torch.bool)
    for call in (
        lambda: fast.encode(x, real),
        lambda: fast.encode(x, real, [fast.project(x, real)] * 2),
        lambda: fast.project(x, real, 1),
        lambda: fast.project_per_layer([x], real),
    ):
        with pytest.raises(AssertionError):
            call()


@torch.inference_mode()
def test_each_layer_may_have_its_own_memory() -> None:
    exact, fast = stacks("pre", layers=3, memories=2)
    views, real = [random(2, 5, 64, seed=seed) for seed in range(3)], torch.ones(2, 5, dtype=torch.bool)
    for index in (0, 1):
        with rounded():
            one, other = (stack.project_per_layer(views, real, index).key_values for stack in (exact, fast))
        assert isinstance(one, DenseKeyValueCache)
        assert isinstance(other, PagedKeyValueCache)
        for layer, page in zip(one.layers, other.pages[0], strict=True):
            expected = torch.cat([side_by_side(part) for part in layer], 1)
            assert (page.float() - expected).norm() / expected.norm() < 0.02


@torch.inference_mode()
def test_padding_is_never_attended_to() -> None:
    _, fast = stacks("pre")
    real = torch.tensor([[True, True, True, False], [True, False, True, True]])
    x = random(2, 4, 64)
    output = fast.encode(x.masked_fill(~real.unsqueeze(2), math.nan), real, [fast.project(x, real)], need_weights=True)
    alone = torch.ones(1, 3, dtype=torch.bool)
    expected = fast.encode(x[:1, :3], alone, [fast.project(x[:1, :3], alone)], need_weights=True)
    assert torch.equal(output.x_NKD[:1, :3], expected.x_NKD)
    assert torch.equal(output.weights[0][:1, :3, :3], expected.weights[0])
    assert not output.x_NKD.isnan().any()


@pytest.mark.parametrize("hole", [1, 2, 7, 15, 16, 19])
@torch.inference_mode()
def test_masked_slots_between_others_change_no_bit(hole: int) -> None:
    _, fast = stacks("pre")
    x, before, after = random(2, 3, 64), random(2, 5, 64, seed=2), random(2, 14, 64, seed=3)
    between, every, found = random(2, hole, 64, seed=4), torch.ones(2, 3, dtype=torch.bool), []
    for parts, real in (((before, after), [5, 14]), ((before, between, after), [5, -hole, 14])):
        mask = torch.cat([torch.full((2, abs(count)), count > 0) for count in real], -1)
        memory = fast.project(torch.cat(parts, 1), torch.ones_like(mask))._replace(mask=mask)
        output = fast.encode(x, every, [memory], need_weights=True)
        found.append((output.x_NKD, output.weights[0][mask.unsqueeze(1).expand(-1, 3, -1)]))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_small_stacks_and_stacks_with_three_memories_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = sized(64, 4, 96).stack(2)
    assert Int8TransformerStack.from_stack(stack) is None
    monkeypatch.setattr(Int8Linear, "min_weights", 1)
    assert type(Int8TransformerStack.from_stack(stack)) is Int8TransformerStack
    assert Int8TransformerStack.from_stack(sized(64, 4, 96).stack(2, 3)) is None
    without_sums = sized(64, 4, 96).stack(2, 1, reports="attended")
    assert Int8TransformerStack.from_stack(without_sums) is None
    assert Int8TransformerStack.from_stack(stack.double()) is None
    another = type("Another", (TransformerStack,), {})
    assert Int8TransformerStack.from_stack(another(sized(64, 4, 96), 2, 0, "sum")) is None


def test_the_epsilon_of_normalisations_is_kept() -> None:
    stack = sized(64, 4, 96).stack(2)
    for part in stack.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 0.25
    assert Int8TransformerStack(stack).stack.norms.epsilon == 0.25


@pytest.mark.parametrize("reports", ["attended", "query"])
def test_stacks_without_a_kernel_have_linear_layers_in_int8(reports: CrossOutput) -> None:
    """The docs of copycat and copy-transformer say what int8 does to decoders that report otherwise."""
    model = nn.Module()
    model.decoder = sized(128, 4, 128).stack(1, 1, reports=reports)
    prepare_for_inference(model, "int8")
    assert type(model.decoder) is TransformerStack
    assert not any(type(part) is nn.Linear for part in model.modules())
    assert sum(type(part) is Int8Linear for part in model.modules()) == 2 * 3 + 2


def test_a_shared_stack_stays_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Int8Linear, "min_weights", 1)
    model = nn.Module()
    model.first = model.second = sized(16, 2, 16).stack(1)
    prepare_for_inference(model, "int8")
    assert type(model.first) is Int8TransformerStack
    assert model.first is model.second
