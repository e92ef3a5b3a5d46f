"""What options say of dropout and adapters, in networks of the library, which have their own names for it."""

import random
from typing import Any

import pytest
import torch
from tiny import TINY, batch_of, joint, options_of, random_sentences, vocabularies

from postedit.core.config import load_config
from postedit.core.model import Seq2Seq
from postedit.models import ARCHITECTURES


def build(name: str, settings: dict[str, Any], **options: object) -> Seq2Seq:
    """Return a tiny model in training, with other settings of its checkpoint, and options."""
    sizes, given = joint(vocabularies()), TINY[name]
    network: Any = given["network"]
    network = {**network, "settings": {**network["settings"], **settings}}
    whole = options_of({**given, "network": network, **options}, sizes)
    architecture = ARCHITECTURES[name.partition("/")[0]]
    torch.manual_seed(0)
    return architecture.build(load_config(architecture.config_class, whole, name), sizes).train()


def is_random(model: Seq2Seq) -> bool:
    """Return whether the loss in training differs from one time to the next."""
    batch = batch_of(random_sentences(random.Random(1), model, count=6))
    return bool(model(batch).loss != model(batch).loss)


DROPOUT = {
    "pretrained": "dropout",
    "pretrained/mbart": "dropout",
    "pretrained/t5": "dropout_rate",
    "causal/llama": "attention_dropout",
    "causal/gemma2": "attention_dropout",
}


@pytest.mark.parametrize("name", DROPOUT)
def test_dropout_is_that_of_the_option_if_set_or_else_of_the_checkpoint(name: str) -> None:
    own = DROPOUT[name]
    assert is_random(build(name, {own: 0.3}))
    assert not is_random(build(name, {own: 0.3}).eval())
    assert not is_random(build(name, {own: 0.3}, dropout=0.0))
    assert is_random(build(name, {own: 0.0}, dropout=0.3))


def test_layers_are_never_dropped() -> None:
    """Whatever the checkpoint says; that of NLLB drops some of its layers."""
    layers = {"encoder_layerdrop": 0.5, "decoder_layerdrop": 0.5}
    model = build("pretrained/lora", {"dropout": 0.3, "attention_dropout": 0.0, **layers}, dropout=0.0)
    assert not is_random(model)
    assert model.network.model.encoder.layerdrop == model.network.model.decoder.layerdrop == 0.0


@pytest.mark.parametrize("name", ["pretrained/lora", "causal/llama"])
def test_adapters_add_alpha_over_rank_times_their_product(name: str) -> None:
    model = build(name, {}, lora_rank=3, lora_alpha=7.5, lora_dropout=0.0)
    layers = [module for module in model.modules() if hasattr(module, "lora_A")]
    assert layers
    for layer in layers:
        x = torch.randn(5, layer.in_features)
        a, b = layer.lora_A["default"].weight, torch.nn.init.normal_(layer.lora_B["default"].weight)
        assert len(a) == 3
        torch.testing.assert_close(layer(x), layer.base_layer(x) + 2.5 * x @ a.T @ b.T)


@pytest.mark.parametrize("name", ["pretrained/lora", "causal/llama"])
def test_inputs_of_adapters_are_dropped_alone(name: str) -> None:
    settings = dict.fromkeys(("dropout", "attention_dropout", "encoder_layerdrop", "decoder_layerdrop"), 0.0)
    model = build(name, settings, lora_rank=3, lora_dropout=0.3)
    assert not is_random(model), "adapters start without effect"
    for module in model.modules():
        if hasattr(module, "lora_B"):
            torch.nn.init.normal_(module.lora_B["default"].weight)
    assert is_random(model)
    assert not is_random(model.eval())
