"""Prices of models, and bounds on what a request can cost before its answer is known.

A token has at least one byte of UTF-8, so the number of bytes of a request is a bound on its tokens, whatever the
tokeniser. Estimates, which are no bounds, assume the usual four bytes per token.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field

from postedit.core.config import Config, load_config, read_toml
from postedit.core.errors import RecipeError, nearest

BYTES_PER_TOKEN: Final = 4.0
"""Bytes per token of ordinary text, to estimate numbers of tokens."""

_MESSAGE_TOKENS: Final = 16  # most tokens that servers add to a message
_MILLION: Final = 1e6


class Price(Config):
    """Prices of a model, per million tokens."""

    input: float = Field(ge=0, strict=False, description="price of a million tokens of prompts")
    output: float = Field(ge=0, strict=False, description="price of a million tokens of answers")

    def cost(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Return the cost of a request."""
        return (self.input * prompt_tokens + self.output * answer_tokens) / _MILLION


class PriceTable(Config):
    """Prices of several models, in one currency."""

    currency: str = Field("USD", description="currency of all prices")
    models: dict[str, Price] = Field(description="prices by the name of the model")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load a TOML file.

        Raises:
            RecipeError: if the file does not exist or is not a table of prices.
        """
        return load_config(cls, read_toml(path, "table of prices"), str(path))

    def of(self, model: str, path: Path) -> Price:
        """Return the prices of a model; error messages name `path` as the file of the table.

        Raises:
            RecipeError: if the table has no prices for the model.
        """
        if model not in self.models:
            known = ", ".join(sorted(self.models))
            raise RecipeError(
                f"{path}: has no prices of {model}{nearest(model, self.models)} (it has: {known}); add "
                f'[models."{model}"] with input and output, the prices of a million tokens'
            )
        return self.models[model]


def most_prompt_tokens(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None) -> int:
    """Return an upper bound on the tokens of a prompt, including the schema, which servers may add to it."""
    texts = [message["content"] for message in messages] + ([json.dumps(schema)] if schema else [])
    return sum(len(text.encode()) for text in texts) + _MESSAGE_TOKENS * (len(messages) + 1)


def estimated_tokens(*texts: str) -> int:
    """Return an estimate of the number of tokens of some texts."""
    return sum(math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) for text in texts)
