"""Preparation of models for inference: on a CPU, weights are laid out once for oneDNN, or quantised to eight bits.

The result of a row does not depend on other rows of the batch. For 8-bit weights, see `nn.int8`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, Final, Literal, TypeVar

import torch
from torch import Tensor, nn

from postedit.core.errors import DataError
from postedit.nn.heads import LinearFactory, SoftmaxHead

Precision = Literal["float32", "bf16", "int8"]

PRECISIONS: Final[tuple[Precision, ...]] = ("float32", "bf16", "int8")

_ModelT = TypeVar("_ModelT", bound=nn.Module)


def prepare_for_inference(model: _ModelT, precision: Precision = "float32") -> _ModelT:
    """Change `model` in place so that it runs fast, and return it; afterwards it can be neither trained nor saved.

    On a CPU, large linear layers and output layers are replaced. On other devices only the type of the weights changes.

    Raises:
        DataError: if the device does not support that precision.
    """
    device = next(model.parameters()).device
    check_precision(precision, device)
    if precision == "bf16":
        model.to(torch.bfloat16)
    if precision == "int8":
        from postedit.nn.int8 import Int8Linear, Int8TransformerStack  # loads compiled kernels

        _replace(model, Int8TransformerStack.from_stack)
        _replace_linear(model, Int8Linear, Int8Linear.min_weights)
    elif device.type == "cpu" and _has_layouts(precision):
        _replace_linear(model, PackedLinear, PackedLinear.min_weights)
    return model.requires_grad_(False)


@dataclass(slots=True)
class _Evaluated:
    """A model in evaluation mode: its parts that were in training mode, and the number of blocks that need it so."""

    training: list[nn.Module]
    blocks: int = 0


_evaluated: Final[dict[nn.Module, _Evaluated]] = {}
_turn: Final = Lock()  # guards `_evaluated`, and the modes of the models in it


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch off the dropout of a model that is being trained within the block; each part gets its own mode back.

    Threads may share a model: it stays in this mode until the last of their blocks ends.
    """
    with _turn:
        if model not in _evaluated:
            _evaluated[model] = _Evaluated([part for part in model.modules() if part.training])
        found = _evaluated[model]
        found.blocks += 1
        _set_modes(found.training, is_training=False)
    try:
        yield
    finally:
        with _turn:
            found.blocks -= 1
            if not found.blocks:
                _set_modes(found.training, is_training=True)
                del _evaluated[model]


def _set_modes(parts: Iterable[nn.Module], *, is_training: bool) -> None:
    for part in parts:
        part.training = is_training


def check_precision(precision: str, device: torch.device) -> None:
    """Check that `device` supports a precision.

    Raises:
        DataError: if `device` does not support it.
    """
    allowed = [one for one in PRECISIONS if one != "int8" or device.type == "cpu"]
    if precision not in allowed:
        raise DataError(f'weights of dtype "{precision}" cannot be had on {device}; use one of {", ".join(allowed)}')


def _has_layouts(precision: str) -> bool:
    """Return whether oneDNN can lay out weights here; for bf16 it needs AVX-512."""
    available = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]
    return available and (precision != "bf16" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))


def _replace(model: nn.Module, make: Callable[[nn.Module], nn.Module | None], except_in: tuple[type, ...] = ()) -> None:
    """Replace each part of a model by `make(part)` unless that is None, except in modules of types `except_in`."""
    made: dict[nn.Module, nn.Module | None] = {}  # a part used in two places stays one module
    for parent in list(model.modules()):
        for name, part in list(parent._modules.items()):  # named_children skips repeated modules
            if part is None or isinstance(parent, except_in):
                continue
            if part not in made:
                made[part] = make(part)
            if (new := made[part]) is not None:
                parent.add_module(name, new)


def _replace_linear(model: nn.Module, factory: LinearFactory, min_weights: int) -> None:
    """Replace large linear layers, and add layers beside the weights of large output layers, using `factory`."""

    def replacement(part: nn.Module) -> nn.Module | None:
        if type(part) is not nn.Linear or not _is_large(part.weight, min_weights):
            return None
        return factory(part.weight.detach(), None if part.bias is None else part.bias.detach())

    # A ModuleDict holds adapters of peft, which read the type of their weights. In evaluation mode, PyTorch's encoder
    # layer passes the weights of its linear layers to one kernel, which knows no other layout.
    _replace(model, replacement, except_in=(nn.ModuleDict, nn.TransformerEncoderLayer))
    for part in model.modules():
        if isinstance(part, SoftmaxHead) and _is_large(part.weight, min_weights):
            part.use_linear_layers(factory)


def _is_large(weight: Tensor, min_weights: int) -> bool:
    return weight.numel() >= min_weights and weight.dtype in (torch.float32, torch.bfloat16)


class PackedLinear(nn.Module):
    """A linear layer in oneDNN's layout; equal to the original up to the order of additions."""

    min_weights: ClassVar[int] = 2**19
    """Layers with fewer weights lose more time on the call than they save (benchmarks/inference_layers.py)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Lay out `weight` Float[out,in]; `bias` is Float[out] or None."""
        super().__init__()
        # The layout is private to oneDNN, so the weights are in no state dict.
        self.register_buffer("weight", torch.ops.mkldnn._reorder_linear_weight(weight), persistent=False)
        self.register_buffer("bias", bias)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copying and pickling, with the weights in the plain layout, as bytes in an array.

        PyTorch would share the memory of a tensor with a spawned process, but that of a new one is gone by then.
        """
        weight = self.weight.to_dense()
        stored = weight.view(torch.uint8).numpy(), weight.dtype
        return {**self.__dict__, "_buffers": {**self._buffers, "weight": stored}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a state, and lay out its weights again."""
        array, dtype = state["_buffers"]["weight"]
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.weight = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(array).view(dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result
