"""Embedding tables, which may be shared between streams, and sinusoidal positions."""

import math
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import Vocabularies
from postedit.core.special_tokens import PAD

Sharing = Literal["none", "mt-pe", "all"]

_SHARED_STREAMS: dict[Sharing, tuple[str, ...]] = {"none": (), "mt-pe": ("mt",), "all": ("mt", "src")}


def embedding_tables(
    vocabularies: Vocabularies, inputs: tuple[str, ...], dim: int, sharing: Sharing
) -> tuple[dict[str, nn.Embedding], nn.Embedding]:
    """Return a table for each input stream, by name, and that of the target; a shared table is one module.

    Raises:
        RecipeError: if streams that must share a table have different vocabularies.
    """
    target = nn.Embedding(vocabularies.target.size, dim, padding_idx=PAD)
    streams = {}
    for name in inputs:
        vocabulary = vocabularies.streams[name]
        if name not in _SHARED_STREAMS[sharing]:
            streams[name] = nn.Embedding(vocabulary.size, dim, padding_idx=PAD)
        else:
            require_one_vocabulary(vocabularies, name, f'model.share_embeddings = "{sharing}"')
            streams[name] = target
    return streams, target


def require_one_vocabulary(vocabularies: Vocabularies, name: str, what: str) -> None:
    """Raise a RecipeError that begins with `what`, which needs it, unless stream `name` has the vocabulary of pe."""
    text, pe = vocabularies.streams[name], vocabularies.target
    if text != pe:
        sharing = '"joint" or "mt-pe"' if name == "mt" else '"joint"'
        raise RecipeError(
            f"{what} needs one vocabulary for {name} and pe, but they differ ({text.size} and {pe.size} tokens); "
            f"set text.vocabulary.sharing to {sharing}"
        )


def sinusoids(positions: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """Return the positional encoding Float[*,dim] of positions Long[*] (Vaswani et al. 2017, 3.5).

    All sines come before all cosines, a permutation of the paper's interleaved dimensions.
    """
    angles = positions.unsqueeze(-1) * _rates(dim, torch.promote_types(dtype, torch.float32), positions.device)
    return torch.cat([angles.sin(), angles.cos()], -1)[..., :dim].to(dtype)


@lru_cache(maxsize=16)
def _rates(dim: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return Float[ceil(dim / 2)]: by how much the angle of each sine grows per position."""
    with torch.inference_mode(False):  # a search may create the cached tensor, and training use it later
        return torch.exp(torch.arange((dim + 1) // 2, device=device, dtype=dtype) * (-math.log(10_000.0) * 2.0 / dim))
