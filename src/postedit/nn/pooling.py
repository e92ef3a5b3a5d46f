"""A character encoder with one annotation for each short segment of the text (Lee et al. 2017)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from postedit.nn.recurrent import BiGRU


class HighwayLayer(nn.Module):
    """y = t * relu(W x + b) + (1 - t) * x, with t = sigmoid(W_t x + b_t) (Srivastava et al. 2015)."""

    def __init__(self, dim: int) -> None:
        """Create both layers; b_t starts at -1, so that most of x passes at first."""
        super().__init__()
        self.change, self.gate = nn.Linear(dim, dim), nn.Linear(dim, dim)
        for layer, bias in ((self.change, 0.0), (self.gate, -1.0)):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return y, with the shape of x."""
        gate = torch.sigmoid(self.gate(x))
        return x + gate * (F.relu(self.change(x)) - x)


class PooledText(NamedTuple):
    """An encoded text of P segments."""

    annotations: Tensor  # Float[N,P,C], zero on padding
    mask: Tensor  # Bool[N,P], True where a segment has a real character


class PoolingEncoder(nn.Module):
    """Convolutions over characters, max-pooling over segments, highway layers, and a bidirectional GRU.

    Each convolution gives relu(sum over its window of W x + b) at each character; the window of width w begins
    (w - 1) // 2 characters before it, and has zeros beyond the text. The features of a segment are their maxima
    over its real characters.
    """

    def __init__(
        self, input_dim: int, filters: Sequence[int], segment: int, highway: int, dim: int, dropout: float
    ) -> None:
        """Create the layers.

        Args:
            input_dim: width of the embedding of a character.
            filters: number of filters of each window width, from width 1 on.
            segment: number of characters in a segment.
            highway: number of highway layers.
            dim: width of the states of each direction.
            dropout: rate of variational dropout on the states.
        """
        super().__init__()
        self.segment = segment
        self.convolutions = nn.ModuleList(nn.Conv1d(input_dim, count, size) for size, count in enumerate(filters, 1))
        self.highways = nn.Sequential(*(HighwayLayer(sum(filters)) for _ in range(highway)))
        self.rnn = BiGRU(sum(filters), dim, dropout)
        for layer in self.convolutions:
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]  # the weight of a Conv1d
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x_NSD: Tensor, mask_NS: Tensor) -> PooledText:
        """Encode texts with mask Bool[N,S]."""
        x_NDS = (x_NSD * mask_NS.unsqueeze(-1)).transpose(1, 2)
        features = [
            F.relu(layer(F.pad(x_NDS, (size // 2, (size + 1) // 2)))) for size, layer in enumerate(self.convolutions)
        ]
        # Features are not negative, so zeros of padding change no maximum.
        features_NFS = torch.cat(features, 1) * mask_NS.unsqueeze(1)
        mask_NP = self._divided(mask_NS).any(2)
        pooled_NPF = self._divided(features_NFS).amax(-1).transpose(1, 2)
        return PooledText(self.rnn(self.highways(pooled_NPF), mask_NP), mask_NP)

    def spread(self, weights_NKP: Tensor, mask_NS: Tensor) -> Tensor:
        """Return Float[N,K,S]: weights of segments, each divided evenly among the real characters of the segment."""
        counts_NP = self._divided(mask_NS).sum(2).clamp(min=1)
        each_NKP = weights_NKP / counts_NP.unsqueeze(1)
        return each_NKP.repeat_interleave(self.segment, 2)[..., : mask_NS.size(1)] * mask_NS.unsqueeze(1)

    def _divided(self, x: Tensor) -> Tensor:
        """Return [...,P,segment] of [...,S], with zeros (False) beyond the end."""
        padded = F.pad(x, (0, -x.size(-1) % self.segment))
        return padded.view(*padded.shape[:-1], -1, self.segment)
