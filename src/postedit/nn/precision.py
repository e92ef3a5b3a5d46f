"""Number types under automatic mixed precision."""

import torch
from torch import Tensor


def compute_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type that matrix products of `tensor` have: that of autocast where it is on."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype


def as_factor(x: Tensor) -> Tensor:
    """Return x in the type of its matrix products, so that autocast need not convert it for each of several ones."""
    return x.to(compute_dtype(x))


def at_least_float(dtype: torch.dtype) -> torch.dtype:
    """Return single precision for a narrower type, else the type itself."""
    return torch.promote_types(dtype, torch.float32)
