"""Layers made for inference: every architecture keeps what it says, whatever the layout or type of its weights."""

import random

import pytest
import torch
from tiny import SUBJECT_NAMES, alone, assert_close, batch_of, build, random_prefix, random_sentences

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS
from postedit.core.types import Shortlist
from postedit.nn.inference import PackedLinear, Precision, prepare_for_inference
from postedit.nn.int8 import Int8Linear


@pytest.fixture(autouse=True)
def _no_layer_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (PackedLinear, Int8Linear):
        monkeypatch.setattr(kind, "min_weights", 1)


def log_probs(model: Seq2Seq, seed: int = 3) -> torch.Tensor:
    rng = random.Random(seed)
    batch = batch_of(random_sentences(rng, model, count=4))
    tokens = torch.tensor([random_prefix(rng, model, 5) for _ in range(4)])
    return model.decode(tokens, model.encode(batch))[0].log_probs


def prepared(name: str, precision: Precision) -> Seq2Seq:
    return prepare_for_inference(build(name, torch.float32), precision)


@pytest.mark.parametrize("name", SUBJECT_NAMES)
def test_packed_weights_do_not_change_log_probs(name: str) -> None:
    with torch.inference_mode():
        assert_close(log_probs(prepared(name, "float32")), log_probs(build(name, torch.float32)))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "bf16"])
@pytest.mark.parametrize("name", SUBJECT_NAMES)
def test_rounded_weights_change_log_probs_little(name: str, precision: Precision) -> None:
    with torch.inference_mode():
        found, exact = log_probs(prepared(name, precision)), log_probs(build(name, torch.float32))
    assert 0.0 < (found.exp() - exact.exp()).abs().mean() < 0.01
    assert found.logsumexp(-1).abs().max() < 1e-4


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
@pytest.mark.parametrize("name", SUBJECT_NAMES)
def test_law_1_holds_for_shortlists_of_prepared_models(name: str, precision: Precision) -> None:
    shortlist = Shortlist(7, torch.tensor([8, 10]))
    said = []
    with torch.inference_mode():
        for model in (prepared(name, precision), build(name, torch.float32)):
            batch = batch_of(random_sentences(random.Random(3), model, count=2))
            said.append(model.decode(torch.full((2, 1), BOS), model.encode(batch))[0].distribution.among(shortlist))
    assert (said[0].exp() - said[1].exp()).abs().mean() < (1e-5 if precision == "float32" else 0.02)
    assert said[0].logsumexp(-1).abs().max() < 1e-4


@pytest.mark.parametrize("name", SUBJECT_NAMES)
def test_law_6_holds_with_int8_weights(name: str) -> None:
    """A row has the same output in a batch as alone; one row of two batches may differ.

    In a batch, layers in single precision may add in another order, depending on the processor. In rare cases, a value
    halfway between two integers is then rounded the other way.
    """
    model, differences = prepared(name, "int8"), []
    for seed in (5, 6):
        rng = random.Random(seed)
        sentences = random_sentences(rng, model, count=4)
        prefixes = [random_prefix(rng, model, 6) for _ in sentences]
        with torch.inference_mode():
            together = model.decode(torch.tensor(prefixes), model.encode(batch_of(sentences)))[0].log_probs
            for row, sentence, prefix in zip(together, sentences, prefixes):
                apart = alone(model, sentence, prefix)
                differences.append(float((row - apart)[apart > -8.0].abs().max()))
                assert (row.exp() - apart.exp()).abs().mean() < 0.01
    assert sorted(differences)[-2] < 1e-4
