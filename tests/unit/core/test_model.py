"""The base class of architectures."""

import pytest
import torch

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.types import Batch, Stream
from postedit.models.conditional_gru import MCGRU, ConditionalGRUConfig


def test_the_loss_needs_a_target_and_models_have_no_grammar_by_default() -> None:
    info = VocabularyInfo(9, "one")
    model = MCGRU(ConditionalGRUConfig(embedding=3, hidden=2), Vocabularies({"src": info, "mt": info}, info))
    stream = Stream(torch.tensor([[2]]), torch.tensor([[True]]))
    batch = Batch({"src": stream, "mt": stream})
    assert model.constraints(batch) == ()
    with pytest.raises(ValueError, match="the loss needs a batch with a target"):
        model(batch)
