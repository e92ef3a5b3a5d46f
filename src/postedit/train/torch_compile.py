"""Layers of a model, compiled by PyTorch for training.

Each layer is compiled on its own, with dynamic sizes. Layers of a kind share the compiled code, so the number of
compilations depends on the kinds of layers, not on the number of layers or the shapes of batches (ADR 31).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.types import Batch

_MOST_KINDS = 64
"""How often PyTorch may compile the code of a layer in a process. Its default of 8 suffices for one of our models, but
not if sizes happen to be equal at first, or for several models one after the other."""


def compile_layers(model: nn.Module, device: torch.device, backend: str | Callable[..., Any] = "inductor") -> None:
    """Compile the layers in the stacks of a model when they are first trained; see `in_update`.

    Names of weights do not change, nor do results, except for rounding and the random numbers of dropout.

    Args:
        model: the model to train.
        device: the device of the model.
        backend: backend of `torch.compile`.

    Raises:
        RecipeError: if the model has no stack of layers, or PyTorch cannot compile for the device, for example because
            it finds no compiler.
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
    """Return the message for a model without a stack of layers."""
    return f"{name} has no stack of layers, which is what is compiled; set it to false"


def layers_of(module: nn.Module) -> list[nn.Module]:
    """Return the members of the outermost `ModuleList`s in which every member has a `forward` and children."""
    found: list[nn.Module] = []
    for child in module.children():
        members = list(child) if isinstance(child, nn.ModuleList) else []
        found += members if members and all(map(_is_layer, members)) else layers_of(child)
    return found


def _is_layer(module: nn.Module) -> bool:
    return type(module).forward is not nn.Module.forward and any(True for _ in module.children())


@contextmanager
def compiled_in_updates(enabled: bool) -> Iterator[None]:
    """Within the block, use compiled code only under `in_update`: with the many shapes of search, it rarely pays."""
    if not enabled:
        yield
        return
    # cache_size_limit: the name that all versions of PyTorch know; later ones call it recompile_limit too.
    with torch._dynamo.config.patch(cache_size_limit=_MOST_KINDS), torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def in_update(batch: Batch, enabled: bool) -> Iterator[None]:
    """Use compiled code within this block, if `enabled` and no size is 1, for which PyTorch would compile again."""
    if not enabled:
        yield
        return
    ids = [*(stream.ids for stream in batch.streams.values()), *([] if batch.target is None else [batch.target.ids])]
    with torch.compiler.set_stance("force_eager" if any(1 in text.shape for text in ids) else "default"):
        yield
