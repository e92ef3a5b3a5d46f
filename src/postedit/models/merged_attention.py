"""Merged attention (Chatterjee et al. 2017, as Jauregi Unanue et al. 2018, 2.1, have it): eq. 4."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from postedit.core.types import AttentionKey
from postedit.models.bases.shared_lstm import LSTMModel, general_scores, weighted_sum
from postedit.nn.memory import Memory

_KEYS = {name: AttentionKey(name, "soft") for name in ("src", "mt")}


class MergedAttention(LSTMModel):
    """c_k = sum softmax(s^T W_k h_k) h_k of each text k; c = [c_src; c_mt] W_ct + b_ct (eq. 4).

    What the paper leaves open is said in `LSTMModel`.
    """

    keys: ClassVar = frozenset(_KEYS.values())

    def build_attention(self, dim: int) -> None:
        """Create W of each text, and the merging layer."""
        self.scores = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})
        self.merge = nn.Linear(len(self.inputs) * dim, dim)

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Keep annotations and W h of both texts."""
        tensors: dict[str, Tensor] = {}
        for name in self.inputs:
            tensors[f"{name}.annotations"] = texts[name]
            tensors[f"{name}.keys"] = self.scores[name](texts[name])
            tensors[f"{name}.mask"] = masks[name]
        return tensors

    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend to each text, and merge what is found."""
        contexts, weights = [], {}
        for name in self.inputs:
            weights_NS = general_scores(s_ND, memory[f"{name}.keys"], memory[f"{name}.mask"]).softmax(-1)
            contexts.append(weighted_sum(weights_NS, memory[f"{name}.annotations"]))
            weights[_KEYS[name]] = weights_NS
        return self.merge(torch.cat(contexts, -1)), weights
