"""Variational dropout of recurrent states and initial biases, which the golden tests do not reach."""

import torch

from postedit.nn.recurrent import BiGRU, GRUCell, initialise_lstm


def test_a_dropped_unit_is_unseen_by_the_gates_but_carried_on() -> None:
    torch.manual_seed(0)
    cell = GRUCell(3, 4).double()
    x, state = cell.project(torch.randn(2, 3, dtype=torch.float64)), torch.randn(2, 4, dtype=torch.float64)
    nothing = torch.zeros(2, 4, dtype=torch.float64)
    gates_without_state = [part.chunk(3, -1) for part in (x, cell.state.bias.expand(2, -1))]
    (x_r, x_z, x_n), (s_r, s_z, s_n) = gates_without_state
    r, z = torch.sigmoid(x_r + s_r), torch.sigmoid(x_z + s_z)
    expected = (1 - z) * torch.tanh(x_n + r * s_n) + z * state
    torch.testing.assert_close(cell(x, state, nothing), expected)
    torch.testing.assert_close(cell(x, state, torch.ones_like(nothing)), cell(x, state))


def test_dropout_is_drawn_anew_in_training_and_absent_outside() -> None:
    torch.manual_seed(0)
    encoder = BiGRU(3, 4, dropout=0.5)
    x, mask = torch.randn(2, 6, 3), torch.ones(2, 6, dtype=torch.bool)
    assert not torch.equal(encoder(x, mask), encoder(x, mask))
    encoder.eval()
    assert torch.equal(encoder(x, mask), encoder(x, mask))


def test_an_lstm_forgets_nothing_at_first() -> None:
    cell = torch.nn.LSTMCell(2, 3)
    for name, weight in cell.named_parameters():
        initialise_lstm(name, weight)
    of_input, forget, of_cell, of_output = (cell.bias_ih + cell.bias_hh).view(4, 3).tolist()
    assert forget == [1.0] * 3
    assert of_input == of_cell == of_output == [0.0] * 3
