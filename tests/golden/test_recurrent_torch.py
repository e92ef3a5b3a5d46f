"""The GRU and the bidirectional encoder against those of torch.nn with the same weights.

torch.nn.GRU is equation 1 of Junczys-Dowmunt and Grundkiewicz 2017 with biases, its gates in the same order.
"""

import torch
from torch import nn

from postedit.nn.recurrent import BiGRU, GRUCell

INPUT, HIDDEN = 5, 7


def test_gru_cell() -> None:
    torch.manual_seed(0)
    ours = GRUCell(INPUT, HIDDEN).double()
    theirs = nn.GRUCell(INPUT, HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_()
        theirs.weight_ih.copy_(ours.input.weight)
        theirs.weight_hh.copy_(ours.state.weight)
        theirs.bias_ih.copy_(ours.input.bias)
        theirs.bias_hh.copy_(ours.state.bias)
    x, state = torch.randn(6, INPUT, dtype=torch.float64), torch.randn(6, HIDDEN, dtype=torch.float64)
    torch.testing.assert_close(ours(ours.project(x), state), theirs(x, state), rtol=0, atol=1e-12)


def test_bidirectional_gru_over_rows_of_different_lengths() -> None:
    torch.manual_seed(1)
    ours = BiGRU(INPUT, HIDDEN, dropout=0.0).double()
    theirs = nn.GRU(INPUT, HIDDEN, batch_first=True, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(std=0.5)
        for cell, suffix in ((ours.forwards, ""), (ours.backwards, "_reverse")):
            for kind, layer in (("ih", cell.input), ("hh", cell.state)):
                getattr(theirs, f"weight_{kind}_l0{suffix}").copy_(layer.weight)
                getattr(theirs, f"bias_{kind}_l0{suffix}").copy_(layer.bias)
    lengths = torch.tensor([3, 8, 1, 5])
    x = torch.randn(4, 8, INPUT, dtype=torch.float64)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    actual = ours(x, torch.arange(8) < lengths.unsqueeze(1))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)  # both are zero on padding
