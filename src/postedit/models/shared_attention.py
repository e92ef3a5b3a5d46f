"""Shared attention (Jauregi Unanue et al. 2018, 3): one attention over the states of both encoders."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from postedit.core.types import AttentionKey
from postedit.models.bases.shared_lstm import LSTMModel, general_scores, weighted_sum
from postedit.nn.memory import Memory

_BOTH = AttentionKey("src+mt", "soft")


class SharedAttention(LSTMModel):
    """h_join = {h_src; h_mt} (eq. 8); e = s^T W h_join (eq. 9), alpha = softmax(e) over both (eq. 10), c = sum alpha h.

    What the paper leaves open is said in `LSTMModel`.
    """

    keys: ClassVar = frozenset({_BOTH})

    def build_attention(self, dim: int) -> None:
        """Create W."""
        self.score = nn.Linear(dim, dim, bias=False)

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Keep all annotations one after the other, and W h."""
        annotations_NSD = torch.cat([texts[name] for name in self.inputs], 1)
        mask = torch.cat([masks[name] for name in self.inputs], 1)
        return {"annotations": annotations_NSD, "keys": self.score(annotations_NSD), "mask": mask}

    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend to both texts as one."""
        weights_NS = general_scores(s_ND, memory["keys"], memory["mask"]).softmax(-1)
        return weighted_sum(weights_NS, memory["annotations"]), {_BOTH: weights_NS}
