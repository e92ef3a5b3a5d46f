"""R-Drop against a direct computation."""

import pytest
import torch
from test_losses_risk import double, small_stretches  # noqa: F401  # a fixture for all tests here
from test_update import batch_of
from tiny_run import TinyModel
from torch.nn import functional as F

from postedit.core.types import Batch, LabelLoss
from postedit.search.ensemble import LogProbDistribution
from postedit.train.losses import RDropLoss, symmetric_divergence


def direct(model: TinyModel, batch: Batch, strength: float, smoothing: float) -> LabelLoss:
    """Return the loss of the paper, halved, from all log-probabilities of both passes."""
    assert batch.target is not None
    twice = torch.arange(batch.rows).repeat(2)
    both = Batch({name: stream.select(twice) for name, stream in batch.streams.items()}, batch.target.select(twice))
    assert both.target is not None
    output, _ = model.decode(both.target.inputs, model.encode(both))
    p, q = output.log_probs.chunk(2)
    mask, ids = batch.target.mask, batch.target.ids
    losses = [F.cross_entropy(x[mask], ids[mask], label_smoothing=smoothing, reduction="sum") for x in (p, q)]
    nll = sum(F.nll_loss(x[mask], ids[mask], reduction="sum") for x in (p, q))
    kl = [F.kl_div(a[mask], b[mask], reduction="sum", log_target=True) for a, b in ((p, q), (q, p))]
    return LabelLoss((sum(losses) + strength * sum(kl) / 2) / 2, nll / 2, mask.sum())


@pytest.mark.parametrize("strength", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradient_are_those_of_a_direct_computation(strength: float, smoothing: float) -> None:
    model, batch = double(dropout=0.4).train(), batch_of(0, 11)
    results = []
    for loss in (RDropLoss(model, strength), lambda *given: direct(model, given[0], strength, given[1])):
        torch.manual_seed(2)
        results.append(loss(batch, smoothing))
    found, expected = results
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=0.0)
    parameters = list(model.parameters())
    for one, other in zip(*(torch.autograd.grad(result.loss, parameters) for result in results)):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_tokens_that_neither_pass_can_write_add_no_divergence() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.2, 0.8, 0.0])
    distribution = LogProbDistribution(torch.stack([p, q]).log().unsqueeze(1).requires_grad_())
    found = symmetric_divergence(distribution, torch.tensor([[True], [False]]), torch.tensor([[False], [True]]), 3)
    torch.testing.assert_close(found.detach(), ((p - q) * (p.log() - q.log()))[:2].sum())
    (gradient,) = torch.autograd.grad(found, distribution.values)
    assert gradient.isfinite().all()
