"""Libraries that come with extras of the package, imported when they are needed."""

import importlib
from typing import Any

from postedit.core.errors import RecipeError


def library(name: str, purpose: str, extra: str = "pretrained") -> Any:
    """Return the module `name` of an extra.

    Raises:
        RecipeError: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecipeError(
            f"{purpose} needs {error.name or name}; install it by: pip install 'postedit[{extra}]'"
        ) from None
