"""Adam, SGD and Adafactor, with their state by parameter name instead of by number."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from postedit.train.config import TrainConfig


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimiser of `config` over the parameters of `model` that are trained.

    Weight decay is for matrices only: pulling biases and the gains of layer norms to 0 regularises nothing.
    Where PyTorch has a fused kernel, it is used: it takes the factor of normalisation and clipping (`grad_scale`) and
    the order to leave all as it is (`found_inf`) as tensors, so that no step waits for the device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [parameter for parameter in parameters if parameter.dim() >= 2]},
        {"params": [parameter for parameter in parameters if parameter.dim() < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    decay = config.weight_decay
    match config.optimizer:
        case "adam":
            return torch.optim.Adam(groups, config.lr, config.betas, config.eps, decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, config.lr, config.betas, config.eps, decay, fused=True)
        case "sgd":
            return torch.optim.SGD(groups, config.lr, config.momentum, weight_decay=decay, fused=True)
        case "adafactor":
            return torch.optim.Adafactor(groups, config.lr, weight_decay=decay)


def step(
    optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor], divisor: Tensor, failed: Tensor, rate: float
) -> None:
    """Update the weights at learning rate `rate` by `gradients` / `divisor`; leave all as it is if `failed` is 1.

    Args:
        optimizer: of `build_optimizer`.
        gradients: of the parameters that have some; they may be changed.
        divisor: Float[].
        failed: Float[], 0 or 1.
        rate: learning rate.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    if optimizer.defaults.get("fused"):
        # The kernel divides gradients by grad_scale, and does nothing at all if found_inf is 1.
        optimizer.grad_scale = divisor  # type: ignore[attr-defined]  # read by step(), as GradScaler sets it
        optimizer.found_inf = failed  # type: ignore[attr-defined]
        optimizer.step()
    elif not failed:  # Adafactor waits for the device anyway, at each parameter
        for gradient in gradients:
            gradient.div_(divisor)
        optimizer.step()


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of `optimizer` as `parameter name/state name` -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
        if value is not None  # as what SGD has for momentum, where there is none
    }


def load_optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give `optimizer` the state that `optimizer_tensors` returned; hyperparameters stay those of its constructor."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    by_name: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        name, _, state_name = key.rpartition("/")
        by_name.setdefault(name, {})[state_name] = tensor
    order = [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[str, Any] = optimizer.state_dict()
    state["state"] = {index: by_name[name] for index, name in enumerate(order) if name in by_name}
    optimizer.load_state_dict(state)
