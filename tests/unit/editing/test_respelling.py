"""A model that is given another one's pieces reads what it would read of the text."""

import pytest
import tiny_models
import torch

from postedit.core.errors import ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS
from postedit.core.types import Batch
from postedit.data.batching import collate
from postedit.editing.respelling import Respelling
from postedit.text.config import VocabularyConfig
from postedit.text.processor import TextProcessor

SRC, MT = ["the house", "", "né à  Köln 語"], ["das Haus", "es geht", "in"]


def text(src: int, sharing: str = "mt-pe", **sizes: int) -> TextProcessor:
    return tiny_models.processor(vocabulary=VocabularyConfig(size=280, sharing=sharing, sizes={"src": src, **sizes}))


def batch(processor: TextProcessor) -> Batch:
    return collate({"src": processor.encode_batch("src", SRC), "mt": processor.encode_batch("mt", MT)}, ("src", "mt"))


@torch.inference_mode()
def said(model: Seq2Seq, by: TextProcessor) -> torch.Tensor:
    output, _ = model.decode(torch.full((len(SRC), 1), BOS), model.encode(batch(by)))
    assert output.attention.keys() == model.spec.attention
    return output.log_probs


def test_it_says_what_it_says_of_pieces_of_its_own() -> None:
    own, given = text(262), text(280)
    model = tiny_models.folder("transference", own).model
    wrapped = Respelling(model, own, given).eval()
    assert batch(own).streams["src"].mask.sum() > batch(given).streams["src"].mask.sum()
    torch.testing.assert_close(said(wrapped, given), said(model, own), rtol=0, atol=0)
    assert wrapped.spec.vocabularies == given.vocabularies
    assert {key.stream for key in wrapped.spec.attention} == {"mt"}


def test_vocabularies_that_lose_something_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = text(262)
    monkeypatch.setattr(type(own.vocabulary("src")), "lossless", False)
    with pytest.raises(ModelFolderError, match="cannot give a text back as it was"):
        Respelling(tiny_models.folder("transference", own).model, own, text(280))
