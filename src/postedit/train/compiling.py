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
"""Times that a layer's code may be compiled. PyTorch stops at 8, which the layers of one model may well need."""


def compile_layers(model: nn.Module, backend: str | Callable[..., Any] = "inductor") -> None:
    """Have the layers of which a model has several compiled as soon as they are trained; see `in_update`.

    Names of weights stay, and so does what the model computes, but for rounding and the draws of dropout.

    Args:
        model: which is trained.
        backend: of `torch.compile`.

    Raises:
        RecipeError: if it has no such layers.
    """
    layers = layers_of(model)
    if not layers:
        raise RecipeError(
            f"train.compile: {type(model).__name__} has no stack of layers, which is what is compiled; set it to false"
        )
    for layer in layers:
        layer.compile(dynamic=True, backend=backend)


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
    with torch._dynamo.config.patch(recompile_limit=_MOST_KINDS), torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def in_update(batch: Batch) -> Iterator[None]:
    """Use what was compiled within this block; but where a size of the batch is 1, all would be compiled anew."""
    ids = [*(stream.ids for stream in batch.streams.values()), *([] if batch.target is None else [batch.target.ids])]
    with torch.compiler.set_stance("force_eager" if any(1 in text.shape for text in ids) else "default"):
        yield
