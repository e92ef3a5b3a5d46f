"""Options of translators: those that are missing, unknown or without effect."""

from typing import Any

import pytest

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.synthesis.translation.translator_config import TextTranslatorConfig


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "command"}, "command: missing"),
        ({"kind": "huggingface"}, "model: missing"),
        ({"kind": "marian"}, "kind: "),
        ({"kind": "command", "command": ["x"], "beams": 3}, 'did you mean "beam"'),
        ({"kind": "command", "command": ["x"], "beam": 5}, r'beam: has no effect with kind = "command"; leave it out'),
        ({"kind": "postedit", "model": "x", "batch": 8}, r"batch: .* \(only for ctranslate2, huggingface\)"),
        ({"kind": "huggingface", "model": "x", "tokenizer": "y"}, r"tokenizer: .* \(only for ctranslate2\)"),
        ({"kind": "ctranslate2", "model": "x", "command": ["y"]}, r"command: .* \(only for command\)"),
        ({"kind": "postedit", "model": "x", "src_lang": "en", "max_extra": 1}, "src_lang: .*; max_extra: "),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_config(TextTranslatorConfig, options, "recipe")
