"""Shared embedding tables, and the widths that attention accepts."""

import pytest
import torch

from postedit.core.errors import RecipeError
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.embeddings import embedding_tables, sinusoids

SRC, PE = VocabularyInfo(9, "src"), VocabularyInfo(7, "pe")
SEPARATE = Vocabularies({"src": SRC, "mt": PE}, PE)
JOINT = Vocabularies({"src": PE, "mt": PE}, PE)


def test_sharing_decides_which_tables_are_the_target_table() -> None:
    streams, target = embedding_tables(SEPARATE, ("src", "mt"), 4, "none")
    assert streams["mt"] is not target
    streams, target = embedding_tables(SEPARATE, ("src", "mt"), 4, "mt-pe")
    assert streams["mt"] is target
    assert streams["src"] is not target
    assert (streams["src"].num_embeddings, target.num_embeddings) == (9, 7)
    streams, target = embedding_tables(JOINT, ("src", "mt"), 4, "all")
    assert streams["src"] is streams["mt"] is target


def test_only_the_streams_a_model_reads_have_tables() -> None:
    streams, _ = embedding_tables(SEPARATE, ("mt",), 4, "none")
    assert list(streams) == ["mt"]


def test_streams_with_other_vocabularies_cannot_share_a_table() -> None:
    with pytest.raises(RecipeError, match=r"share_embeddings.*src.*9 and 7.*text\.vocabulary\.sharing"):
        embedding_tables(SEPARATE, ("src", "mt"), 4, "all")
    same_size = Vocabularies({"src": SRC, "mt": VocabularyInfo(7, "another")}, PE)
    with pytest.raises(RecipeError, match="mt"):
        embedding_tables(same_size, ("src", "mt"), 4, "mt-pe")


@pytest.mark.parametrize("dim", [8, 7])
def test_sinusoids_are_those_of_the_formula(dim: int) -> None:
    positions, half = torch.tensor([[0, 1, 7], [100, 4, 999]]), (dim + 1) // 2
    angles = positions.unsqueeze(-1) / 10_000.0 ** (2 * torch.arange(half, dtype=torch.float64) / dim)
    expected = torch.cat([angles.sin(), angles[..., : dim - half].cos()], -1)
    torch.testing.assert_close(sinusoids(positions, dim, torch.float64), expected, rtol=0, atol=1e-12)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match=r"10 must be a multiple.*4"):
        MultiHeadAttention(10, 4, 0.0)


def test_attention_weights_are_shown_before_dropout() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5).train()
    x = torch.randn(2, 5, 8)
    _, weights = attention(x, attention.project(x), None, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5))
