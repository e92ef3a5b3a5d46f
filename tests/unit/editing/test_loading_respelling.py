"""A model that is given another one's pieces reads what it would read of the text."""

import pytest
import tiny_models
import torch

from postedit.core.errors import ModelFolderError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.editing.loading import Respelling
from postedit.text.config import VocabularyConfig
from postedit.text.processor import TextProcessor

SRC, MT = ["the house", "", "né à  Köln 語"], ["das Haus", "\u00a0es ge\u0301ht\u2009", "\u3000in"]


def text(sharing: str = "mt-pe", **sizes: int) -> TextProcessor:
    return tiny_models.processor(vocabulary=VocabularyConfig(size=280, sharing=sharing, sizes=sizes))


def batch(processor: TextProcessor, inputs: tuple[str, ...]) -> Batch:
    texts = {"src": SRC, "mt": MT}
    return collate({name: processor.encode_batch(name, texts[name]) for name in inputs}, inputs)


@torch.inference_mode()
def said(model: Seq2Seq, by: TextProcessor) -> torch.Tensor:
    output, _ = model.decode(torch.full((len(SRC), 1), BOS), model.encode(batch(by, model.spec.inputs)))
    assert output.attention.keys() == model.spec.attention
    return output.log_probs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("transference", {"share_embeddings": "none"}),
        ("transformer", {"share_embeddings": "none", "input": "src"}),
        ("transformer", {"share_embeddings": "none", "input": "mt"}),
        ("m-cgru", {"share_embeddings": "none"}),
    ],
)
def test_a_respelt_model_gives_the_log_probs_of_its_own_tokens(name: str, options: dict[str, str]) -> None:
    own, given = text("separate", src=262, mt=262), text("separate")
    model = tiny_models.folder(name, own, **options).model
    wrapped = Respelling(model, own, given).eval()
    for side in model.spec.inputs:
        lengths = [int(batch(one, (side,)).streams[side].mask.sum()) for one in (own, given)]
        assert lengths[0] > lengths[1]
    torch.testing.assert_close(said(wrapped, given), said(model, own), rtol=0, atol=0)
    assert wrapped.spec.vocabularies.streams == given.vocabularies.streams
    assert not wrapped.spec.attention


def test_attention_to_texts_that_are_divided_alike_is_shown() -> None:
    own, given = text(src=262), text()
    wrapped = Respelling(tiny_models.folder("transference", own).model, own, given).eval()
    assert {key.stream for key in wrapped.spec.attention} == {"mt"}
    assert said(wrapped, given).isfinite().all()


def test_vocabularies_that_lose_something_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = text(src=262)
    monkeypatch.setattr(type(own.vocabulary("src")), "lossless", False)
    with pytest.raises(ModelFolderError, match="cannot give a text back as it was"):
        Respelling(tiny_models.folder("transference", own).model, own, text())
