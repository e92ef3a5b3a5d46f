"""Outputs of networks from the Transformers library, whose rows are not numbered like tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import torch
from torch import Tensor

from postedit.core.special_tokens import BOS, PAD, SEP, STEP, UNK
from postedit.core.transformers_checkpoint import RowNumbering
from postedit.core.types import LabelLoss, Shortlist
from postedit.nn.heads import SoftmaxDistribution
from postedit.nn.tensors import at_least_float

_EXCLUDED_BIAS: Final = -100.0
"""Added to the logits of tokens that occur in no text; finite, because label smoothing uses their log-probabilities."""

_SHORTLIST_POSITIONS: Final = 64
"""Number of positions (dimension 0, after `at`) whose logits of all tokens are held at a time."""


def exclusion_bias(numbering: RowNumbering, controls: Sequence[int]) -> Tensor:
    """Return Float[rows], a bias for logits that excludes tokens that occur in no text.

    Excluded are the rows `controls`, BOS, STEP and SEP, and PAD and UNK unless the checkpoint has them itself.
    """
    table = numbering.table()
    bias = torch.zeros(max(table) + 1)
    bias[[table[BOS], table[STEP], table[SEP], *controls]] = _EXCLUDED_BIAS
    for token, own in ((PAD, numbering.pad), (UNK, numbering.unk)):
        if own is None:
            bias[table[token]] = _EXCLUDED_BIAS
    return bias


@dataclass(frozen=True, eq=False, slots=True)
class RenumberedDistribution:
    """A distribution over tokens, from one over the rows of a network; `rows` Long[V] has the row of each token."""

    of_rows: SoftmaxDistribution
    rows: Tensor

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V]."""
        return self.of_rows.log_probs().index_select(-1, self.rows)

    def at(self, mask: Tensor) -> Self:
        """Return the distributions at the M positions where `mask` Bool[N,K] is True, in order, with shape [M,1]."""
        return type(self)(self.of_rows.at(mask), self.rows)

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        # Weights that are laid out for inference have no rows to choose from, so logits of all tokens are computed.
        columns, features_NKD = self.rows[shortlist.token_ids], self.of_rows.features_NKD
        parts = torch.split(features_NKD, _SHORTLIST_POSITIONS)
        logits = [replace(self.of_rows, features_NKD=part).logits().index_select(-1, columns) for part in parts]
        return shortlist.normalised(torch.cat(logits).to(at_least_float(logits[0].dtype)))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True; see `core.types.Distribution`."""
        return self.of_rows.label_loss(self.rows[labels], mask, smoothing)


def text_attention(w_NKP: Tensor, positions: Tensor, real: Tensor) -> Tensor:
    """Return Float[N,K,S], the attention to the texts within a longer input, renormalised over the texts.

    Args:
        w_NKP: attention to all P positions of the input.
        positions: Long[N,S], the input position of each position of the texts; arbitrary at padding.
        real: Bool[N,S], False at padding.
    """
    w_NKS = w_NKP.gather(2, positions.unsqueeze(1).expand(-1, w_NKP.size(1), -1))
    w_NKS = w_NKS.masked_fill(~real.unsqueeze(1), 0.0)
    total = w_NKS.sum(-1, keepdim=True)
    # A sliding window may leave out all texts. Nothing is known then, so the weights are equal.
    equal = real.unsqueeze(1) / real.sum(-1)[:, None, None]
    return torch.where(total > torch.finfo(total.dtype).tiny, w_NKS / total, equal.to(total.dtype))
