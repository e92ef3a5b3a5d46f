"""Flat attention (Libovický and Helcl 2017, as Jauregi Unanue et al. 2018, 2.1, have it): eq. 5 and 6."""

from collections.abc import Mapping
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from postedit.core.types import AttentionKey
from postedit.models.bases.shared_lstm import LSTMModel, general_scores, weighted_sum
from postedit.nn.memory import Memory

_BOTH = AttentionKey("src+mt", "soft")


class FlatAttention(LSTMModel):
    """e_k = s^T W_k h_k; alpha = softmax over the positions of both texts (eq. 5); c = sum alpha U_k h_k (eq. 6).

    Each text k has its own W and its own projection U. What the paper leaves open is said in `LSTMModel`.
    """

    keys: ClassVar = frozenset({_BOTH})

    def build_attention(self, dim: int) -> None:
        """Create W and U of each text."""
        self.scores = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})
        self.projections = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Keep W h and U h of both texts, one after the other."""
        keys = [cast(Tensor, self.scores[name](texts[name])) for name in self.inputs]
        values = [cast(Tensor, self.projections[name](texts[name])) for name in self.inputs]
        mask = torch.cat([masks[name] for name in self.inputs], 1)
        return {"keys": torch.cat(keys, 1), "values": torch.cat(values, 1), "mask": mask}

    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend to both texts with one softmax."""
        weights_NS = general_scores(s_ND, memory["keys"], memory["mask"]).softmax(-1)
        return weighted_sum(weights_NS, memory["values"]), {_BOTH: weights_NS}
