"""Losses over whole outputs ask every model for no more than the interface, and get what it says."""

import random

import pytest
import torch
import torch.nn.functional as F
from tiny import (
    ARCHITECTURE_NAMES,
    TINY,
    assert_close,
    batch_of,
    build,
    decoding_parameters,
    random_sentences,
    random_text,
)

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch
from postedit.models import ARCHITECTURES
from postedit.train import losses
from postedit.train.losses import (
    Candidate,
    CoverageLoss,
    RDropLoss,
    RiskLoss,
    coverage_loss,
    label_log_probs,
    stretches,
    symmetric_divergence,
)


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(losses._LOG_PROBS, "cpu", 3 * 11)


def sides(name: str) -> tuple[Seq2Seq, Batch, random.Random]:
    rng, model = random.Random(5), build(name, torch.float64)
    return model, batch_of(random_sentences(rng, model, 4)), rng


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_label_scores_and_divergences_agree_with_log_probs(name: str) -> None:
    model, batch, _ = sides(name)
    assert batch.target is not None
    target, size = batch.target, model.spec.vocabularies.target.size
    output, _ = model.decode(target.inputs, model.encode(batch))
    log_probs = output.log_probs
    expected = log_probs.gather(2, target.ids.unsqueeze(2)).squeeze(2).masked_fill(~target.mask, 0.0)
    assert_close(label_log_probs(output.distribution, target.ids, target.mask, size), expected)
    places = target.mask.cumsum(1)
    first, last = target.mask & (places == 1), target.mask & (places == target.lengths.unsqueeze(1))
    p, q = log_probs[first], log_probs[last]
    expected = F.kl_div(p, q, reduction="sum", log_target=True) + F.kl_div(q, p, reduction="sum", log_target=True)
    assert_close(symmetric_divergence(output.distribution, first, last, size), expected)


def test_stretches_cover_all_real_positions_in_order() -> None:
    mask = torch.rand(5, 7, generator=torch.Generator().manual_seed(1)) < 0.6
    parts = list(stretches(mask, 11))
    assert len(parts) > 1
    found = torch.cat([part.flatten().nonzero().squeeze(1) for part in parts])
    assert found.tolist() == mask.flatten().nonzero().squeeze(1).tolist()


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_the_risk_of_candidates_equals_its_definition(name: str) -> None:
    model, batch, rng = sides(name)
    assert batch.target is not None
    steps = model.spec.writes != "tokens"
    references = [ids[mask][:-1].tolist() for ids, mask in zip(batch.target.ids, batch.target.mask)]
    lists = [
        [
            Candidate(output, rng.random())
            for output in dict.fromkeys(tuple(random_text(rng, 11, 6, steps=steps)[:-1]) for _ in range(3))
        ]
        for _ in references
    ]
    parameters = decoding_parameters(model)
    risk = RiskLoss(model, lambda *_: lists, 1.0, 0.7)(batch).loss
    gradients = torch.autograd.grad(risk, list(parameters.values()), allow_unused=True)
    assert torch.isfinite(risk)
    for label, gradient in zip(parameters, gradients, strict=True):
        assert gradient is not None, label
        assert torch.isfinite(gradient).all(), label
    # the definition, each candidate scored alone by log_probs
    total = torch.zeros((), dtype=torch.float64)
    for row, found in enumerate(lists):
        only = torch.tensor([row])
        alone = Batch({key: stream.select(only) for key, stream in batch.streams.items()})
        scores = []
        for one in found:
            tokens = torch.tensor([[BOS, *one.tokens]])
            ends = torch.tensor([*one.tokens, EOS])
            log_probs = model.decode(tokens, model.encode(alone))[0].log_probs[0]
            scores.append(log_probs.gather(1, ends.unsqueeze(1)).sum())
        shares = (0.7 * torch.stack(scores)).softmax(0)
        total = total + sum(q * one.cost for q, one in zip(shares, found)) * batch.target.lengths[row]
    torch.testing.assert_close(risk, total, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_coverage_loss_equals_its_definition(name: str) -> None:
    model, batch, _ = sides(name)
    key = model.spec.coverage_key
    if key is None:
        with pytest.raises(RecipeError, match="needs soft attention, which this model does not have"):
            CoverageLoss(model, 2.0)
        return
    assert batch.target is not None
    found, plain = CoverageLoss(model, 2.0)(batch, 0.1), model(batch, 0.1)
    attention = model.decode(batch.target.inputs, model.encode(batch))[0].attention[key].detach()
    ids = torch.cat(
        [batch.streams[stream].ids.masked_fill(~batch.streams[stream].mask, EOS) for stream in key.streams], 1
    )
    expected = 0.0
    for row, length in enumerate(batch.target.lengths.tolist()):
        for place in (ids[row] != EOS).nonzero().flatten().tolist():
            had = 0.0
            for now in attention[row, :length, place].tolist():
                expected += min(now, had)
                had += now
    assert float(found.loss.detach()) == pytest.approx(float(plain.loss.detach()) + 2.0 * expected, rel=1e-9)
    assert expected > 0.0
    assert (found.nll, found.tokens) == (plain.nll, plain.tokens)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with_coverage = torch.autograd.grad(found.loss, parameters, allow_unused=True)
    without = torch.autograd.grad(plain.loss, parameters, allow_unused=True)
    assert any(one is not None and not torch.equal(one, other) for one, other in zip(with_coverage, without))


def test_coverage_loss_has_the_gradient_of_finite_differences() -> None:
    attention = torch.rand(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3), requires_grad=True)
    assert torch.autograd.gradcheck(lambda weights: coverage_loss(weights.softmax(2)), attention)


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_two_passes_without_dropout_do_not_diverge(name: str) -> None:
    model, batch, _ = sides(name)
    for one, other in zip(RDropLoss(model, 3.0)(batch, 0.1), model(batch, 0.1)):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


JOINT = [name for name in TINY if ARCHITECTURES[name.partition("/")[0]].model.joint_loss is not Seq2Seq.joint_loss]


@pytest.mark.parametrize("name", JOINT)
def test_every_loss_trains_what_is_trained_together_with_the_model(name: str) -> None:
    """In training, each loss is that of before and the joint loss; without dropout, nothing else changes."""
    model, batch, rng = sides(name)
    assert batch.target is not None
    for option in ("dropout", "dropout_rnn", "dropout_word"):
        for part in model.modules():
            if isinstance(getattr(part, option, None), float):
                setattr(part, option, 0.0)
    lists = [[Candidate(tuple(random_text(rng, 11, 6)[:-1]), cost) for cost in (0.0, 0.5)] for _ in range(batch.rows)]
    joint = float((model.train()(batch, 0.1).loss - model.eval()(batch, 0.1).loss).detach())
    assert abs(joint) > 1.0
    kinds = [RDropLoss(model, 3.0), RiskLoss(model, lambda *_: lists, 0.3, 0.7)]
    kinds += [CoverageLoss(model, 2.0)] if model.spec.coverage_key else []
    for loss in kinds:
        judged, trained = (loss.train(mode)(batch, 0.1) for mode in (False, True))
        assert float((trained.loss - judged.loss).detach()) == pytest.approx(joint, rel=1e-9)
        assert float(trained.nll) == pytest.approx(float(judged.nll), rel=1e-12)
        trained.loss.backward()
        assert all(weight.grad is not None for weight in model.parameters())
        model.zero_grad()


def test_models_are_trained_together() -> None:
    assert JOINT == ["symmetric-attention", "edit-operations-src"]
