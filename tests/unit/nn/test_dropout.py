"""Dropout: what is dropped together, that nothing is outside training, and that the expectation stays."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from postedit.nn.dropout import dropout, keep_mask, variational_dropout, word_dropout

P = 0.25
KINDS = [dropout, word_dropout, variational_dropout]


@pytest.fixture(autouse=True)
def _fixed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("kind", KINDS)
def test_identity_outside_training_and_at_zero(kind: Callable[[Tensor, float, bool], Tensor]) -> None:
    x = torch.randn(3, 4, 5)
    assert kind(x, P, False) is x
    assert kind(x, 0.0, True) is x


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_keeps_the_expectation_of_its_input(kind: Callable[[Tensor, float, bool], Tensor]) -> None:
    kept = kind(torch.ones(200, 50, 20), P, True)
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / (1 - P)])
    assert kept.mean().item() == pytest.approx(1.0, abs=0.02)
    assert (kept == 0).float().mean().item() == pytest.approx(P, abs=0.02)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_units_are_dropped_independently_of_their_neighbours(p: float) -> None:
    """Four neighbours are drawn from one word of random bits."""
    dropped = (dropout(torch.ones(100_000, 4), p, True) == 0).double()
    torch.testing.assert_close(dropped.mean(0), torch.full((4,), p).double(), rtol=0, atol=0.01)
    covariance = torch.cov(dropped.T)
    torch.testing.assert_close(covariance, torch.eye(4).double() * p * (1 - p), rtol=0, atol=0.01)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("p", [0.9999, 0.999995, 1 - 1e-9])
def test_dropout_of_nearly_all_units_keeps_the_expectation(p: float, dtype: torch.dtype) -> None:
    kept = dropout(torch.ones(4_000_000, dtype=dtype), p, True).float()
    assert (kept == 0).float().mean().item() == pytest.approx(p, abs=2e-5)
    assert kept.double().mean().item() == pytest.approx(1.0, abs=0.6)


@pytest.mark.parametrize("shape", [(0, 3), (1,), (5, 7), ()])
def test_any_shape_can_be_dropped_from(shape: tuple[int, ...]) -> None:
    assert dropout(torch.ones(shape), P, True).shape == shape


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_kept_units_alone_get_gradients_and_the_dtype_stays(dtype: torch.dtype) -> None:
    x = (torch.rand(50, 50, dtype=dtype) + 1).requires_grad_()  # never 0, as what is dropped
    kept = dropout(x, 0.5, True)
    assert kept.dtype == dtype
    (gradient,) = torch.autograd.grad(kept.sum(), x)
    assert torch.equal(gradient, (kept != 0).to(dtype) * 2)


def test_the_generator_decides_what_is_dropped() -> None:
    first, second = dropout(torch.ones(99), P, True), dropout(torch.ones(99), P, True)
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(dropout(torch.ones(99), P, True), first)


def test_words_are_dropped_whole_and_each_on_its_own() -> None:
    kept = word_dropout(torch.ones(20, 30, 8), P, True)
    assert (kept == kept[:, :, :1]).all()
    words = kept[:, :, 0]
    assert (words != words[:1]).any()
    assert (words != words[:, :1]).any()


def test_variational_dropout_drops_the_same_units_at_every_step() -> None:
    kept = variational_dropout(torch.ones(20, 30, 8), P, True)
    assert (kept == kept[:, :1]).all()
    units = kept[:, 0]
    assert (units != units[:1]).any()
    assert (units != units[:, :1]).any()


def test_masks_have_the_dtype_of_their_input_and_no_gradient() -> None:
    mask = keep_mask(torch.zeros(1, dtype=torch.float64, requires_grad=True), (7, 9), P)
    assert mask.shape == (7, 9)
    assert mask.dtype == torch.float64
    assert not mask.requires_grad
