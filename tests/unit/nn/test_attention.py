"""Multi-head attention: the weights of one head, which a model may copy by."""

import torch

from postedit.nn.attention import MultiHeadAttention


def test_weights_of_a_head_are_not_rounded_under_autocast() -> None:
    """Queries and keys are in bfloat16, like all products; their dot products, of some hundreds, must not be."""
    torch.manual_seed(0)
    attention, head, width = MultiHeadAttention(8, 2, 0.0), 1, 4
    x, memory, mask = 20 * torch.randn(1, 3, 8), 20 * torch.randn(1, 5, 8), torch.ones(1, 1, 5, dtype=torch.bool)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        key_value = attention.project(memory)
        queries = attention.query(x)[..., width:]
        found = attention.head_log_weights(x, key_value, mask, head)
    keys = key_value.k_NHSE[:, head]
    assert queries.dtype == keys.dtype == torch.bfloat16
    scores = queries.double() @ keys.double().mT / width**0.5
    assert scores.abs().max() > 100
    torch.testing.assert_close(found.double(), scores.log_softmax(-1), rtol=1e-6, atol=1e-4)
