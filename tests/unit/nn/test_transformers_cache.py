"""The cache of the Transformers library has the name that the installed version gives it."""

from dataclasses import make_dataclass

import pytest

from postedit.nn.transformers_cache import cache_name


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_the_cache_has_the_name_of_the_installed_version(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output = make_dataclass("Seq2SeqLMOutput", ["logits", name])
    monkeypatch.setattr("transformers.modeling_outputs.Seq2SeqLMOutput", output)
    assert cache_name() == name
