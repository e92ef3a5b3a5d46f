"""What a recurrent decoder shows to its output layer."""

import torch
from torch import Tensor, nn


class MaxoutReadout(nn.Module):
    """t = maxout(U s + V e + C c + b), the larger of each pair of units (Bahdanau et al. 2014, A.2.2)."""

    def __init__(self, state_dim: int, embedding_dim: int, context_dim: int, dim: int) -> None:
        """Create U, V and C for `dim` pairs of units; b is in U."""
        super().__init__()
        self.state = nn.Linear(state_dim, 2 * dim)
        self.embedding = nn.Linear(embedding_dim, 2 * dim, bias=False)
        self.context = nn.Linear(context_dim, 2 * dim, bias=False)
        for layer in (self.state, self.embedding, self.context):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.state.bias)

    def forward(self, s_NKD: Tensor, e_NKE: Tensor, c_NKC: Tensor) -> Tensor:
        """Return t Float[N,K,dim] from states, embeddings of the symbols read, and contexts."""
        units = self.state(s_NKD) + self.embedding(e_NKE) + self.context(c_NKC)
        largest: Tensor = torch.amax(units.unflatten(-1, (-1, 2)), -1)
        return largest
