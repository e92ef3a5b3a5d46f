"""Options of the conditional GRUs: the width of attention, shared embeddings, and a tied output layer."""

import pytest
import torch

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.models.conditional_gru import MCGRU, ConditionalGRUConfig

PE = VocabularyInfo(9, "pe")
VOCABULARIES = Vocabularies({"src": VocabularyInfo(8, "src"), "mt": PE}, PE)
SIZES = {"embedding": 4, "hidden": 3}


@pytest.mark.parametrize(("attention", "width"), [(None, 6), (5, 5)])
def test_attention_is_as_wide_as_annotations_unless_the_option_is_set(attention: int | None, width: int) -> None:
    model = MCGRU(ConditionalGRUConfig(**SIZES, attention=attention), VOCABULARIES)
    assert [layer.score.in_features for layer in model.attentions.values()] == [width, width]


@pytest.mark.parametrize("tie_output", [True, False])
@pytest.mark.parametrize("sharing", ["none", "mt-pe"])
def test_embeddings_and_the_output_layer_share_what_the_options_say(sharing: str, tie_output: bool) -> None:
    model = MCGRU(ConditionalGRUConfig(**SIZES, share_embeddings=sharing, tie_output=tie_output), VOCABULARIES)
    assert (model.embed_inputs["mt"] is model.embed_pe) == (sharing == "mt-pe")
    assert model.embed_inputs["src"] is not model.embed_pe
    assert (model.head.weight is model.embed_pe.weight) == tie_output
    assert model.head.weight.shape == torch.Size([9, 4])
