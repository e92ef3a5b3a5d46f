from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from accelerate import Accelerator
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_run import Numbers, TinyModel, tiny_model, train_config, triplets

from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.train.optimisers import build_optimizer, optimizer_tensors
from postedit.train.update import Totals, Updater, has_finite_gradient

RATE = 0.1
EPS = 0.1  # large, as Adam would otherwise hide the scale of the gradient


def batch_of(first: int, last: int) -> Batch:
    rows = triplets(24, seed=5)[first:last]
    sides = {"src": [row.src for row in rows], "mt": [row.mt for row in rows], "pe": [row.pe for row in rows]}
    return collate({side: Numbers().encode_batch(side, texts) for side, texts in sides.items()}, ("src", "mt"))


def updater(model: TinyModel, **options: object) -> Updater:
    config = train_config({"eps": EPS} | options)
    return Updater(model, build_optimizer(model, config), config, Accelerator(mixed_precision="no"))


def weights_after(batches: Sequence[Batch], updates: int = 3, **options: object) -> list[torch.Tensor]:
    model = tiny_model(dropout=0.0)
    updates_of = updater(model, **options)
    for step in range(1, updates + 1):
        updates_of.update(step, batches, RATE)
    assert updates_of.failure() is None
    return [parameter.detach() for parameter in model.parameters()]


def plain_optimizer(kind: str, model: TinyModel) -> torch.optim.Optimizer:
    if kind == "sgd":
        return torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.5, fused=False)
    if kind == "adagrad":
        return torch.optim.Adagrad(model.parameters(), lr=RATE, initial_accumulator_value=0.1)
    if kind == "adafactor":
        return torch.optim.Adafactor(model.parameters(), lr=RATE)
    adam = torch.optim.AdamW if kind == "adamw" else torch.optim.Adam
    return adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=EPS, weight_decay=0.0, foreach=False)


@pytest.mark.parametrize(
    ("kind", "clip"),
    [
        ("adam", 0.0),
        ("adam", 0.05),
        ("adam", 1e6),
        ("adamw", 0.05),
        ("sgd", 0.05),
        ("adagrad", 0.05),
        ("adafactor", 0.05),
    ],
)
def test_optimisers_see_the_clipped_gradient_of_the_mean_loss(kind: str, clip: float) -> None:
    model = tiny_model(dropout=0.0)
    plain = plain_optimizer(kind, model)
    for _ in range(3):
        plain.zero_grad()
        result = model(batch_of(0, 24), 0.1)
        (result.loss / result.tokens).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        plain.step()
    found = weights_after([batch_of(0, 24)], clip=clip, optimizer=kind, momentum=0.5, label_smoothing=0.1)
    for parameter, expected in zip(found, model.parameters()):
        torch.testing.assert_close(parameter, expected.detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.sets(st.integers(1, 23), max_size=4))
def test_dividing_rows_into_batches_changes_no_update(cuts: set[int]) -> None:
    bounds = [0, *sorted(cuts), 24]
    divided = weights_after([batch_of(first, last) for first, last in pairwise(bounds)])
    for one, other in zip(divided, weights_after([batch_of(0, 24)])):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_batch_that_does_not_count_changes_nothing() -> None:
    model = tiny_model(dropout=0.0)
    updates = updater(model)
    updates.update(1, [batch_of(0, 4)], RATE, counts=False)
    assert updates.totals()[:3] == (0.0, 0.0, 0.0)
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in model.parameters())


def test_totals_of_two_stretches_are_added_but_the_norm_is_the_last() -> None:
    first, later = Totals(1.0, 2.0, 3.0, 4.0, 5.0, 6, 7), Totals(10.0, 20.0, 30.0, 40.0, 50.0, 60, 70)
    assert first.plus(later) == Totals(11.0, 22.0, 33.0, 44.0, 50.0, 66, 77)


def test_totals_are_sums_over_labels() -> None:
    model = tiny_model(dropout=0.0)
    updates = updater(model, label_smoothing=0.2)
    expected = model(batch_of(0, 24), 0.2)
    updates.update(1, [batch_of(0, 10), batch_of(10, 24)], rate=0.0)
    updates.update(2, [batch_of(0, 24)], rate=0.0)
    totals = updates.totals()
    assert totals.tokens == 2 * int(expected.tokens)
    assert totals.loss == pytest.approx(2 * float(expected.loss.detach()), rel=1e-5)
    assert totals.nll == pytest.approx(2 * float(expected.nll), rel=1e-5)
    mean = torch.autograd.grad(expected.loss / expected.tokens, list(model.parameters()))
    assert totals.norm == pytest.approx(float(torch.nn.utils.get_total_norm(mean)), rel=1e-4)
    batches = batch_of(0, 10), batch_of(10, 24), batch_of(0, 24)
    masks = [
        stream.mask for batch in batches for stream in (*batch.streams.values(), batch.target) if stream is not None
    ]
    assert totals.positions == sum(mask.numel() for mask in masks)
    assert totals.padding == sum(int((~mask).sum()) for mask in masks) > 0
    assert updates.totals() == Totals(norm=totals.norm)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", ["adam", "adagrad", "adafactor"])
def test_a_gradient_that_is_not_finite_changes_nothing_now_or_later(kind: str, poison: float) -> None:
    model = tiny_model()
    updates = updater(model, optimizer=kind)
    updates.update(1, [batch_of(0, 8)], RATE)
    assert updates.failure() is None
    before = [parameter.detach().clone() for parameter in model.parameters()]
    state = {name: tensor.clone() for name, tensor in optimizer_tensors(model, updates.optimizer).items()}
    hook = model.mix.weight.register_hook(lambda gradient: gradient * poison)
    updates.update(2, [batch_of(8, 16)], RATE)
    hook.remove()
    updates.update(3, [batch_of(16, 24)], RATE)
    for parameter, expected in zip(model.parameters(), before):
        assert torch.equal(parameter, expected)
    for name, tensor in optimizer_tensors(model, updates.optimizer).items():
        assert torch.equal(tensor, state[name]), name
    failure = updates.failure()
    assert failure is not None
    assert failure.step == 2
    updates.update(4, [batch_of(0, 8)], RATE)
    assert updates.failure() is failure


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_fails_even_with_a_finite_gradient(poison: float) -> None:
    model = tiny_model()
    updates = updater(model)
    model.register_forward_hook(lambda *given: given[2]._replace(loss=given[2].loss + poison))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    updates.update(1, [batch_of(0, 8)], RATE)
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), before))
    failure = updates.failure()
    assert failure is not None
    assert failure.step == 1


def test_batches_are_kept_until_the_next_look_for_failures_and_no_graphs() -> None:
    updates = updater(tiny_model())
    for step in (1, 2):
        updates.update(step, [batch_of(0, 8)], RATE)
    assert len(updates._attempts) == 2
    assert not any(loss.requires_grad for one in updates._attempts for loss in (one.total, *one.losses))
    assert updates.failure() is None
    assert not updates._attempts


def test_bf16_keeps_weights_and_adam_in_fp32_and_differs_by_rounding_only() -> None:
    exact, rounded = weights_after([batch_of(0, 24)]), weights_after([batch_of(0, 24)], precision="bf16")
    assert {tensor.dtype for tensor in rounded} == {torch.float32}
    assert any(not torch.equal(one, other) for one, other in zip(exact, rounded))
    for one, other in zip(exact, rounded):
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.02)


def test_a_batch_without_finite_gradients_is_detected() -> None:
    model, config = tiny_model(), train_config({})
    assert has_finite_gradient(model, batch_of(0, 4), config, torch.device("cpu"))
    hook = model.mix.weight.register_hook(lambda gradient: gradient * float("nan"))
    assert not has_finite_gradient(model, batch_of(0, 4), config, torch.device("cpu"))
    hook.remove()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_batch_is_judged_in_the_precision_of_training() -> None:
    model, seen = tiny_model(), []
    model.register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
    for precision in ("fp32", "bf16"):
        assert has_finite_gradient(model, batch_of(0, 4), train_config({"precision": precision}), torch.device("cpu"))
    assert seen == [False, True]
