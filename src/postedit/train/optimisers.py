"""Optimisers and their state by parameter name, learning rate schedules, and frozen parameters."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

from postedit.core.errors import RecipeError, nearest
from postedit.core.model import Seq2Seq
from postedit.train.config import TrainConfig
from postedit.train.train_state import Plateau

_FIRST_SQUARES = 0.1
"""Sums of squares that Adagrad starts with, so that first updates are no larger than later ones."""


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Exclude from training all parameters with a name that matches one of `patterns` (`embed*`, `*.bias`).

    Raises:
        RecipeError: if a pattern matches no name, or nothing is left to train.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))  # a shared one has several names
    for pattern in patterns:
        matching = [name for name in parameters if fnmatchcase(name, pattern)]
        if not matching:
            modules = dict.fromkeys(name.rpartition(".")[0] for name in parameters if "." in name)
            near = nearest(pattern.replace("*", ""), [*modules, *parameters])
            parts = ", ".join(f"{part}*" for part in dict.fromkeys(name.partition(".")[0] for name in parameters))
            raise RecipeError(f'no parameter is called "{pattern}"{near} (known here: {parts})')
        for name in matching:
            parameters[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise RecipeError("nothing is left to train; leave out a pattern")


def frozen_names(model: Seq2Seq, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of parameters that are not trained, by the reason: `train.freeze`, or the model freezes them."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    frozen = [name for name in parameters if any(fnmatchcase(name, pattern) for pattern in patterns)]
    tables = [table.weight for table in model.embeddings().values() if not table.weight.requires_grad]
    inherited = [name for name, one in parameters.items() if any(one is table for table in tables)]
    return {"train.freeze": frozen, "frozen embeddings": [name for name in inherited if name not in frozen]}


def learning_rate(config: TrainConfig, step: int, plateau: Plateau) -> float:
    """Return the learning rate of update number `step`, counted from 1; before the first update, that of the first.

    All schedules rise linearly to `config.lr` over the warm-up. The inverse square root then falls as in Vaswani et
    al. 2017, 5.3, except that its peak is `lr` and does not depend on the width of the model. The linear schedule
    falls to 0 at the update after `config.max_steps`.
    """
    step = max(step, 1)
    if step < config.warmup_steps:
        return config.lr * step / config.warmup_steps
    match config.schedule:
        case "constant":
            return config.lr
        case "inverse-sqrt":
            return config.lr * sqrt(max(config.warmup_steps, 1) / step)
        case "linear":
            assert config.max_steps is not None, "TrainConfig sees to it"
            end = config.max_steps + 1
            return config.lr * max(end - step, 0) / max(end - max(config.warmup_steps, 1), 1)
        case "plateau":
            return config.lr * config.plateau_factor**plateau.reductions


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimiser of `config` over the parameters of `model` that are trained.

    Only matrices have weight decay: pulling biases and the gains of layer norms to 0 regularises nothing.
    Adam and SGD use PyTorch's fused kernels. These take the factor of normalisation and clipping (`grad_scale`) and
    the flag to change nothing (`found_inf`) as tensors, so no step waits for the device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = {"params": [parameter for parameter in parameters if parameter.dim() >= 2]}
    others = {"params": [parameter for parameter in parameters if parameter.dim() < 2], "weight_decay": 0.0}
    groups: list[dict[str, Any]] = [group for group in (matrices, others) if group["params"]]
    decay = config.weight_decay
    match config.optimizer:
        case "adam":
            return torch.optim.Adam(groups, config.lr, config.betas, config.eps, decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, config.lr, config.betas, config.eps, decay, fused=True)
        case "sgd":
            return torch.optim.SGD(groups, config.lr, config.momentum, weight_decay=decay, fused=True)
        case "adagrad":
            start = _FIRST_SQUARES
            return torch.optim.Adagrad(groups, config.lr, weight_decay=decay, initial_accumulator_value=start)
        case "adafactor":
            return torch.optim.Adafactor(groups, config.lr, weight_decay=decay)


def update_weights(
    optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor], divisor: Tensor, failed: Tensor, rate: float
) -> None:
    """Update the weights by `gradients` / `divisor`, unless the scalar `failed` is 1; may overwrite the gradients."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    if optimizer.defaults.get("fused"):
        # The kernel divides gradients by grad_scale, and does nothing if found_inf is 1.
        optimizer.grad_scale = divisor  # type: ignore[attr-defined]  # read by step(), as GradScaler sets it
        optimizer.found_inf = failed  # type: ignore[attr-defined]
        optimizer.step()
    elif not failed:  # Adagrad and Adafactor wait for the device anyway, at each parameter
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
        if value is not None  # SGD without momentum has None for it
    }


def load_optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load the state that `optimizer_tensors` returned; hyperparameters remain those of `optimizer`."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    by_name: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        name, _, state_name = key.rpartition("/")
        by_name.setdefault(name, {})[state_name] = tensor
    order = [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[str, Any] = optimizer.state_dict()
    state["state"] = {index: by_name[name] for index, name in enumerate(order) if name in by_name}
    optimizer.load_state_dict(state)
