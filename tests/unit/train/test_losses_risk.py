"""Minimum risk training against its definition, on a model of a few hundred weights."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_update import batch_of
from tiny_run import TinyModel, propose, tiny_model, train_config, trainer
from torch import Tensor

from postedit.core.errors import RecipeError
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch, Target
from postedit.search import Sampling, sample
from postedit.train import losses
from postedit.train.losses import Candidate, RiskLoss, build_loss, inference_mode


def candidates_of(batch: Batch, seed: int = 4) -> list[list[Candidate]]:
    """Return one to four different outputs a sentence, that cost what chance says."""
    generator = torch.Generator().manual_seed(seed)
    lists = []
    for _ in range(batch.rows):
        count = int(torch.randint(1, 5, (), generator=generator))
        outputs = [
            tuple(
                torch.randint(6, 30, (int(torch.randint(0, 9, (), generator=generator)),), generator=generator).tolist()
            )
            for _ in range(count)
        ]
        lists.append([Candidate(one, float(torch.rand((), generator=generator))) for one in dict.fromkeys(outputs)])
    return lists


def given_back(lists: Sequence[Sequence[Candidate]]) -> Any:
    return lambda model, batch: lists


def score(model: TinyModel, batch: Batch, row: int, output: Sequence[int]) -> Tensor:
    """Return log p of one output, alone in a batch, as the sum of what `log_probs` says."""
    alone = Batch({name: stream.select(torch.tensor([row])) for name, stream in batch.streams.items()})
    ids = torch.tensor([[*output, EOS]])
    target = Target(ids, torch.ones_like(ids, dtype=torch.bool))
    log_probs = model.decode(target.inputs, model.encode(alone))[0].log_probs
    return log_probs[0].gather(1, ids.T).sum()


def by_definition(model: TinyModel, batch: Batch, lists: Sequence[Sequence[Candidate]], sharpness: float) -> Tensor:
    """Return the sum over sentences of labels * sum over candidates of Q cost, written as in the paper."""
    assert batch.target is not None
    total = torch.zeros((), dtype=torch.float64)
    for row, found in enumerate(lists):
        powers = [(sharpness * score(model, batch, row, one.tokens)).exp() for one in found]
        risk = sum((power * one.cost for power, one in zip(powers, found)), total * 0) / sum(powers)
        total = total + risk * batch.target.lengths[row]
    return total


def double(dropout: float = 0.0) -> TinyModel:
    return tiny_model(dropout).double()


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few positions be done at a time, so that there are many stretches."""
    monkeypatch.setitem(losses._LOG_PROBS, "cpu", 7 * 30)


@pytest.mark.parametrize("sharpness", [0.005, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("weight", [0.25, 1.0])
def test_loss_and_gradient_are_those_of_the_definition(weight: float, sharpness: float) -> None:
    model, batch = double(), batch_of(0, 9)
    lists = candidates_of(batch)
    result = RiskLoss(model, given_back(lists), weight, sharpness)(batch, 0.1)
    plain = model(batch, 0.1)
    expected = (1.0 - weight) * plain.loss + weight * by_definition(model, batch, lists, sharpness)
    assert result.nll == plain.nll or result.nll.item() == pytest.approx(plain.nll.item(), rel=1e-12)
    assert result.tokens == plain.tokens
    assert result.risk is not None
    assert not result.risk.requires_grad
    assert not result.nll.requires_grad
    torch.testing.assert_close(result.loss, expected, rtol=1e-6, atol=0.0)  # costs are in single precision
    parameters = list(model.parameters())
    for one, other in zip(torch.autograd.grad(result.loss, parameters), torch.autograd.grad(expected, parameters)):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("costs", [[0.7], [0.4, 0.4, 0.4]])
def test_equal_costs_have_no_gradient(costs: list[float]) -> None:
    model, batch = double(), batch_of(0, 5)
    lists = [[Candidate((6 + i,), cost) for i, cost in enumerate(costs)] for _ in range(batch.rows)]
    result = RiskLoss(model, given_back(lists), 1.0, 1.0)(batch)
    assert float(result.loss.detach()) == pytest.approx(costs[0] * int(result.tokens), rel=1e-6)
    gradients = torch.autograd.grad(result.loss, list(model.parameters()), allow_unused=True)
    assert all(gradient is None or not gradient.any() for gradient in gradients)


def test_a_sentence_without_candidates_has_no_risk() -> None:
    model, batch = double(), batch_of(0, 3)
    found = [[], [Candidate((7,), 0.0), Candidate((8,), 1.0)], []]
    expected = by_definition(model, batch, [[Candidate((), 0.0)], found[1], [Candidate((), 0.0)]], 1.0)
    assert RiskLoss(model, given_back(found), 1.0, 1.0)(batch).loss.item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(1, 11), st.integers(0, 99))
def test_dividing_rows_into_batches_changes_no_risk(cut: int, seed: int) -> None:
    model = double()
    lists = candidates_of(batch_of(0, 12), seed)
    whole, *parts = (
        RiskLoss(model, given_back(lists[first:last]), 0.6, 0.5)(batch_of(first, last)).loss.item()
        for first, last in ((0, 12), (0, cut), (cut, 12))
    )
    assert sum(parts) == pytest.approx(whole, rel=1e-9)


def test_candidates_come_from_the_model_inference_mode() -> None:
    model, batch = double(dropout=0.5).train(), batch_of(0, 4)
    seen = []

    def look(looked: Any, _batch: Batch) -> list[list[Candidate]]:
        seen.append((looked is model, looked.training, torch.is_grad_enabled()))
        return [[] for _ in range(batch.rows)]

    RiskLoss(model, look, 0.5, 1.0)(batch)
    assert seen == [(True, False, False)]
    assert model.training


def test_search_in_bf16_keeps_the_gradients_of_the_weights() -> None:
    model, batch = tiny_model(dropout=0.0), batch_of(0, 12)
    lists = candidates_of(batch)

    def look(looked: TinyModel, looked_at: Batch) -> list[list[Candidate]]:
        propose(looked, looked_at)
        return lists

    loss = RiskLoss(model, look, 0.5, 0.5)
    exact = torch.autograd.grad(loss(batch).loss, list(model.parameters()))
    with torch.autocast("cpu", torch.bfloat16):
        result = loss(batch)
    for one, other in zip(torch.autograd.grad(result.loss, list(model.parameters())), exact):
        assert (one - other).norm() < 0.05 * other.norm()


def test_the_gradient_is_kept_if_the_search_fails() -> None:
    model = tiny_model().train()
    with pytest.raises(RuntimeError), inference_mode(model):
        raise RuntimeError
    assert model.training
    assert torch.is_grad_enabled()


def draw(model: TinyModel, batch: Batch) -> list[list[Candidate]]:
    """Return samples, which cost their share of large symbols."""
    assert batch.target is not None
    found = sample(model, batch, batch.target.lengths, Sampling(4))
    return [
        [Candidate(output, sum(symbol >= 18 for symbol in output) / max(1, len(output))) for output in different]
        for different in (dict.fromkeys(one.tokens for one in samples) for samples in found)
    ]


def test_learning_lowers_the_expected_cost_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # all positions at a time
    torch.manual_seed(0)
    model, batch = tiny_model(dropout=0.0), batch_of(0, 24)
    loss = RiskLoss(model, draw, 1.0, 1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def mean_cost() -> float:
        with inference_mode(model):
            drawn = [one.cost for _ in range(5) for found in draw(model, batch) for one in found]
        return math.fsum(drawn) / len(drawn)

    before = mean_cost()
    for _ in range(40):
        optimizer.zero_grad()
        loss(batch).loss.backward()
        optimizer.step()
    assert mean_cost() < 0.5 * before


def weights_of(folder: Path) -> Iterator[bytes]:
    return (path.read_bytes() for path in sorted(folder.glob("best/*.safetensors")))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"risk": {"weight": 0.0}}, {"rdrop": 0.0}])
def test_a_weight_of_zero_is_cross_entropy_to_the_bit(tmp_path: Path, corpora: Path, options: dict[str, Any]) -> None:
    assert isinstance(build_loss(model := tiny_model(), train_config(options), None), TinyModel)
    assert build_loss(model, train_config(options), None) is model
    for name, changes in {"plain": {}, "zero": options}.items():
        trainer(tmp_path / name, corpora, changes).run()
    assert list(weights_of(tmp_path / "zero")) == list(weights_of(tmp_path / "plain"))


def test_risk_needs_something_that_finds_candidates() -> None:
    with pytest.raises(RecipeError, match=r"train\.risk needs candidates"):
        build_loss(tiny_model(), train_config({"risk": {}}), None)


def test_the_loss_needs_a_target() -> None:
    batch = Batch(batch_of(0, 2).streams)
    for options in ({"risk": {}}, {"rdrop": 1.0}):
        with pytest.raises(ValueError, match="target"):
            build_loss(tiny_model(), train_config(options), propose)(batch)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"risk": {"weight": 1.5}}, "risk.weight"),
        ({"risk": {"sharpness": 0.0}}, "risk.sharpness"),
        ({"risk": {"cost": "meteor"}}, "risk.cost"),
        ({"risk": {"candidate": 3}}, "risk.candidate: no such option; did you mean"),
        ({"risk": {"candidates": 1}}, "one output leaves nothing to choose from"),
        ({"risk": {}, "rdrop": 1.0}, "do not go together"),
        ({"rdrop": -1.0}, "rdrop"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(RecipeError) as caught:
        train_config(options)
    assert named in str(caught.value)
