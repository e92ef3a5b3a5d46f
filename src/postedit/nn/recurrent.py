"""Recurrent layers: the GRU of the papers, bidirectional encoders, a maxout readout, and a decoder state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from postedit.nn.dropout import keep_mask
from postedit.nn.memory import Memory
from postedit.nn.tensors import join_rows


class GRUCell(nn.Module):
    """The GRU of Junczys-Dowmunt and Grundkiewicz 2017, equation 1, with biases.

    r = sigma(W_r x + U_r s), z = sigma(W_z x + U_z s), n = tanh(W x + r * (U s)), s' = (1 - z) * n + z * s. The
    products with x do not depend on s, so `project` computes them for many steps at once.
    """

    def __init__(self, input_dim: int, dim: int) -> None:
        """Create the weights, stacked in the order r, z, n."""
        super().__init__()
        self.input = nn.Linear(input_dim, 3 * dim)
        self.state = nn.Linear(dim, 3 * dim)
        for block in self.input.weight.chunk(3):
            nn.init.xavier_uniform_(block)
        for block in self.state.weight.chunk(3):
            nn.init.orthogonal_(block)
        nn.init.zeros_(self.input.bias)
        nn.init.zeros_(self.state.bias)

    def project(self, x: Tensor) -> Tensor:
        """Return W x, Float[...,3D]."""
        projected: Tensor = self.input(x)
        return projected

    def forward(self, projected: Tensor, s_ND: Tensor, state_mask: Tensor | None = None) -> Tensor:
        """Return s' given W x Float[N,3D] and s; `state_mask` Float[N,D] drops units of s inside the gates."""
        seen_ND = s_ND if state_mask is None else s_ND * state_mask
        x_r, x_z, x_n = projected.chunk(3, -1)
        s_r, s_z, s_n = self.state(seen_ND).chunk(3, -1)
        r, z = torch.sigmoid(x_r + s_r), torch.sigmoid(x_z + s_z)
        n = torch.tanh(x_n + r * s_n)
        return n + z * (s_ND - n)


class BiGRU(nn.Module):
    """Two GRUs that read a text in both directions; an annotation is both states at a position, [forward; backward].

    The backward GRU reads each row reversed within its own length, so neither GRU reads padding before a real token.
    """

    def __init__(self, input_dim: int, dim: int, dropout: float) -> None:
        """Create both cells; in training `dropout` drops the same units of the state at every step of a row."""
        super().__init__()
        self.dim, self.dropout = dim, dropout
        self.forwards = GRUCell(input_dim, dim)
        self.backwards = GRUCell(input_dim, dim)

    def forward(self, x_NSD: Tensor, mask_NS: Tensor) -> Tensor:
        """Return annotations Float[N,S,2*dim], zero on padding."""
        reverse_NS = _reversal(mask_NS)
        index = reverse_NS.unsqueeze(-1)
        backwards_in = x_NSD.gather(1, index.expand_as(x_NSD))
        forwards = self._run(self.forwards, x_NSD)
        backwards = self._run(self.backwards, backwards_in)
        backwards = backwards.gather(1, index.expand_as(backwards))
        return torch.cat([forwards, backwards], -1) * mask_NS.unsqueeze(-1)

    def _run(self, cell: GRUCell, x_NSD: Tensor) -> Tensor:
        rows = x_NSD.size(0)
        projected = cell.project(x_NSD)
        state = projected.new_zeros(rows, self.dim)
        dropping = self.training and self.dropout > 0.0
        state_mask = keep_mask(state, (rows, self.dim), self.dropout) if dropping else None
        states = []
        for step in projected.unbind(1):
            state = cell(step, state, state_mask)
            states.append(state)
        return torch.stack(states, 1)


def _reversal(mask_NS: Tensor) -> Tensor:
    """Return Long[N,S]: the indices that reverse the real tokens of each row and leave padding in place."""
    positions = torch.arange(mask_NS.size(1), device=mask_NS.device).unsqueeze(0)
    mirrored = mask_NS.sum(1, keepdim=True) - 1 - positions
    return torch.where(mask_NS, mirrored, positions)


class BiLSTM(nn.Module):
    """LSTM layers that read a text in both directions; an annotation is both states, [forward; backward]."""

    def __init__(self, input_dim: int, dim: int, layers: int, dropout_rate: float) -> None:
        """Create layers whose joined states are `dim` wide."""
        super().__init__()
        between = dropout_rate if layers > 1 else 0.0
        self.lstm = nn.LSTM(input_dim, dim // 2, layers, batch_first=True, dropout=between, bidirectional=True)

    def forward(self, x_NSE: Tensor, mask_NS: Tensor) -> tuple[Tensor, Tensor]:
        """Encode texts with mask Bool[N,S]; neither direction reads padding.

        Returns:
            Annotations Float[N,S,D], zero on padding, and the last states h and c, Float[N,2,layers,D].
        """
        packed = pack_padded_sequence(x_NSE, mask_NS.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.lstm(packed)
        annotations_NSD, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask_NS.size(1))
        # From Float[layers*2,N,D/2] each, states of both directions are concatenated.
        h_and_c = [part.view(-1, 2, *part.shape[1:]).permute(2, 0, 1, 3).flatten(2) for part in last]
        return annotations_NSD, torch.stack(h_and_c, 1)


def initialise_lstm(name: str, weight: Tensor) -> None:
    """Initialise a parameter of an LSTM, whose gates are stacked in the order input, forget, cell, output."""
    if "bias" in name:
        nn.init.zeros_(weight)
        if "bias_ih" in name:
            nn.init.ones_(weight.chunk(4)[1])
        return
    for block in weight.chunk(4):
        (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(block)


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
        """Return t Float[N,K,dim] from states, embeddings of the input tokens, and contexts."""
        units = self.state(s_NKD) + self.embedding(e_NKE) + self.context(c_NKC)
        largest: Tensor = torch.amax(units.unflatten(-1, (-1, 2)), -1)
        return largest


@dataclass(frozen=True, eq=False, slots=True)
class RecurrentState:
    """The state of a recurrent decoder."""

    memory: Memory  # annotations, attention keys and masks of the inputs
    # parts of the state by name, [N,K+1,...]: before the last call, and after each of its K tokens
    history: Mapping[str, Tensor]

    def current(self, name: str) -> Tensor:
        """Return the part called `name` after the last token, [N,...]."""
        return self.history[name][:, -1]

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.memory.select(rows), {name: part[rows] for name, part in self.history.items()})

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of each row in the last `decode`."""
        rows = torch.arange(keep.size(0), device=keep.device)
        return type(self)(self.memory, {name: part[rows, keep].unsqueeze(1) for name, part in self.history.items()})

    def join(self, other: Self) -> Self:
        """Return the rows of both states, those of `other` last."""
        latest = {name: join_rows(part[:, -1:], other.history[name][:, -1:]) for name, part in self.history.items()}
        return type(self)(self.memory.join(other.memory), latest)
