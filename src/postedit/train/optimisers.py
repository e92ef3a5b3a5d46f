"""Adam, with its state by parameter name instead of by number."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from postedit.train.config import TrainConfig


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """Return Adam or AdamW over the parameters of `model`.

    Weight decay is for matrices only: pulling biases and the gains of layer norms to 0 regularises nothing.
    The fused kernel is a requirement, not an option: it takes the factor of normalisation and clipping
    (`grad_scale`) and the order to leave all as it is (`found_inf`) as tensors, so that no step waits for the device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [parameter for parameter in parameters if parameter.dim() >= 2]},
        {"params": [parameter for parameter in parameters if parameter.dim() < 2], "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(
        [group for group in groups if group["params"]],
        lr=config.lr,
        betas=config.betas,
        eps=config.eps,
        weight_decay=config.weight_decay,
        fused=True,
    )


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of `optimizer` as `parameter name/state name` -> tensor."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
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
