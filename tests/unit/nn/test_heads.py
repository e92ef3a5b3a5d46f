"""The label loss is the one through log_probs, and never writes all probabilities out."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from postedit.core.types import LabelLoss
from postedit.nn import heads
from postedit.nn.heads import CappedDistribution, SoftmaxDistribution, SoftmaxHead

ROWS, LENGTH, VOCABULARY, DIM = 3, 5, 11, 4
CHUNKS = [1, VOCABULARY, 4 * VOCABULARY, 10**6]


def case(dtype: torch.dtype, vocabulary: int = VOCABULARY) -> tuple[SoftmaxDistribution, Tensor, Tensor]:
    """Return a distribution whose parts need gradients, labels, and a mask of rows of different lengths."""
    generator = torch.Generator().manual_seed(0)
    features, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()
        for shape in ((ROWS, LENGTH, DIM), (vocabulary, DIM), (vocabulary,))
    )
    labels = torch.randint(vocabulary, (ROWS, LENGTH), generator=generator)
    mask = torch.arange(LENGTH) < torch.tensor([[5], [1], [3]])
    return SoftmaxDistribution(features, weight, bias), labels, mask


def reference(distribution: SoftmaxDistribution, labels: Tensor, mask: Tensor, smoothing: float) -> LabelLoss:
    flat = distribution.log_probs()[mask]
    nll = nn.functional.cross_entropy(flat, labels[mask], reduction="sum")
    loss = nn.functional.cross_entropy(flat, labels[mask], reduction="sum", label_smoothing=smoothing)
    return LabelLoss(loss, nll.detach(), mask.sum())


def gradients(loss: Tensor, distribution: SoftmaxDistribution) -> tuple[Tensor, ...]:
    parts = (distribution.features_NKD, distribution.weight_VD, distribution.bias_V)
    return torch.autograd.grad(loss, parts)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_label_loss_and_its_gradients_are_those_through_log_probs(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, smoothing: float, chunk: int
) -> None:
    monkeypatch.setitem(heads._CHUNK_LOGITS, "cpu", chunk)
    distribution, labels, mask = case(dtype)
    actual, expected = (
        distribution.label_loss(labels, mask, smoothing),
        reference(distribution, labels, mask, smoothing),
    )
    tolerance = {"rtol": 0.0, "atol": 2e-5 if dtype == torch.float32 else 1e-12}
    torch.testing.assert_close(actual.loss, expected.loss, **tolerance)
    torch.testing.assert_close(actual.nll, expected.nll, **tolerance)
    assert actual.tokens == 9
    assert not actual.nll.requires_grad
    # Any function of the loss: here its square.
    pairs = zip(gradients(actual.loss**2, distribution), gradients(expected.loss**2, distribution))
    for own, wanted in pairs:
        torch.testing.assert_close(own, wanted, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-4)


def test_positions_outside_the_mask_count_for_nothing() -> None:
    distribution, labels, mask = case(torch.float64)
    junk = torch.where(mask, labels, (labels + 1) % VOCABULARY)
    losses = [distribution.label_loss(some, mask, 0.1) for some in (labels, junk)]
    assert losses[0].loss == losses[1].loss
    feature_gradient = gradients(losses[0].loss, distribution)[0]
    assert (feature_gradient[~mask] == 0).all()
    assert (feature_gradient[mask] != 0).all()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_computing_padding_changes_no_loss_and_no_gradient(monkeypatch: pytest.MonkeyPatch, smoothing: float) -> None:
    distribution, labels, mask = case(torch.float64)
    assert not mask.all()
    wanted = distribution.label_loss(labels, mask, smoothing)
    wanted_gradients = gradients(wanted.loss, distribution)
    monkeypatch.setattr(heads, "label_positions", lambda mask: torch.arange(mask.numel()))
    found = distribution.label_loss(labels, mask, smoothing)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients(found.loss, distribution), wanted_gradients)


def test_under_autocast_the_loss_equals_that_in_double_precision() -> None:
    torch.manual_seed(1)
    positions, width, vocabulary = 300, 32, 1001
    features, weight = torch.randn(positions, 1, width), torch.randn(vocabulary, width) / width**0.5
    labels, mask = torch.randint(vocabulary, (positions, 1)), torch.ones(positions, 1, dtype=torch.bool)
    narrow = [tensor.bfloat16().double() for tensor in (features, weight, torch.zeros(vocabulary))]
    exact = SoftmaxDistribution(*narrow).label_loss(labels, mask, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        found = SoftmaxDistribution(features, weight, torch.zeros(vocabulary)).label_loss(labels, mask, 0.1)
    torch.testing.assert_close(found.loss.double(), exact.loss, rtol=3e-4, atol=0)
    torch.testing.assert_close(found.nll.double(), exact.nll, rtol=3e-4, atol=0)


def test_no_position_at_all_is_no_loss() -> None:
    distribution, labels, mask = case(torch.float64)
    nothing = distribution.label_loss(labels, torch.zeros_like(mask), 0.1)
    assert nothing.loss == nothing.nll == nothing.tokens == 0
    assert all((gradient == 0).all() for gradient in gradients(nothing.loss, distribution))


def test_without_gradients_the_loss_is_the_same() -> None:
    distribution, labels, mask = case(torch.float64)
    with torch.no_grad():
        without = distribution.label_loss(labels, mask, 0.1)
    assert without.loss == distribution.label_loss(labels, mask, 0.1).loss
    assert not without.loss.requires_grad


def test_under_autocast_products_are_bf16_and_sums_and_gradients_are_not() -> None:
    distribution, labels, mask = case(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss = distribution.label_loss(labels, mask, 0.1).loss
    exact = distribution.label_loss(labels, mask, 0.1).loss
    assert loss.dtype == torch.float32
    assert loss != exact, "autocast changed nothing"
    torch.testing.assert_close(loss, exact, rtol=1e-2, atol=0)
    for gradient, wanted in zip(gradients(loss, distribution), gradients(exact, distribution)):
        assert gradient.dtype == torch.float32
        torch.testing.assert_close(gradient, wanted, rtol=0, atol=0.05)


def test_gradients_under_autocast_are_summed_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many chunks: a sum in bfloat16 would stop to grow when a chunk adds less than half of its last place."""
    monkeypatch.setitem(heads._CHUNK_LOGITS, "cpu", VOCABULARY)
    positions, mask = 600, torch.ones(600, 1, dtype=torch.bool)
    features, weight, bias = torch.ones(positions, 1, DIM), torch.zeros(VOCABULARY, DIM), torch.zeros(VOCABULARY)
    distribution = SoftmaxDistribution(*(part.requires_grad_() for part in (features, weight, bias)))
    with torch.autocast("cpu", torch.bfloat16):
        loss = distribution.label_loss(torch.zeros(positions, 1, dtype=torch.long), mask).loss
    _, d_weight, d_bias = gradients(loss, distribution)
    expected = torch.full((VOCABULARY,), positions / VOCABULARY)
    expected[0] -= positions
    torch.testing.assert_close(d_bias, expected, rtol=5e-3, atol=0)
    torch.testing.assert_close(d_weight, expected.unsqueeze(1).expand(-1, DIM), rtol=5e-3, atol=0)


@pytest.mark.parametrize("width", [1, 256, 257, 513, 1001])
def test_the_largest_of_a_row_is_found_wherever_it_is(width: int) -> None:
    rows = -torch.arange(1.0, width + 1).expand(width, width).bfloat16()
    rows = rows.where(~torch.eye(width, dtype=torch.bool), 1.0)
    assert heads._row_maximum(rows).tolist() == [1.0] * width


class LargestTensor(TorchDispatchMode):
    """Records the number of elements of the largest floating-point tensor that any operation makes."""

    elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, Tensor) and tensor.is_floating_point():
                self.elements = max(self.elements, tensor.numel())
        return result


def test_the_loss_never_holds_a_logit_for_every_position_and_symbol(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = 1000
    monkeypatch.setitem(heads._CHUNK_LOGITS, "cpu", 2 * vocabulary)
    distribution, labels, mask = case(torch.float32, vocabulary)
    with LargestTensor() as written_out:
        gradients(reference(distribution, labels, mask, 0.1).loss, distribution)
    assert written_out.elements >= ROWS * LENGTH * vocabulary, "the recorder does not see what it should"
    with LargestTensor() as chunked:
        gradients(distribution.label_loss(labels, mask, 0.1).loss, distribution)
    assert chunked.elements <= vocabulary * max(2, DIM)  # two positions at a time, and the gradient of the weights


def test_a_tied_head_has_the_weights_of_the_embedding() -> None:
    table = nn.Embedding(VOCABULARY, DIM)
    head = SoftmaxHead(DIM, VOCABULARY, tied=table)
    assert head.weight is table.weight
    features = torch.randn(ROWS, LENGTH, DIM)
    expected = (features @ table.weight.T + head.bias).log_softmax(-1)
    torch.testing.assert_close(head(features).log_probs(), expected)


def test_log_probs_of_half_precision_features_are_in_single_precision() -> None:
    features, weight, bias = (
        torch.randn(*shape).bfloat16() for shape in ((2, 3, DIM), (VOCABULARY, DIM), (VOCABULARY,))
    )
    log_probs = SoftmaxDistribution(features, weight, bias).log_probs()
    assert log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(2, 3), rtol=0, atol=1e-5)


def test_logits_are_capped_before_the_bias_is_added() -> None:
    generator = torch.Generator().manual_seed(1)
    features, weight, bias = (10.0 * torch.randn(shape, generator=generator) for shape in ((2, 3, 4), (6, 4), (6,)))
    capped = CappedDistribution(features, weight, bias, cap=2.0)
    expected = (torch.tanh(features @ weight.T / 2.0) * 2.0 + bias).log_softmax(-1)
    torch.testing.assert_close(capped.log_probs(), expected)
    labels, mask = torch.tensor([[0, 1, 2], [3, 4, 5]]), torch.ones(2, 3, dtype=torch.bool)
    nll = -expected.gather(2, labels.unsqueeze(2)).sum()
    torch.testing.assert_close(capped.label_loss(labels, mask).loss, nll)


def test_logits_are_capped_in_single_precision() -> None:
    """In bfloat16, most logits near the cap would be the cap itself."""
    uncapped = torch.arange(6.0, 9.0)
    parts = torch.ones(1, 1, 1), uncapped.unsqueeze(1), torch.zeros(3)
    logits = CappedDistribution(*(part.bfloat16() for part in parts), cap=2.0).logits()
    torch.testing.assert_close(logits.flatten(), torch.tanh(uncapped / 2.0) * 2.0)
    assert logits.dtype == torch.float32
