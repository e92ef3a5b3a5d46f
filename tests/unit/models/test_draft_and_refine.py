"""Options of the translators that do not go together."""

import pytest

from postedit.core.errors import DataError
from postedit.models.draft_and_refine import AttentionNMTConfig, DoubleAttentionConfig


@pytest.mark.parametrize("config_class", [AttentionNMTConfig, DoubleAttentionConfig])
def test_a_tied_output_layer_is_as_wide_as_embeddings(config_class: type[AttentionNMTConfig]) -> None:
    with pytest.raises(DataError, match=r"tie_output needs maxout \(5\) to equal embedding \(6\)"):
        config_class(embedding=6, maxout=5, tie_output=True)
    assert config_class(embedding=6, maxout=6, tie_output=True).tie_output
    assert not config_class(embedding=6, maxout=5).tie_output
