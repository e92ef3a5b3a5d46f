import pytest
import torch
from tiny_run import TinyModel, tiny_model, train_config

from postedit.train.optimisers import build_optimizer, load_optimizer_tensors, optimizer_tensors, update_weights


def step(model: TinyModel, optimizer: torch.optim.Optimizer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


@pytest.mark.parametrize(
    ("kind", "momentum"),
    [("adam", 0.0), ("adamw", 0.0), ("sgd", 0.0), ("sgd", 0.9), ("adagrad", 0.0), ("adafactor", 0.0)],
)
def test_state_by_name_brings_back_the_optimizer(kind: str, momentum: float) -> None:
    config = train_config({"optimizer": kind, "weight_decay": 0.1, "momentum": momentum})
    model, other = tiny_model(), tiny_model()
    optimizer, resumed = build_optimizer(model, config), build_optimizer(other, config)
    step(model, optimizer, 1)
    tensors = {name: tensor.clone() for name, tensor in optimizer_tensors(model, optimizer).items()}
    with_state = set() if kind == "sgd" and not momentum else {name for name, _ in model.named_parameters()}
    assert {name.rpartition("/")[0] for name in tensors} == with_state
    other.load_state_dict(model.state_dict())
    load_optimizer_tensors(other, resumed, tensors)
    step(model, optimizer, 2)
    step(other, resumed, 2)
    for one, two in zip(model.parameters(), other.parameters()):
        assert torch.equal(one, two)


def test_weight_decay_is_for_matrices_only() -> None:
    model = tiny_model()
    optimizer = build_optimizer(model, train_config({"optimizer": "adamw", "weight_decay": 0.5, "lr": 0.1}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0).grad = torch.zeros_like(parameter)
    optimizer.step()
    for parameter in model.parameters():
        expected = 1.0 - 0.1 * 0.5 if parameter.dim() >= 2 else 1.0
        torch.testing.assert_close(parameter, torch.full_like(parameter, expected))


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd", "adagrad", "adafactor"])
def test_a_failed_step_changes_nothing(kind: str) -> None:
    model = tiny_model()
    optimizer = build_optimizer(model, train_config({"optimizer": kind}))
    step(model, optimizer, 1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    state = {name: tensor.clone() for name, tensor in optimizer_tensors(model, optimizer).items()}
    gradients = [torch.full_like(parameter, torch.nan) for parameter in model.parameters()]
    for parameter, gradient in zip(model.parameters(), gradients):
        parameter.grad = gradient
    update_weights(optimizer, gradients, torch.ones(()), torch.ones(()), 0.1)
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), before))
    assert all(torch.equal(tensor, state[name]) for name, tensor in optimizer_tensors(model, optimizer).items())


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd", "adagrad", "adafactor"])
def test_only_matrices_have_weight_decay_whatever_the_optimiser(kind: str) -> None:
    config = train_config({"optimizer": kind, "weight_decay": 0.3, "betas": (0.8, 0.95)})
    groups = build_optimizer(tiny_model(), config).param_groups
    decays = {(parameter.dim() >= 2, group["weight_decay"]) for group in groups for parameter in group["params"]}
    assert decays == {(True, 0.3), (False, 0.0)}
    if kind.startswith("adam"):
        assert {group["betas"] for group in groups} == {(0.8, 0.95)}
