"""Attention: additive (recurrent models) and multi-head scaled dot-product (Transformers)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from postedit.nn.dropout import dropout as drop
from postedit.nn.tensors import Packing, compute_dtype, join_rows


class KeyValueCache(Protocol):
    """Keys and values of the tokens of N rows, in all layers of a stack. Immutable: methods return new caches."""

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""

    def join(self, other: Self) -> Self:
        """Return the rows of both caches, those of `other` last."""

    def truncate(self, slots: int) -> Self:
        """Return the first `slots` slots of every row."""

    def empty(self, rows: int) -> Self:
        """Return a cache of `rows` rows without tokens."""


class KeyValue(NamedTuple):
    """Keys and values of one multi-head attention, each Float[N,H,S,E]."""

    k_NHSE: Tensor
    v_NHSE: Tensor

    def append(self, new: "KeyValue", write: Callable[[Tensor, Tensor], Tensor]) -> "KeyValue":
        """Return the keys and values with those of more tokens; see `cache.Appendable`."""
        return KeyValue(*map(write, self, new))


@dataclass(frozen=True, eq=False, slots=True)
class DenseKeyValueCache:
    """One `KeyValue` per layer; see `KeyValueCache`."""

    layers: tuple[KeyValue, ...]

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return self._map(lambda part: part[rows])

    def join(self, other: Self) -> Self:
        """Return the rows of both caches, those of `other` last."""
        pairs = zip(self.layers, other.layers, strict=True)
        return type(self)(tuple(KeyValue(*map(join_rows, *pair)) for pair in pairs))

    def truncate(self, slots: int) -> Self:
        """Return the first `slots` slots of every row."""
        return self._map(lambda part: part[:, :, :slots])

    def empty(self, rows: int) -> Self:
        """Return a cache of `rows` rows without tokens."""
        return self._map(lambda part: part.new_empty(rows, part.size(1), 0, part.size(3)))

    def _map(self, change: Callable[[Tensor], Tensor]) -> Self:
        return type(self)(tuple(KeyValue(*map(change, layer)) for layer in self.layers))


class MultiHeadAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, 3.2.2); keys and values are computed separately, for caching."""

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        """Create projections for `heads` heads of width dim / heads.

        Raises:
            ValueError: if heads does not divide dim.
        """
        super().__init__()
        if dim % heads:
            raise ValueError(f"the model width {dim} must be a multiple of the number of heads {heads}")
        self.heads, self.dropout = heads, dropout
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.output = nn.Linear(dim, dim)
        nn.init.xavier_uniform_(self.query.weight)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.xavier_uniform_(self.key_value.weight[:dim])
        nn.init.xavier_uniform_(self.key_value.weight[dim:])
        for layer in (self.query, self.key_value, self.output):
            nn.init.zeros_(layer.bias)

    def project(self, memory_NSD: Tensor, packing: Packing | None = None) -> KeyValue:
        """Return the keys and values of a text, which is packed if there is a packing."""
        k_NSD, v_NSD = _unpacked(self.key_value(memory_NSD), packing).chunk(2, -1)
        return KeyValue(split_heads(k_NSD, self.heads), split_heads(v_NSD, self.heads))

    def forward(
        self,
        x_NKD: Tensor,
        key_value: KeyValue,
        mask: Tensor | None,
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x to positions where `mask` Bool[N or 1,K or 1,S] is True (None: to all).

        Returns:
            Float[N,K,D], packed as x is, and, if asked for, the weights Float[N,K,S] averaged over heads.
        """
        q_NKD = _unpacked(self.query(x_NKD), packing)
        dropout = self.dropout if self.training else 0.0
        mixed_NKD, weights_NKS = attend(split_heads(q_NKD, self.heads), key_value, mask, dropout, need_weights)
        if packing is not None:
            mixed_NKD = packing.pack(mixed_NKD)
        return self.output(mixed_NKD), weights_NKS


def _unpacked(x: Tensor, packing: Packing | None) -> Tensor:
    return x if packing is None else packing.unpack(x)


def split_heads(x_NKD: Tensor, heads: int) -> Tensor:
    """Return Float[N,H,K,E], the part of each head."""
    rows, length, width = x_NKD.shape
    return x_NKD.view(rows, length, heads, width // heads).transpose(1, 2)


def attend(
    q_NHKE: Tensor, key_value: KeyValue, mask: Tensor | None, dropout: float = 0.0, need_weights: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Attend to positions where `mask` Bool[N or 1,K or 1,S] is True (None: to all).

    Returns:
        Float[N,K,D], the outputs of all heads concatenated, and, if asked for, the weights Float[N,K,S] averaged over
        heads.
    """
    allowed = None if mask is None else mask.unsqueeze(1)
    mixed_NHKE, weights_NHKS = dot_product_attention(q_NHKE, key_value, allowed, dropout, need_weights)
    return mixed_NHKE.transpose(1, 2).flatten(2), None if weights_NHKS is None else weights_NHKS.mean(1)


def dot_product_attention(
    q_NHKE: Tensor, key_value: KeyValue, mask: Tensor | None, dropout: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Compute scaled dot-product attention; return its weights (before dropout) if asked for.

    On a CPU, two matrix products and a softmax are faster than the fused kernel for short masked sentences.
    """
    k_NHSE, v_NHSE = key_value
    if not need_weights and q_NHKE.device.type != "cpu":
        mixed = F.scaled_dot_product_attention(q_NHKE, k_NHSE, v_NHSE, attn_mask=mask, dropout_p=dropout)
        return mixed, None
    scores_NHKS = (q_NHKE * q_NHKE.size(-1) ** -0.5) @ k_NHSE.transpose(-1, -2)
    if mask is not None:
        # Added in place: one pass over the scores, and none in the backward pass.
        scores_NHKS += torch.zeros_like(mask, dtype=scores_NHKS.dtype).masked_fill_(~mask, -math.inf)
    # Autocast would convert to single precision and back; the softmax computes in single precision anyway.
    with torch.autocast(q_NHKE.device.type, enabled=need_weights and compute_dtype(q_NHKE) != q_NHKE.dtype):
        weights_NHKS = torch.softmax(scores_NHKS, -1)
    dropped = drop(weights_NHKS.to(v_NHSE.dtype), dropout, training=True)
    return dropped @ v_NHSE, weights_NHKS if need_weights else None


class AdditiveAttention(nn.Module):
    """e = v tanh(U s + W h + b), softmax over positions (Junczys-Dowmunt and Grundkiewicz 2017, 3: ATT).

    The bias b belongs to W. A bias after v would not change the softmax, so there is none.
    """

    def __init__(self, state_dim: int, annotation_dim: int, dim: int) -> None:
        """Create U, W and v for attention of width `dim`."""
        super().__init__()
        self.state = nn.Linear(state_dim, dim, bias=False)
        self.annotation = nn.Linear(annotation_dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        for layer in (self.state, self.annotation, self.score):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.annotation.bias)

    def project(self, annotations_NSC: Tensor) -> Tensor:
        """Return the keys W h + b, Float[N,S,A], which do not depend on the state."""
        projected: Tensor = self.annotation(annotations_NSC)
        return projected

    def forward(
        self, state_ND: Tensor, keys_NSA: Tensor, annotations_NSC: Tensor, mask_NS: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the context Float[N,C] and the weights Float[N,S]."""
        hidden_NSA = torch.tanh(self.state(state_ND).unsqueeze(1) + keys_NSA)
        scores_NS = self.score(hidden_NSA).squeeze(-1).masked_fill(~mask_NS, -math.inf)
        weights_NS = torch.softmax(scores_NS, -1)
        context_NC = torch.bmm(weights_NS.to(annotations_NSC.dtype).unsqueeze(1), annotations_NSC).squeeze(1)
        return context_NC, weights_NS
