"""Attention: additive (recurrent models) and multi-head scaled dot-product (Transformers)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from postedit.nn.cache import KeyValue
from postedit.nn.dropout import dropout
from postedit.nn.tensors import Packing, at_least_float, compute_dtype


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
        """Return the keys and values of a text; with a packing, `memory_NSD` is packed, Float[1,M,D]."""
        projected = self.key_value(memory_NSD)
        k_NSD, v_NSD = (projected if packing is None else packing.unpack(projected)).chunk(2, -1)
        return KeyValue(self._split_heads(k_NSD), self._split_heads(v_NSD))

    def forward(
        self,
        x_NKD: Tensor,
        key_value: KeyValue,
        mask: Tensor | None,
        need_weights: bool = False,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x to the positions where `mask` Bool[N or 1,K or 1,S] is True; None: to all positions.

        Returns:
            The output Float[N,K,D], packed if x is, and, if needed, the weights Float[N,K,S] averaged over heads.
        """
        projected = self.query(x_NKD)
        q_NHKE = self._split_heads(projected if packing is None else packing.unpack(projected))
        dropout_rate, allowed = self.dropout if self.training else 0.0, None if mask is None else mask.unsqueeze(1)
        mixed_NHKE, weights_NHKS = dot_product_attention(q_NHKE, key_value, allowed, dropout_rate, need_weights)
        mixed_NKD = mixed_NHKE.transpose(1, 2).flatten(2)
        if packing is not None:
            mixed_NKD = packing.pack(mixed_NKD)
        return self.output(mixed_NKD), None if weights_NHKS is None else weights_NHKS.mean(1)

    def head_log_weights(self, x_NKD: Tensor, key_value: KeyValue, mask: Tensor, head: int) -> Tensor:
        """Return Float[N,K,S], at least in single precision, also under autocast: the log weights of one head."""
        q_NKE, k_NSE = self._split_heads(self.query(x_NKD))[:, head], key_value.k_NHSE[:, head]
        precision = at_least_float(q_NKE.dtype)
        with torch.autocast(x_NKD.device.type, enabled=False):
            scores_NKS = torch.bmm(q_NKE.to(precision) * q_NKE.size(-1) ** -0.5, k_NSE.to(precision).transpose(1, 2))
        return scores_NKS.masked_fill(~mask, -math.inf).log_softmax(-1)

    def _split_heads(self, x_NKD: Tensor) -> Tensor:
        rows, length, width = x_NKD.shape
        return x_NKD.view(rows, length, self.heads, width // self.heads).transpose(1, 2)


def dot_product_attention(
    q_NHKE: Tensor, key_value: KeyValue, mask: Tensor | None, dropout_rate: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the output Float[N,H,K,E] of scaled dot-product attention, and the weights before dropout or None.

    On a CPU, two matrix products and a softmax are faster than the fused kernel for short masked sentences.
    """
    k_NHSE, v_NHSE = key_value
    if not need_weights and q_NHKE.device.type != "cpu":
        mixed = F.scaled_dot_product_attention(q_NHKE, k_NHSE, v_NHSE, attn_mask=mask, dropout_p=dropout_rate)
        return mixed, None
    scores_NHKS = (q_NHKE * q_NHKE.size(-1) ** -0.5) @ k_NHSE.transpose(-1, -2)
    if mask is not None:
        # Added in place: one pass over the scores, and none in the backward pass.
        scores_NHKS += torch.zeros_like(mask, dtype=scores_NHKS.dtype).masked_fill_(~mask, -math.inf)
    # Autocast would convert to single precision and back; the softmax computes in single precision anyway.
    with torch.autocast(q_NHKE.device.type, enabled=need_weights and compute_dtype(q_NHKE) != q_NHKE.dtype):
        weights_NHKS = torch.softmax(scores_NHKS, -1)
    dropped = dropout(weights_NHKS.to(v_NHSE.dtype), dropout_rate, training=True)
    return dropped @ v_NHSE, weights_NHKS if need_weights else None


class AdditiveAttention(nn.Module):
    """e = v tanh(U s + W h + b), softmax over positions (Junczys-Dowmunt and Grundkiewicz 2017, 3: ATT).

    The bias b belongs to W. A bias after v would not change the softmax, so there is none. With coverage,
    e = v tanh(U s + W h + w_c c + b), where c is a number for each position (See et al. 2017, eq. 11); w_c starts at
    zero, so that training with coverage can start from a model without it.
    """

    def __init__(self, state_dim: int, annotation_dim: int, dim: int, coverage: bool = False) -> None:
        """Create U, W and v for attention of width `dim`, and w_c if there is coverage."""
        super().__init__()
        self.state = nn.Linear(state_dim, dim, bias=False)
        self.annotation = nn.Linear(annotation_dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        for layer in (self.state, self.annotation, self.score):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.annotation.bias)
        self.coverage = nn.Parameter(torch.zeros(dim)) if coverage else None

    def project(self, annotations_NSC: Tensor) -> Tensor:
        """Return the keys W h + b, Float[N,S,A], which do not depend on the state."""
        keys_NSA: Tensor = self.annotation(annotations_NSC)
        return keys_NSA

    def forward(
        self, state_ND: Tensor, keys_NSA: Tensor, annotations_NSC: Tensor, mask_NS: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the context Float[N,C] and the weights Float[N,S]."""
        weights_NS = torch.softmax(self.scores(state_ND, keys_NSA, mask_NS), -1)
        return weighted_sum(weights_NS, annotations_NSC), weights_NS

    def scores(self, state_ND: Tensor, keys_NSA: Tensor, mask_NS: Tensor, coverage_NS: Tensor | None = None) -> Tensor:
        """Return e Float[N,S], -inf on padding; `coverage_NS` is c; None: 0."""
        inner_NSA = self.state(state_ND).unsqueeze(1) + keys_NSA
        if self.coverage is not None and coverage_NS is not None:
            inner_NSA = inner_NSA + (coverage_NS.unsqueeze(-1) * self.coverage).to(inner_NSA.dtype)
        scores_NS: Tensor = self.score(torch.tanh(inner_NSA)).squeeze(-1)
        return scores_NS.masked_fill(~mask_NS, -math.inf)


def general_attention(s_NKD: Tensor, keys_NSD: Tensor, values_NSC: Tensor, mask_NS: Tensor) -> tuple[Tensor, Tensor]:
    """Return contexts Float[N,K,C] and weights Float[N,K,S] for scores s^T k, k = W h (Luong et al. 2015, 3.1)."""
    scores_NKS = torch.bmm(s_NKD.to(keys_NSD.dtype), keys_NSD.transpose(1, 2))
    weights_NKS = scores_NKS.masked_fill(~mask_NS.unsqueeze(1), -math.inf).softmax(-1)
    return torch.bmm(weights_NKS.to(values_NSC.dtype), values_NSC), weights_NKS


def weighted_sum(weights_NS: Tensor, annotations_NSC: Tensor) -> Tensor:
    """Return the context Float[N,C], the sum of the annotations times their weights."""
    return torch.bmm(weights_NS.to(annotations_NSC.dtype).unsqueeze(1), annotations_NSC).squeeze(1)
