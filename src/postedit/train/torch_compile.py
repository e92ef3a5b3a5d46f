"""Layers of a model, compiled by PyTorch while they are trained.

A layer is compiled by itself, with its sizes left open. Those of a kind share what comes of it, so there are as many
compilations as kinds of layers, not as layers or as shapes of batches (ADR 31).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.types import Batch

_MOST_KINDS = 64
"""Times that a layer's code may be compiled in a process. PyTorch stops at 8: enough for one of our models, but not if
sizes happen to be equal at first, or for models one after the other."""


def compile_layers(model: nn.Module, device: torch.device, backend: str | Callable[..., Any] = "inductor") -> None:
    """Have the layers of which a model has several compiled as soon as they are trained; see `in_update`.

    Names of weights stay, and so does what the model computes, but for rounding and the draws of dropout.

    Args:
        model: which is trained.
        device: where.
        backend: of `torch.compile`.

    Raises:
        RecipeError: if it has no such layers, or PyTorch cannot compile for the device, as it finds no compiler, say.
    """
    layers = layers_of(model)
    if not layers:
        raise RecipeError(f"train.compile: {without_layers(type(model).__name__)}")
    try:
        torch.compile(lambda x: x + x, backend=backend)(torch.ones(8, device=device))
    except Exception as error:
        raise RecipeError(
            f"train.compile: PyTorch cannot compile for {device} here ({str(error).strip().partition(chr(10))[0]}); "
            "install a C++ compiler such as g++, and for a GPU Triton, or set it to false"
        ) from error
    for layer in layers:
        layer.compile(dynamic=True, backend=backend)


def without_layers(name: str) -> str:
    """Return why the model of that name cannot be compiled."""
    return f"{name} has no stack of layers, which is what is compiled; set it to false"


def layers_of(module: nn.Module) -> list[nn.Module]:
    """Return the members of lists of modules that are called and made of others; of nested lists, the outermost."""
    found: list[nn.Module] = []
    for child in module.children():
        members = list(child) if isinstance(child, nn.ModuleList) else []
        found += members if members and all(map(_is_layer, members)) else layers_of(child)
    return found


def _is_layer(module: nn.Module) -> bool:
    return type(module).forward is not nn.Module.forward and any(True for _ in module.children())


@contextmanager
def compiled_in_updates(enabled: bool) -> Iterator[None]:
    """Let what was compiled be used in updates alone: search calls layers with ever other shapes, and rarely pays."""
    if not enabled:
        yield
        return
    # cache_size_limit: the name that all versions of PyTorch know, later ones as another for recompile_limit.
    with torch._dynamo.config.patch(cache_size_limit=_MOST_KINDS), torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def in_update(batch: Batch, enabled: bool) -> Iterator[None]:
    """Use what was compiled within this block, if `enabled`; but where a size is 1, all would be compiled anew."""
    if not enabled:
        yield
        return
    ids = [*(stream.ids for stream in batch.streams.values()), *([] if batch.target is None else [batch.target.ids])]
    with torch.compiler.set_stance("force_eager" if any(1 in text.shape for text in ids) else "default"):
        yield
