"""Coverage of the pointer-generator keeps counting in half precision."""

import torch

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch, Stream
from postedit.models.pointer_generator import PointerGenerator, PointerGeneratorConfig

PE = VocabularyInfo(9, "pe")


def test_coverage_is_counted_in_single_precision_even_if_weights_are_not() -> None:
    """In bfloat16, 256 + 1 is 256."""
    model = PointerGenerator(PointerGeneratorConfig(embedding=4, hidden=4), Vocabularies({"mt": PE}, PE)).bfloat16()
    mt = Stream(torch.tensor([[EOS]]), torch.ones(1, 1, dtype=torch.bool))
    with torch.no_grad():
        _, state = model.decode(torch.full((1, 300), BOS), model.encode(Batch({"mt": mt})))
    assert state.current("coverage").tolist() == [[300.0]]
