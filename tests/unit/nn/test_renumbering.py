"""Attention within a longer input, seen as attention to the texts."""

import torch

from postedit.nn.renumbering import text_attention


def test_attention_is_equal_where_a_window_leaves_out_the_texts() -> None:
    """A token far behind the texts attends to none of them; its row has to sum to 1 nevertheless."""
    weights = torch.tensor(
        [[[0.2, 0.1, 0.3, 0.4], [0.0, 0.0, 0.0, 1.0]], [[0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 0.5, 0.5]]]
    )
    positions, real = torch.tensor([[1, 2, 0], [0, 1, 0]]), torch.tensor([[True, True, False], [True, True, False]])
    expected = [[[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]], [[2 / 3, 1 / 3, 0.0], [0.5, 0.5, 0.0]]]
    torch.testing.assert_close(text_attention(weights, positions, real), torch.tensor(expected))
