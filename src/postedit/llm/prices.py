"""Prices of models, and bounds on what a request can cost before its answer is known.

A token has at least one byte of UTF-8, so the bytes of a request bound its tokens, whatever the tokeniser. Estimates,
which promise nothing, take the usual four bytes a token.
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
"""Of a usual text, to estimate its tokens."""

_MESSAGE_TOKENS: Final = 16  # that servers add for a message, at most
_MILLION: Final = 1e6


class Price(Config):
    """Prices of a model."""

    input: float = Field(ge=0, strict=False, description="of a million tokens of prompts")
    output: float = Field(ge=0, strict=False, description="of a million tokens of answers")

    def cost(self, prompt_tokens: int, answer_tokens: int) -> float:
        """Return the cost of a request."""
        return (self.input * prompt_tokens + self.output * answer_tokens) / _MILLION


class PriceTable(Config):
    """Prices by model."""

    currency: str = Field("USD", description="of all prices")
    models: dict[str, Price] = Field(description="prices by the name of the model")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load a TOML file.

        Raises:
            RecipeError: if there is none, or it is no table of prices.
        """
        return load_config(cls, read_toml(path, "table of prices"), str(path))

    def of(self, model: str, path: Path) -> Price:
        """Return the prices of a model; `path` is of the table, for messages.

        Raises:
            RecipeError: if the table does not have it.
        """
        if model not in self.models:
            known = ", ".join(sorted(self.models))
            raise RecipeError(
                f"{path}: has no prices of {model}{nearest(model, self.models)} (it has: {known}); add "
                f'[models."{model}"] with input and output, the prices of a million tokens'
            )
        return self.models[model]


def most_prompt_tokens(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None) -> int:
    """Return a bound on the tokens of a prompt, with the schema, which servers may put into it."""
    texts = [message["content"] for message in messages] + ([json.dumps(schema)] if schema else [])
    return sum(len(text.encode()) for text in texts) + _MESSAGE_TOKENS * (len(messages) + 1)


def estimated_tokens(*texts: str) -> int:
    """Return about how many tokens texts have."""
    return sum(math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN) for text in texts)
