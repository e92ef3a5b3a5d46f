"""Models made ready for inference: on a CPU weights are laid out for oneDNN once, or rounded to eight bits.

What a row of a batch gives does not depend on the others. For eight bits see `nn.int8`.
"""

from collections.abc import Callable
from typing import ClassVar, Final, Literal, TypeVar

import torch
from torch import Tensor, nn

from postedit.core.errors import DataError
from postedit.nn.heads import LayerMaker, SoftmaxHead

Precision = Literal["float32", "bf16", "int8"]

PRECISIONS: Final[tuple[Precision, ...]] = ("float32", "bf16", "int8")

_ModelT = TypeVar("_ModelT", bound=nn.Module)


def prepare_for_inference(model: _ModelT, precision: Precision = "float32") -> _ModelT:
    """Change `model` in place so that it runs fast, and return it; it can be neither trained nor saved any more.

    On a CPU large linear layers and output layers get a layout of their own. Elsewhere weights stay as they are but
    for their type.

    Raises:
        DataError: if the device cannot have that precision.
    """
    device = next(model.parameters()).device
    check_precision(precision, device)
    if precision == "bf16":
        model.to(torch.bfloat16)
    if precision == "int8":
        from postedit.nn.int8 import modules as int8  # kernels are loaded for those who need them

        _replace(model, int8.Int8TransformerStack.made_of)
        _replace_linear(model, int8.Int8Linear, int8.Int8Linear.smallest)
    elif device.type == "cpu" and _has_layouts(precision):
        _replace_linear(model, PackedLinear, PackedLinear.smallest)
    return model.requires_grad_(False)


def check_precision(precision: str, device: torch.device) -> None:
    """See to it that a model on `device` can have that precision.

    Raises:
        DataError: if not.
    """
    allowed = [one for one in PRECISIONS if one != "int8" or device.type == "cpu"]
    if precision not in allowed:
        raise DataError(f'weights of dtype "{precision}" cannot be had on {device}; use one of {", ".join(allowed)}')


def _has_layouts(precision: str) -> bool:
    """Whether oneDNN can lay out weights here; those of bf16 it can on processors with AVX-512 alone."""
    available = bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]
    return available and (precision != "bf16" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))


def _replace(model: nn.Module, make: Callable[[nn.Module], nn.Module | None], but_in: tuple[type, ...] = ()) -> None:
    """Put what `make` makes of parts of a model, if anything, in their place; not in modules of some types."""
    made: dict[nn.Module, nn.Module | None] = {}  # a part that stands in two places stays one
    for parent in list(model.modules()):
        for name, part in list(parent._modules.items()):  # not named_children, which knows only one name of each
            if part is None or isinstance(parent, but_in):
                continue
            if part not in made:
                made[part] = make(part)
            if (new := made[part]) is not None:
                parent.add_module(name, new)


def _replace_linear(model: nn.Module, make: LayerMaker, smallest: int) -> None:
    """Put layers that `make` makes in place of large linear layers, and beside the weights of large output layers."""

    def made_of(part: nn.Module) -> nn.Module | None:
        if type(part) is not nn.Linear or not _worth(part.weight, smallest):
            return None
        return make(part.weight.detach(), None if part.bias is None else part.bias.detach())

    # What stands in a dictionary is an adapter of peft's, which asks for the type of its weights.
    _replace(model, made_of, but_in=(nn.ModuleDict,))
    for part in model.modules():
        if isinstance(part, SoftmaxHead) and _worth(part.weight, smallest):
            part.prepare(make)


def _worth(weight: Tensor, smallest: int) -> bool:
    return weight.numel() >= smallest and weight.dtype in (torch.float32, torch.bfloat16)


class PackedLinear(nn.Module):
    """A linear layer as it was, up to the order in which products are added."""

    smallest: ClassVar[int] = 2**19
    """Weights. Smaller layers spend more time on being called than they save (benchmarks/inference_layers.py)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Lay out `weight` Float[out,in]; `bias` is Float[out]."""
        super().__init__()
        # In a layout of oneDNN's, and therefore in no state dict.
        self.register_buffer("weight", torch.ops.mkldnn._reorder_linear_weight(weight), persistent=False)
        self.register_buffer("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b, Float[...,out]."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result
